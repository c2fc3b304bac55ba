package swflog_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/formattest"
	"github.com/waitcast/waitcast/collector/swflog"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// unix is 2024-07-03 12:00:00 UTC, which is submit time 0 by the suite's header.
const unix = 1720008000

func at(seconds int64) time.Time { return time.Unix(unix+seconds, 0).UTC() }

func good(name, line string, want ...job.Event) formattest.Case {
	return formattest.Case{Name: name, Line: line, Want: want}
}

func bad(name, line, reason, field string) formattest.BadCase {
	return formattest.BadCase{Name: name, Line: line, Reason: reason, Field: field}
}

func event(kind job.Kind, id string, when time.Time, a job.Attributes, t job.Times) job.Event {
	return job.Event{Kind: kind, Cluster: "alpha", ID: id, Time: when, Attributes: a, Times: t}
}

func suite() formattest.Suite {
	a := job.Attributes{Queue: "batch", User: "u12", Procs: 8, TimeLimit: 10 * time.Minute}
	submit := job.Times{Submit: at(5)}
	times := job.Times{Submit: at(5), Start: at(15), End: at(115)}
	ran := []job.Event{
		event(job.Submit, "1", at(5), a, submit), event(job.Start, "1", at(15), a, times),
		event(job.End, "1", at(115), a, times),
	}
	cancelled := []job.Event{event(job.Submit, "1", at(5), a, submit), event(job.Cancel, "1", at(15), a, submit)}
	noWait := []job.Event{
		event(job.Submit, "1", at(5), a, submit),
		event(job.Start, "1", at(5), a, job.Times{Submit: at(5), Start: at(5), End: at(105)}),
		event(job.End, "1", at(105), a, job.Times{Submit: at(5), Start: at(5), End: at(105)}),
	}
	a.TimeLimit, a.User, a.Queue = 0, "", "fat"
	sparse := []job.Event{event(job.Submit, "1", at(5), a, submit), event(job.Cancel, "1", at(5), a, submit)}
	return formattest.Suite{
		Format:  swflog.Format(),
		Options: collector.Options{Cluster: "alpha", MaxProcs: 100},
		Header: []string{"; Version: 2.2", "; UnixStartTime: 1720008000", ";", "", "; Queue: 3 batch",
			"; Partition: 4 fat", "; Note: no more"},
		Good: []formattest.Case{
			good("ran", "1 5 10 100 8 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1", ran...),
			good("ran, in columns, with fractions",
				"   1\t5   10  100.0   8  33.25 -1    8  600   -1  0  12  1  1 3  1 -1 -1", ran...),
			good("ran on fewer than it asked for: those it got",
				"1 5 10 100 8 -1 -1 16 600 -1 1 12 -1 -1 3 -1 -1 -1", ran...),
			good("ran, wait unknown", "1 5 -1 100 -1 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1", noWait...),
			good("cancelled before its start", "1 5 10 -1 -1 -1 -1 8 600 -1 5 12 -1 -1 3 -1 -1 -1", cancelled...),
			good("cancelled, nothing known", "1 5 -1 -1 -1 -1 -1 8 -1 -1 5 -1 -1 -1 -1 4 -1 -1", sparse...),
			good("more columns than the format has",
				"1 5 10 100 8 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1 7 n[1-4]", ran...),
			good("a burst of a job", "1 -1 10 100 8 -1 -1 8 600 -1 2 12 -1 -1 3 -1 -1 -1"),
			good("the last burst of a job", "1 -1 10 100 8 -1 -1 8 600 -1 3 12 -1 -1 3 -1 -1 -1"),
			good("a comment", "; Note: another one"),
		},
		Worst: []string{
			strings.Repeat("1 ", 1<<19), strings.Repeat("9", 1<<20), "; Queue: 4 " + strings.Repeat("x", 1<<20),
			"; " + strings.Repeat("Queue: 5 y ", 1<<16),
		},
		Bad: []formattest.BadCase{
			bad("words", "hello, world", collector.ReasonFormat, ""),
			bad("a record of three fields", "1 5 10", collector.ReasonField, "field 4"),
			bad("a word for a number", "1 5 10 long 8 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1",
				collector.ReasonField, "field 4"),
			bad("no job number", "-1 5 10 100 8 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1", collector.ReasonField,
				"job number"),
			bad("no size", "1 5 10 100 -1 -1 -1 -1 600 -1 1 12 -1 -1 3 -1 -1 -1", collector.ReasonProcs, "size"),
			bad("size 0", "1 5 10 100 0 -1 -1 0 600 -1 1 12 -1 -1 3 -1 -1 -1", collector.ReasonProcs, "size"),
			bad("more than the machine has", "1 5 10 100 101 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1",
				collector.ReasonProcs, "size"),
			bad("no submit time", "1 -1 10 100 8 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1", collector.ReasonTime,
				"submit time"),
			bad("after the year 9999", "1 5 10 253402300799 8 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1",
				collector.ReasonTime, ""),
			bad("sums that overflow",
				"1 5 9223372036854775807 9223372036854775807 8 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1",
				collector.ReasonTime, ""),
			bad("a header of no use", "; MaxProcs: lots", collector.ReasonField, "header MaxProcs"),
		},
	}
}

