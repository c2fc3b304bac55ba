package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// SessionGap is the default of the longest think time within a session in seconds: 20 minutes from the end of a
// user's work to the user's next submission. Feitelson's group usually uses this value (Zakay, sec. 3, refers to
// those papers and gives no number).
const SessionGap = 20 * 60

// UserJobs are the columns that [Users] reads, with one element for each job, in any order.
type UserJobs struct {
	User    []int64
	Submit  []float64 // seconds
	End     []float64 // seconds
	Procs   []float64
	Runtime []float64 // seconds
}

// UserStats are the distributions over users of Zakay's Fig. 4, with one element for each user. Each column is sorted
// by itself in ascending order, because the figure draws the columns over the serial number after sorting. The [KS]
// of the same column compares two workloads.
type UserStats struct {
	Jobs     []float64 `json:"jobs"`     // number of jobs
	Sessions []float64 `json:"sessions"` // number of sessions
	// mean length of the user's sessions in seconds, each from its first submission to its last end
	SessionLength []float64 `json:"session_length"`
	Work          []float64 `json:"work"`   // sum of processors times runtime in processor seconds
	First         []float64 `json:"first"`  // first submission, seconds
	Last          []float64 `json:"last"`   // last end, seconds
	Active        []float64 `json:"active"` // Last - First, seconds
}

// Users computes the distributions over users (Zakay, sec. 5.1 and Fig. 4). A session ends when the user submits
// nothing for more than gap seconds after the latest end of the session's jobs. A gap of 0 means [SessionGap].
func Users(j UserJobs, gap float64) (UserStats, error) {
	if gap == 0 {
		gap = SessionGap
	}
	if !(gap > 0) {
		return UserStats{}, fmt.Errorf("compare: users: session gap %v: %w (above 0 expected)", gap, ErrValue)
	}
	for _, n := range []int{len(j.Submit), len(j.End), len(j.Procs), len(j.Runtime)} {
		if err := sameLength("users", len(j.User), n); err != nil {
			return UserStats{}, err
		}
	}
	if err := errors.Join(finite("users, submits", j.Submit, 1), finite("users, ends", j.End, 1),
		finite("users, processors", j.Procs, 1), finite("users, runtimes", j.Runtime, 1)); err != nil {
		return UserStats{}, err
	}
	order := make([]int, len(j.User))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(j.User[a], j.User[b]), cmp.Compare(j.Submit[a], j.Submit[b]))
	})
	var s UserStats
	for len(order) > 0 {
		n := 1
		for n < len(order) && j.User[order[n]] == j.User[order[0]] {
			n++
		}
		s.add(&j, order[:n], gap)
		order = order[n:]
	}
	for _, column := range s.columns() {
		slices.Sort(column)
	}
	return s, nil
}

func (s *UserStats) columns() [][]float64 {
	return [][]float64{s.Jobs, s.Sessions, s.SessionLength, s.Work, s.First, s.Last, s.Active}
}

// add adds one user's jobs, given in the order of submission.
func (s *UserStats) add(j *UserJobs, jobs []int, gap float64) {
	first := j.Submit[jobs[0]]
	sessions, inSessions, work := 1.0, 0.0, 0.0
	start, end, last := first, j.End[jobs[0]], j.End[jobs[0]]
	for _, i := range jobs {
		if j.Submit[i] > end+gap {
			inSessions += max(end-start, 0)
			sessions++
			start, end = j.Submit[i], j.End[i]
		}
		end = max(end, j.End[i])
		last = max(last, end)
		work += j.Procs[i] * j.Runtime[i]
	}
	inSessions += max(end-start, 0)
	s.Jobs = append(s.Jobs, float64(len(jobs)))
	s.Sessions = append(s.Sessions, sessions)
	s.SessionLength = append(s.SessionLength, inSessions/sessions)
	s.Work = append(s.Work, work)
	s.First = append(s.First, first)
	s.Last = append(s.Last, last)
	s.Active = append(s.Active, last-first)
}

// WeeklyProfile divides the week into equal slots from Monday 0 h on, and returns the share of submissions in each slot
// (the last plot of Zakay's Fig. 4). 168 slots are hours, 7 slots are days. mondayOffset is the number of seconds from
// a Monday's midnight in local time to time 0. The sum of the shares is 1.
func WeeklyProfile(submits []float64, mondayOffset float64, slots int) ([]float64, error) {
	const week = 7 * 86400
	if slots < 1 || slots > week || math.IsNaN(mondayOffset) || math.IsInf(mondayOffset, 0) {
		return nil, fmt.Errorf("compare: weekly profile in %d slots from offset %v: %w (1 to %d slots expected)", slots,
			mondayOffset, ErrValue, week)
	}
	if err := finite("weekly profile", submits, 1); err != nil {
		return nil, err
	}
	counts := make([]float64, slots)
	for _, t := range submits {
		at := math.Mod(t+mondayOffset, week)
		if at < 0 {
			at += week
		}
		counts[min(int(at/week*float64(slots)), slots-1)]++
	}
	for i := range counts {
		counts[i] /= float64(len(submits))
	}
	return counts, nil
}

// ProfileDistance returns half the sum of the absolute differences of two profiles (total variation), in [0, 1]. It
// is the share of jobs that would have to move. Both profiles must have the same slots, and shares whose sum is 1.
func ProfileDistance(a, b []float64) (float64, error) {
	if err := sameLength("profile distance", len(a), len(b)); err != nil {
		return 0, err
	}
	if err := errors.Join(finite("profile distance, first", a, 1),
		finite("profile distance, second", b, 1)); err != nil {
		return 0, err
	}
	sum := 0.0
	for i, v := range a {
		sum += math.Abs(v-b[i]) / 2
	}
	return min(sum, 1), nil
}
