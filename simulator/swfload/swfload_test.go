package swfload_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/swfload"
	"github.com/waitcast/waitcast/swf"
)

// awkward is a log with one good job, followed by a job for each defect that the rules of reading treat. The columns
// that vary are number, submission, runtime, allocated and requested processors, limit and status.
const awkward = `; MaxProcs: 8
; Queue: 3 normal
1  10 -1  100  4 -1 -1  4  200 -1  1 7 -1 -1 3 -1 -1 -1
2  20 -1  100 16 -1 -1 16  200 -1  1 7 -1 -1 3 -1 -1 -1
3  30 -1    0  4 -1 -1  4  200 -1  1 7 -1 -1 3 -1 -1 -1
4  40 -1   -1  4 -1 -1  4  200 -1  5 7 -1 -1 3 -1 -1 -1
5  50 -1  100  4 -1 -1  4   -1 -1  1 7 -1 -1 3 -1 -1 -1
6  60 -1  100  4 -1 -1  4   60 -1  1 7 -1 -1 3 -1 -1 -1
7  55 -1  100 -1 -1 -1  2  200 -1  1 7 -1 -1 3 -1 -1 -1
7  70 -1  100 -1 -1 -1 -1  200 -1  1 7 -1 -1 3 -1 -1 -1
6  -5 -1  100  4 -1 -1  4  200 -1  1 7 -1 -1 3 -1 -1 -1
`

func read(t *testing.T, text string, o swfload.Options) *swfload.Trace {
	t.Helper()
	trace, err := swfload.Read(swf.NewReader(strings.NewReader(text)), o)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// row holds the fields on which the rules depend.
type row struct {
	ID                       int64
	Submit                   float64
	Procs                    int
	Runtime, Estimate, Limit float64
}

func rows(trace *swfload.Trace) (out []row) {
	for _, j := range trace.Jobs {
		out = append(out, row{j.ID, j.Submit, j.Procs, j.Runtime, j.Estimate, j.Limit})
	}
	return out
}

func one(ids ...int64) swfload.Tally { return swfload.Tally{N: len(ids), First: ids} }

func TestPlainRules(t *testing.T) {
	trace := read(t, awkward, swfload.Options{Queue: true, Keep: true})
	want := []row{
		{6, 0, 4, 100, 200, 200}, {1, 10, 4, 100, 200, 200}, {3, 30, 4, 0, 200, 200}, {5, 50, 4, 100, 100, 0},
		{7, 55, 2, 100, 200, 200}, {6, 60, 4, 100, 100, 60},
	}
	if d := cmp.Diff(want, rows(trace)); d != "" {
		t.Errorf("jobs (-want +got):\n%s", d)
	}
	report := swfload.Report{
		Records: 9, TooLarge: one(2), NeverRan: one(4), NoProcs: one(7), NoEstimate: one(5), Raised: one(6),
		Early: one(6), Unordered: one(7, 6), Duplicates: one(6),
	}
	if d := cmp.Diff(report, trace.Report); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
	for i, j := range trace.Jobs {
		if trace.Records[i].ID != j.ID || trace.Records[i].User != j.User || j.Queue != "normal" {
			t.Errorf("job %d of queue %q has record %d", j.ID, j.Queue, trace.Records[i].ID)
		}
	}
	if clamped := read(t, awkward, swfload.Options{Clamp: true}); clamped.Jobs[2].Procs != 8 ||
		clamped.Report.TooLarge.N != 1 {
		t.Errorf("clamped: %+v, %+v", clamped.Jobs[2], clamped.Report.TooLarge)
	}
	if larger := read(t, awkward, swfload.Options{Procs: 16}); larger.Procs != 16 || larger.Report.TooLarge.N != 0 {
		t.Errorf("on 16: %+v", larger.Report)
	}
}

// TestPyssRules proves that records become jobs by the rules of pyss, which reference/README.md describes.
func TestPyssRules(t *testing.T) {
	trace := read(t, awkward, swfload.Options{Rules: swfload.Pyss})
	want := []row{
		{6, 1, 4, 1, 1, 200}, {1, 10, 4, 100, 200, 200}, {2, 20, 8, 100, 200, 200}, {3, 30, 4, 1, 1, 200},
		{4, 40, 4, 1, 1, 200}, {5, 50, 4, 1, 100, 0}, {7, 55, 1, 1, 1, 200}, {6, 60, 4, 60, 100, 60},
		{7, 70, 1, 1, 1, 200},
	}
	if d := cmp.Diff(want, rows(trace)); d != "" {
		t.Errorf("jobs (-want +got):\n%s", d)
	}
	if d := cmp.Diff(one(7, 6), trace.Report.Duplicates); d != "" {
		t.Errorf("duplicates (-want +got):\n%s", d)
	}
}

func TestATraceWithoutJobs(t *testing.T) {
	trace := read(t, "; MaxProcs: 8\n", swfload.Options{})
	s, err := simulator.New(simulator.Config{Procs: trace.Procs, Arrivals: trace.Source()})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Next(1e9); ok || err != nil {
		t.Errorf("an event: %v", err)
	}
	if _, err := swfload.Read(swf.NewReader(strings.NewReader("")), swfload.Options{}); !errors.Is(err,
		swfload.ErrEmpty) {
		t.Errorf("a file without jobs and size: error %v", err)
	}
	if _, err := swfload.Read(swf.NewReader(strings.NewReader("1 0 -1 10 4 -1 -1 4 -1 -1 1 1 1 -1 1 -1 -1 -1\n")),
		swfload.Options{}); !errors.Is(err, swfload.ErrNoProcs) {
		t.Errorf("a machine without a size: error %v", err)
	}
	if _, err := swfload.Read(swf.NewReader(strings.NewReader("; MaxProcs: 8\n1 2 x\n")),
		swfload.Options{}); err == nil {
		t.Error("a bad line was passed over")
	}
	if _, err := swfload.Open("no such file", swfload.Options{}); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestEveryTraceIsRead proves that the real logs give as many jobs as they have records, less those left out.
func TestEveryTraceIsRead(t *testing.T) {
	for _, name := range []string{
		"KTH-SP2-1996-2.1-cln", "CTC-SP2-1996-3.1-cln", "SDSC-SP2-1998-4.2-cln", "LANL-CM5-1994-4.1-cln",
	} {
		path := refdata.Shared(t, "traces/"+name+".swf.gz")
		for _, rules := range []swfload.Rules{swfload.Plain, swfload.Pyss} {
			trace, err := swfload.Open(path, swfload.Options{Rules: rules})
			if err != nil {
				t.Fatal(err)
			}
			r := trace.Report
			least := r.Records
			if rules == swfload.Plain {
				least -= r.NeverRan.N + r.NoProcs.N + r.TooLarge.N
			}
			if n := len(trace.Jobs); n < least || n > r.Records || n == 0 {
				t.Errorf("%s: %d jobs of %d records: %+v", name, n, r.Records, r)
			}
		}
	}
}
