// Package readmodel has the immutable view of one cluster that readers get, and the queries on such a view. Readers
// need no lock: a View is safe for concurrent use and can be kept for any time.
package readmodel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/loadforecast"
	"github.com/waitcast/waitcast/pipeline/queuenames"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/ruletext"
)

// View is the immutable view of one cluster that readers get. It shows the cluster at one instant.
type View struct {
	*cluster.View
	// Seq is the number of the newest journal entry that the view includes.
	Seq int64
	// Published is the wall-clock time of publication.
	Published time.Time
	Models    *livemodels.View
	// Engine forecasts a request as if it were submitted at the newest instant; nil if no forecasts are made.
	Engine *engine.View
	// RuleTexts describe in words the rules by which Engine simulates the pools. Readers must not change them.
	RuleTexts map[pools.StartRules]*ruletext.Rules
	// Learning reports the state of the engine's learning; zero if no forecasts are made.
	Learning engine.Stats
	// Forecasts are the forecasts of the waiting jobs, as made at their submissions.
	Forecasts Forecasts
	// Load returns the newest load forecast, which is not part of the view. Load is nil if the load is not forecast.
	Load *loadforecast.Published
	jobs *jobIndex // see index
	// Drifts are the changes in how jobs wait that the engine has noticed: first in all jobs, then in each queue.
	// Readers must not change them.
	Drifts []ensemble.Drift
	// Scores are the scores of the forecasts so far, by queue and size class. Readers must not change them.
	Scores map[accuracy.Key]*accuracy.Score
	// Recent has the figures of the newest scored forecasts by queue, up to 1000 of each. Readers must not change it.
	Recent map[string]*accuracy.Figures
	// Decided has the counts of the outcomes of quantiles, as of the instant of the view. Readers must not change it.
	Decided accuracy.Decided
	// OpenForecasts are the forecasts of the waiting jobs, including tasks of arrays, in no particular order. Readers
	// must not change them.
	OpenForecasts []*accuracy.Waiting
	// Refused is the number of changes from which the models could not learn, since the start of the process.
	Refused int64
	// Open is the number of forecasts whose jobs still wait.
	Open int
	// Sources has the states of the cluster's sources. Readers must not change it.
	Sources []SourceStatus
	// Declared are the configured queues, including those of which no job was read yet.
	Declared []string
	// Names reports which queues are counted separately and which share queuenames.Other.
	Names queuenames.View
	// Teaching is the progress of learning a history that the view does not include yet; nil if there is none.
	Teaching *Teaching
	// Stopped is the reason why the cluster is stopped, and the view is not renewed; nil for a cluster that works.
	Stopped *Condition
}

// Teaching is the progress of learning a history in the background.
type Teaching struct {
	// Began is the time at which the learning began.
	Began time.Time
	// Done is the number of events of the history and the journal that are replayed. Total is the number of all their
	// events.
	Done, Total int64
	// Remaining is the estimated time until all events are replayed; 0 while there is no estimate.
	Remaining time.Duration
	// Usable is true if another state is used for answers meanwhile. It is false if there is none, because the
	// configuration or the version of the program has changed.
	Usable bool
	// Failure is the reason why the history cannot be learnt; empty if it can. If there is no usable state either, a
	// state is built from the journal alone, and Done, Total and Remaining are about that work.
	Failure string
}

// New returns a view with the given contents, which must not be changed afterwards.
func New(contents View) *View {
	contents.jobs = &jobIndex{}
	return &contents
}

// index returns the index of the view's jobs, which the first call builds.
func (v *View) index() *jobIndex {
	c := v.jobs
	if c == nil { // a view that was not made by New
		c = &jobIndex{}
	}
	c.once.Do(func() { c.build(v.View) })
	return c
}

// HasQueue reports whether the queue is configured, or has models because jobs of it were read.
func (v *View) HasQueue(name string) bool {
	return slices.Contains(v.Declared, name) || v.Models.Queue(name) != nil
}

// QueueOf returns the queue under which the jobs of the queue name are counted. That is the queue itself,
// queuenames.Other if the queue is beyond the limit of queues, or for a reservation the queue of
// collector.ReservationQueue. ok is false if nothing is known of such a queue.
func (v *View) QueueOf(name string) (queue string, ok bool) {
	switch {
	case v.HasQueue(name):
		return name, true
	case v.Names.Shares(name) && v.HasQueue(queuenames.Other):
		return queuenames.Other, true
	case collector.IsReservationQueue(name):
		return v.QueueOf(collector.ReservationQueue)
	case v.listed(name):
		return name, true
	}
	return "", false
}

// listed reports whether the scheduler has reported the queue, even if no job of it was read.
func (v *View) listed(name string) bool {
	return v.Facts != nil && slices.ContainsFunc(v.Facts.Queues, func(q job.QueueFacts) bool { return q.Name == name })
}

