package outlook

import (
	"fmt"
	"math"
	"slices"
)

const (
	minute = 60.
	hour   = 3600.
	day    = 24 * hour
	week   = 7 * day
)

// Levels are the quantile levels of every forecast, in order.
func Levels() []float64 { return []float64{.05, .25, .5, .75, .95} }

const (
	levels = 5
	median = 2
)

// Horizons are the default horizons in seconds: 1, 3, 6 and 12 hours, 1, 2, 3 and 7 days.
func Horizons() []float64 {
	return []float64{hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 3 * day, week}
}

// Standard is a job whose wait is forecast at every horizon.
type Standard struct {
	Name string
	// Procs is the size of the job. If it is 0, the size is Share, in (0, 1], of the processors of the pool, but at
	// least 1.
	Procs int
	Share float64
	// Limit is the time limit of the job in seconds.
	Limit float64
}

// Standards are the default standard jobs.
func Standards() []Standard {
	return []Standard{
		{Name: "1 proc 1 h", Procs: 1, Limit: hour},
		{Name: "an eighth 4 h", Share: 1. / 8, Limit: 4 * hour},
		{Name: "a quarter 4 h", Share: 1. / 4, Limit: 4 * hour},
	}
}

// Options define how a Forecaster works. The zero value of a field means its default.
type Options struct {
	// Horizons are at most 16 numbers of seconds, rising, above 0 and at most a week. The default is Horizons().
	Horizons []float64
	// Standards are the jobs whose waits are forecast. nil means Standards(); an empty list that is not nil means
	// none.
	Standards []Standard
	// Every is the number of seconds between two calls of Observe, 900 by default. A call less than half of that after
	// the previous one is ignored.
	Every float64
	// Replicas is the number of replicas of a forecast, 64 by default. Lessons is the number for each Observe, 24 by
	// default. Probes is the number of replicas of a forecast in which standard jobs are submitted, 16 by default.
	Replicas, Lessons, Probes int
	// Workers is the number of goroutines, 1 by default. It does not change results.
	Workers int
	// Seed is the seed of the random numbers: equal input gives equal output.
	Seed uint64
	// Jobs is the maximum number of recent jobs to which the models of arrivals are fitted, 40,000 by default. Weeks is
	// their maximum age, 26 by default.
	Jobs  int
	Weeks float64
	// Refit is the number of seconds between two fits of the arrivals, a day by default.
	Refit float64
	// Queues is the maximum number of queues that have a scope of their own, 64 by default. Later queues share one,
	// as queue "".
	Queues int
	// Users is the maximum number of pairs of a user and a queue whose lifetimes are remembered, 8192 by default. Such
	// a pair, or a class of jobs, is forgotten if it has had no job for ForgetAfter seconds; by default none is.
	// Neither option is saved.
	Users       int
	ForgetAfter float64
	// Local converts an instant to seconds on the local clock since midnight of a Monday (hypergamma.LocalSeconds).
	// Only the time of day and of the week counts. nil means that instants are used directly. It is not saved.
	Local func(at float64) float64
}

func (o *Options) fill() error {
	if o.Horizons == nil {
		o.Horizons = Horizons()
	}
	if o.Standards == nil {
		o.Standards = Standards()
	}
	for _, d := range []struct {
		v *int
		d int
	}{{&o.Replicas, 64}, {&o.Lessons, 24}, {&o.Probes, 16}, {&o.Workers, 1}, {&o.Jobs, 40000}, {&o.Queues, 64}} {
		if *d.v == 0 {
			*d.v = d.d
		}
		if *d.v < 1 || *d.v > 1<<20 {
			return fmt.Errorf(
				"outlook: option of %d: replicas, lessons, probes, workers, jobs and queues are 1 to 2^20", *d.v)
		}
	}
	for _, d := range []struct {
		v *float64
		d float64
	}{{&o.Every, 900}, {&o.Weeks, 26}, {&o.Refit, day}} {
		if *d.v == 0 {
			*d.v = d.d
		}
		if !(*d.v > 0) || math.IsInf(*d.v, 1) {
			return fmt.Errorf("outlook: every %g s, refit %g s, %g weeks: give positive numbers", o.Every,
				o.Refit, o.Weeks)
		}
	}
	if o.Every < minute || o.Every > day {
		return fmt.Errorf("outlook: every %g s: give a minute to a day", o.Every)
	}
	if err := o.checkLists(); err != nil {
		return err
	}
	if o.Every > o.Horizons[0] {
		return fmt.Errorf("outlook: every %g s, but the first horizon is %g s: observe at least as often, or nothing "+
			"is learnt of it", o.Every, o.Horizons[0])
	}
	return nil
}

func (o *Options) checkLists() error {
	o.Horizons, o.Standards = slices.Clone(o.Horizons), slices.Clone(o.Standards)
	last := 0.
	for _, h := range o.Horizons {
		if !(h > last && h <= week) {
			return fmt.Errorf("outlook: horizons %v: give rising seconds above 0, up to a week", o.Horizons)
		}
		last = h
	}
	if n := len(o.Horizons); n == 0 || n > 16 {
		return fmt.Errorf("outlook: %d horizons: give 1 to 16", n)
	}
	for _, s := range o.Standards {
		if s.Procs < 0 || s.Procs == 0 && !(s.Share > 0 && s.Share <= 1) || !(s.Limit > 0) || math.IsInf(s.Limit, 1) {
			return fmt.Errorf(
				"outlook: standard job %q: give procs, or a share of the machine up to 1, and a time limit", s.Name)
		}
	}
	if len(o.Standards) > 16 {
		return fmt.Errorf("outlook: %d standard jobs: give up to 16", len(o.Standards))
	}
	if o.Local == nil {
		o.Local = func(at float64) float64 { return at }
	}
	return nil
}
