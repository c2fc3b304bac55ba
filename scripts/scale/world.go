package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/waitcast/waitcast/job"
)

// perNode is the number of processors of a node.
const perNode = 32

// clusterName is that of the cluster.
const clusterName = "scale"

// world makes the events of a cluster, with jobs of log-uniform runtimes in four queues, and as many processors each
// that the running ones fill the machine.
type world struct {
	p       point
	rng     *rand.Rand
	now     time.Time
	made    int
	running []job.Event // the starts
	queued  []job.Event // the submissions
}

func newWorld(p point) *world {
	return &world{p: p, rng: rand.New(rand.NewPCG(1, 2)), now: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)}
}

func (w *world) procs() int { return perNode * w.p.nodes }

// submit returns the submission of a new job.
func (w *world) submit() job.Event {
	mean := float64(w.procs()) / float64(w.p.running)
	runtime := 60 * math.Exp(w.rng.Float64()*math.Log(1440))
	ev := job.Event{Kind: job.Submit, Cluster: clusterName, ID: fmt.Sprint(w.made), Time: w.now, Live: true}
	ev.Times.Submit = w.now
	ev.Attributes = job.Attributes{
		Queue: []string{"batch", "short", "long", "wide"}[w.rng.IntN(4)], User: fmt.Sprint("u", w.rng.IntN(w.p.users)),
		Name: fmt.Sprint("run", w.rng.IntN(50)), Procs: max(1, int(mean*math.Exp2(2*w.rng.Float64()-1.2))),
		TimeLimit: time.Duration(math.Ceil(runtime*(1+3*w.rng.Float64())/600)) * 10 * time.Minute,
	}
	w.made++
	return ev
}

func (w *world) start(ev job.Event) job.Event {
	ev.Kind, ev.Time, ev.Times.Start = job.Start, w.now, w.now
	return ev
}

func (w *world) end(ev job.Event) job.Event {
	ev.Kind, ev.Time, ev.Times.End = job.End, w.now, w.now
	return ev
}

func (w *world) pass(seconds float64) {
	w.now = w.now.Add(time.Duration(seconds * float64(time.Second)))
}

// past returns the events of so many jobs that came and went, twenty at a time, half of which waited for a while.
func (w *world) past(jobs int) []job.Event {
	var out []job.Event
	var live, waits []job.Event
	for range jobs {
		w.pass(20 + 200*w.rng.Float64())
		waits = append(waits, w.submit())
		out = append(out, waits[len(waits)-1])
		if len(waits) > w.rng.IntN(10) {
			w.pass(1)
			live = append(live, w.start(waits[0]))
			waits = waits[1:]
			out = append(out, live[len(live)-1])
		}
		if len(live) > 20 {
			w.pass(1)
			i := w.rng.IntN(len(live))
			out = append(out, w.end(live[i]))
			live = append(live[:i:i], live[i+1:]...)
		}
	}
	for _, ev := range append(waits, live...) { // the machine is empty at the end
		w.pass(1)
		if ev.Kind == job.Submit {
			ev = w.start(ev)
			out = append(out, ev)
			w.pass(1)
		}
		out = append(out, w.end(ev))
	}
	return out
}

// fill returns the events by which the machine and the queue fill.
func (w *world) fill() []job.Event {
	var out []job.Event
	for range w.p.running {
		w.pass(.5)
		ev := w.submit()
		out = append(out, ev)
		w.pass(.5)
		ev = w.start(ev)
		w.running = append(w.running, ev)
		out = append(out, ev)
	}
	for range w.p.queued {
		w.pass(.5)
		w.queued = append(w.queued, w.submit())
		out = append(out, w.queued[len(w.queued)-1])
	}
	return out
}

// move returns three events: a job ends, one starts, one comes.
func (w *world) move() []job.Event {
	w.pass(1)
	i := w.rng.IntN(len(w.running))
	ended := w.end(w.running[i])
	w.pass(.1)
	started := w.start(w.queued[0])
	w.pass(.1)
	fresh := w.submit()
	w.running[i], w.queued = started, append(w.queued[1:], fresh)
	return []job.Event{ended, started, fresh}
}
