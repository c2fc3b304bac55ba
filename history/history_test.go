package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// files holds the files that a test reads, by name.
type files map[string][]byte

func (f files) open(path string) (io.ReadCloser, error) {
	text, ok := f[path]
	if !ok {
		return nil, os.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// read reads files and returns the events, each as "time kind id procs", and the refused lines.
func (f files) read(t testing.TB, change func(*history.Config), names ...string) (h *history.History, events []string,
	bad []source.BadLine) {
	t.Helper()
	cfg := history.Config{
		Formats: history.Formats(time.Now), Options: collector.Options{Cluster: "c", Location: time.UTC},
		Now: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), OnBad: func(b source.BadLine) { bad = append(bad, b) },
		Open: f.open,
	}
	if change != nil {
		change(&cfg)
	}
	h, err := history.Read(t.Context(), names, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() }) // the test has read what it needs
	err = h.Each(func(ev *history.Event) error {
		events = append(events, fmt.Sprintf("%s %s %s %d", ev.Time.UTC().Format("15:04:05"), ev.Kind, ev.ID, ev.Procs))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return h, events, bad
}

// These are PBS records of two jobs of 2026-11-20: job 1 with records of its submission and start, and job 2 without.
const (
	queued1  = "11/20/2026 09:00:00;Q;1.s;queue=batch\n"
	started1 = "11/20/2026 09:01:00;S;1.s;user=ann queue=batch ctime=1795165200 qtime=1795165200 etime=1795165200 " +
		"start=1795165260 Resource_List.ncpus=4 Resource_List.nodect=1\n"
	ended1 = "11/20/2026 09:05:00;E;1.s;user=ann queue=batch ctime=1795165200 qtime=1795165200 etime=1795165200 " +
		"start=1795165260 Resource_List.ncpus=4 Resource_List.nodect=1 end=1795165500\n"
	ended2 = "11/20/2026 09:04:00;E;2.s;user=bob queue=batch ctime=1795165230 qtime=1795165230 etime=1795165230 " +
		"start=1795165380 Resource_List.ncpus=2 Resource_List.nodect=1 end=1795165440\n"
)

func zipped(text string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte(text)) // it writes into memory
	_ = z.Close()
	return out.Bytes()
}

func packed(t testing.TB, text string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll([]byte(text), nil)
}

// TestEventsAreInOrderOfTime proves that several files, compressed or not and in any order, give the events in the
// order in which they happened. They include the events that the record of an end implies, except those that have a
// record of their own.
func TestEventsAreInOrderOfTime(t *testing.T) {
	all := files{
		"live": []byte(queued1 + started1), "ends.gz": zipped(ended1 + ended2), "again.zst": packed(t, ended2),
	}
	want := []string{
		"09:00:00 submit 1.s 0", "09:00:30 submit 2.s 2", "09:01:00 start 1.s 4",
		"09:03:00 start 2.s 2", "09:04:00 end 2.s 2", "09:05:00 end 1.s 4",
	}
	for _, names := range [][]string{{"live", "ends.gz"}, {"ends.gz", "live"}} {
		h, got, bad := all.read(t, nil, names...)
		if diff := cmp.Diff(want, got); diff != "" || len(bad) > 0 {
			t.Errorf("%v: refused %v (-want +got):\n%s", names, bad, diff)
		}
		for _, f := range h.Files {
			if f.Format != "pbs" || f.Records != 2 || f.Bad != 0 {
				t.Errorf("%+v, want 2 good records of pbs", f)
			}
		}
	}
	if _, got, bad := all.read(t, nil, "again.zst"); len(got) != 3 || len(bad) > 0 {
		t.Errorf("zstd: %q, refused %v", got, bad)
	}
}

// TestContradictions proves that a second end of the same attempt of a job at another time is refused with both places.
// The same end in another file, or a second later, is not refused.
func TestContradictions(t *testing.T) {
	later := strings.NewReplacer("09:04:00", "10:04:00", "end=1795165440", "end=1795169040").Replace(ended2)
	near := strings.NewReplacer("09:04:00", "09:04:01", "end=1795165440", "end=1795165441").Replace(ended2)
	all := files{"a": []byte(ended1 + ended2), "b": []byte(ended1 + later), "c": []byte(near)}
	h, got, bad := all.read(t, nil, "a", "c", "b")
	if len(bad) != 1 || bad[0].Path != "b" || bad[0].Number != 2 || bad[0].Reason != collector.ReasonTime {
		t.Fatalf("refused %v, want line 2 of b", bad)
	}
	if text := bad[0].Err.Error(); !strings.Contains(text, "c:1") || !strings.Contains(text, "one time zone") {
		t.Errorf("%s: want the other place and advice", text)
	}
	if h.Files[2].Bad != 1 || slices.Contains(got, "10:04:00 end 2.s 2") {
		t.Errorf("the second end counts: %q, %+v", got, h.Files)
	}
}

// TestCutOff covers files that end in the middle of a line, of gzip data or of a document. It proves that each is read
// up to that point, and is reported with its name, the line and what to do.
func TestCutOff(t *testing.T) {
	long := strings.Repeat(ended1+ended2, 2000)
	half := zipped(long)
	const header = "JobID|JobName|State|Start|End|NCPUS|Submit\n"
	const row = "7|x|COMPLETED|1795165260|1795165500|4|1795165200\n"
	all := files{
		"line": []byte(ended1 + ended2[:20]), "gzip": half[:len(half)/2], "row": []byte(header + row + "8|y|COM"),
		"document": []byte(`{"jobs":[{"job_id":7,"state":{"current":["COMPLETED"]},"required":{"CPUs":1},` +
			`"time":{"submission":1795165200,"start":1795165260,"end":1795165500}},` + "\n" + `{"job_id":8,`),
	}
	for name, want := range map[string]struct {
		line   int64
		advice string
	}{
		"line": {2, "in the middle of a record"}, "gzip": {0, "copy it again"}, "row": {3, "in the middle of a record"},
		"document": {2, "copy it again"},
	} {
		h, got, bad := all.read(t, nil, name)
		if len(bad) != 1 || bad[0].Path != name || want.line > 0 && bad[0].Number != want.line ||
			!strings.Contains(bad[0].Err.Error(), want.advice) {
			t.Errorf("%s: refused %+v, want line %d with advice", name, bad, want.line)
		}
		if len(got) < 3 || h.Files[0].Bad != 1 {
			t.Errorf("%s: what stands before is not read: %q", name, got)
		}
	}
	if _, err := history.Read(t.Context(), []string{"none"}, history.Config{Open: all.open}); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("a file that is missing: %v", err)
	}
}

