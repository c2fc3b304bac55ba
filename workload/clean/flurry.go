package clean

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/workload/users"
)

// median returns the median number of jobs per window over successive windows. Windows without jobs do not count.
func median(jobs []users.Job, window float64) float64 {
	counts := map[int64]int{}
	for i := range jobs {
		counts[int64(math.Floor(jobs[i].Submit/window))]++
	}
	sorted := make([]int, 0, len(counts))
	for _, n := range counts {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	return float64(sorted[(len(sorted)-1)/2]+sorted[len(sorted)/2]) / 2
}

// FlurryWindow is the default of Options.Window.
const FlurryWindow = 24 * time.Hour

// Least returns the number of jobs of one user within FlurryWindow from which on they are a flurry, by the default
// options. The jobs of the newest window do not count as typical, because a flurry that has begun would raise its own
// threshold. If there are no other jobs, the result is Options.FlurryJobs.
func Least(jobs []users.Job) float64 {
	o := Options{}
	if err := o.defaults(); err != nil || len(jobs) == 0 { // without jobs there is no flurry
		return o.least(0)
	}
	newest := slices.MaxFunc(jobs, func(a, b users.Job) int { return cmp.Compare(a.Submit, b.Submit) }).Submit
	var before []users.Job
	for i := range jobs {
		if jobs[i].Submit <= newest-o.Window {
			before = append(before, jobs[i])
		}
	}
	if len(before) == 0 {
		return o.least(0)
	}
	return o.least(median(before, o.Window))
}

// least returns the number of jobs of one user in a window from which on they are a flurry. typical is the typical
// number of jobs of all users in a window.
func (o *Options) least(typical float64) float64 {
	return max(float64(o.FlurryJobs), math.Floor(o.Factor*typical)+1)
}

// flurries marks the jobs of one user in windows that have too many of them. The jobs are in order of submission.
// Overlapping windows form one flurry.
func (r *Report) flurries(jobs []users.Job, own []int, typical float64, o Options) {
	least := o.least(typical)
	open, until, most := -1, 0, 0
	end := func() {
		if open < 0 {
			return
		}
		for _, i := range own[open:until] {
			r.Marks[i] |= Flurry
		}
		r.Findings = append(r.Findings, Finding{
			Reason: Flurry, Kind: Flurry.String(), User: jobs[own[open]].User, From: jobs[own[open]].Submit,
			Until: jobs[own[until-1]].Submit, Jobs: until - open, Typical: typical, Most: most,
		})
		open, most = -1, 0
	}
	to := 0 // own[from:to] is the window that begins with job own[from]
	for from := range own {
		for to < len(own) && jobs[own[to]].Submit < jobs[own[from]].Submit+o.Window {
			to++
		}
		if n := to - from; float64(n) >= least {
			if open >= 0 && from >= until {
				end()
			}
			if open < 0 {
				open = from
			}
			until, most = to, max(most, n)
		}
	}
	end()
}
