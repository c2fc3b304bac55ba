package users

const (
	// SessionGap is the time between two submissions of a user that ends a session: an hour. The paper takes its
	// sessions from N. Zakay and D. Feitelson, "On identifying user session boundaries in parallel workload logs",
	// JSSPP 2012. They are determined by submissions, which certainly are activities of the user, and not by the ends
	// of jobs.
	SessionGap = 3600
)

// Sessions returns the beginnings of the sessions of one user, as indexes into the user's jobs. The jobs are in order
// of submission. A session ends with a submission after which there is no other within gap seconds. A gap of 0 means
// SessionGap.
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

// SessionNumbers returns the number of the session of each job of a workload. The jobs are in order of submission.
// Sessions are numbered from 0 over all users, in the order in which they begin. A gap of 0 means SessionGap.
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
