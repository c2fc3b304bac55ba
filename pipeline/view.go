package pipeline

import (
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/loadforecast"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

// View is the immutable picture of one cluster that readers get: nothing in it changes once it is published.
type View struct {
	*cluster.View
	// Seq is the number of the newest journal entry behind the view.
	Seq int64
	// Published is the wall-clock time of publication.
	Published time.Time
	Models    *livemodels.View
	// Engine forecasts a request as if it were submitted at the newest instant; nil where no forecasts are wanted.
	Engine *engine.View
	// Learning tells what the engine does beside answering; zero where no forecasts are wanted.
	Learning  engine.Stats
	forecasts map[servedKey]*Served   // of the jobs that wait; never changed
	jobs      *jobIndex               // of its jobs
	load      *loadforecast.Published // nil where the load is not forecast
	// Drifts are the changes that the engine noticed: of all jobs first, then of each queue. Readers must not change them.
	Drifts []ensemble.Drift
	// Scores tell, per queue and size class, how the forecasts turned out so far.
	Scores map[accuracy.Key]*accuracy.Score
	// Recent tell, per queue, how the newest forecasts turned out, up to 1000 of them. Readers must not change them.
	Recent map[string]*accuracy.Figures
	// Refused is the number of changes from which the models could not learn, since the start of the process.
	Refused int64
	// Open is the number of forecasts whose jobs still wait.
	Open int
	// Sources tell how the reading of the cluster's logs goes.
	Sources []SourceStatus
	// Declared are the configured queues, whether a job has been seen there or not.
	Declared []string
	// NamedQueues is the number of queues with models of their own, FoldedQueues the number of names that share
	// OtherQueue.
	NamedQueues  int
	FoldedQueues uint64
	sharing      nameHashes
	detailed     map[string]bool
}

// SourceStatus tells how the reading of one log goes.
type SourceStatus struct {
	Name string
	// CaughtUp is true when the end of the log has been reached.
	CaughtUp bool
	// Since is when the source became known.
	Since time.Time
	// Conditions are what is wrong with it. Readers must not change them.
	Conditions []Condition
	// LastLine is when the source last delivered a line, or a scheduler that is polled answered, by the daemon's clock;
	// zero before the first.
	LastLine time.Time
	// ClockOffset is by how much the log's times are ahead of the daemon's clock as measured; they are corrected by it. 0
	// where they agree, or where the offset is configured.
	ClockOffset time.Duration
	// SetAside is the number of events that are ahead of the clock and wait for it; SetAsideUntil is the earliest of them,
	// zero if there is none.
	SetAside      int
	SetAsideUntil time.Time
}

// HasQueue reports whether the queue is configured or has been seen.
func (v *View) HasQueue(name string) bool {
	return slices.Contains(v.Declared, name) || v.Models.Queue(name) != nil
}

// QueueOf returns the queue under which the jobs of a named queue are counted: the queue itself, OtherQueue where the
// limit of queues gave the name no place, or that of collector.ReservationQueue for the queue of a reservation. ok is
// false for a name that was never seen.
func (v *View) QueueOf(name string) (queue string, ok bool) {
	switch {
	case v.HasQueue(name):
		return name, true
	case v.sharing.has(nameHash(name)) && v.HasQueue(OtherQueue):
		return OtherQueue, true
	case collector.IsReservationQueue(name):
		return v.QueueOf(collector.ReservationQueue)
	}
	return "", false
}

// LedgerQueue returns the queue under which a row of the ledger is counted. A row may be older than the limit of queues
// and have a name that has no place now.
func (v *View) LedgerQueue(name string) string {
	if v.FoldedQueues == 0 || v.HasQueue(name) {
		return name
	}
	return OtherQueue
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
