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

// ScaleInterarrivals multiplies the times between submits by a factor above 0, which divides the load by it. The first
// job keeps its time.
//
// It is the commonest way of changing the load, and a distortion: the daily and weekly cycles shrink or grow with it,
// so that jobs meant to end at night run into the next day, and users' think times change though their jobs do not
// (Zakay and Feitelson 2013, section 6.3; D. Feitelson and E. Shmueli, MASCOTS 2009, show that scheduling looks
// different without the cycle). The results of neighboring loads jump as well: shake the workload (Ouaknine 2007).
// Prefer a workload that knows users: resampling (N. Zakay and D. Feitelson, "Workload Resampling for Performance
// Evaluation of Parallel Job Schedulers", 2013) changes the load by the number of users, each of whom keeps his
// sessions, his sizes and his hours of the day.
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

// OfferedLoad returns the work of the jobs, in processor seconds, divided by the capacity of procs processors from the
// first submit to the last; 0 for fewer than two instants.
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
