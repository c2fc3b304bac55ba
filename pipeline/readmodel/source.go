package readmodel

import (
	"slices"
	"strings"
	"time"
)

// SourceStatus is the state of one source as readers see it.
type SourceStatus struct {
	Name string
	// CaughtUp is true once the end of the log was reached.
	CaughtUp bool
	// Since is the time at which the source became known.
	Since time.Time
	// Conditions are the problems of the source. Readers must not change them.
	Conditions []Condition
	// InTurn is true for the log of one of several servers of the scheduler, if only one of them writes at a time.
	InTurn bool
	// HasStarts is true if the source reports ended jobs with their starts: a listing, or the records of accounting.
	HasStarts bool
	// Private is true if the source polls a scheduler that may hide the jobs of a user from other users.
	Private bool
	// LastLine is the time, by the daemon's clock, at which the source last delivered a line or a polled scheduler
	// last answered. It is zero before the first line or answer.
	LastLine time.Time
	// Unlogged is the time of the first of a scheduler's answers, since the newest line of its log, with changes that
	// the log lacks. It is zero if there was none, and for logs.
	Unlogged time.Time
	// LagBytes is the number of bytes that had been written to the logs but not been read at the last delivery.
	LagBytes int64
	// ClockOffset is the measured time by which the log's clock is ahead of the daemon's clock. It is subtracted from
	// the times in the log. It is 0 if the clocks agree, or if the offset is configured.
	ClockOffset time.Duration
	// SetAside is the number of events that are set aside because their times are ahead of the clock. SetAsideUntil is
	// the earliest of these times, zero if there are no such events.
	SetAside      int
	SetAsideUntil time.Time
}

// ConditionName is the kind of a condition, as it is shown in /readyz and in the label "condition" of the metric
// waitcast_health_condition.
type ConditionName string

// These are the kinds of conditions. A new kind also needs a row in the table of docs/operate.md. If no events come
// from the source during the condition, HidesSource must include the kind. If the alert WaitcastDegraded is not enough,
// the kind needs an alert of its own.
const (
	// SourceUnreadable: a log cannot be read, or a scheduler that is polled does not answer.
	SourceUnreadable ConditionName = "source_unreadable"
	// SourceIncomplete: a scheduler that is polled hides jobs or facts from the daemon.
	SourceIncomplete ConditionName = "source_incomplete"
	// SourceStandby: a log cannot be read, but it belongs to one of several servers that write in turn, and the log of
	// another server is followed. This is harmless.
	SourceStandby ConditionName = "source_standby"
	// SchedulerUntried: the scheduler is newer than all versions that waitcast was tried with. This is harmless.
	SchedulerUntried ConditionName = "scheduler_untried"
	// SourceStalled: a log has no new lines, although the scheduler that is polled shows changes which it should have.
	SourceStalled ConditionName = "source_stalled"
	// AccountingLost: the scheduler's accounting database does not answer, so facts from it are old.
	AccountingLost ConditionName = "accounting_lost"
	// SourceReading: the end of a log was not reached yet since the start of the process.
	SourceReading ConditionName = "source_reading"
	// NothingRead: no record of any cluster was read yet, so there are no forecasts. Only a daemon that is not ready
	// has this condition.
	NothingRead ConditionName = "nothing_read"
	// StateRestoring: the state is being restored at the start, from the saved state and the journal. Until then there
	// are no answers.
	StateRestoring ConditionName = "state_restoring"
	// StoreFailing: the database cannot be read or written, or its file was deleted, moved or replaced.
	StoreFailing ConditionName = "store_failing"
	// StoreEmptied: the database was empty at the start, although the daemon had one before.
	StoreEmptied ConditionName = "store_emptied"
	// StoreExchanged: the database is neither that of the previous start nor a copy of it.
	StoreExchanged ConditionName = "store_exchanged"
	// NoCollector: no collecting daemon writes the database from which answers are served.
	NoCollector ConditionName = "no_collector"
	// ClockOffset: the clock that gives the times in a log differs from the daemon's clock. The times are corrected by
	// the measured offset.
	ClockOffset ConditionName = "clock_offset"
	// ClusterStopped: a bug (a panic) has stopped the cluster. Nothing is read for it until the next start.
	ClusterStopped ConditionName = "cluster_stopped"
	// HistoryReading: logs of the past are being read into the history of a cluster.
	HistoryReading ConditionName = "history_reading"
	// HistoryLearning: a state of a cluster is being built from its history. If the old state is usable, it is used for
	// answers meanwhile.
	HistoryLearning ConditionName = "history_learning"
	// HistoryFailing: the history of a cluster cannot be read or learnt.
	HistoryFailing ConditionName = "history_failing"
	// ConfigRefused: a reload could not use the new configuration, and the previous one stays in force.
	ConfigRefused ConditionName = "config_refused"
	// SetAside: records of a source have times ahead of the clock. They are used when the clock reaches these times.
	// The condition ends when all are used, or a day after the newest of them was read.
	SetAside ConditionName = "set_aside"
	// StartsUnseen: jobs have ended whose start no source has reported. The condition ends a day after the last such
	// job.
	StartsUnseen ConditionName = "starts_unseen"
	// JobsOverdue: jobs are past their limits by more than cluster.Overdue, and no record has their ends.
	JobsOverdue ConditionName = "jobs_overdue"
	// OverCapacity: the running jobs hold more processors than a pool has.
	OverCapacity ConditionName = "over_capacity"
)

