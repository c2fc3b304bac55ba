package users

// Gaps that end a session, in seconds.
const (
	// SessionGap is the hour between two submits of a user that ends his session. The paper takes its sessions from N.
	// Zakay and D. Feitelson, "On identifying user session boundaries in parallel workload logs", JSSPP 2012: by
	// submits, the proven activity of a user, not by when his jobs end.
	SessionGap = 3600
)

// Sessions returns where the sessions of one user begin: indexes into his jobs, which are in order of submission. A
// session ends with a submit that none follows within gap seconds; 0 is SessionGap.
func Sessions(jobs []Job, gap float64) []int {
	if gap == 0 {
		gap = SessionGap
	}
	var starts []int
	for i := range jobs {
		if i == 0 || jobs[i].Submit-jobs[i-1].Submit > gap {
			starts = append(starts, i)
		}
	}
	return starts
}

// SessionNumbers returns for each job of a workload, in order of submission, the number of its session, counted from 0
// over all users in the order in which they begin.
func SessionNumbers(jobs []Job, gap float64) []int {
	if gap == 0 {
		gap = SessionGap
	}
	type open struct {
		number int
		last   float64
	}
	current := map[int64]open{}
	numbers := make([]int, len(jobs))
	next := 0
	for i := range jobs {
		s, ok := current[jobs[i].User]
		if !ok || jobs[i].Submit-s.last > gap {
			s.number = next
			next++
		}
		s.last = jobs[i].Submit
		current[jobs[i].User] = s
		numbers[i] = s.number
	}
	return numbers
}
