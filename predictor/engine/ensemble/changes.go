package ensemble

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/drift"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/engine/training"
)

// After a downtime, with other limits or other queues, what was learnt before is worth less. The engine looks for such
// changes in its input and in the scores of its forecasts, and learns faster for a while after one.

// Reason is why a change was noticed.
type Reason uint8

// The reasons.
const (
	// Scores: what is served covers more or less than it did.
	Scores Reason = iota
	// Capacity: a pool that is told has a fifth more or fewer processors, outages taken away, than when that was news
	// last. Each of its queues has the alarm, and the whole.
	Capacity
	// Limit: a queue's time limit is another one, see SetLimit. The queue has the alarm, and the whole.
	Limit
	// NewQueue: the first job of a queue, once trees are trained. Nothing is forgotten for it, but trees are trained
	// again when a few hundred of its waits are known.
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
	// quietWaits is the number of waits after a reaction, in the same queue or in all, during which further changes are
	// counted and have no effect.
	quietWaits = 500
	// settled is after how many waits in all scores are looked at: those before tell of what is being learnt first.
	settled = 500
)

// How much is forgotten at a change. Set on the histories of TestRecovers, where more of it was not faster: the mildest
// that helped.
const (
	forgottenPart  = .2    // of the experts' weights
	hastenedJobs   = 1000. // as after how many decided jobs the correction steps again
	hastenedLinear = 2.    // by how much the linear quantiles' steps grow
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

// DriftMonitor looks for changes in scores, capacities, limits and queues.
type DriftMonitor struct {
	levels   int
	all      *scope
	queues   map[string]*scope
	Raised   []alarm
	grown    bool               // a new queue has waits enough to train on; never true between events
	capacity map[string]int     // of pools, when it was news last
	limits   map[string]float64 // of queues, as told
}

// NewDriftMonitor returns a monitor of forecasts with so many levels that has seen nothing.
func NewDriftMonitor(levels int) *DriftMonitor {
	return &DriftMonitor{levels: levels, all: newScope("", true), queues: map[string]*scope{},
		capacity: map[string]int{}, limits: map[string]float64{}}
}

func newScope(queue string, whole bool) *scope {
	return &scope{Drift: Drift{Queue: queue, Whole: whole, Last: math.NaN()}, covers: newDetector(),
		losses: newDetector()}
}

// newDetector returns one of changes in scores. Its blocks are shorter than the default's, since a hundred jobs'
// surprise is over soon, and its slack twice as large, since neighbors are alike: set so that the recorded scores of
// KTH-SP2, SDSC-Par, SDSC-SP2 and Saliksik have an alarm in 10,000 jobs or fewer.
func newDetector() *drift.Detector {
	return drift.New(drift.Config{Block: 50, Memory: 100, Slack: 1, Height: 8})
}

// QueuePrefix begins the names of groups that are queues, see View.serve.
const QueuePrefix = "queue "

// of returns the scope of a queue, made where there is room; else nil.
func (w *DriftMonitor) of(queue string) *scope {
	s := w.queues[queue]
	if s == nil && len(w.queues) < track.MostQueues {
		s = newScope(queue, false)
		w.queues[queue] = s
	}
	return s
}

// AddScore adds what a level of a job has earned in a group of the correction, see conformal.Calibrator.Observe.
func (w *DriftMonitor) AddScore(group string, earned float64, decided bool) {
	if w.all.waits < settled {
		return
	}
	s := w.all
	if group != "" {
		if len(group) < len(QueuePrefix) || group[:len(QueuePrefix)] != QueuePrefix {
			return
		}
		if s = w.of(group[len(QueuePrefix):]); s == nil {
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
		w.Raised = append(w.Raised, s.scored(s.covers))
	}
	s.earned, s.decided = 0, 0
}

// Learned adds a wait's logarithm, and those of the quantiles that were served, if any.
func (w *DriftMonitor) Learned(queue string, levels, said []float64, z float64) {
	loss := 0.0
	for i, q := range said {
		loss += math.Max(levels[i]*(z-q), (levels[i]-1)*(z-q)) / math.Sqrt(levels[i]*(1-levels[i]))
	}
	for _, s := range [...]*scope{w.all, w.of(queue)} {
		if s == nil {
			continue
		}
		s.waits++
		if s.waits == training.LeastMore && s.Alarms[NewQueue] > 0 {
			w.grown = true
		}
		if said != nil && w.all.waits >= settled && s.losses.Add(loss) == drift.Up {
			w.Raised = append(w.Raised, s.scored(s.losses))
		}
	}
}

func (v *scope) scored(by *drift.Detector) alarm {
	return alarm{queue: v.Queue, whole: v.Whole, reason: Scores, began: by.Began()}
}

// Drifts returns all that is known, the whole first, then the queues by name.
func (w *DriftMonitor) Drifts() []Drift {
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

// SetLimit records the longest time limit of a queue, in seconds; 0 or less is none. A changed limit is news, the first
// is not. It reports whether there is news.
func (w *DriftMonitor) SetLimit(queue string, seconds float64) bool {
	if !(seconds > 0) || math.IsInf(seconds, 1) {
		seconds = 0
	}
	was, known := w.limits[queue]
	if !known && len(w.limits) >= track.MostQueues || known && was == seconds {
		return false
	}
	w.limits[queue] = seconds
	if known {
		w.raise(Limit, queue)
	}
	return known
}

// raise has a change in a queue noticed, and in the whole.
func (w *DriftMonitor) raise(why Reason, queues ...string) {
	for _, queue := range queues {
		w.Raised = append(w.Raised, alarm{queue: queue, reason: why})
	}
	w.Raised = append(w.Raised, alarm{whole: true, reason: why})
}

// SetCapacity records the processors that a configured pool has now. A fifth more or fewer than at the last news is
// news for its queues. At most so many pools are followed.
func (w *DriftMonitor) SetCapacity(pool string, procs int, queues []string, mostPools int) {
	was, known := w.capacity[pool]
	switch most, least := max(procs, was), min(procs, was); {
	case !known && len(w.capacity) < mostPools:
		w.capacity[pool] = procs
	case known && float64(most-least) > changedPart*float64(most):
		w.capacity[pool] = procs
		w.raise(Capacity, queues...)
	}
}

// code goes through all that is saved of what is looked at.
func (w *DriftMonitor) code(s *codec.Codec) {
	w.all.code(s)
	codec.Map(s, &w.queues, func(v **scope) {
		if s.Reading {
			*v = newScope("", false)
		}
		(*v).code(s)
	})
	for name, v := range w.queues {
		v.Queue = name
	}
	codec.Map(s, &w.capacity, func(n *int) { s.Int(n) })
	codec.Map(s, &w.limits, func(v *float64) { s.Finite(v) })
}

// code goes through all of it.
func (v *scope) code(s *codec.Codec) {
	CodeDrift(s, &v.Drift)
	s.Finite(&v.earned)
	s.Int(&v.decided, &v.calm, &v.waits)
	v.covers.Code(s)
	v.losses.Code(s)
}

// CodeDrift passes the changes of a queue or of the whole, without its name.
func CodeDrift(s *codec.Codec, d *Drift) {
	for i := range d.Alarms {
		s.Int(&d.Alarms[i])
	}
	s.Real(&d.Last)
	codec.Number(s, &d.Reason)
	s.Check(d.Reason < reasons, "reason %d", d.Reason)
}
