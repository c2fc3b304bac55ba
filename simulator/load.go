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

// ScaleInterarrivals multiplies the times between submissions by a factor above 0. This divides the load by the
// factor. The first job keeps its time.
//
// This is the most common way to change the load, but it distorts the workload. The daily and weekly cycles become
// shorter or longer. Jobs that should end at night run into the next day. Users' think times change although their
// jobs do not (Zakay and Feitelson 2013, section 6.3; D. Feitelson and E. Shmueli, MASCOTS 2009, show that schedulers
// behave differently without the cycle). Results at neighboring loads also differ by chance; shake the workload to
// reduce this (Ouaknine 2007). A workload that is resampled by users is better (N. Zakay and D. Feitelson, "Workload
// Resampling for Performance Evaluation of Parallel Job Schedulers", 2013). It changes the load by the number of
// users. Each user keeps sessions, sizes and times of day.
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

// OfferedLoad returns the work of the jobs, in processor seconds, divided by the capacity of procs processors from
// the first submission to the last. It returns 0 if there are fewer than two different instants.
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
