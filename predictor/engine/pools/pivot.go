package pools

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

const (
	// mostPivots is the maximum number of pivots of a request.
	mostPivots = 5
	// PivotStarts is the number of first waiting jobs in a large pool whose pivots are kept.
	PivotStarts = 256
)

// Pivot is a running job on whose end a start depends. In a part of the simulated futures (Share), a slightly earlier
// end of this job would make the start earlier by the same time. A slightly earlier end of another running job would
// not change the start. In the remaining futures the request starts at once, or depends on another event, such as the
// end of an outage.
type Pivot struct {
	ID    uint64
	Procs int
	// Share is in (0, 1]. The shares of one start sum to at most 1.
	Share float64
	// Age is the runtime of the job so far. Median and High are the 0.5 and 0.9 quantiles of its remaining runtime.
	// All are in seconds; NaN if unknown.
	Age, Median, High float64
	law               *track.Law
}

// Outlived returns the probability that the job would have ended within the last given seconds, if it still ran at the
// beginning of these seconds. It follows from the job's law at its start; NaN if unknown.
func (p *Pivot) Outlived(seconds float64) float64 {
	if p.law == nil || !(seconds >= 0) {
		return math.NaN()
	}
	return math.Max(0, 1-p.law.Survival(p.Age)/p.law.Survival(math.Max(0, p.Age-seconds)))
}

// blockingJob is a running job on whose end starts depend. In a table, it is a job that ran when the table was made.
type blockingJob struct {
	id    uint64
	procs int
	start float64
	law   *track.Law // nil if the job had ended when the engine was restored
}

// share is the number of futures in which a job, given by its index, is the pivot.
type share struct{ job, futures int }

// leastFutures is the minimum number of futures for a reported pivot. Among many small jobs, each is a pivot once by
// chance.
const leastFutures = 2

// shares counts how often each root occurs. A root is the index of a job on whose end a start depends, see
// forward.Sim.Pivots. The most frequent root comes first. At most mostPivots roots are returned. A negative root means
// that the start depends on no job. Roots of fewer than leastFutures futures are left out if there are more futures
// than that.
func shares(roots []int32) []share {
	out := []share{}
	sorted := slices.Clone(roots)
	slices.Sort(sorted)
	for i, r := range sorted {
		switch {
		case r < 0:
		case i > 0 && sorted[i-1] == r:
			out[len(out)-1].futures++
		default:
			out = append(out, share{int(r), 1})
		}
	}
	out = slices.DeleteFunc(out, func(s share) bool { return s.futures < leastFutures && len(roots) > leastFutures })
	slices.SortStableFunc(out, func(a, b share) int { return cmp.Compare(b.futures, a.futures) })
	return append([]share{}, out[:min(len(out), mostPivots)]...) // a copy without room for the rest
}

func (h *blockingJob) pivot(part, at float64) Pivot {
	p := Pivot{ID: h.id, Procs: h.procs, Share: part, Age: math.Max(0, at-h.start), Median: math.NaN(),
		High: math.NaN(), law: h.law}
	if h.law != nil {
		p.Median, p.High = h.law.Residual(p.Age, .5), h.law.Residual(p.Age, .9)
	}
	return p
}

// pivots returns the pivots that follow from the roots of all futures, see shares.
func (f *Facts) pivots(roots []int32, at float64) []Pivot {
	out := []Pivot{}
	for _, s := range shares(roots) {
		h := f.blockingJob(s.job)
		out = append(out, h.pivot(float64(s.futures)/float64(len(roots)), at))
	}
	return out
}

func (f *Facts) blockingJob(i int) blockingJob {
	all := f.Running
	if i >= len(all) { // a job in another pool may count in a limit
		i, all = i-len(all), f.elsewhere
	}
	r := &all[i]
	return blockingJob{r.key - 1, r.Procs, r.Start, r.Law}
}

// pivotCounts has the pivots of a table's requests.
type pivotCounts struct {
	futures  int // number of simulated futures
	jobs     []blockingJob
	requests [][]share          // by limit, then size
	starts   map[uint64][]share // of the first waiting jobs, by id
}

// causesOf returns the pivots of all cells of a pool's surface, by limit, and those of the first waiting jobs.
func causesOf(f *Facts, s *forward.Surface, cells [][]forward.Start) pivotCounts {
	c := pivotCounts{futures: s.Replicas(), starts: map[uint64][]share{}}
	number := map[int]int{} // index in c.jobs of a running job, by its index in the pool
	take := func(roots []int32) []share {
		all := shares(roots)
		for i := range all {
			n, known := number[all[i].job]
			if !known {
				n = len(c.jobs)
				number[all[i].job] = n
				c.jobs = append(c.jobs, f.blockingJob(all[i].job))
			}
			all[i].job = n
		}
		return all
	}
	var roots []int32
	for _, starts := range cells {
		for of := range slices.Chunk(starts, c.futures) {
			roots = roots[:0]
			for _, start := range of {
				if !math.IsNaN(start.Wait) {
					roots = append(roots, start.Root)
				}
			}
			c.requests = append(c.requests, take(roots))
		}
	}
	for i := range f.queued {
		if roots = s.StartPivots(i, roots); len(roots) == 0 {
			break
		}
		c.starts[f.queued[i].key-1] = take(roots)
	}
	return c
}

// cell returns the shares of a request, or nil if nothing is known.
func (t *waitSurface) cell(r *track.Request) []share {
	if i, ok := t.index(r); ok && i < len(t.requests) {
		return t.requests[i]
	}
	return nil
}

// pivotsAt turns shares into pivots as of an instant.
func (t *waitSurface) pivotsAt(all []share, at float64) []Pivot {
	if all == nil {
		return nil
	}
	out := []Pivot{}
	for _, s := range all {
		out = append(out, t.jobs[s.job].pivot(float64(s.futures)/float64(t.futures), at))
	}
	return out
}