// TestFutureIsRefused proves that records are refused if they are ahead of the clock by more than any zone explains.
func TestFutureIsRefused(t *testing.T) {
	all := files{"a": []byte(ended1 + ended2)}
	_, got, bad := all.read(t, func(c *history.Config) { c.Now = time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC) }, "a")
	if len(got) != 0 || len(bad) != 2 || bad[0].Reason != collector.ReasonFuture {
		t.Errorf("%q, refused %v", got, bad)
	}
}

// TestRecognize proves that every sample of the formats' own tests is recognized, and that a file that is no log is
// not.
func TestRecognize(t *testing.T) {
	for path, want := range map[string]string{
		"slurm/testdata/sacct.psv": "slurm-sacct", "slurm/testdata/jobcomp.log": "slurm-jobcomp",
		"slurm/testdata/slurmctld.log": "slurm-log", "pbs/testdata/openpbs.log": "pbs",
		"pbs/testdata/torque.log":     "pbs",
		"sge/testdata/accounting.log": "sge-accounting", "sge/testdata/reporting.log": "sge-reporting",
		"lsf/testdata/acct.log": "lsf-acct", "lsf/testdata/events.log": "lsf-events",
		"swflog/testdata/small.swf": "swf",
	} {
		text, err := os.ReadFile(filepath.Join("..", "collector", filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		f, rest, err := history.Recognize(bytes.NewReader(text), collector.Options{}, history.Formats(time.Now))
		if err != nil || f.Name != want {
			t.Errorf("%s: %s, %v; want %s", path, f.Name, err, want)
		}
		if whole, err := io.ReadAll(rest); err != nil || !bytes.Equal(whole, text) {
			t.Errorf("%s: %d bytes of %d are left, %v", path, len(whole), len(text), err)
		}
	}
	_, _, err := history.Recognize(strings.NewReader(""), collector.Options{}, history.Formats(time.Now))
	if !errors.Is(err, history.ErrEmpty) {
		t.Errorf("an empty file: %v, want that it is empty", err)
	}
	for _, text := range []string{"hello\nworld\n", "{}x", "1,2,3\n4,5,6\n", "<html>\n", "\x00\x01"} {
		_, _, err := history.Recognize(strings.NewReader(text), collector.Options{}, history.Formats(time.Now))
		if !errors.Is(err, history.ErrUnrecognized) || !strings.Contains(err.Error(), "slurm-sacct-json") {
			t.Errorf("%q: %v, want that it is not recognized, with the formats' names", text, err)
		}
		if strings.Contains(err.Error(), "sacct -a") {
			t.Errorf("%q: %v, want no command of Slurm", text, err)
		}
	}
	for _, text := range []string{
		"JobID           JobName  Partition\n------------ ---------- ----------\n4711               test      batch\n",
		"User|JobIDRaw|JobName\nann|4711|test\n",
	} {
		_, _, err := history.Recognize(strings.NewReader(text), collector.Options{}, history.Formats(time.Now))
		if !errors.Is(err, history.ErrUnrecognized) || !strings.Contains(err.Error(), "--format=Submit,JobIDRaw") {
			t.Errorf("%q: %v, want the command that dumps all columns", text, err)
		}
	}
}

// TestSortOnDisk proves that sorting on disk gives the same events in the same order as sorting in memory.
func TestSortOnDisk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var text strings.Builder
		text.WriteString("; UnixStartTime: 1000000000\n; Queue: 1 batch\n")
		for i := range rapid.IntRange(0, 60).Draw(rt, "jobs") {
			n := func(name string, most int) int { return rapid.IntRange(-1, most).Draw(rt, name) }
			fmt.Fprintf(&text, "%d %d %d %d %d -1 -1 %d %d -1 %d %d -1 -1 1 -1 -1 -1\n", i, max(0, n("submit", 50)),
				n("wait", 20), n("run", 20), 1+max(0, n("given", 3)), n("asked", 3), n("limit", 99),
				max(0, n("status", 1)), n("user", 3))
		}
		all := files{"a": []byte(text.String())}
		keep := func(events int) []history.Event {
			cfg := history.Config{Formats: history.Formats(time.Now), Format: "swf", Now: time.Now(), Open: all.open,
				MemoryEvents: events, TempDir: t.TempDir()}
			h, err := history.Read(t.Context(), []string{"a"}, cfg)
			if err != nil {
				rt.Fatal(err)
			}
			var out []history.Event
			if err := h.Each(func(ev *history.Event) error { out = append(out, *ev); return nil }); err != nil {
				rt.Fatal(err)
			}
			if err := h.Close(); err != nil {
				rt.Fatal(err)
			}
			if left, err := os.ReadDir(cfg.TempDir); err != nil || len(left) > 0 {
				rt.Fatalf("left behind: %v, %v", left, err)
			}
			return out
		}
		inMemory := keep(1 << 20)
		if diff := cmp.Diff(inMemory, keep(rapid.IntRange(1, 30).Draw(rt, "events")),
			cmp.AllowUnexported(history.Event{})); diff != "" {
			rt.Fatalf("on disk (-memory +disk):\n%s", diff)
		}
		for i := 1; i < len(inMemory); i++ {
			if inMemory[i].Time.Before(inMemory[i-1].Time) {
				rt.Fatalf("%v follows %v", inMemory[i].Time, inMemory[i-1].Time)
			}
		}
	})
}

