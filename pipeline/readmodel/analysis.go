package readmodel

import (
	"math"
	"time"

	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/waitcast/waitcast/workload/clean"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/users"
)

const weekSeconds = 7 * 86400

// Analysis describes the users of a queue, as far as the kept history of jobs shows them.
type Analysis struct {
	// Origin is the instant from which times count: the first submission.
	Origin time.Time
	// Jobs is the number of jobs in the history. NeverRan is the number of those that left the queue without a start;
	// it is 0 if NoFindings is set. Sessions is the number of sessions of all users; it is 0 if NoPools is set.
	Jobs, NeverRan, Sessions int
	// Pools are the groups of users by the length of their stay. If they are unknown, Pools is nil and NoPools has
	// the reason.
	Pools   *users.Pools
	NoPools string
	// Findings are the flurries and the daily robots (users whose jobs come at the same time every day); nil if there
	// are none. If they were not searched, NoFindings has the reason.
	Findings   []clean.Finding
	NoFindings string
	// Flurry is the minimum number of jobs of one user within a day that count as a flurry.
	Flurry float64
}

// Analyze returns an analysis of the kept history of a queue, or of all queues if queue is empty. It takes one pass
// over the history, about 100 ms for 100,000 jobs.
func (v *View) Analyze(queue string) *Analysis {
	jobs, origin := v.Models.History.Jobs(queue)
	a := &Analysis{Origin: origin, Jobs: len(jobs), Flurry: clean.Least(jobs)}
	if len(jobs) == 0 {
		a.NoPools = "no job has left yet"
		if v.Models.History.Limit == 0 {
			a.NoPools = "no history is kept: models.history_jobs is 0"
		}
		a.NoFindings = a.NoPools
		return a
	}
	if pools, err := split(v, jobs, origin, nil); err != nil {
		a.NoPools = livemodels.OneLine(err.Error())
	} else {
		a.Pools, a.Sessions = pools, sessions(pools)
	}
	report, err := clean.Find(jobs, clean.Options{Start: origin.In(v.Models.Zone())})
	if err != nil {
		a.NoFindings = livemodels.OneLine(err.Error())
	} else {
		a.Findings, a.NeverRan = report.Findings, report.NeverRan
	}
	return a
}

// split groups the users of jobs by the length of their stay (see users.Split). Times of jobs are relative to origin.
func split(v *View, jobs []users.Job, origin time.Time, rare []users.RareBehavior) (*users.Pools, error) {
	monday := math.Mod(hypergamma.LocalSeconds(origin.In(v.Models.Zone())), weekSeconds)
	return users.Split(users.Trace{Name: v.Cluster, Jobs: jobs, Monday: monday}, users.Options{Rare: rare})
}

// sessions returns the number of sessions of all users.
func sessions(p *users.Pools) int {
	n := 0
	for _, pool := range [...][]*users.User{p.LongTerm, p.Temporary, p.Dropped} {
		for _, u := range pool {
			n += len(users.Sessions(u.Jobs, 0))
		}
	}
	return n
}

// LublinOf returns the fitted model of Lublin and Feitelson for a queue, or for all queues together if queue is empty.
// If the live model has no arrivals, as with a log in the order of ends, they are fitted to the kept history.
func (v *View) LublinOf(queue string) livemodels.LublinFit {
	q := v.Models.Of(queue)
	if q == nil {
		const none = "no job has been seen"
		return livemodels.LublinFit{NoSizes: none, NoRuntimes: none, NoArrivals: none}
	}
	fit := q.Lublin.Fit()
	if fit.NoArrivals == "" {
		return fit
	}
	jobs, origin := v.Models.History.Jobs(queue)
	local := make([]float64, len(jobs))
	for i := range jobs {
		submit := origin.Add(time.Duration(jobs[i].Submit * float64(time.Second)))
		local[i] = hypergamma.LocalSeconds(submit.In(v.Models.Zone()))
	}
	if arrivals, err := hypergamma.FitArrivals(local, hypergamma.ArrivalOptions{}); err == nil {
		fit.Arrival, fit.NoArrivals = arrivals, ""
	}
	return fit
}
