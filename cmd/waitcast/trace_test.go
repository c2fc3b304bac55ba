package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/cmd/waitcast/offline"
	"github.com/waitcast/waitcast/swf"
)

// runOn runs the command with a text on standard input.
func runOn(stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	a := &app{Console: console.Console{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr},
		zone: time.UTC, env: func(string) string { return "" }}
	code := a.run(args)
	return result{code, stdout.String(), stderr.String()}
}

// succeed runs the command, which must succeed, and returns its output.
func succeed(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	r := runOn(stdin, args...)
	if r.code != exitDone {
		t.Fatalf("%q: code %d, %s", args, r.code, r.stderr)
	}
	return r
}

// read parses a workload that the command wrote.
func read(t *testing.T, text string) (*swf.Header, []swf.Record) {
	t.Helper()
	r := swf.NewReader(strings.NewReader(text))
	var out []swf.Record
	for {
		var rec swf.Record
		if err := r.Next(&rec); errors.Is(err, io.EOF) {
			return r.Header(), out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec)
	}
}

// readLog reads the records of a log.
func readLog(t *testing.T, path string) (out []swf.Record) {
	t.Helper()
	file, err := swf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for {
		var rec swf.Record
		if err := file.Next(&rec); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec)
	}
}

// inhabited returns a workload of 20 weeks, drawn with a fixed seed: 12 users who each submit a job about every 9
// hours, and 40 users who each are active for one week.
func inhabited(t *testing.T) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	w := swf.NewWriter(&text)
	h := &swf.Header{UnixStartTime: offline.FirstMonday, MaxProcs: 64, Queues: map[int64]string{1: "short", 2: "long"},
		Lines: []string{"; Computer: test", "; MaxJobs: 7"}}
	if err := w.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	id := int64(0)
	job := func(user, at int64) {
		id++
		runtime := 10 + rng.Int64N(5000)
		rec := swf.Record{
			ID: id, Submit: at, Wait: rng.Int64N(100), Runtime: runtime, Allocated: 1 + rng.Int64N(16), CPUTime: -1,
			Memory: -1, RequestedMem: -1,
			TimeLimit: 2 * runtime, Status: 1, User: user, Group: 3, Executable: 4, Queue: 1 + id%2, Partition: 1,
			Preceding: -1, ThinkTime: -1,
		}
		rec.RequestedProcs = rec.Allocated
		if err := w.Write(&rec); err != nil {
			t.Fatal(err)
		}
	}
	for at := int64(0); at < 20*offline.WeekSeconds; at += 1 + rng.Int64N(2*9*3600/12) {
		job(rng.Int64N(12), at)
		if rng.Int64N(3) == 0 {
			job(100+40*at/(20*offline.WeekSeconds), at)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// save writes a file of a test and returns its path.
func save(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// zipped compresses a text.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestTraceCommandErrors proves that wrong usage ends with code 2, and a file that cannot be used with code 1. Both
// messages have the problem and the place.
func TestTraceCommandErrors(t *testing.T) {
	trace := save(t, "t.swf", inhabited(t))
	const one = "1 0 -1 10 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
	single := save(t, "one.swf", one)
	bad := save(t, "bad.swf", "; MaxProcs: 4\nx\n1 2\n")
	never := save(t, "never.swf", "1 0 -1 -1 1 -1 -1 1 -1 -1 5 -1 -1 -1 -1 -1 -1 -1\n")
	brokenJSON := save(t, "p.json", "{\n\"lublin\": 5x}")
	emptyJSON := save(t, "q.json", "{}")
	nonsense := save(t, "r.json", `{"size":{"serial":2},"runtime":{},"arrival":{}}`)
	absent := filepath.Join(t.TempDir(), "absent.swf")
	cut := save(t, "cut.swf.gz", zipped(t, inhabited(t))[:3000])
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"fit", absent}, exitFailed, absent + ": no such file"},
		{[]string{"fit", t.TempDir()}, exitFailed, "is a folder"},
		{[]string{"fit", bad}, exitFailed, bad + ":2: field 1"},
		{[]string{"fit", bad}, exitFailed, bad + ": no jobs, 2 bad lines"},
		{[]string{"fit", cut}, exitFailed, "unexpected EOF"},
		{[]string{"fit", never}, exitFailed, "left out: 1 never ran"},
		{[]string{"fit", trace, "--status", "5"}, exitFailed, "with another status"},
		{[]string{"fit", single, "--model", "lublin"}, exitFailed, "at least 50 needed"},
		{[]string{"fit", trace, "--model", "x"}, exitUsage, "allowed: lublin, markov, uniformlog, lifetime, all"},
		{[]string{"fit"}, exitUsage, "an argument is missing"},
		{[]string{"generate"}, exitUsage, "give one of --set, --params and --from"},
		{[]string{"generate", "--set", "paper", "--from", trace}, exitUsage, "give one of"},
		{[]string{"generate", "--set", "x"}, exitUsage, "allowed: paper"},
		{[]string{"generate", "--model", "x", "--set", "paper"}, exitUsage, "allowed: lublin"},
		{[]string{"generate", "--model", "markov", "--set", "paper"}, exitUsage, "give --from"},
		{[]string{"generate", "--set", "paper", "--jobs", "0"}, exitUsage, "at least 1"},
		{[]string{"generate", "--set", "paper", "--procs", "-1"}, exitUsage, "--procs is -1"},
		{[]string{"generate", "--set", "paper", "--clean"}, exitUsage, "go with --from"},
		{[]string{"generate", "--set", "paper", "--json"}, exitUsage, "not JSON"},
		{[]string{"generate", "--from", trace, "--arrivals", "recorded"}, exitUsage, "goes with the models"},
		{[]string{"generate", "--params", absent}, exitFailed, "no such file"},
		{[]string{"generate", "--params", brokenJSON}, exitFailed, brokenJSON + ": line 2: invalid character"},
		{[]string{"generate", "--params", emptyJSON}, exitFailed, "no member lublin.params"},
		{[]string{"generate", "--params", nonsense}, exitFailed, "must lie in [0, 1]"},
		{[]string{"generate", "--from", single, "--model", "markov"}, exitFailed, "--arrivals recorded"},
		{[]string{"compare", trace}, exitUsage, "do not fit; write waitcast compare ORIGINAL"},
		{[]string{"compare", "-", "-"}, exitUsage, "only one"},
		{[]string{"compare", trace, never}, exitFailed, "left out: 1 never ran"},
		{[]string{"shake", trace, "--attribute", "x"}, exitUsage, "--attribute"},
		{[]string{"shake", trace, "--level", "x"}, exitUsage, "want job, session or user"},
		{[]string{"shake", trace, "--degree", "soon"}, exitUsage, "--degree"},
		{[]string{"shake", trace, "--attribute", "size", "--degree", "60s"}, exitUsage, "number of processors"},
		{[]string{"shake", trace, "--fraction", "0"}, exitUsage, "--fraction is 0"},
		{[]string{"shake", trace, "--relative", "-1"}, exitUsage, "--relative is -1"},
		{[]string{"shake", absent}, exitFailed, "no such file"},
		{[]string{"resample", single}, exitFailed, "field 12 (user)"},
		{[]string{"resample", trace, "--load", "0"}, exitUsage, "--load is 0"},
		{[]string{"resample", trace, "--length", "0"}, exitUsage, "--length"},
		{[]string{"resample", trace, "--rare", "-1"}, exitUsage, "--rare is -1"},
		{[]string{"resample", trace, "--rare", "1"}, exitFailed, "no flurry was found"},
		{[]string{"resample", trace, "--json"}, exitUsage, "not JSON"},
	} {
		r := runOn("", c.args...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("%q: code %d, want %d; %d bytes of output; want %q in\n%s", c.args, r.code, c.code, len(r.stdout),
				c.want, r.stderr)
		}
	}
}

