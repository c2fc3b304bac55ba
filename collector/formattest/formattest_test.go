package formattest

import (
	"errors"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// TestLawsCatch proves that each law fails for an event that breaks only that law.
func TestLawsCatch(t *testing.T) {
	o := collector.Options{Cluster: "c", MaxProcs: 8}
	at := func(s int64) time.Time { return time.Unix(1720008000+s, 0).UTC() }
	good := job.Event{
		Kind: job.End, Cluster: "c", ID: "1", Time: at(2), Attributes: job.Attributes{Procs: 8},
		Times: job.Times{Submit: at(0), Start: at(1), End: at(2)},
	}
	if err := checkEvent(good, o); err != nil {
		t.Fatalf("a good event is refused: %v", err)
	}
	for name, spoil := range map[string]func(*job.Event){
		"no kind":         func(e *job.Event) { e.Kind = 0 },
		"unknown kind":    func(e *job.Event) { e.Kind = job.Machine + 1 },
		"another cluster": func(e *job.Event) { e.Cluster = "d" }, "no id": func(e *job.Event) { e.ID = "" },
		"no time": func(e *job.Event) { e.Time = time.Time{} }, "an attempt": func(e *job.Event) { e.Attempt = 1 },
		"live": func(e *job.Event) { e.Live = true }, "negative size": func(e *job.Event) { e.Procs = -1 },
		"negative nodes": func(e *job.Event) { e.Nodes = -1 }, "negative limit": func(e *job.Event) {
			e.TimeLimit = -1
		},
		"too large":           func(e *job.Event) { e.Procs = 9 },
		"start before submit": func(e *job.Event) { e.Times.Start = at(-1) },
		"end before start":    func(e *job.Event) { e.Times.End = at(0) },
		"end not at its time": func(e *job.Event) { e.Time = at(3) },
		"year 10000": func(e *job.Event) {
			e.Times.Eligible = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
		},
		"submit that knows an end": func(e *job.Event) { e.Kind, e.Time = job.Submit, at(0) },
		"submit without a submit":  func(e *job.Event) { e.Kind, e.Times = job.Submit, job.Times{} },
		"start after its end": func(e *job.Event) {
			e.Kind, e.Time = job.Start, e.Times.End.Add(time.Second)
			e.Times.Start = e.Time
		},
		"start without a start":    func(e *job.Event) { e.Kind, e.Times = job.Start, job.Times{Submit: at(0)} },
		"cancel that knows an end": func(e *job.Event) { e.Kind = job.Cancel },
	} {
		bad := good
		spoil(&bad)
		if checkEvent(bad, o) == nil {
			t.Errorf("%s: not caught", name)
		}
	}
}

// TestErrorLawCatches proves that the suite refuses an error that is not a LineError with a known reason and a cause.
func TestErrorLawCatches(t *testing.T) {
	if err := checkError(collector.Bad(collector.ReasonField, "f", "cause")); err != nil {
		t.Errorf("a good error is refused: %v", err)
	}
	for _, bad := range []error{
		errors.New("plain"),
		collector.Bad("strange", "f", "cause"),
		&collector.LineError{Reason: collector.ReasonField},
		(*collector.LineError)(nil),
	} {
		if checkError(bad) == nil {
			t.Errorf("%#v: not caught", bad)
		}
	}
}