// Condition is a problem because of which the daemon cannot do all of its work. /readyz, the metrics, the page and the
// command show the conditions in the form that String returns. A condition exists as long as it is listed.
type Condition struct {
	Name ConditionName
	// Cluster and Source are the names to which the condition belongs; empty for none. Source begins with the name of
	// the cluster.
	Cluster, Source string
	// File is the path, the program or the database that has the problem; empty for none.
	File string
	// Reason is a text that says what is wrong, as one line of printable characters.
	Reason string
	// Since is the time at which the condition began, by the injected clock.
	Since time.Time
	// Progress is a text about the progress of work; empty if there is none. Unlike Reason it changes all the time.
	Progress string
}

// String returns the condition as one line: name, source or cluster, file, reason and progress, as far as there are
// any.
func (c Condition) String() string {
	parts := []string{string(c.Name)}
	switch {
	case c.Source != "":
		parts = append(parts, "source "+c.Source)
	case c.Cluster != "":
		parts = append(parts, "cluster "+c.Cluster)
	}
	for _, part := range []string{c.File, c.Reason, c.Progress} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// HidesSource reports whether no events come from the source of the condition while the condition exists.
func (c Condition) HidesSource() bool {
	return c.Name == SourceUnreadable || c.Name == StoreFailing || c.Name == NoCollector
}

// Harmless reports whether the daemon does all of its work despite the condition.
func (c Condition) Harmless() bool { return c.Name == SourceStandby || c.Name == SchedulerUntried }

// stalled returns the condition SourceStalled of the scheduler's log with the newest line, nil if it has none: a polled
// scheduler has shown changes after that line, and has answered again since.
func (v *View) stalled() *Condition {
	var log, polled *SourceStatus
	for i := range v.Sources {
		s := &v.Sources[i]
		if s.InTurn && s.Unreadable() == nil && (log == nil || s.LastLine.After(log.LastLine)) {
			log = s
		}
		if !s.Unlogged.IsZero() && s.LastLine.After(s.Unlogged) {
			polled = s
		}
	}
	if log == nil || polled == nil || !polled.Unlogged.After(log.LastLine) {
		return nil
	}
	return &Condition{Name: SourceStalled, Cluster: v.Cluster, Source: log.Name, Since: polled.Unlogged,
		Reason: "no new lines, but " + polled.Name + " shows submissions or ends that it lacks: does slurmctld write " +
			"to another file? After a rotation it needs SIGUSR2"}
}

// startsUnseen returns the condition StartsUnseen of a cluster, nil if it has none. The start of a job that has just
// ended is missing for a moment if a source has it, see cluster.Job.Over.
func (v *View) startsUnseen() *Condition {
	since := v.UnseenAt
	if v.At.Sub(since) > startsUnseenLasts {
		since = time.Time{}
	}
	hasStarts := slices.ContainsFunc(v.Sources, func(s SourceStatus) bool { return s.HasStarts })
	for _, j := range v.Over {
		if !hasStarts || v.At.Sub(j.Over) > startsUnseenAfter {
			since = j.Over
		}
	}
	if since.IsZero() {
		return nil
	}
	return &Condition{Name: StartsUnseen, Cluster: v.Cluster, Since: since,
		Reason: "jobs have ended whose starts no source has. Since Slurm 26.05 slurmctld.log has no starts by " +
			"backfill at level info: add a source of format slurm-squeue, or set SlurmctldDebug=verbose and " +
			"DebugFlags=HetJob"}
}

// startsUnseenAfter is how long a start may be missing in a cluster with a source that has it: two listings of the
// default interval, and more. startsUnseenLasts is how long the condition lasts.
const (
	startsUnseenAfter = 90 * time.Second
	startsUnseenLasts = 24 * time.Hour
)

// Unreadable returns the condition because of which no events come from the source, nil if there is none.
func (s *SourceStatus) Unreadable() *Condition {
	if i := slices.IndexFunc(s.Conditions, Condition.HidesSource); i >= 0 {
		return &s.Conditions[i]
	}
	return nil
}

// Reading returns the condition SourceReading of the source, without the cluster; nil if it has none.
func (s *SourceStatus) Reading() *Condition {
	if s.Tried() {
		return nil
	}
	return &Condition{Name: SourceReading, Source: s.Name, Since: s.Since,
		Reason: "still reading what was there before"}
}

// Tried reports whether the source was read to its end at least once, or cannot be read.
func (s *SourceStatus) Tried() bool { return s.CaughtUp || s.Unreadable() != nil }
