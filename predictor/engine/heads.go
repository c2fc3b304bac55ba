package engine

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// heads asks Downey's methods, extended to the jobs that wait ahead: uniform-log laws of each queue's sequential and
// parallel jobs, and strict first come, first served.
type heads struct {
	calc   headqueue.Calc
	state  headqueue.State
	result headqueue.Result
}

// headLaws are the laws that they need.
type headLaws struct {
	classes map[class]*classLaw
	fitted  map[class]uniformlog.Model // never changed
}

// class is Downey's: a queue's jobs, those on one processor apart (1996, section 3); the zero queue is all queues.
type class struct {
	queue      string
	sequential bool
}

// classLaw is the law of a class and how many have ended since it was fitted.
type classLaw struct {
	window *uniformlog.Window
	stale  int
}

const (
	lawWindow = 5000 // lifetimes that a law is fitted to
	lawStale  = 50   // how many may have ended since
	lawLeast  = 20   // lifetimes
	// headsAhead bounds the jobs that are played: behind so many the wait is far from what Downey asked, and its cost
	// grows with them.
	headsAhead = 100
)

func newHeadLaws() *headLaws {
	return &headLaws{classes: map[class]*classLaw{}, fitted: map[class]uniformlog.Model{}}
}

func classesOf(queue string, procs int) [2]class {
	return [2]class{{queue, procs == 1}, {"", procs == 1}}
}

// instant is an event time as a time.Time.
func instant(seconds float64) time.Time {
	return time.Unix(0, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// ended adds a lifetime, and fits stale laws again.
func (h *headLaws) ended(j *track.Job, now float64) {
	for _, c := range classesOf(j.Queue, j.Procs) {
		l := h.classes[c]
		if l == nil {
			if len(h.classes) >= 2*track.MostQueues {
				continue
			}
			l = &classLaw{window: uniformlog.NewWindow(lawWindow, 0)}
			h.classes[c] = l
		}
		if l.window.Add(instant(j.Start), math.Max(1, now-j.Start)) != nil {
			continue
		}
		l.stale++
		if _, ok := h.fitted[c]; l.window.N() < lawLeast || ok && l.stale <= lawStale {
			continue
		}
		l.stale = 0
		fitted := maps.Clone(h.fitted)
		if fit, err := l.window.Fit(instant(now)); err == nil {
			fitted[c] = fit.Model
		} else {
			delete(fitted, c)
		}
		h.fitted = fitted
	}
}

// lawOf returns the law of a job's class, that of all queues where its own is not known well enough.
func (v *View) lawOf(queue string, procs int) (headqueue.Lifetime, bool) {
	for _, c := range classesOf(queue, procs) {
		if m, ok := v.laws[c]; ok {
			return m, true
		}
	}
	return nil, false
}

// headAnswer is the combined predictor's median and the quantiles of strict first come, first served.
type headAnswer struct {
	combined  float64 // NaN for none
	quantiles []float64
}

// ask asks the methods about a request to a pool; nil where they cannot say, as in a large one.
func (h *heads) ask(v *View, f *pools.Facts, j *resolvedRequest) *headAnswer {
	s := &h.state
	if f.Large {
		return nil
	}
	used := 0
	s.Running, s.Ahead = s.Running[:0], s.Ahead[:0]
	for i := range f.Running {
		r := &f.Running[i]
		law, ok := v.lawOf(r.Queue, r.Procs)
		if !ok {
			return nil
		}
		used += r.Procs
		s.Running = append(s.Running,
			headqueue.Holder{Procs: r.Procs, Age: math.Max(0, v.Instant-r.Start), Limit: r.Limit, Law: law})
	}
	s.Capacity = max(f.Procs, used)
	s.Free = s.Capacity - used
	for i := range f.Waiting[:min(len(f.Waiting), headsAhead)] {
		w := &f.Waiting[i]
		law, ok := v.lawOf(w.Queue, w.Procs)
		if !ok {
			return nil
		}
		s.Ahead = append(s.Ahead, headqueue.Ahead{Procs: w.Procs, Limit: w.Limit, Law: law})
	}
	if err := h.calc.ForecastInto(&h.result, s, j.Procs, v.Levels, nil); err != nil {
		return nil
	}
	combined := math.NaN()
	for _, m := range h.result.Medians {
		if m.Name == headqueue.NameCombined && m.Cannot == nil {
			combined = m.Seconds
		}
	}
	if h.result.Method == headqueue.MethodNow {
		combined = 0
	}
	return &headAnswer{combined, slices.Clone(h.result.Quantiles)}
}
