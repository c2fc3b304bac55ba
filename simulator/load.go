package simulator

// FromSlice returns the jobs one by one. They must be in order of submission.
func FromSlice(jobs []Job) Source {
	i := 0
	return func() (Job, bool) {
		if i == len(jobs) {
			return Job{}, false
		}
		i++
		return jobs[i-1], true
	}
}

// Workload makes streams of jobs at a load of choice: the hook by which a model of users, or any other, changes the load
// properly. Load 1 is that of the original; the same load and seed give the same jobs.
//
// Resampling users (N. Zakay and D. Feitelson, "Workload Resampling for Performance Evaluation of Parallel Job Schedulers", 2013)
// changes the load by the number of users: each keeps his sessions, his sizes and his hours of the day. The scalings below
// do not.
type Workload interface {
	Stream(load float64, seed uint64) (Source, error)
}

// WorkloadFunc is a function as a Workload.
type WorkloadFunc func(load float64, seed uint64) (Source, error)

// Stream implements Workload.
func (f WorkloadFunc) Stream(load float64, seed uint64) (Source, error) { return f(load, seed) }

// ScaleInterarrivals multiplies the times between submits by a factor above 0, which divides the load by it. The first job
// keeps its time.
//
// It is the commonest way of changing the load, and a distortion: the daily and weekly cycles shrink or grow with it, so that jobs
// meant to end at night run into the next day, and users' think times change though their jobs do not (Zakay and Feitelson 2013,
// section 6.3; D. Feitelson and E. Shmueli, MASCOTS 2009, show that scheduling looks different without the cycle). The
// results of neighboring loads jump as well: shake the workload (Ouaknine 2007). Prefer a Workload that knows users.
func ScaleInterarrivals(jobs Source, factor float64) Source {
	first, seen := 0.0, false
	return func() (Job, bool) {
		j, ok := jobs()
		if ok && !seen {
			first, seen = j.Submit, true
		}
		j.Submit = first + (j.Submit-first)*factor
		return j, ok
	}
}

// ScaleRuntimes multiplies runtimes, time limits and estimates by a factor above 0, and so the load.
//
// It keeps the cycles of arrivals, but ties response times to the load by construction (Zakay and Feitelson 2013, section 6.3), so that only
// ratios as the slowdown can be compared between loads; and jobs that ended within a working day no longer do. Prefer a
// Workload that knows users.
func ScaleRuntimes(jobs Source, factor float64) Source {
	return func() (Job, bool) {
		j, ok := jobs()
		j.Runtime *= factor
		j.Limit *= factor
		j.Estimate *= factor
		return j, ok
	}
}

// Scaled returns a Workload that reaches a load by scaling interarrivals of the same jobs; the seed is not used. See
// ScaleInterarrivals for what that does to them.
func Scaled(jobs []Job) Workload {
	return WorkloadFunc(func(load float64, _ uint64) (Source, error) {
		return ScaleInterarrivals(FromSlice(jobs), 1/load), nil
	})
}

// OfferedLoad returns the work of the jobs, in processor seconds, over what so many processors can do from the first submit to the
// last; 0 for fewer than two instants.
func OfferedLoad(jobs []Job, procs int) float64 {
	if len(jobs) == 0 {
		return 0
	}
	first, last, work := jobs[0].Submit, jobs[0].Submit, 0.0
	for i := range jobs {
		j := &jobs[i]
		first, last = min(first, j.Submit), max(last, j.Submit)
		work += float64(j.Procs) * j.Runtime
	}
	if last <= first {
		return 0
	}
	return work / (last - first) / float64(procs)
}
