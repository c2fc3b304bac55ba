package cluster

import (
	"slices"
	"time"

	"github.com/waitcast/waitcast/job"
)

// View is an immutable copy of the picture, for any number of readers.
type View struct {
	Cluster string
	// At is the newest event time.
	At time.Time
	// Capacity is the number of processors. Source is its origin: FromConfig, FromScheduler or FromHighestUse.
	Capacity int
	Source   string
	// Pools are the pools of the cluster. Queues that no pool names use the first.
	Pools []*Pool
	// Facts are the scheduler's facts about the machine; nil if there are none.
	Facts *job.Facts
	// Rules order the waiting jobs, nil if they are ordered by submission.
	Rules *Rules
	// Used is the number of processors that running jobs hold.
	Used int
	// Running is ordered by start. Queued is ordered by first submission, and includes held jobs.
	Running []*Job
	Queued  []*Job
	Counts  Counts
	// Over are the waiting jobs that have ended, see Job.Over, ordered by their ends.
	Over []*Job
	// UnseenAt is the end of the last job whose start was in no record, see Job.Over; zero if there was none.
	UnseenAt time.Time
	// Overdue are the jobs that count as gone, because they are past their limits by more than Overdue and
	// no record has their ends. They are ordered by start.
	Overdue []*Job
}

// View returns the picture as it is now.
func (s *State) View() *View {
	return &View{
		Cluster: s.name, At: s.now, Capacity: s.Capacity(), Source: s.Source(), Used: s.used,
		Pools: s.Pools(), Facts: s.facts, Rules: s.rules,
		Running: slices.Clone(s.running), Queued: slices.Clone(s.queued), Counts: s.count,
		Over: slices.Clone(s.over), UnseenAt: s.unseenAt,
		Overdue: s.overdue(),
	}
}

// Pool returns the pool that a queue's jobs compete for.
func (v *View) Pool(queue string) *Pool { return PoolOf(v.Pools, queue) }

// PoolOf returns the pool of a queue. If no pool names the queue, it returns the first one.
func PoolOf(pools []*Pool, queue string) *Pool {
	for _, p := range pools {
		if slices.Contains(p.Queues, queue) {
			return p
		}
	}
	return pools[0]
}

// Free returns the number of processors that no running job holds, never less than 0.
func (v *View) Free() int { return max(0, v.Capacity-v.Used) }

// overdue returns the missing jobs that ran past their limits, by their starts.
func (s *State) overdue() (out []*Job) {
	for _, m := range s.missing {
		if !m.Since.IsZero() {
			out = append(out, m.Job)
		}
	}
	slices.SortFunc(out, byStart)
	return out
}
