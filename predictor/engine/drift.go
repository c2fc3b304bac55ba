package engine

import (
	"errors"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/drift"
)

// After a downtime, with other limits or other queues, what was learnt before says less. The engine looks for such changes in what it is told and in how its forecasts do, and learns
// faster for a while after one.

// Reason is why a change was noticed.
type Reason uint8

// The reasons.
const (
	// Scores: what is served covers more or less than it did.
	Scores Reason = iota
	// Capacity: a pool that is told has a fifth more or fewer processors, outages taken away, than when that was news last. Each of its queues has the alarm, and the whole.
	Capacity
	// Limit: a queue's time limit is another one, see SetLimit. The queue has the alarm, and the whole.
	Limit
	// NewQueue: the first job of a queue, once trees are trained. Nothing is forgotten for it, but trees are trained again when a few hundred of its waits are known.
	NewQueue
	reasons
)

// Reasons returns all reasons.
func Reasons() []Reason { return []Reason{Scores, Capacity, Limit, NewQueue} }

// String returns the reason's name: "scores", "capacity", "limit" or "new_queue".
func (r Reason) String() string {
	if names := [...]string{"scores", "capacity", "limit", "new_queue"}; int(r) < len(names) {
		return names[r]
	}
	return ""
}

// Drift is the changes that were noticed in one queue, or in the whole, since the engine was made.
type Drift struct {
	// Queue is the queue's name; Whole is true, and Queue empty, where it is all jobs together.
	Queue string
	Whole bool
	// Alarms is how many changes there were, by reason.
	Alarms [reasons]int
	// Last is the instant at which the newest one was noticed, in event time, NaN where there was none; Reason is why.
	Last   float64
	Reason Reason
}

// Total returns how many changes there were for any reason.
func (d *Drift) Total() int {
	n := 0
	for _, k := range d.Alarms {
		n += k
	}
	return n
}

const (
	// changedPart is by what part a pool's processors must change to be news.
	changedPart = .2
	// quietWaits is for how many waits after a change in the same queue, or in the whole, another is counted only: what was to be forgotten has been.
	quietWaits = 500
	// settled is after how many waits in all scores are looked at: those before tell of what is being learnt first.
	settled = 500
)

// How much is forgotten at a change. Set on the histories of TestRecovers, where more of it was not faster: the mildest that helped.
const (
	forgottenPart  = .2    // of the experts' weights
	hastenedJobs   = 1000. // as after how many decided jobs the correction steps again
	hastenedLinear = 2.    // by how much the linear quantiles' steps grow
	oldRows        = .5    // how much a row before the change counts beside one after it
)

// scope is what is known of the changes in one queue, or in the whole.
type scope struct {
	Drift
	covers  *drift.Detector // of what levels have earned
	losses  *drift.Detector
	earned  float64 // since covers was told last
	decided int     // levels, since then
	calm    int     // waits of the scope when faster learning is allowed again
	waits   int     // learnt
}

// alarm is a change that waits to be acted on.
type alarm struct {
	queue  string
	whole  bool
	reason Reason
	began  int // how many waits of the scope ago
}

// watch looks for changes.
type watch struct {
	levels   int
	all      *scope
	queues   map[string]*scope
	raised   []alarm
	grown    bool               // a new queue has waits enough to train on; never true between events
	capacity map[string]int     // of pools, when it was news last
	limits   map[string]float64 // of queues, as told
}

func newWatch(levels int) *watch {
	return &watch{levels: levels, all: newScope("", true), queues: map[string]*scope{}, capacity: map[string]int{}, limits: map[string]float64{}}
}

func newScope(queue string, whole bool) *scope {
	return &scope{Drift: Drift{Queue: queue, Whole: whole, Last: math.NaN()}, covers: newDetector(), losses: newDetector()}
}

// newDetector returns one of changes in scores. Its blocks are shorter than the default's, since a hundred jobs' surprise is over soon, and its slack twice as large, since neighbors are alike: set so that the recorded scores of
// KTH-SP2, SDSC-Par, SDSC-SP2 and Saliksik have an alarm in 10,000 jobs or fewer.
func newDetector() *drift.Detector {
	return drift.New(drift.Config{Block: 50, Memory: 100, Slack: 1, Height: 8})
}

// queuePrefix begins the names of groups that are queues, see View.serve.
const queuePrefix = "queue "

// of returns the scope of a queue, made where there is room; else nil.
func (w *watch) of(queue string) *scope {
	s := w.queues[queue]
	if s == nil && len(w.queues) < mostQueues {
		s = newScope(queue, false)
		w.queues[queue] = s
	}
	return s
}

// score takes in what a level of a job has earned in a group of the correction, see conformal.Calibrator.Observe.
func (w *watch) score(group string, earned float64, decided bool) {
	if w.all.waits < settled {
		return
	}
	s := w.all
	if group != "" {
		if len(group) < len(queuePrefix) || group[:len(queuePrefix)] != queuePrefix {
			return
		}
		if s = w.of(group[len(queuePrefix):]); s == nil {
			return
		}
	}
	s.earned += earned
	if !decided {
		return
	}
	if s.decided++; s.decided < w.levels {
		return
	}
	if s.covers.Add(s.earned) != drift.None {
		w.raised = append(w.raised, s.scored(s.covers))
	}
	s.earned, s.decided = 0, 0
}

