package readmodel

import (
	"slices"
	"time"

	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/outlook"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/workload/users"
)

// Saturation has the results of testing whether jobs come to a queue, or to the cluster, faster than they are run. All
// answers, the metrics and the page use this definition. The test is that of Zakay and Feitelson
// (simulator.Saturation). It uses the number of outstanding jobs (submitted, but not left) at the beginning of each
// week. It is made twice: for the weeks of the kept history of jobs, and for the weeks of simulated futures.
type Saturation struct {
	// History is the growth in the kept history of jobs.
	History Growth
	// Future is the growth in simulated futures, which begin at At and are FutureWeeks weeks long. FutureWeeks is 0 if
	// no futures were simulated.
	Future      outlook.Growth
	FutureWeeks int
	At          time.Time
}

// Growth is the growth of the outstanding jobs in the history.
type Growth struct {
	PerWeek float64 // increase per week
	// Weeks is the number of weekly counts. The first week of the history is left out, because the machine may be empty
	// at its beginning.
	Weeks int
}

// Grew reports whether the history is long enough for the test and the test finds saturation.
func (g Growth) Grew() bool { return g.Weeks >= outlook.LeastSaturationWeeks && g.PerWeek > 1 }

// SaturatedFutures is the minimum share of futures in which a queue must grow to count as saturated, if it has also
// grown in the history.
const SaturatedFutures = 0.5

// Saturated reports whether the number of outstanding jobs has grown in the history and, if futures were simulated,
// also grows in at least half of the futures. So no answer reports saturation together with a low probability of it.
func (s *Saturation) Saturated() bool {
	return s.History.Grew() && (s.FutureWeeks == 0 || s.Future.Probability >= SaturatedFutures)
}

// Saturation returns the saturation of a queue, or of the cluster if queue is empty. history is the result of Growth
// for the same queue.
func (v *View) Saturation(queue string, history Growth) Saturation {
	s := Saturation{History: history}
	o := v.Outlook()
	if o == nil {
		return s
	}
	if future, ok := o.Saturation.Of(queue); ok {
		s.Future, s.FutureWeeks, s.At = future, o.Saturation.Weeks, o.SaturationAt
	}
	return s
}

// Growth returns the growth of the outstanding jobs in the kept history of a queue, or of all queues if queue is empty.
// It takes one pass over the history.
func (v *View) Growth(queue string) Growth {
	jobs, origin := v.Models.History.Jobs(queue)
	if len(jobs) == 0 {
		return Growth{}
	}
	weekly := v.outstanding(queue, jobs, origin)
	if len(weekly) == 0 {
		return Growth{}
	}
	slope, _ := simulator.Saturation(weekly)
	return Growth{PerWeek: slope, Weeks: len(weekly)}
}

// outstanding returns the numbers of outstanding jobs of a queue at the beginnings of the weeks for which the history
// is complete, except the first week. That week is left out, because it begins with an empty machine if the history
// begins with the log. jobs are those in the history, with times relative to origin.
func (v *View) outstanding(queue string, jobs []users.Job, origin time.Time) []int {
	since := 0.0
	if first, ok := v.Models.History.Began(); ok {
		since = max(0, first.Sub(origin).Seconds())
	}
	var submits, leaves []float64
	for i := range jobs {
		submits, leaves = append(submits, jobs[i].Submit), append(leaves, jobs[i].End())
	}
	for _, list := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range list {
			if queue == livemodels.AllQueues || j.Queue == queue {
				submits = append(submits, j.Order.Sub(origin).Seconds())
			}
		}
	}
	slices.Sort(submits)
	slices.Sort(leaves)
	var weekly []int
	came, left := 0, 0
	for at := since + weekSeconds; at <= v.At.Sub(origin).Seconds(); at += weekSeconds {
		for came < len(submits) && submits[came] < at {
			came++
		}
		for left < len(leaves) && leaves[left] < at {
			left++
		}
		weekly = append(weekly, came-left)
	}
	return weekly
}
