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

// heads evaluates Downey's methods, extended to the waiting jobs ahead. It uses uniform-log laws of each queue's
// sequential and parallel jobs, and strict first come, first served.
type heads struct {
	calc   headqueue.Calc
	state  headqueue.State
	result headqueue.Result
}

// headLaws holds the laws of lifetimes for Downey's methods.
type headLaws struct {
	classes map[class]*classLaw
	fitted  map[class]uniformlog.Model // replaced, never changed
}

// class is a class of jobs as in Downey 1996, section 3: a queue's sequential or parallel jobs. The empty queue means
// all queues.
type class struct {
	queue      string
	sequential bool
}

// classLaw has the newest lifetimes of a class, and the number of jobs that have ended since a law was fitted to them.
type classLaw struct {
	window *uniformlog.Window
	stale  int
}

const (
	lawWindow = 5000 // the number of lifetimes to which a law is fitted
	lawStale  = 50   // a law is fitted again when more jobs than this have ended
	lawLeast  = 20   // the minimum number of lifetimes for a law
	// headsAhead is the maximum number of waiting jobs ahead that count. With more the case is far from Downey's, and
	// the cost grows.
	headsAhead = 100
)

func newHeadLaws() *headLaws {
	return &headLaws{classes: map[class]*classLaw{}, fitted: map[class]uniformlog.Model{}}
}

func classesOf(queue string, procs int) [2]class {
	return [2]class{{queue, procs == 1}, {"", procs == 1}}
}

// instant converts an event time to a time.Time.
func instant(seconds float64) time.Time {
	return time.Unix(0, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// ended adds the lifetime of a job that ends to the classes of the job, and fits their laws again if they are outdated.
// There are at most 2*track.MostQueues classes; further ones are ignored.
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

// lawOf returns the law of the class of jobs with the given queue and size. If that class has no law, it returns the
// law of the same class over all queues, and false if there is none either.
func (v *View) lawOf(queue string, procs int) (headqueue.Lifetime, bool) {
	for _, c := range classesOf(queue, procs) {
		if m, ok := v.laws[c]; ok {
			return m, true
		}
	}
	return nil, false
}

// headAnswer holds the combined predictor's median and the quantiles of strict first come, first served.
type headAnswer struct {
	combined  float64 // NaN for none
	quantiles []float64
}

// forecast evaluates the methods for a request to a pool. It returns nil if they have no answer, for example in a large
// pool.
func (h *heads) forecast(v *View, f *pools.Facts, j *resolvedRequest) *headAnswer {
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
