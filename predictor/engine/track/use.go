package track

import "math"

// RecentUse is an exponentially decaying sum of the processor-seconds of a user's jobs, as of Last.
type RecentUse struct{ Value, Last float64 }

// useMemory is the time, in seconds, after which use counts 1/e. It is a week, because schedulers with fair share
// forget use within days.
const useMemory = 7 * 86400

// At returns the use at an instant, in processor seconds.
func (u RecentUse) At(now float64) float64 {
	return u.Value * math.Exp(-math.Max(0, now-u.Last)/useMemory)
}

func (u *RecentUse) add(now, work float64) { u.Value, u.Last = u.At(now)+work, math.Max(u.Last, now) }

// Used adds the use of a job that ends.
func (u *user) Used(now float64, j *Job) {
	u.Use.add(now, math.Min(float64(j.Procs)*math.Max(0, now-j.Start), mostWork))
}
