package pools

import (
	"math"

	"github.com/waitcast/waitcast/predictor/engine/track"
)

// Vacancy has the time until a pool has enough free processors for a request, if all waiting jobs are ignored. It also
// has the numbers of free processors in an hour and in four hours. ByLimits assumes that every job runs to its limit,
// ByExpected that every job runs as long as expected.
type Vacancy struct{ ByLimits, ByExpected VacancyBy }

// VacancyBy is the part of a Vacancy under one of the two assumptions. Seconds is the time from now, NaN if the request
// never fits.
type VacancyBy struct {
	Seconds               float64
	InAnHour, InFourHours float64 // free processors
}

// Waiters counts the waiting jobs of a pool relative to a request; NaN means unknown.
type Waiters struct {
	Fitting Group // jobs that would fit into the free processors
	// Dominated are the fitting jobs that are neither larger nor longer than the request. OfQueue are the fitting jobs
	// in the queue of the request.
	Dominated, OfQueue Group
	Larger, Smaller    Group   // jobs larger than the request, and all others
	SmallerProcs       float64 // the sum of the processors that the smaller jobs request
	MeanAge            float64 // mean wait so far of all waiting jobs, in seconds; NaN for none
	SameUser           Group   // jobs of the same user and size
}

// Group is a number of jobs, and the waits so far of the oldest and the newest of them, in seconds. Oldest and Newest
// are NaN if there are no jobs.
type Group struct{ Jobs, Oldest, Newest float64 }

func noGroup() Group { return Group{Oldest: math.NaN(), Newest: math.NaN()} }

func (g *Group) add(age float64) {
	g.Jobs++
	if !(age <= g.Oldest) {
		g.Oldest = age
	}
	if !(age >= g.Newest) {
		g.Newest = age
	}
}

func noWaiters() Waiters {
	return Waiters{Fitting: noGroup(), Dominated: noGroup(), OfQueue: noGroup(), Larger: noGroup(), Smaller: noGroup(),
		SameUser: noGroup(), MeanAge: math.NaN()}
}

func unknownWaiters() Waiters {
	nan := math.NaN()
	g := Group{nan, nan, nan}
	return Waiters{Fitting: g, Dominated: g, OfQueue: g, Larger: g, Smaller: g, SameUser: g, SmallerProcs: nan,
		MeanAge: nan}
}

// Free returns the number of processors that are free at an instant: the capacity without outages, minus those in use.
// It may be negative.
func (f *Facts) Free(at float64) int { return f.Procs - int(f.inUse.Procs) - away(f.outages, at) }

// Waiters counts the waiting jobs relative to a request of the user with the given number.
func (f *Facts) Waiters(at float64, r *track.Request, user uint64) Waiters {
	if f.Large {
		t := f.table(r)
		if t == nil || t.census == nil {
			return unknownWaiters()
		}
		return t.census.waiters(at, f.Free(at), r)
	}
	w := noWaiters()
	free, limit := f.Free(at), r.Limit
	if limit <= 0 {
		limit = math.Inf(1)
	}
	sum := 0.0
	for i := range f.Waiting {
		j := &f.Waiting[i]
		age := math.Max(0, at-j.Submit)
		sum += age
		if j.Procs <= free {
			w.Fitting.add(age)
			if j.Procs <= r.Procs && j.Limit <= limit && (j.Limit > 0 || math.IsInf(limit, 1)) {
				w.Dominated.add(age)
			}
			if j.Queue == r.Queue {
				w.OfQueue.add(age)
			}
		}
		if j.Procs > r.Procs {
			w.Larger.add(age)
		} else {
			w.Smaller.add(age)
			w.SmallerProcs += float64(j.Procs)
		}
		if j.group == user && j.Procs == r.Procs {
			w.SameUser.add(age)
		}
	}
	if n := len(f.Waiting); n > 0 {
		w.MeanAge = sum / float64(n)
	}
	return w
}

// ending is the end of a running job: in is the time until the end, in seconds from now.
type ending struct {
	in    float64
	procs int
}

// Vacancy returns the Vacancy of a request at an instant. Unknown values are NaN.
func (f *Facts) Vacancy(at float64, r *track.Request, c *Scratch) Vacancy {
	free := f.Free(at)
	if f.Large {
		t := f.table(r)
		if t == nil || t.census == nil {
			nan := math.NaN()
			none := VacancyBy{nan, nan, nan}
			return Vacancy{none, none}
		}
		return Vacancy{t.census.limits.by(at, free, r.Procs), t.census.expected.by(at, free, r.Procs)}
	}
	c.limits, c.expected = f.endings(at, c.limits[:0], c.expected[:0])
	return Vacancy{vacancyBy(c.limits, free, r.Procs), vacancyBy(c.expected, free, r.Procs)}
}

// endings appends the ends of the running jobs to two lists: to limits as if each job ran to its limit, to expected as
// if each job ran as long as expected. A job that has run longer than expected is assumed to run for another 0.3 of the
// rest of its limit. This time, and the rest of the limit in the first list, count as at least 60 s. Without a limit,
// twice the expected runtime counts as the limit.
func (f *Facts) endings(at float64, limits, expected []ending) (byLimits, byExpected []ending) {
	const least, overdue = 60, .3
	for i := range f.Running {
		j := &f.Running[i]
		age := max(0, at-j.Start)
		limit := j.Limit
		if limit <= 0 {
			limit = 2 * j.Expected
		}
		left := j.Expected - age
		if left <= 0 {
			left = max(least, overdue*(limit-age))
		}
		limits = append(limits, ending{max(least, limit-age), j.Procs})
		expected = append(expected, ending{left, j.Procs})
	}
	return limits, expected
}

func vacancyBy(ends []ending, free, procs int) VacancyBy {
	hour, four := free, free
	for _, e := range ends {
		if e.in <= 3600 {
			hour += e.procs
		}
		if e.in <= 4*3600 {
			four += e.procs
		}
	}
	return VacancyBy{Seconds: enoughFree(ends, procs-free), InAnHour: float64(hour), InFourHours: float64(four)}
}

// enoughFree returns the time in seconds until ended jobs have released the given number of processors, NaN if they
// never do. It reorders the ends, like quickselect (C. Hoare, "Algorithm 65: Find", Communications of the ACM 4, 1961).
func enoughFree(ends []ending, needed int) float64 {
	if needed <= 0 {
		return 0
	}
	for len(ends) > 0 {
		pivot := ends[len(ends)/2].in
		lower, upper, sum := 0, len(ends), 0 // before lower: sooner ends; from upper on: later ends
		for i := 0; i < upper; {
			switch e := ends[i]; {
			case e.in < pivot:
				sum += e.procs
				ends[lower], ends[i] = ends[i], ends[lower]
				lower++
				i++
			case e.in > pivot:
				upper--
				ends[upper], ends[i] = ends[i], ends[upper]
			default:
				i++
			}
		}
		if sum >= needed {
			ends = ends[:lower]
			continue
		}
		for _, e := range ends[lower:upper] {
			sum += e.procs
		}
		if sum >= needed {
			return pivot
		}
		needed -= sum
		ends = ends[upper:]
	}
	return math.NaN()
}
