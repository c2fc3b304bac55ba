package engine

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
)

const (
	// mostPivots is how many pivots are told of a request.
	mostPivots = 5
	// pivotStarts is of how many of the jobs that wait in a large pool, from the first, pivots are kept.
	pivotStarts = 256
)

// Pivot is a job that runs and whose end a start hangs on: in a Share of the futures that were played, had it ended a moment sooner, the start would have been as much sooner, while
// the end of no other job that runs moves it. What is left of the shares is futures in which it starts at once, or hangs on no such end (an outage that ends).
type Pivot struct {
	ID    uint64
	Procs int
	// Share is in (0, 1]; those of one start sum to at most 1.
	Share float64
	// Age is how long it runs, Median and High are quantiles .5 and .9 of how much longer, all in seconds; NaN where that is not known.
	Age, Median, High float64
	law               *law
}

// Outlived returns the probability that the job would have ended within its newest seconds, given that it ran then, by what was known of it at its start; NaN where nothing is known.
func (p *Pivot) Outlived(seconds float64) float64 {
	if p.law == nil || !(seconds >= 0) {
		return math.NaN()
	}
	return math.Max(0, 1-p.law.survival(p.Age)/p.law.survival(math.Max(0, p.Age-seconds)))
}

// Pivots returns the jobs whose ends the start of a request hangs on that is submitted at the view's instant, at most five, those with the largest share first; none that is one in a single future only. It is nil where the simulation
// cannot say. In a large pool they are those of the newest simulation (see Forecast.SimulationAge), and one may have ended since.
func (v *View) Pivots(r *Request) []Pivot {
	clean := r.clean()
	f := v.poolOf(clean.Queue)
	if f.large {
		t := f.tables[clean.Queue]
		return t.pivotsAt(t.cell(&clean), v.at)
	}
	s := v.surface(f, f.rankOf(&clean))
	if s == nil {
		return nil
	}
	roots, err := s.Pivots(clean.Procs, clean.Limit, nil)
	if err != nil {
		return nil
	}
	return f.pivots(roots, v.at)
}

// PivotsOf returns the same of a job of a queue that waits, by its id. It is nil where the job does not wait there, or is not among the first 256 of a large pool.
func (v *View) PivotsOf(queue string, id uint64) []Pivot {
	f := v.poolOf(queue)
	if f.large {
		t := f.tables[queue]
		if t == nil {
			return nil
		}
		return t.pivotsAt(t.starts[id], v.at)
	}
	i := slices.IndexFunc(f.waiting, func(w job) bool { return w.key == id+1 })
	b := v.council.bench()
	if i < 0 || b == nil {
		return nil
	}
	defer v.council.benches.Put(b)
	s, w := &b.state, &f.waiting[i]
	f.state(s, v.at)
	s.Waiting = slices.Delete(s.Waiting, i, i+1)
	roots, err := b.sim.Pivots(s, forward.Request{Procs: w.procs, Limit: w.limit, Rank: w.rank, Behind: len(s.Waiting) - i}, replicas, 1, nil)
	if err != nil {
		return nil
	}
	return f.pivots(roots, v.at)
}

// Simulated returns the quantiles in seconds, at the levels, of what the simulation alone says of a request: what takes a part of a microsecond in a large pool, to compare many requests before
// few are forecast. It is nil where it cannot say.
func (v *View) Simulated(r *Request) []float64 {
	clean := r.clean()
	f := v.poolOf(clean.Queue)
	if f.large {
		if s := f.tables[clean.Queue].find(&clean); s != nil {
			return s.quantiles
		}
		return nil
	}
	s := v.surface(f, f.rankOf(&clean))
	if s == nil {
		return nil
	}
	waits, err := s.Waits(clean.Procs, clean.Limit, nil)
	if err != nil {
		return nil
	}
	out := make([]float64, len(v.levels))
	for i, level := range v.levels {
		out[i] = quantile(waits, level)
	}
	return out
}