// LedgerQueue returns the queue under which a ledger row with this queue name is counted. That may be queuenames.Other,
// because the limit of queues may have come into force after the row was written.
func (v *View) LedgerQueue(name string) string {
	if v.Names.Folded == 0 || v.HasQueue(name) {
		return name
	}
	return queuenames.Other
}

// Queues returns the sorted names of all queues that are configured, reported by the scheduler, or have models. Queues
// that share queuenames.Other are left out.
func (v *View) Queues() []string {
	names := append(v.Models.Queues(), v.Declared...)
	if v.Facts != nil {
		for i := range v.Facts.Queues {
			if name := v.Facts.Queues[i].Name; !v.Names.Shares(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Load has the numbers of jobs in one queue, and of their processors. Each task of a waiting array counts as a job.
// QueuedJobs does not include HeldJobs.
type Load struct {
	RunningJobs, RunningProcs, QueuedJobs, QueuedProcs, HeldJobs, HeldProcs int
}

// Loads returns the load of every queue.
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

// Scored returns, for all queues together, the number of forecasts scored so far, and the median of the newest absolute
// errors of their medians, in seconds. The error is NaN if no forecast was scored.
func (v *View) Scored() (scored int64, median float64) {
	scored, _ = accuracy.Counts(v.Scores)
	return scored, accuracy.MedianError(v.Scores)
}

// ScoredLive returns, for all queues together, the number of scored forecasts that were made live.
func (v *View) ScoredLive() int64 {
	_, live := accuracy.Counts(v.Scores)
	return live
}

// Policy returns the policy with which forecasts simulate the pool of a queue, and the origin of that policy. If no
// forecasts are made, that is EASY, by assumption.
func (v *View) Policy(queue string) (forward.Policy, pools.PolicySource) {
	if v.Engine == nil {
		return forward.EASY, pools.PolicyAssumed
	}
	return v.Engine.Policy(queue)
}

// StartRules returns the known rules by which the jobs of a queue start, nil if no forecasts are made.
func (v *View) StartRules(queue string) *ruletext.Rules {
	if v.Engine == nil {
		return nil
	}
	return v.RuleTexts[v.Engine.StartRules(queue)]
}

// SizesOf returns the size classes that jobs of a queue can have.
func (v *View) SizesOf(queue string) []string {
	return waittime.SizeClassesUpTo(v.Pool(queue).Capacity(cluster.Procs))
}

// Outlook returns the newest load forecast of the cluster, nil if there is none. It may be older or newer than the view
// by some minutes of event time.
func (v *View) Outlook() *loadforecast.Outlook {
	if v.Load == nil {
		return nil
	}
	return v.Load.Newest()
}

// ForecastsLoad reports whether the load is forecast at all.
func (v *View) ForecastsLoad() bool { return v.Load != nil }

// LoadForecasts returns two numbers since the start of the process: the load forecasts that were made, and the failed
// attempts to learn or to forecast the load.
func (v *View) LoadForecasts() (made, failures int64) {
	if v.Load == nil {
		return 0, 0
	}
	return v.Load.Counts()
}

// PrivateJobs reports whether the scheduler hides the jobs of a user from other users. It is true, too, if the
// scheduler may do so and has not reported it: in the facts of Slurm (which have a version), or because it is polled.
func (v *View) PrivateJobs() bool {
	if hidden, known := v.Facts.PrivateJobs(); known {
		return hidden
	}
	return v.Facts != nil && v.Facts.Version != "" ||
		slices.ContainsFunc(v.Sources, func(s SourceStatus) bool { return s.Private })
}

// Served returns the forecast of a waiting job. It returns nil if there is none, because no record of the submission
// was read, or because the job is a task that left its array before it started.
func (v *View) Served(j *cluster.Job) *Served { return v.Forecasts.Of(KeyOf(j)) }

// Conditions returns the conditions of the cluster's sources, by the names of the sources, and then those of the
// cluster itself, of its starts, its history and its jobs. If another source replaces an unreadable one (see StandIn),
// its condition is SourceStandby.
func (v *View) Conditions() []Condition {
	var out []Condition
	for i := range v.Sources {
		s := &v.Sources[i]
		for _, c := range s.Conditions {
			if other := v.StandIn(s); other != nil && c.Name == SourceUnreadable {
				c = standby(c, s, other)
			}
			out = append(out, c)
		}
		if c := s.Reading(); c != nil {
			c.Cluster = v.Cluster
			out = append(out, *c)
		}
	}
	slices.SortStableFunc(out, func(a, b Condition) int { return cmp.Compare(a.Source, b.Source) })
	if v.Stopped != nil {
		out = append(out, *v.Stopped)
	}
	if c := v.stalled(); c != nil {
		out = append(out, *c)
	}
	if c := v.startsUnseen(); c != nil {
		out = append(out, *c)
	}
	if v.Facts != nil && v.Facts.Untried && len(v.Sources) > 0 {
		out = append(out, Condition{Name: SchedulerUntried, Cluster: v.Cluster, Since: v.Sources[0].Since,
			Reason: "version " + v.Facts.Version + " of the scheduler is newer than all that waitcast was tried " +
				"with: compare a few waits with its accounting, and report differences at " +
				"https://github.com/waitcast/waitcast/issues"})
	}
	if c := v.Teaching.condition(); c != nil {
		c.Cluster = v.Cluster
		out = append(out, *c)
	}
	return append(out, v.doubts()...)
}

// doubts returns the conditions of a picture that cannot be right.
func (v *View) doubts() (out []Condition) {
	if n := len(v.Overdue); n > 0 {
		out = append(out, Condition{Name: JobsOverdue, Cluster: v.Cluster,
			Reason: "jobs are long past their limits, and the logs do not have their ends: they count as gone",
			Since:  v.Overdue[0].Start.Add(v.Overdue[0].TimeLimit), Progress: jobCount(n)})
	}
	for _, p := range v.Pools {
		if has := p.Total[cluster.Procs]; has > 0 && p.Used[cluster.Procs] > has {
			reason := "the running jobs hold more processors than there are: " +
				"is procs right, and do the logs have all ends?"
			if p.Name != "" {
				reason = "pool " + p.Name + ": " + reason
			}
			out = append(out, Condition{Name: OverCapacity, Cluster: v.Cluster, Reason: reason,
				Progress: fmt.Sprintf("%d of %d", p.Used[cluster.Procs], has)})
		}
	}
	return out
}

// Incomplete reports whether a scheduler hides jobs or facts from the daemon.
func (v *View) Incomplete() bool {
	return slices.ContainsFunc(v.Sources, func(s SourceStatus) bool {
		return slices.ContainsFunc(s.Conditions, func(c Condition) bool { return c.Name == SourceIncomplete })
	})
}

func jobCount(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}

// StandIn returns the source that replaces the unreadable source s, nil if there is none. Both are logs of servers that
// write in turn. The replacing log must have delivered a line after s became unreadable; if s never delivered a line,
// any line counts.
func (v *View) StandIn(s *SourceStatus) *SourceStatus {
	hidden := s.Unreadable()
	if !s.InTurn || hidden == nil {
		return nil
	}
	var since time.Time
	if !s.LastLine.IsZero() {
		since = hidden.Since
	}
	for i := range v.Sources {
		other := &v.Sources[i]
		if other.Name != s.Name && other.InTurn && other.Unreadable() == nil && other.LastLine.After(since) {
			return other
		}
	}
	return nil
}

// standby returns the condition c of the unreadable source s with the name SourceStandby and a reason that names the
// replacing source other.
func standby(c Condition, s, other *SourceStatus) Condition {
	since := "the start of the daemon"
	if !s.LastLine.IsZero() {
		since = s.LastLine.UTC().Format(time.RFC3339)
	}
	c.Name = SourceStandby
	c.Reason += "; " + other.Name + " is followed. What was written here since " + since +
		" is missing, and read when it can be"
	return c
}

// condition returns the condition about the history: it is being learnt, or cannot be learnt. It returns nil if t is
// nil.
func (t *Teaching) condition() *Condition {
	switch {
	case t == nil:
		return nil
	case t.Failure != "" && !t.Usable:
		c := &Condition{Name: HistoryFailing, Since: t.Began,
			Reason: "cannot be learnt, the state is built without it: import the logs again: " + t.Failure}
		if t.Total > 0 {
			c.Progress = ShareDone(t.Done, t.Total, t.Remaining)
		}
		return c
	case t.Failure != "":
		return &Condition{Name: HistoryFailing, Since: t.Began,
			Reason: "cannot be learnt, forecasts go on without it: import the logs again: " + t.Failure}
	}
	c := &Condition{Name: HistoryLearning, Reason: "learning from logs of the past", Since: t.Began}
	if t.Total > 0 {
		c.Progress = ShareDone(t.Done, t.Total, t.Remaining)
	}
	return c
}

// ShareDone returns a text about progress: the done part of total in percent, and the estimated remaining time if it is
// not 0. total must be above 0.
func ShareDone(done, total int64, remaining time.Duration) string {
	text := fmt.Sprintf("%d %% done", 100*done/total)
	switch {
	case remaining >= time.Minute:
		text += fmt.Sprintf(", about %.0f min left", math.Ceil(remaining.Minutes()))
	case remaining > 0:
		text += fmt.Sprintf(", about %.0f s left", math.Ceil(remaining.Seconds()))
	}
	return text
}
