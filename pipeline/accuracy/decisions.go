package accuracy

import (
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// maxFollowed is the maximum number of forecasts that are followed at a time, to limit memory. Further forecasts are
// not followed. This is decided when the forecast is made, so it does not depend on how long a job waits.
const maxFollowed = 100_000

// Decisions counts the outcome of each quantile at the time when the quantile passes. It exists for the metrics, which
// cannot read the ledger. It is not safe for concurrent use. Its JSON is stored.
//
// Every forecast is followed until its highest quantile has passed, even if its job has started or left before. The
// counts are kept forever. The newest outcomes of each queue and level are also kept as histograms.
type Decisions struct {
	// Followed has the forecasts with open quantiles (those that have not passed yet), by number. Next is the number of
	// the next forecast.
	Followed map[uint64]*followed `json:"followed,omitempty"`
	Next     uint64               `json:"next"`
	// Unfollowed is the number of forecasts that were not followed because too many were followed already.
	Unfollowed int64 `json:"unfollowed,omitempty"`
	// Counts has the counts of decided forecasts, by queue and size. Newest has the newest decided forecasts, by queue.
	Counts map[Key]*DecidedCounts  `json:"counts,omitempty"`
	Newest map[string]*newestByAge `json:"newest,omitempty"`

	due dueHeap
}

// NewDecisions returns Decisions without forecasts.
func NewDecisions() *Decisions {
	return &Decisions{Followed: map[uint64]*followed{}, Next: 1, Counts: map[Key]*DecidedCounts{},
		Newest: map[string]*newestByAge{}}
}

// DecidedCounts counts decided forecasts by level and outcome. Index 0 has the forecasts that were made live, index 1
// those that were made after the fact.
type DecidedCounts [2][]coverage.OutcomeCounts

// NewDecidedCounts returns counts of no forecasts.
func NewDecidedCounts() *DecidedCounts {
	levels := len(waittime.Levels())
	return &DecidedCounts{make([]coverage.OutcomeCounts, levels), make([]coverage.OutcomeCounts, levels)}
}

// SumDecided returns the sums of the counts of several groups.
func SumDecided(groups []*DecidedCounts) *DecidedCounts {
	sum := NewDecidedCounts()
	for _, g := range groups {
		for made := range g {
			for l, c := range g[made] {
				to := &sum[made][l]
				to.Below, to.Tied = to.Below+c.Below, to.Tied+c.Tied
				to.Missed, to.Censored = to.Missed+c.Missed, to.Censored+c.Censored
			}
		}
	}
	return sum
}

func (c *DecidedCounts) clone() *DecidedCounts {
	return &DecidedCounts{slices.Clone(c[0]), slices.Clone(c[1])}
}

// NewestDecided has histograms of the outcomes of a queue's newest decided forecasts, up to 1000 for each level. Index
// 0 has the forecasts that were made live, index 1 those that were made after the fact.
type NewestDecided [2][]*coverage.OutcomeHistogram

// SumNewest returns the sums of the histograms of several queues.
func SumNewest(queues []*NewestDecided) *NewestDecided {
	var sum NewestDecided
	for made := range sum {
		for l := range waittime.Levels() {
			all := &coverage.OutcomeHistogram{}
			for _, q := range queues {
				all.Merge(q[made][l])
			}
			sum[made] = append(sum[made], all)
		}
	}
	return &sum
}

// MadeIndex returns the index of forecasts in DecidedCounts and NewestDecided: 1 if they were made after the fact
// (replayed), 0 if they were made live.
func MadeIndex(replayed bool) int { return int(count(replayed)) }

// followed is a forecast with open quantiles: they have not passed yet.
type followed struct {
	Number    uint64    `json:"-"`
	Queue     string    `json:"queue"`
	Procs     int       `json:"procs"`
	Replayed  bool      `json:"replayed,omitempty"`
	Submit    time.Time `json:"submit"`
	Quantiles []float64 `json:"quantiles"`
	// Done has a bit for each level. The bit is set if the level is decided.
	Done uint64 `json:"done,omitempty"`
	// Closed is true once the job has started or left, which was Waited seconds after its submission.
	Closed  bool    `json:"closed,omitempty"`
	Started bool    `json:"started,omitempty"`
	Waited  float64 `json:"waited,omitempty"`

	due   time.Time // time at which the next open quantile passes
	place int       // index in the heap Decisions.due
}

// passes returns the time at which the quantile q passes: the submission plus q, rounded up to the resolution.
func (f *followed) passes(q float64) time.Time {
	return f.Submit.Add(time.Duration(math.Ceil(finiteQuantile(q)/resolution) * resolution * float64(time.Second)))
}

// open reports whether a level is undecided.
func (f *followed) open(level int) bool {
	return f.Done&(1<<level) == 0 && !math.IsNaN(f.Quantiles[level])
}

// schedule sets due to the time at which the next open quantile passes. It returns false if no quantile is open.
func (f *followed) schedule() bool {
	found := false
	for l, q := range f.Quantiles {
		if at := f.passes(q); f.open(l) && (!found || at.Before(f.due)) {
			f.due, found = at, true
		}
	}
	return found
}

// decide calls fn with the outcome of each open level whose quantile passes at or before the instant at. It does not
// change f.
func (f *followed) decide(at time.Time, fn func(level int, o coverage.Outcome, age float64)) {
	s := coverage.StillWaiting(0)
	if f.Closed {
		s.Waited, s.Started = f.Waited, f.Started
	}
	for l, q := range f.Quantiles {
		passes := f.passes(q)
		if !f.open(l) || passes.After(at) {
			continue
		}
		s.Age = passes.Sub(f.Submit).Seconds()
		o, age := s.Judge(finiteQuantile(q), resolution)
		fn(l, o, age)
	}
}

// Follow begins to follow a forecast, and returns its number. It returns 0 if too many are followed already, which
// Unfollowed counts, or if the forecast has no quantiles.
func (d *Decisions) Follow(w *Waiting) uint64 {
	if len(d.Followed) >= maxFollowed {
		d.Unfollowed++
		return 0
	}
	f := &followed{Number: d.Next, Queue: w.Queue, Procs: w.Procs, Replayed: w.Replayed, Submit: w.Submit.UTC(),
		Quantiles: w.Quantiles}
	if !f.schedule() {
		return 0
	}
	d.Next++
	d.Followed[f.Number] = f
	heap.Push(&d.due, f)
	return f.Number
}

// Update changes the queue and the size of the job of a followed forecast.
func (d *Decisions) Update(number uint64, queue string, procs int) {
	if f := d.Followed[number]; f != nil {
		f.Queue, f.Procs = queue, procs
	}
}

// Close records that the job of a forecast has started, or left without a start, after it waited for the given number
// of seconds. The quantiles replace those of the forecast, because the size of the job may have become known since.
// Without quantiles the forecast is no longer followed.
func (d *Decisions) Close(number uint64, waited float64, started bool, quantiles []float64) {
	f := d.Followed[number]
	if f == nil {
		return
	}
	f.Closed, f.Waited, f.Started, f.Quantiles = true, waited, started, quantiles
	if f.schedule() {
		heap.Fix(&d.due, f.place)
		return
	}
	d.drop(f)
}

func (d *Decisions) drop(f *followed) {
	heap.Remove(&d.due, f.place)
	delete(d.Followed, f.Number)
}

// Advance decides the quantiles that passed before an instant. A quantile that passes exactly at that instant stays
// open, because a start at that instant may still come and would be in time.
func (d *Decisions) Advance(at time.Time) {
	for len(d.due) > 0 && d.due[0].due.Before(at) {
		f := d.due[0]
		f.decide(f.due, func(level int, o coverage.Outcome, age float64) {
			d.of(f.key()).add(MadeIndex(f.Replayed), level, o)
			d.newest(f.Queue).add(MadeIndex(f.Replayed), level, o, age)
			f.Done |= 1 << level
		})
		if f.schedule() {
			heap.Fix(&d.due, 0)
		} else {
			d.drop(f)
		}
	}
}

func (f *followed) key() Key { return Key{Queue: f.Queue, Size: waittime.SizeClass(f.Procs)} }

func (d *Decisions) of(k Key) *DecidedCounts {
	if d.Counts[k] == nil {
		d.Counts[k] = NewDecidedCounts()
	}
	return d.Counts[k]
}

func (d *Decisions) newest(queue string) *newestByAge {
	if d.Newest[queue] == nil {
		d.Newest[queue] = newNewestByAge()
	}
	return d.Newest[queue]
}

func (c *DecidedCounts) add(made, level int, o coverage.Outcome) {
	to := &c[made][level]
	to.Below += count(o == coverage.Below)
	to.Tied += count(o == coverage.Tied)
	to.Missed += count(o == coverage.Missed)
	to.Censored += count(o == coverage.Censored)
}

// Decided has the counts of Decisions as of an instant. It is immutable.
type Decided struct {
	Counts map[Key]*DecidedCounts
	Newest map[string]*NewestDecided
	// Followed is the number of forecasts that are followed. Unfollowed is the number of forecasts that were not
	// followed because there were too many.
	Followed   int
	Unfollowed int64
}

// AsOf returns the counts as of the instant at, which must be the newest one. A quantile that passes exactly at that
// instant counts by the present state, although more events of the instant may follow. AsOf does not change d.
func (d *Decisions) AsOf(at time.Time) Decided {
	out := Decided{Counts: make(map[Key]*DecidedCounts, len(d.Counts)), Followed: len(d.Followed),
		Newest: make(map[string]*NewestDecided, len(d.Newest)), Unfollowed: d.Unfollowed}
	for k, c := range d.Counts {
		out.Counts[k] = c.clone()
	}
	changed := map[string]*newestByAge{}
	for _, f := range d.passed(at) {
		f.decide(at, func(level int, o coverage.Outcome, age float64) {
			if out.Counts[f.key()] == nil {
				out.Counts[f.key()] = NewDecidedCounts()
			}
			out.Counts[f.key()].add(MadeIndex(f.Replayed), level, o)
			if changed[f.Queue] == nil {
				changed[f.Queue] = d.newestCopy(f.Queue)
			}
			changed[f.Queue].add(MadeIndex(f.Replayed), level, o, age)
		})
	}
	for queue, n := range d.Newest {
		if changed[queue] == nil {
			out.Newest[queue] = n.sum()
		}
	}
	for queue, n := range changed {
		out.Newest[queue] = n.sum()
	}
	return out
}

// newestCopy returns a copy of the newest decided forecasts of a queue. It is empty if there are none.
func (d *Decisions) newestCopy(queue string) *newestByAge {
	if n := d.Newest[queue]; n != nil {
		return n.clone()
	}
	return newNewestByAge()
}

// passed returns the followed forecasts that have an open quantile which passes at or before the instant. They are in
// the order in which they are to be decided.
func (d *Decisions) passed(at time.Time) []*followed {
	var out []*followed
	var from func(place int)
	from = func(place int) { // in the heap, no child is due before its parent
		if place >= len(d.due) || d.due[place].due.After(at) {
			return
		}
		out = append(out, d.due[place])
		from(2*place + 1)
		from(2*place + 2)
	}
	from(0)
	slices.SortFunc(out, byDue)
	return out
}

// errDecisions means that saved Decisions are damaged.
var errDecisions = errors.New("what became of forecasts is damaged")

// Restored returns saved Decisions in a usable form, or an error if a part of them is damaged. Older versions of the
// program saved none. So d may be nil, and Restored then returns Decisions without forecasts.
func (d *Decisions) Restored() (*Decisions, error) {
	out := NewDecisions()
	if d == nil {
		return out, nil
	}
	levels := len(waittime.Levels())
	out.Next, out.Unfollowed = d.Next, d.Unfollowed
	for k, c := range d.Counts {
		if c == nil || len(c[0]) != levels || len(c[1]) != levels {
			return nil, fmt.Errorf("queue %q, size %s: %w", k.Queue, k.Size, errDecisions)
		}
		out.Counts[k] = c
	}
	for queue, n := range d.Newest {
		if err := n.check(levels); err != nil {
			return nil, fmt.Errorf("queue %q: %w", queue, err)
		}
		out.Newest[queue] = n
	}
	for _, number := range slices.Sorted(maps.Keys(d.Followed)) {
		f := d.Followed[number]
		if f == nil || len(f.Quantiles) != levels || number >= d.Next || number == 0 {
			return nil, fmt.Errorf("forecast %d: %w", number, errDecisions)
		}
		f.Number = number
		if f.schedule() {
			out.Followed[number] = f
			heap.Push(&out.due, f)
		}
	}
	return out, nil
}

// dueHeap is a heap of forecasts, ordered by the time at which their next open quantile passes.
type dueHeap []*followed

// byDue compares by the time at which the next open quantile passes, then by number, so that saving and restoring does
// not change the order.
func byDue(a, b *followed) int {
	if c := a.due.Compare(b.due); c != 0 {
		return c
	}
	if a.Number < b.Number {
		return -1
	}
	return 1
}

// Len implements heap.Interface.
func (h dueHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h dueHeap) Less(i, j int) bool { return byDue(h[i], h[j]) < 0 }

// Swap implements heap.Interface.
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *dueHeap) Push(x any) {
	f := x.(*followed)
	f.place = len(*h)
	*h = append(*h, f)
}

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	old := *h
	f := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return f
}
