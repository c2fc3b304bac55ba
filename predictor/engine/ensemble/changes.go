package ensemble

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/drift"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/engine/training"
)

// After a downtime, or with other limits or queues, what was learnt before is worth less. The engine detects such
// changes in its input and in the scores of its forecasts. After a change it learns faster for a while.

// Reason is the reason why a change was noticed.
type Reason uint8

// The reasons.
const (
	// Scores: the coverage of served forecasts has changed, or their loss has grown.
	Scores Reason = iota
	// Capacity: the number of processors of a configured or reported pool, without those in outages, has changed since
	// the last alarm. The smaller number is less than four fifths of the larger one. It raises an alarm for each queue
	// of the pool, and one for all jobs of the cluster.
	Capacity
	// Limit: a queue's time limit has changed, see SetLimit. It raises an alarm for the queue, and one for all jobs of
	// the cluster.
	Limit
	// NewQueue: the first job of a queue came after trees were trained. It does not speed up forgetting, but trees are
	// trained again when training.LeastMore waits of the queue are known.
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

// Drift has the changes that were noticed in one queue, or in all jobs, since the engine was made.
type Drift struct {
	// Queue is the queue's name. For all jobs together, Queue is empty and Whole is true.
	Queue string
	Whole bool
	// Alarms is the number of changes by reason.
	Alarms [reasons]int
	// Last is the event time at which the newest change was noticed, NaN if there was none. Reason is its reason.
	Last   float64
	Reason Reason
}

// Total returns the number of changes for all reasons.
func (d *Drift) Total() int {
	n := 0
	for _, k := range d.Alarms {
		n += k
	}
	return n
}

const (
	// changedPart is the change of a pool's processors, relative to the larger number, above which there is an alarm.
	changedPart = .2
	// quietWaits is the number of waits after a reaction during which further changes are counted but have no effect.
	// After a change in one queue only the waits of this queue count, after a change in all jobs all waits.
	quietWaits = 500
	// settled is the number of waits from which on scores are monitored. Earlier scores change because of initial
	// learning.
	settled = 500
)

// These values define how strongly learning is forgotten at a change. They were chosen on the histories of
// TestRecovers. They are the mildest ones that helped, since stronger ones were not faster.
const (
	forgottenPart  = .2 // part of the experts' weights that is forgotten
	hastenedLinear = 2. // the factor by which the linear quantiles' steps grow
)

// scope has the detectors of changes in one queue, or in all jobs.
type scope struct {
	Drift
	covers  *drift.Detector // detector of changes in earned
	losses  *drift.Detector
	earned  float64 // sum of AddScore's amounts since the last update of covers
	decided int     // number of levels decided since then
	calm    int     // the value of waits from which on a change makes the scope learn faster again
	waits   int     // waits learnt so far
}

// alarm is a change that has not been handled yet.
type alarm struct {
	queue  string
	whole  bool
	reason Reason
	began  int // number of waits of the scope since the change began; 0 unless reason is Scores
}

// DriftMonitor detects changes in scores, capacities, limits and queues.
type DriftMonitor struct {
	levels   int
	all      *scope
	queues   map[string]*scope
	Raised   []alarm
	grown    bool               // a new queue has enough waits for training; never true between events
	capacity map[string]int     // by pool: its processors at the last alarm, or when they were first recorded
	limits   map[string]float64 // the time limits of queues in seconds, 0 for none
}

// NewDriftMonitor returns a monitor of forecasts with the given number of levels.
func NewDriftMonitor(levels int) *DriftMonitor {
	return &DriftMonitor{levels: levels, all: newScope("", true), queues: map[string]*scope{},
		capacity: map[string]int{}, limits: map[string]float64{}}
}

func newScope(queue string, whole bool) *scope {
	return &scope{Drift: Drift{Queue: queue, Whole: whole, Last: math.NaN()}, covers: newDetector(),
		losses: newDetector()}
}

// newDetector returns a detector of changes in scores. Its blocks are shorter than the default, so that it reacts
// within a hundred jobs. Its slack is twice as large, because consecutive jobs are correlated. With these settings
// the recorded scores of KTH-SP2, SDSC-Par, SDSC-SP2 and Saliksik have at most one alarm in 10,000 jobs.
func newDetector() *drift.Detector {
	return drift.New(drift.Config{Block: 50, Memory: 100, Slack: 1, Height: 8})
}

// QueuePrefix begins the names of groups that are queues, see View.serve.
const QueuePrefix = "queue "

// of returns the scope of a queue. It creates the scope if necessary, or returns nil if there are too many
// (track.MostQueues).
func (w *DriftMonitor) of(queue string) *scope {
	s := w.queues[queue]
	if s == nil && len(w.queues) < track.MostQueues {
		s = newScope(queue, false)
		w.queues[queue] = s
	}
	return s
}

// AddScore adds the amount that a level of a job in a queue has earned, see correction.Correction.Observe. decided is
// true if this is the last amount of the level. AddScore ignores everything until as many waits as the constant settled
// have been learnt.
func (w *DriftMonitor) AddScore(queue string, earned float64, decided bool) {
	if w.all.waits < settled {
		return
	}
	for _, s := range [...]*scope{w.all, w.of(queue)} {
		if s != nil {
			s.addScore(w, earned, decided)
		}
	}
}

func (s *scope) addScore(w *DriftMonitor, earned float64, decided bool) {
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

// Learned adds the outcome of a job in a queue: z is the logarithm of the wait. said has the logarithms of the
// quantiles that were served for the job, nil if none were.
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

func (s *scope) scored(by *drift.Detector) alarm {
	return alarm{queue: s.Queue, whole: s.Whole, reason: Scores, began: by.Began()}
}

// Drifts returns the noticed changes: first those of all jobs together, then those of each queue, sorted by the name of
// the queue.
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

// SetLimit records the longest time limit of a queue, in seconds; 0 or less means none. A changed limit raises an
// alarm; the first call for a queue does not. SetLimit reports whether there was an alarm.
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

// raise records an alarm for each of the queues, and one for all jobs.
func (w *DriftMonitor) raise(why Reason, queues ...string) {
	for _, queue := range queues {
		w.Raised = append(w.Raised, alarm{queue: queue, reason: why})
	}
	w.Raised = append(w.Raised, alarm{whole: true, reason: why})
}

// SetCapacity records the processors that a configured pool has now. If this number and the one at the last alarm (or
// at the first call) differ by more than changedPart of the larger one, it raises an alarm for each queue of the pool
// and one for all jobs. The number of followed pools is bounded.
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

// code reads or writes the saved state of the monitor.
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

// code reads or writes the scope.
func (s *scope) code(c *codec.Codec) {
	CodeDrift(c, &s.Drift)
	c.Finite(&s.earned)
	c.Int(&s.decided, &s.calm, &s.waits)
	s.covers.Code(c)
	s.losses.Code(c)
}

// CodeDrift reads or writes the changes of a queue or of all jobs, without the name.
func CodeDrift(s *codec.Codec, d *Drift) {
	for i := range d.Alarms {
		s.Int(&d.Alarms[i])
	}
	s.Real(&d.Last)
	codec.Number(s, &d.Reason)
	s.Check(d.Reason < reasons, "reason %d", d.Reason)
}