// learnt takes in a wait's logarithm, and those of the quantiles that were served; none where nothing was.
func (w *watch) learnt(queue string, levels, said []float64, z float64) {
	loss := 0.0
	for i, q := range said {
		loss += math.Max(levels[i]*(z-q), (levels[i]-1)*(z-q)) / math.Sqrt(levels[i]*(1-levels[i]))
	}
	for _, s := range [...]*scope{w.all, w.of(queue)} {
		if s == nil {
			continue
		}
		s.waits++
		if s.waits == leastMore && s.Alarms[NewQueue] > 0 {
			w.grown = true
		}
		if said != nil && w.all.waits >= settled && s.losses.Add(loss) == drift.Up {
			w.raised = append(w.raised, s.scored(s.losses))
		}
	}
}

func (v *scope) scored(by *drift.Detector) alarm {
	return alarm{queue: v.Queue, whole: v.Whole, reason: Scores, began: by.Began()}
}

// drifts returns all that is known, the whole first, then the queues by name.
func (w *watch) drifts() []Drift {
	out := []Drift{w.all.Drift}
	for _, s := range w.queues {
		out = append(out, s.Drift)
	}
	slices.SortFunc(out[1:], func(a, b Drift) int {
		if a.Queue < b.Queue {
			return -1
		}
		return 1
	})
	return out
}

// Drifts returns the changes that were noticed so far: of the whole first, then of each queue by name.
func (e *Engine) Drifts() []Drift { return e.watch.drifts() }

// Drifts is Engine.Drifts as it was at the view's instant. It must not be changed.
func (v *View) Drifts() []Drift { return v.drifts }

// SetLimit tells the longest time limit that a queue allows, in seconds; 0 or less is none. A change is news, what is told first is not.
func (e *Engine) SetLimit(queue string, seconds float64) {
	w := e.watch
	if !(seconds > 0) || math.IsInf(seconds, 1) {
		seconds = 0
	}
	was, known := w.limits[queue]
	if !known && len(w.limits) >= mostQueues || known && was == seconds {
		return
	}
	if w.limits[queue] = seconds; known {
		w.raise(Limit, queue)
		e.react()
	}
}

// raise has a change in a queue noticed, and in the whole.
func (w *watch) raise(why Reason, queues ...string) {
	for _, queue := range queues {
		w.raised = append(w.raised, alarm{queue: queue, reason: why})
	}
	w.raised = append(w.raised, alarm{whole: true, reason: why})
}

// lookAtCapacity looks whether a pool that is told has clearly more or fewer processors than when that was news last.
func (e *Engine) lookAtCapacity(p *pool) {
	if p == nil || p.name == "" || p.procs == 0 {
		return
	}
	now, w := p.procs, e.watch
	for _, o := range p.outages {
		if o.From <= e.clock && e.clock < o.Until {
			now = max(0, now-o.Procs)
		}
	}
	was, known := w.capacity[p.name]
	switch most, least := max(now, was), min(now, was); {
	case !known && len(w.capacity) < mostPools:
		w.capacity[p.name] = now
	case known && float64(most-least) > changedPart*float64(most):
		w.capacity[p.name] = now
		w.raise(Capacity, p.queues...)
	}
}

// react counts the changes that were noticed, and has what they concern learnt faster.
func (e *Engine) react() {
	w := e.watch
	for _, a := range w.raised {
		s := w.all
		if !a.whole {
			s = w.of(a.queue)
		}
		if s == nil {
			continue
		}
		s.Alarms[a.reason]++
		s.Last, s.Reason = e.clock, a.reason
		if e.cfg.Steady || a.reason == NewQueue || s.waits < s.calm {
			continue
		}
		s.calm = s.waits + quietWaits
		e.hasten(a)
	}
	w.raised = w.raised[:0]
	if w.grown {
		w.grown, e.learner.soon = false, !e.cfg.Steady
	}
}

// hasten has all, or one queue, learnt faster for a while.
func (e *Engine) hasten(a alarm) {
	group := ""
	if !a.whole {
		group = queuePrefix + a.queue
	}
	e.live.blend.Forget(group, forgottenPart)
	e.live.calibrator.Hasten(group, hastenedJobs)
	if a.whole {
		e.live.linear.Hasten(hastenedLinear)
		e.learner.changed(a.began)
	}
	e.frozen.council = nil // they have changed without a wait
}

// code goes through all that is saved of what is looked at.
func (w *watch) code(s *stream) error {
	err := w.all.code(s)
	dictionary(s, &w.queues, func(v **scope) {
		if s.reading {
			*v = newScope("", false)
		}
		err = errors.Join(err, (*v).code(s))
	})
	for name, v := range w.queues {
		v.Queue = name
	}
	dictionary(s, &w.capacity, func(n *int) { s.int(n) })
	dictionary(s, &w.limits, func(v *float64) { s.clear(v) })
	return err
}

// code goes through all of it.
func (v *scope) code(s *stream) error {
	s.drift(&v.Drift)
	s.clear(&v.earned)
	s.int(&v.decided, &v.calm, &v.waits)
	return errors.Join(s.own(v.covers), s.own(v.losses))
}

// drift goes through all but the name.
func (s *stream) drift(d *Drift) {
	why := int(d.Reason)
	for i := range d.Alarms {
		s.int(&d.Alarms[i])
	}
	s.real(&d.Last)
	s.int(&why)
	if d.Reason = Reason(why); s.reading && why >= int(reasons) {
		s.fail()
	}
}
