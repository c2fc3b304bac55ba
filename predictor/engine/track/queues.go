package track

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/qbets"
)

// MostQueues is the maximum number of remembered queues. Only queues without a waiting or running job are forgotten,
// the least recently seen first, an eighth of them at a time. The number is the default of models.max_queues plus
// two: the default queue and the shared one.
const MostQueues = 512 + 2

// SimilarFacts has statistics of the jobs of one queue and size class.
type SimilarFacts struct {
	Oldest    float64 // submission of the job that has waited longest, NaN for none
	Recent    RecentWaits
	LastStart float64
	LastWait  float64 // logarithm of the last wait
	Newest    newest
	Learnt    int
	Lately    []float64 // the newest waits in rising order, as logarithms; replaced, never changed
	exact     []sizeStart
}

// newest is the job that was submitted last among those that have started.
type newest struct{ Submit, Wait float64 }

// SimilarJobs is the mutable state of SimilarFacts.
type SimilarJobs struct {
	SimilarFacts
	Waiting SubmissionQueue
	latest  latest
	frozen  *SimilarFacts
}

// latest holds the newest waits of a queue and size class, as logarithms.
type latest struct {
	waits []float64
	next  int
}

// latestWaits is the number of newest waits that are kept.
const latestWaits = 100

func (l *latest) add(z float64) {
	if len(l.waits) < latestWaits {
		l.waits = append(l.waits, z)
		return
	}
	l.waits[l.next] = z
	l.next = (l.next + 1) % latestWaits
}

func newSimilar() *SimilarJobs {
	nan := math.NaN()
	return &SimilarJobs{SimilarFacts: SimilarFacts{Oldest: nan, LastStart: nan, LastWait: nan,
		Newest: newest{nan, nan}}}
}

// NoSimilarJobs returns the facts of a queue and size class without jobs.
func NoSimilarJobs() *SimilarFacts { return &newSimilar().SimilarFacts }

// freeze returns an immutable copy of the facts.
func (s *SimilarJobs) freeze() *SimilarFacts {
	if s.frozen == nil {
		if s.Lately == nil {
			s.Lately = slices.Sorted(slices.Values(s.latest.waits))
		}
		f := s.SimilarFacts
		f.Oldest, f.exact = s.Waiting.oldest(), slices.Clone(s.exact)
		s.frozen = &f
	}
	return s.frozen
}

// QueueFacts has statistics of a queue.
type QueueFacts struct {
	Name          string
	Code          int
	Oldest        float64
	Running       Amount
	Recent        RecentWaits
	Runtimes      ForgettingMean
	Clock         *WeekHazard // the times at which its jobs start; nil before the first start
	WaitingCounts *JobCounts  // counts of the waiting jobs
	Sizes         [SizeClasses]*SimilarFacts
	Bounds        [QbetsSizes + 1][]float64 // QBETS's bounds by its size classes; the last are for all sizes
}

// Queue is the mutable state of QueueFacts.
type Queue struct {
	QueueFacts
	Waiting JobCounts
	Line    SubmissionQueue
	similar [SizeClasses]*SimilarJobs
	series  [QbetsSizes + 1]*BoundHistory
	clock   *startCounts
	// NewestPriority is the priority of the queue's newest job with a known priority, 0 for none.
	NewestPriority float64
	prioritized    uint64 // number of the job with NewestPriority
	live           int    // number of the queue's waiting and running jobs
	seen           uint64 // number of its newest look-up (Tracker.Seen); the lowest is forgotten first
	Pool           int    // index of its pool in the list of pools, from 1; 0 if unknown
	frozen         *QueueFacts
}

// Of returns the state of the queue's jobs of one size class.
func (q *Queue) Of(size int) *SimilarJobs {
	if q.similar[size] == nil {
		q.similar[size] = newSimilar()
	}
	return q.similar[size]
}

// freeze returns an immutable copy of the facts.
func (q *Queue) freeze(levels []float64) *QueueFacts {
	if q.frozen == nil {
		f := q.QueueFacts
		t := q.Waiting
		f.WaitingCounts, f.Oldest = &t, q.Line.oldest()
		for i, s := range q.similar {
			if s != nil {
				f.Sizes[i] = s.freeze()
			}
		}
		if q.clock != nil {
			f.Clock = q.clock.table
		}
		for i, b := range q.series {
			f.Bounds[i] = b.at(levels)
		}
		q.frozen = &f
	}
	return q.frozen
}

// Queue returns the queue with a name. If the queue is new, fresh is true, and forgotten has the queues that were
// dropped to make room.
func (t *Tracker) Queue(name string) (q *Queue, fresh bool, forgotten []string) {
	q = t.Queues[name]
	if fresh = q == nil; fresh {
		if len(t.Queues) >= MostQueues {
			forgotten = t.forgetQueues()
		}
		q = &Queue{QueueFacts: QueueFacts{Name: name, Code: t.Codes, Oldest: math.NaN()}}
		t.Codes++
		t.Queues[name] = q
		t.InOrder = append(t.InOrder, q)
		t.frozen.index = nil
	}
	t.Seen++
	q.seen = t.Seen
	return q, fresh, forgotten
}

func (t *Tracker) forgetQueues() []string {
	var names []string
	for _, q := range leastRecentlySeen(t.InOrder, func(q *Queue) (uint64, bool) { return q.seen, q.live == 0 }) {
		delete(t.Queues, q.Name)
		names = append(names, q.Name)
	}
	t.InOrder = slices.DeleteFunc(t.InOrder, func(q *Queue) bool { return t.Queues[q.Name] != q })
	return names
}

// leastRecentlySeen returns idle elements, those that were seen least recently first. It returns as many as an eighth
// of all elements, but at least one; fewer only if fewer are idle.
func leastRecentlySeen[T any](all []T, state func(T) (seen uint64, idle bool)) []T {
	var out []T
	for _, v := range all {
		if _, ok := state(v); ok {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b T) int {
		x, _ := state(a)
		y, _ := state(b)
		return cmp.Compare(x, y)
	})
	return out[:min(len(out), max(1, len(all)/8))]
}

// AddBounds adds a wait to the histories of QBETS. If thin is set, it then shortens the longest histories if all
// together have too many waits.
func (t *Tracker) AddBounds(j *Job, wait float64, thin bool) {
	for _, b := range [...]**BoundHistory{
		&j.QueueState.series[qbets.Size(j.Procs)], &j.QueueState.series[QbetsSizes], &t.Bounds,
	} {
		if *b == nil {
			*b = newBounds(t.levels)
		}
		(*b).add(wait)
	}
	if thin {
		t.thinBounds()
	}
}

// thinBounds halves the longest histories until the total number of waits is small enough.
func (t *Tracker) thinBounds() {
	const most = 200_000
	for {
		total, longest := len(t.Bounds.waits), t.Bounds
		for _, q := range t.InOrder {
			for _, b := range q.series {
				if b == nil {
					continue
				}
				total += len(b.waits)
				if len(b.waits) > len(longest.waits) {
					longest = b
				}
			}
		}
		if total <= most {
			return
		}
		longest.halve()
	}
}
