// Package eventtest makes job events for tests: single events, the log of a simulated machine, and logs with the faults
// of real ones. All events are live and belong to the cluster "c".
package eventtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/simulator"
)

// At returns the instant that is the given number of seconds after the beginning of the tests' time, 2001-09-09
// 01:46:40 UTC. The beginning is 100 s after a multiple of 15 minutes.
func At(seconds float64) time.Time {
	return time.Unix(1_000_000_000, 0).UTC().Add(time.Duration(seconds * float64(time.Second)))
}

// New returns an event without attributes. Its time is At(second).
func New(kind job.Kind, id string, second float64) job.Event {
	return job.Event{Kind: kind, Cluster: "c", ID: id, Time: At(second), Live: true}
}

// Sized returns the event ev with the given number of processors.
func Sized(ev job.Event, procs int) job.Event {
	ev.Procs = procs
	return ev
}

// Workload returns the log of the given number of jobs on a busy machine of 128 processors under strict first come,
// first served. Lifetimes are log-uniform from 1 s to 20 h, sizes are powers of two up to 64, and queues are "a" and
// "b".
func Workload(t testing.TB, jobs int, seed uint64) []job.Event {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	clock, n := 0.0, 0
	sim, err := simulator.New(simulator.Config{Procs: 128, Arrivals: func() (simulator.Job, bool) {
		if n++; n > jobs {
			return simulator.Job{}, false
		}
		if rng.IntN(5) > 0 { // one job in five is submitted at the same time as the job before it
			clock += math.Floor(rng.ExpFloat64() * 1600)
		}
		runtime := math.Floor(math.Exp(rng.Float64() * math.Log(72000)))
		return simulator.Job{
			ID: int64(n), Submit: clock, Procs: 1 << rng.IntN(7), Runtime: runtime,
			Queue: string(rune('a' + rng.IntN(2))), Estimate: runtime*(1+2*rng.Float64()) + 60,
		}, true
	}})
	if err != nil {
		t.Fatal(err)
	}
	var out []job.Event
	err = sim.Advance(math.Inf(1), func(e simulator.Event) {
		ev := New([]job.Kind{0, job.Submit, job.Start, job.End}[e.Kind], fmt.Sprint(e.Job.ID), e.Time)
		ev.Attributes = job.Attributes{
			Queue: e.Job.Queue, Procs: e.Job.Procs, TimeLimit: time.Duration(e.Job.Estimate) * time.Second,
		}
		ev.Times.Submit = At(e.Job.Submit)
		if e.Kind != simulator.Submitted {
			ev.Times.Start = At(e.Job.Start)
		}
		out = append(out, ev)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Mangle returns the events as a bad log would have them: some are lost, some are duplicated, and some lack their size.
// It also adds cancellations, requeues, holds, releases and moves to another queue.
func Mangle(events []job.Event, seed uint64) []job.Event {
	rng := rand.New(rand.NewPCG(seed, 11))
	var out []job.Event
	for _, ev := range events {
		again := ev
		again.Times = job.Times{}
		switch rng.IntN(30) {
		case 0: // lost
			continue
		case 1:
			out = append(out, ev)
		case 2:
			if ev.Kind == job.Submit {
				ev.Procs = 0
			}
		case 3:
			if ev.Kind == job.Start {
				again.Kind = job.Requeue
				out = append(out, ev, again)
				ev.Times.Start = ev.Time
			}
		case 4, 5:
			again.Kind = []job.Kind{job.Cancel, job.Update, job.Hold, job.Release}[rng.IntN(4)]
			if again.Kind == job.Update {
				again.Queue, again.Time = "moved", ev.Time.Add(time.Second/2)
			}
			out = append(out, ev)
			ev = again
		}
		out = append(out, ev)
	}
	return out
}
