package backtest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/swf"
)

// records reads the first records of a trace.
func records(t *testing.T, path string, most int) (*swf.Header, []swf.Record) {
	t.Helper()
	f, err := swf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := f.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	var out []swf.Record
	var rec swf.Record
	for len(out) < most {
		err := f.Next(&rec)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			out = append(out, rec)
		}
	}
	return f.Header(), out
}

// cutAt returns the log as it was known when the last job at an instant was submitted: starts and ends at the instant
// or later are unknown.
func cutAt(all []swf.Record, at int64) []swf.Record {
	var out []swf.Record
	for _, r := range all {
		if r.Submit > at {
			continue
		}
		switch start := r.Submit + r.Wait; {
		case r.Wait < 0:
		case start >= at:
			r.Wait, r.Runtime = swf.Unknown, swf.Unknown
		case r.Runtime >= 0 && start+r.Runtime >= at:
			r.Runtime = swf.Unknown
		}
		out = append(out, r)
	}
	return out
}

// traceOf returns records as a trace.
func traceOf(t *testing.T, h *swf.Header, all []swf.Record) *Trace {
	t.Helper()
	var file bytes.Buffer
	w := swf.NewWriter(&file)
	if err := w.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if err := w.Write(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	trace, err := Read(swf.NewReader(&file), "log")
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// forecasts replays records and returns every forecast of each job, by the job's number. Trees are first trained after
// the given number of waits. The named groups of features are left out.
func forecasts(t *testing.T, h *swf.Header, all []swf.Record, first int, without []string) map[int64][]float64 {
	t.Helper()
	out := map[int64][]float64{}
	predict := func(j *Job, _ string, q []float64) error {
		out[j.Number] = append(out[j.Number], q...)
		return nil
	}
	growth := .3 // trees of every training use the features, whether it has few rows or many
	if os.Getenv("WAITCAST_LONG") != "" {
		growth = 0 // as in the daemon
	}
	options := Options{Engine: engine.Config{First: first, Growth: growth, Without: without}, Predict: predict}
	if _, err := Run(traceOf(t, h, all), options); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNoLeakage proves that nothing that happens at an instant or later changes a forecast made up to that instant. The
// instants are submissions of jobs that started at once: a forecast must not know its own job's start. The trees first
// use all features, and then each group alone, so that they must use a feature that knows too much.
func TestNoLeakage(t *testing.T) {
	jobs, cuts, traces := 1500, 2, []string{"SDSC-SP2-1998-4.2-cln"}
	if os.Getenv("WAITCAST_LONG") != "" {
		jobs, cuts, traces = 8000, 10, append(traces, "KTH-SP2-1996-2.1-cln", "SDSC-Par-1996-3.1-cln")
	}
	for _, name := range traces {
		t.Run(name, func(t *testing.T) {
			h, all := records(t, refdata.Shared(t, "traces/"+name+".swf.gz"), jobs)
			checkRulesInForce(t, h, all, name == "KTH-SP2-1996-2.1-cln")
			checkLeakage(t, h, all, 200, cuts, nil)
		})
	}
	groups, first, few := engine.FeatureGroups(), 120, 300
	if os.Getenv("WAITCAST_LONG") != "" {
		first, few = 200, 500
	}
	for _, group := range groups {
		t.Run(group, func(t *testing.T) {
			h, all := records(t, refdata.Shared(t, "traces/"+traces[0]+".swf.gz"), few)
			others := slices.DeleteFunc(slices.Clone(groups), func(g string) bool { return g == group })
			checkLeakage(t, h, all, first, 1, others)
		})
	}
}

// checkRulesInForce proves that a log is replayed with a fitted priority, and with gates that are sometimes shut if it
// has any. Otherwise their leaks would not be seen.
func checkRulesInForce(t *testing.T, h *swf.Header, all []swf.Record, gated bool) {
	t.Helper()
	e, err := engine.New(engine.Config{First: 1 << 40, Synchronous: true}) // trees do not matter here
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	last := 0.
	traceOf(t, h, all).Replay(e, func(int, engine.Forecast) {})
	for _, r := range all {
		last = max(last, float64(r.Submit))
	}
	fitted, gates := false, 0
	for _, r := range e.View(last).AllStartRules() {
		fitted = fitted || r.InUse
		if r.Gates.Summary != nil {
			for _, c := range r.Gates.Summary.Classes {
				if c.Gate {
					gates++
				}
			}
		}
	}
	if !fitted {
		t.Error("no pool is played by a fitted priority")
	}
	if gated && gates == 0 {
		t.Error("no class of limits has a gate")
	}
}

// checkLeakage cuts a log at some instants, and compares the forecasts up to each of them with those of the whole log.
func checkLeakage(t *testing.T, h *swf.Header, all []swf.Record, first, cuts int, without []string) {
	whole := forecasts(t, h, all, first, without)
	for k := range cuts {
		i := soonest(all, len(all)*(k+1)/(cuts+1), len(all)/(cuts+1)/2)
		part := forecasts(t, h, cutAt(all, all[i].Submit), first, without)
		if len(part) < i/2 {
			t.Fatalf("cut at job %d: %d jobs are forecast", all[i].ID, len(part))
		}
		for id, q := range part {
			if !equal(q, whole[id]) {
				t.Fatalf("cut at job %d: the forecast of job %d changes from %v to %v", all[i].ID, id, whole[id], q)
			}
		}
	}
}

// soonest looks at as many jobs as count says, beginning with the index from. Of those that ran, it returns the index
// of the job with the shortest wait.
func soonest(all []swf.Record, from, count int) int {
	best := from
	for i := from; i < from+count; i++ {
		if all[i].Runtime > 0 && all[i].Wait >= 0 && all[i].Wait < all[best].Wait {
			best = i
		}
	}
	return best
}

func equal(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
