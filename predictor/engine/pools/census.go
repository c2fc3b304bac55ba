package pools

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// census has counts of the jobs of a large pool at the time when its tables were made. With them no request needs to
// iterate over all jobs. It is immutable.
type census struct {
	at               float64
	limits, expected releases     // if all jobs run to their limits, and if all run as long as expected
	waiting          []censusCell // by size class, then limit class
}

// releases has the processors that running jobs will release: procs[i] in total until the instant ends[i]. Both lists
// rise. They have at most censusPoints elements, about evenly spaced in processors.
type releases struct {
	ends  []float64
	procs []float64
}

const censusPoints = 128

// censusCell counts the waiting jobs of a size class and limit class.
type censusCell struct {
	size, limit             int
	jobs, procs             float64
	oldest, newest, submits float64 // instants of submission: the first, the last, and the sum of all
}

func newCensus(at float64, f *Facts) *census {
	limits, expected := f.endings(at, nil, nil)
	return &census{at: at, limits: newReleases(at, limits), expected: newReleases(at, expected),
		waiting: countCells(f.Waiting)}
}

func newReleases(at float64, ends []ending) releases {
	slices.SortFunc(ends, func(a, b ending) int { return cmp.Or(cmp.Compare(a.in, b.in), a.procs-b.procs) })
	total := 0
	for _, e := range ends {
		total += e.procs
	}
	var out releases
	sum, next := 0, 1
	for i, e := range ends {
		sum += e.procs
		if i < len(ends)-1 && sum*censusPoints < next*total {
			continue
		}
		out.ends, out.procs = append(out.ends, at+e.in), append(out.procs, float64(sum))
		next = sum*censusPoints/total + 1
	}
	return out
}

func countCells(waiting []Member) []censusCell {
	place := map[[2]int]int{}
	var out []censusCell
	for i := range waiting {
		w := &waiting[i]
		key := [2]int{track.SizeClass(w.Procs), track.LimitClass(w.Limit)}
		k, ok := place[key]
		if !ok {
			k = len(out)
			place[key] = k
			out = append(out, censusCell{size: key[0], limit: key[1], oldest: w.Submit, newest: w.Submit})
		}
		c := &out[k]
		c.jobs++
		c.procs += float64(w.Procs)
		c.submits += w.Submit
		c.oldest, c.newest = math.Min(c.oldest, w.Submit), math.Max(c.newest, w.Submit)
	}
	slices.SortFunc(out, func(a, b censusCell) int {
		return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.limit, b.limit))
	})
	return out
}

// until returns the processors that are released until an instant.
func (r *releases) until(at float64) float64 {
	i, _ := slices.BinarySearch(r.ends, math.Nextafter(at, math.Inf(1)))
	if i == 0 {
		return 0
	}
	return r.procs[i-1]
}

// by returns the VacancyBy, at an instant, of a request for procs processors in a pool with the given number of free
// ones.
func (r *releases) by(at float64, free, procs int) VacancyBy {
	gone := r.until(at)
	v := VacancyBy{InAnHour: float64(free) + r.until(at+track.Hour) - gone,
		InFourHours: float64(free) + r.until(at+4*track.Hour) - gone, Seconds: math.NaN()}
	if procs <= free {
		v.Seconds = 0
		return v
	}
	if i, _ := slices.BinarySearch(r.procs, gone+float64(procs-free)); i < len(r.ends) {
		v.Seconds = math.Max(0, r.ends[i]-at)
	}
	return v
}

// waiters counts the waiting jobs relative to a request, by their classes. Numbers that do not follow from classes are
// NaN.
func (c *census) waiters(at float64, free int, r *track.Request) Waiters {
	w := noWaiters()
	size, limit := track.SizeClass(r.Procs), track.LimitClass(r.Limit)
	jobs, submits := 0.0, 0.0
	for i := range c.waiting {
		cell := &c.waiting[i]
		jobs += cell.jobs
		submits += cell.submits
		group := Group{cell.jobs, math.Max(0, at-cell.oldest), math.Max(0, at-cell.newest)}
		if largest := 1 << cell.size; largest <= free {
			w.Fitting.merge(group)
			if cell.size <= size && cell.limit <= limit {
				w.Dominated.merge(group)
			}
		}
		if cell.size > size {
			w.Larger.merge(group)
		} else {
			w.Smaller.merge(group)
			w.SmallerProcs += cell.procs
		}
	}
	if jobs > 0 {
		w.MeanAge = math.Max(0, at-submits/jobs)
	}
	w.OfQueue.Jobs, w.SameUser.Jobs = math.NaN(), math.NaN() // these do not follow from the classes
	return w
}

// merge adds another group.
func (g *Group) merge(o Group) {
	g.Jobs += o.Jobs
	if !(o.Oldest <= g.Oldest) {
		g.Oldest = o.Oldest
	}
	if !(o.Newest >= g.Newest) {
		g.Newest = o.Newest
	}
}

// codeCensus reads or writes a census, which may be nil.
func codeCensus(s *codec.Codec, v **census) {
	codec.Optional(s, v, func(c *census) { c.code(s) })
}

func (c *census) code(s *codec.Codec) {
	s.Finite(&c.at)
	for _, r := range [...]*releases{&c.limits, &c.expected} {
		s.Reals(&r.ends)
		s.Reals(&r.procs)
		if s.Reading && (len(r.ends) != len(r.procs) || !slices.IsSorted(r.ends) || !slices.IsSorted(r.procs)) {
			*r = releases{}
			s.Fail()
		}
	}
	codec.List(s, &c.waiting, func(cell *censusCell) {
		s.Int(&cell.size, &cell.limit)
		s.Finite(&cell.jobs, &cell.procs, &cell.oldest, &cell.newest, &cell.submits)
		if s.Reading && cell.size >= track.SizeClasses {
			cell.size = 0
			s.Fail()
		}
	})
}