// TestTraceIsReadFromAnywhere proves that the result is the same for a workload in a file, in a compressed file and on
// standard input. The command reports bad lines with their places and uses the others.
func TestTraceIsReadFromAnywhere(t *testing.T) {
	text := inhabited(t)
	// shaken leaves out the line that names the file.
	shaken := func(r result) string { _, rest, _ := strings.Cut(r.stdout, "\n"); return rest }
	want := shaken(succeed(t, "", "shake", save(t, "t.swf", text), "--seed", "1"))
	for name, r := range map[string]result{
		"gzip":             succeed(t, "", "shake", save(t, "t", zipped(t, text)), "--seed", "1"),
		"standard input":   succeed(t, text, "shake", "-", "--seed", "1"),
		"gzip on the same": succeed(t, zipped(t, text), "shake", "-", "--seed", "1"),
	} {
		if shaken(r) != want || r.stderr != "" {
			t.Errorf("%s: another workload; %s", name, r.stderr)
		}
	}
	lines := strings.SplitAfter(text, "\n")
	lines[9] += "junk\n"
	r := succeed(t, strings.Join(lines, ""), "shake", "-", "--seed", "1")
	if shaken(r) != want || !strings.Contains(r.stderr, "standard input:11: field 1") {
		t.Errorf("with a bad line: %s", r.stderr)
	}
}

