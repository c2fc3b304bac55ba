package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/waitcast/waitcast/job"
)

// perNode is the number of processors of a node.
const perNode = 32

// clusterName is the name of the cluster.
const clusterName = "scale"

// world generates the events of a cluster. Jobs have log-uniform runtimes, in four queues. Their number of processors
// is chosen so that the running ones fill the machine.
type world struct {
	p       point
	rng     *rand.Rand
	now     time.Time
	made    int
	running []job.Event // starts of the running jobs
	queued  []job.Event // submissions of the waiting jobs
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

// entry returns the submission of a new waiting entry: a job, or an array of equal tasks.
func (w *world) entry() job.Event {
	ev := w.submit()
	if w.p.tasks > 1 {
		ev.ID, ev.Tasks = ev.ID+"[].server", w.p.tasks
	}
	return ev
}

// next removes the next job from the queue, and returns its submission. The next job is the first entry, or a task of
// the first array. The record of this array then has one task less.
func (w *world) next() job.Event {
	first := &w.queued[0]
	ev := *first
	if ev.Tasks == 0 {
		w.queued = w.queued[1:]
		return ev
	}
	whole, _, _ := strings.Cut(ev.ID, "[")
	ev.ID, ev.Tasks = fmt.Sprintf("%s[%d].server", whole, first.Tasks), 0
	if first.Tasks--; first.Tasks == 0 {
		w.queued = w.queued[1:]
	}
	return ev
}

// past returns the events of past jobs. At most about twenty run at a time. Half of the jobs waited for a while.
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

// fill returns the events that fill the machine and the queue.
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
		w.queued = append(w.queued, w.entry())
		out = append(out, w.queued[len(w.queued)-1])
	}
	return out
}

// move returns three events: a job ends, one starts and one is submitted. With arrays, a task starts; a new array is
// submitted only if this was the last task of its array, otherwise there are two events.
func (w *world) move() []job.Event {
	w.pass(1)
	i := w.rng.IntN(len(w.running))
	ended := w.end(w.running[i])
	w.pass(.1)
	entries := len(w.queued)
	started := w.start(w.next())
	w.running[i] = started
	out := []job.Event{ended, started}
	if len(w.queued) < entries {
		w.pass(.1)
		fresh := w.entry()
		w.queued = append(w.queued, fresh)
		out = append(out, fresh)
	}
	return out
}