func TestConformance(t *testing.T) { formattest.Run(t, suite()) }

func FuzzParse(f *testing.F) { formattest.Fuzz(f, suite()) }

// TestExtraColumns proves that columns after the 18th cause one notice, and that a job may have number 0.
func TestExtraColumns(t *testing.T) {
	var notices []string
	notice := func(e *collector.LineError) { notices = append(notices, e.Error()) }
	p := swflog.Format().New(collector.Options{Notice: notice})
	var ids []string
	for _, line := range []string{
		"0 5 10 100 8 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1", "1 5 10 100 8 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1 7 8",
		"2 5 10 100 8 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1 9",
	} {
		err := p.Parse([]byte(line), func(ev job.Event) {
			if ev.Kind == job.Submit {
				ids = append(ids, ev.ID)
			}
		})
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if !slices.Equal(ids, []string{"0", "1", "2"}) || len(notices) != 1 || !strings.Contains(notices[0], `"7 8"`) {
		t.Errorf("jobs %q, notices %q; want three jobs and a notice of the first line only", ids, notices)
	}
}

// TestOddFiles reads files as other programs write them: with a byte order mark, headers that are not as in the
// definition, fewer or more columns, and other text in fields. Every job whose number, times and size can be read is
// kept. The texts are number, submit, start, end and processors; a job without an end never ran.
func TestOddFiles(t *testing.T) {
	for file, c := range map[string]struct {
		want []string
		bad  []string
	}{
		"bom":        {want: []string{"1 1735689600 1735689610 1735689710 4"}},
		"bom-crlf":   {want: []string{"1 0 10 110 4", "2 3 13 113 4"}},
		"iso-header": {want: []string{"0 0 10 110 4"}, bad: []string{"header UnixStartTime"}},
		"misc": {want: []string{
			"1 1735689600 1735689610 1735689710 4", "2 1735689605 1735689605 1735689705 4",
			"3 1735689606 1735689616 -1 4", "4 1735689607 1735689617 1735689617 4",
			"6 1735689609 1735689619 1735689719 16", "7 1735689610 1735689620 1735689720 8",
			"8 1735689611 1735689621 1735689721 8", "9 1735689612 1735689622 1735689723 8",
			"10 1735689613 1735689613 1735689713 8", "11 1735689614 1735689624 -1 8",
			"12 1735689603 1735689613 1735689713 8", "12 1735689615 1735689625 1735689725 8",
			"13 1735689616 1735689626 1735689726 8", "14 1735689617 1735689627 1735689727 8",
			"16 1735689619 1735689629 1735689729 8", "17 1735689620 1735689630 1735689730 500",
		}, bad: []string{"size", "field 3"}},
		"misc2": {want: []string{
			"1 100 110 210 4", "2 105 115 215 2", "3 110 120 220 4", "4 115 125 225 6", "5 120 130 230 4",
		}},
	} {
		text, err := os.ReadFile("testdata/odd/" + file + ".swf")
		if err != nil {
			t.Fatal(err)
		}
		var got, bad []string
		p := swflog.Format().New(collector.Options{}).(collector.WholeParser)
		for line := range bytes.Lines(text) {
			w, ok, err := p.ParseWhole(line)
			var refused *collector.LineError
			if errors.As(err, &refused) {
				bad = append(bad, refused.Field)
			}
			if !ok {
				continue
			}
			if !w.Ran {
				w.End = -1
			}
			id, _, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
			got = append(got, fmt.Sprint(id, " ", w.Submit, w.Start, w.End, w.Procs))
		}
		if !slices.Equal(got, c.want) || !slices.Equal(bad, c.bad) {
			t.Errorf("%s: got %q, bad %q; want %q, bad %q", file, got, bad, c.want, c.bad)
		}
	}
}

// TestGolden parses a whole hand-written file with its header.
func TestGolden(t *testing.T) {
	s := suite()
	s.Options.MaxProcs = 64
	formattest.Golden(t, s, "testdata/small.swf", "testdata/small.json")
}

// TestNoHeader proves that without a start in the header, submit time 0 is the beginning of 1970.
func TestNoHeader(t *testing.T) {
	p := swflog.Format().New(collector.Options{})
	var first time.Time
	err := p.Parse([]byte("1 5 10 100 8 -1 -1 8 600 -1 1 12 -1 -1 3 -1 -1 -1"), func(ev job.Event) {
		if ev.Kind == job.Submit {
			first = ev.Time
		}
	})
	if err != nil || first.Unix() != 5 {
		t.Errorf("got submit at %v, %v; want 1970-01-01T00:00:05Z", first, err)
	}
}

// trace returns the lines of a decompressed trace of the Parallel Workloads Archive.
func trace(tb testing.TB, name string) [][]byte {
	tb.Helper()
	file, err := os.Open(refdata.Shared(tb, "traces/"+name))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		tb.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// TestTraces proves on real traces that only lines without a size are refused, that submissions come in order, and that
// each job has exactly one life. The numbers of jobs, and of those that never ran, are those of traces/README.md. The
// number without a size (fields 5 and 8 both below 1) was counted with awk.
func TestTraces(t *testing.T) {
	for _, c := range []struct {
		file                 string
		jobs, never, unsized int
	}{
		{"KTH-SP2-1996-2.1-cln.swf.gz", 28476, 0, 1},
		{"CTC-SP2-1996-3.1-cln.swf.gz", 77222, 0, 0},
		{"SDSC-SP2-1998-4.2-cln.swf.gz", 59715, 5681, 0},
		{"SDSC-Par-1996-3.1-cln.swf.gz", 32135, 0, 0},
		{"LANL-CM5-1994-4.1-cln.swf.gz", 122060, 0, 3},
		{"DOST-ASTI_COARE-Saliksik-2020-cln.swf.gz", 19760, 0, 0},
		{"NASA-iPSC-1993-3.1-cln.swf.gz", 18239, 0, 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			count := make(map[job.Kind]int)
			reasons := make(map[string]int)
			var last time.Time
			p := swflog.Format().New(collector.Options{Cluster: "c"})
			for _, line := range trace(t, c.file) {
				err := p.Parse(line, func(ev job.Event) {
					count[ev.Kind]++
					if ev.Kind != job.Submit {
						return
					}
					if ev.Time.Before(last) {
						t.Errorf("%s is submitted before the job above it", ev.ID)
					}
					last = ev.Time
				})
				if bad, ok := err.(*collector.LineError); ok { //nolint:errorlint // a Parser returns it unwrapped
					reasons[bad.Reason]++
				}
			}
			refused := reasons[collector.ReasonProcs]
			if refused != c.unsized || len(reasons) > 1 || count[job.Submit]+refused != c.jobs ||
				count[job.Cancel] != c.never {
				t.Errorf("got %v and refused %v; want %d jobs, %d never ran, %d refused for their size",
					count, reasons, c.jobs, c.never, c.unsized)
			}
			if count[job.Start] != count[job.End] || count[job.Start]+count[job.Cancel] != count[job.Submit] {
				t.Errorf("a job has not its one life: %v", count)
			}
		})
	}
}

// BenchmarkParse parses job lines of 18 fields, three events each.
func BenchmarkParse(b *testing.B) {
	var lines [][]byte
	for i := range 1000 {
		lines = append(lines, fmt.Appendf(nil, "%6d %8d %6d %6d %4d %6.2f -1 %4d %6d -1 1 %3d %3d -1 %d -1 -1 -1", i,
			i*300, i*7%5000, i*13%90000, i%128+1, float64(i), i%128+1, 3600, i%200, i%9, i%3))
	}
	p := swflog.Format().New(collector.Options{Cluster: "c"})
	events := 0
	emit := func(job.Event) { events++ }
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := p.Parse(lines[i%len(lines)], emit); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