// TestTraceImpossibleNumbers proves that jobs with impossible numbers, such as a submission in 292 billion years, are
// left out and counted, and that no command loops over all weeks until then.
func TestTraceImpossibleNumbers(t *testing.T) {
	text := inhabited(t) +
		"900001 9223372036854775806 1 9223372036854775806 9223372036854775807 -1 -1 1 100 -1 1 1 3 4 1 1 -1 -1\n" +
		"900002 -9223372036854775806 1 1 1 -1 -1 1 100 -1 1 1 3 4 1 1 -1 -1\n"
	for _, args := range [][]string{
		{"resample", "-", "--seed", "1"}, {"generate", "--from", "-", "--seed", "1", "--jobs", "10", "--clean"},
		{"fit", "-", "--seed", "1"}, {"compare", save(t, "a.swf", text), "-"},
	} {
		r := succeed(t, text, args...)
		if all := r.stdout + r.stderr; !strings.Contains(all, "1 with impossible numbers") ||
			strings.Contains(all, "NaN") {
			t.Errorf("%q: %s", args, r.stderr)
		}
	}
}

// TestTraceSeedIsTold proves that without --seed the command prints the random seed that it has drawn, and that this
// seed gives the same bytes again.
func TestTraceSeedIsTold(t *testing.T) {
	text := inhabited(t)
	for _, args := range [][]string{
		{"generate", "--set", "lublin99-mixed", "--jobs", "500"}, {"generate", "--from", "-", "--jobs", "500"},
		{"generate", "--model", "markov", "--from", "-", "--jobs", "500"},
		{"generate", "--model", "uniformlog", "--from", "-", "--jobs", "500"},
		{"shake", "-"}, {"resample", "-"}, {"fit", "-", "--json"},
	} {
		first := succeed(t, text, args...)
		_, rest, ok := strings.Cut(first.stderr, "--seed ")
		if !ok {
			t.Errorf("%q: no seed in %q", args, first.stderr)
			continue
		}
		told := strings.Fields(rest)[0]
		again := succeed(t, text, append(args, "--seed", told)...)
		if again.stdout != first.stdout || !strings.Contains(first.stdout, told) {
			t.Errorf("%q: other bytes with --seed %s, or the seed is not in them", args, told)
		}
		if other := succeed(t, text, append(args, "--seed", "7")...); other.stdout == first.stdout {
			t.Errorf("%q: seed 7 makes no difference", args)
		}
	}
}
