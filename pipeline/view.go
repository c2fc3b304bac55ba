package pipeline

import (
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// View is the immutable picture of one cluster that readers get: nothing in it changes once it is published.
type View struct {
	*cluster.View
	// Seq is the number of the newest journal entry behind the view.
	Seq int64
	// Published is the wall-clock time of publication.
	Published time.Time
	Models    *ModelView
	// Engine forecasts a request as if it were submitted at the newest instant; nil where no forecasts are wanted.
	Engine *engine.View
	// Learning tells what the engine does beside answering; zero where no forecasts are wanted.
	Learning engine.Stats
	board    *board
	crowd    *crowd // of its jobs
	load     *loadLearner
	// Drifts are the changes that the engine noticed: of all jobs first, then of each queue. Readers must not change them.
	Drifts []engine.Drift
	// Scores tell, per queue and size class, how the forecasts turned out so far.
	Scores map[ScoreKey]*Score
	// Recent tell, per queue, how the newest forecasts turned out, up to 1000 of them. Readers must not change them.
	Recent map[string]*Figures
	// Refused is the number of changes from which the models could not learn, since the start of the process.
	Refused int64
	// Open is the number of forecasts whose jobs still wait.
	Open int
	// Sources tell how the reading of the cluster's logs goes.
	Sources []SourceStatus
	// Declared are the configured queues, whether a job has been seen there or not.
	Declared []string
}

// SourceStatus tells how the reading of one log goes.
type SourceStatus struct {
	Name string
	// CaughtUp is true when the end of the log has been reached.
	CaughtUp bool
	// Problem is what keeps the log from being read, empty if nothing does; Since is when that began.
	Problem string
	Since   time.Time
	// Told is when the source last told a line, or a scheduler that was asked answered, by the daemon's clock; zero before the first.
	Told time.Time
}

// HasQueue reports whether the queue is configured or has been seen.
func (v *View) HasQueue(name string) bool {
	return slices.Contains(v.Declared, name) || v.Models.Queue(name) != nil
}

// Queues returns the names of all queues, configured or seen, sorted.
func (v *View) Queues() []string {
	names := append(v.Models.Queues(), v.Declared...)
	slices.Sort(names)
	return slices.Compact(names)
}

// Load is what one queue holds.
type Load struct {
	RunningJobs, RunningProcs, QueuedJobs, QueuedProcs, HeldJobs, HeldProcs int
}

// Loads returns what every queue holds.
func (v *View) Loads() map[string]Load {
	loads := map[string]Load{}
	for _, j := range v.Running {
		l := loads[j.Queue]
		l.RunningJobs++
		l.RunningProcs += j.Procs
		loads[j.Queue] = l
	}
	for _, j := range v.Queued {
		l := loads[j.Queue]
		if j.Held {
			l.HeldJobs += max(1, j.Tasks)
			l.HeldProcs += max(1, j.Tasks) * j.Procs
		} else {
			l.QueuedJobs += max(1, j.Tasks)
			l.QueuedProcs += max(1, j.Tasks) * j.Procs
		}
		loads[j.Queue] = l
	}
	return loads
}

// Classes are the lifetime classes in the order of QueueView.Lifetimes.
func Classes() []string { return []string{job.Sequential, job.Parallel} }

// ByQueue returns the scores of each queue, of all sizes together.
func (v *View) ByQueue() map[string]*Score {
	out := map[string]*Score{}
	for key, s := range v.Scores {
		if out[key.Queue] == nil {
			out[key.Queue] = newScore(len(s.Below))
		}
		out[key.Queue].merge(s)
	}
	return out
}