// TestOtherSites reads real logs of other sites, each recognized by its content. Their README gives the numbers of
// jobs, and says that there are no bad lines. Two of the files have tasks or jobs several times, which count once: of
// the 23 elements in sacct-arrays, 1, 9, 10, 11 and 20 are there twice, and sge-accounting has one job twice.
func TestOtherSites(t *testing.T) {
	for path, want := range map[string]struct {
		format string
		ends   int
	}{
		"site-a.sacct": {"slurm-sacct", 4285}, "sacct-arrays": {"slurm-sacct", 23 - 5},
		"sacct-utf8": {"slurm-sacct", 1},
		"lsb.acct":   {"lsf-acct", 2}, "lsb.acct.utf8": {"lsf-acct", 1}, "pbs-accounting": {"pbs", 9},
		"sge-accounting": {"sge-accounting", 2 - 1}, "uge-accounting": {"sge-accounting", 2},
		"slurmrestd/24.05_0.0.41/slurmdb-job-completed.json":      {"slurm-sacct-json", 1},
		"slurmrestd/25.11_0.0.44/slurmdb-job-gpus-completed.json": {"slurm-sacct-json", 1},
	} {
		h, events, bad := files(nil).read(t, func(c *history.Config) { c.Open = nil }, refdata.Shared(t, "logs/"+path))
		ends := 0
		for _, ev := range events {
			if strings.Contains(ev, job.End.String()) || strings.Contains(ev, job.Cancel.String()) {
				ends++
			}
		}
		if h.Files[0].Format != want.format || ends != want.ends || len(bad) > 0 {
			t.Errorf("%s: %s with %d ends, refused %v; want %s with %d", path, h.Files[0].Format, ends, bad,
				want.format, want.ends)
		}
	}
}

// FuzzRead proves that no file of any recognized format breaks the reader, and that the result is in order.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		queued1 + started1 + ended1, ended1 + ended2[:90], "; a\n1 0 0 5 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n",
		`{"jobs":[{"job_id":7,"state":{"current":["COMPLETED"]},"time":{"submission":1,"start":2,"end":3}}]}`,
		"JobID|JobName|State|Start|End|NCPUS|Submit\n7|x|COMPLETED|1795165260|1795165500|4|1795165200\n",
	} {
		f.Add([]byte(text))
		f.Add(zipped(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all := files{"a": text}
		h, err := history.Read(t.Context(), []string{"a", "a"}, history.Config{Formats: history.Formats(time.Now),
			Now: time.Now(), Open: all.open, MemoryEvents: 3, TempDir: t.TempDir()})
		if err != nil {
			return
		}
		var newest time.Time
		err = h.Each(func(ev *history.Event) error {
			if ev.Time.Before(newest) {
				t.Fatalf("%v after %v", ev.Time, newest)
			}
			newest = ev.Time
			return nil
		})
		if err := errors.Join(err, h.Close()); err != nil {
			t.Fatal(err)
		}
	})
}
