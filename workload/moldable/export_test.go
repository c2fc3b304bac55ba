package moldable

import "github.com/waitcast/waitcast/workload/speedup"

// Profile returns the job's profile of parallelism, or false for a job that cannot choose its size.
func (j *Job) Profile() (speedup.Profile, bool) {
	if j.curve == nil {
		return speedup.Profile{}, false
	}
	return j.curve.Profile(), true
}