// surface plays a pool that is not large once for every request of a place in the queue; nil where that is not possible.
func (v *View) surface(f *poolFacts, rank int) *forward.Surface {
	return ask(v.memo, question{pool: f, procs: -1, rank: rank}, func() *forward.Surface {
		var s forward.State
		f.state(&s, v.at)
		o := forward.SurfaceOptions{Replicas: replicas, Workers: 1, Seed: 1, Rank: rank, Behind: s.Behind(rank), Plain: true}
		surface, err := forward.NewSurface(context.Background(), &s, o)
		if err != nil {
			return nil
		}
		return surface
	})
}

// holder is a job that ran when a table was made.
type holder struct {
	id    uint64
	procs int
	start float64
	law   *law // nil where it has ended since
}

// share says in how many futures a holder is the pivot.
type share struct{ holder, futures int }

// leastFutures is in how many futures a pivot must be one to be told: in a crowd of small jobs everybody is once, by chance.
const leastFutures = 2

// shares counts roots, the most frequent first.
func shares(roots []int32) []share {
	out := []share{}
	sorted := slices.Sorted(slices.Values(roots))
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
	return out[:min(len(out), mostPivots)]
}

func (h *holder) pivot(part, at float64) Pivot {
	p := Pivot{ID: h.id, Procs: h.procs, Share: part, Age: math.Max(0, at-h.start), Median: math.NaN(), High: math.NaN(), law: h.law}
	if h.law != nil {
		p.Median, p.High = h.law.Residual(p.Age, .5), h.law.Residual(p.Age, .9)
	}
	return p
}

// pivots turns roots among the running jobs of a pool into pivots.
func (f *poolFacts) pivots(roots []int32, at float64) []Pivot {
	out := []Pivot{}
	for _, s := range shares(roots) {
		h := f.holder(s.holder)
		out = append(out, h.pivot(float64(s.futures)/float64(len(roots)), at))
	}
	return out
}

func (f *poolFacts) holder(i int) holder {
	r := &f.running[i]
	return holder{r.key - 1, r.procs, r.start, r.law}
}

// causes is what the starts of a table's requests hang on.
type causes struct {
	futures  int // that were played
	holders  []holder
	requests [][]share // by limit, then size
	starts   map[uint64][]share
}

// causesOf reads what the starts of all cells hang on off a surface of a pool, and those of the first jobs that wait.
func causesOf(t *table, f *poolFacts, s *forward.Surface) causes {
	c := causes{futures: s.Replicas(), starts: map[uint64][]share{}}
	number := map[int]int{} // of a running job among the holders
	take := func(roots []int32) []share {
		all := shares(roots)
		for i := range all {
			n, known := number[all[i].holder]
			if !known {
				n = len(c.holders)
				number[all[i].holder] = n
				c.holders = append(c.holders, f.holder(all[i].holder))
			}
			all[i].holder = n
		}
		return all
	}
	var roots []int32
	for _, limit := range t.limits {
		if math.IsInf(limit, 1) {
			limit = 0
		}
		for _, size := range t.sizes {
			var err error
			if roots, err = s.Pivots(size, limit, roots); err != nil {
				roots = roots[:0]
			}
			c.requests = append(c.requests, take(roots))
		}
	}
	for i := range f.waiting {
		if roots = s.StartPivots(i, roots); len(roots) == 0 {
			break
		}
		c.starts[f.waiting[i].key-1] = take(roots)
	}
	return c
}

// cell returns the shares of a request; nil where nothing is known.
func (t *table) cell(r *Request) []share {
	if i, ok := t.index(r); ok && i < len(t.requests) {
		return t.requests[i]
	}
	return nil
}

// pivotsAt turns shares into pivots as they are at an instant.
func (t *table) pivotsAt(all []share, at float64) []Pivot {
	if all == nil {
		return nil
	}
	out := []Pivot{}
	for _, s := range all {
		out = append(out, t.holders[s.holder].pivot(float64(s.futures)/float64(t.futures), at))
	}
	return out
}
