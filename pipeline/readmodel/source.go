package readmodel

import (
	"slices"
	"strings"
	"time"
)

// SourceStatus is the state of one source.
type SourceStatus struct {
	Name string
	// CaughtUp is true when the end of the log has been reached.
	CaughtUp bool
	// Since is the time at which the source became known.
	Since time.Time
	// Conditions are the problems of the source. Readers must not change them.
	Conditions []Condition
	// InTurn is true for a log of one of several servers of the scheduler, only one of which writes at a time.
	InTurn bool
	// LastLine is the time, by the daemon's clock, at which the source last delivered a line or a polled scheduler
	// last answered. It is zero before the first line or answer.
	LastLine time.Time
	// ClockOffset is the measured time by which the log's clock is ahead of the daemon's. It is subtracted from the
	// times of the log. It is 0 if the clocks agree, or if the offset is configured.
	ClockOffset time.Duration
	// SetAside is the number of events that are set aside because their times are ahead of the clock. SetAsideUntil is
	// the earliest of their times, zero if there are none.
	SetAside      int
	SetAsideUntil time.Time
}

// ConditionName is the kind of a condition, as in /readyz and in the label "condition" of waitcast_health_condition.
type ConditionName string

// These are the kinds of conditions. A new kind also needs a row in the table of docs/operate.md. HidesSource must
// include it if no events come from the source during the condition. It needs an alert if WaitcastDegraded is not
// enough.
const (
	// SourceUnreadable: a log cannot be read, or a scheduler that is polled does not answer.
	SourceUnreadable ConditionName = "source_unreadable"
	// SourceStandby: a log cannot be read, but it belongs to one of several servers that write in turn, and the log of
	// another one is followed. This is harmless.
	SourceStandby ConditionName = "source_standby"
	// SourceReading: the end of a log has not been reached since the start of the process.
	SourceReading ConditionName = "source_reading"
	// NothingRead: no record of any cluster has been read, so there are no forecasts. Only a daemon that is not ready
	// has this condition.
	NothingRead ConditionName = "nothing_read"
	// StoreFailing: the database cannot be read or written, or its file was deleted, moved or replaced.
	StoreFailing ConditionName = "store_failing"
	// StoreEmptied: the database was empty at the start, although the daemon had one before.
	StoreEmptied ConditionName = "store_emptied"
	// StoreExchanged: the database is neither that of the previous start nor a copy of it.
	StoreExchanged ConditionName = "store_exchanged"
	// NoCollector: no daemon collects into the database that serves the answers.
	NoCollector ConditionName = "no_collector"
	// ClockOffset: the clock that writes a log differs from the daemon's. The log's times are corrected by the
	// measured offset.
	ClockOffset ConditionName = "clock_offset"
	// HistoryReading: logs of the past are being read into the history of a cluster.
	HistoryReading ConditionName = "history_reading"
	// HistoryLearning: the state of a cluster is being built from its history, while the old one serves answers.
	HistoryLearning ConditionName = "history_learning"
	// HistoryFailing: the history of a cluster cannot be read or learnt.
	HistoryFailing ConditionName = "history_failing"
	// ConfigRefused: a reload could not use the configuration, and the previous one stays in force.
	ConfigRefused ConditionName = "config_refused"
	// SetAside: records of a source have times ahead of the clock. They are used when the clock reaches those times.
	// The condition ends then, or a day after the newest of them was read.
	SetAside ConditionName = "set_aside"
)

// Condition is a problem that keeps the daemon from doing all of its work. /readyz, the metrics, the page and the
// command show the list of conditions, as formatted by String. A condition exists as long as it is listed.
type Condition struct {
	Name ConditionName
	// Cluster and Source are empty if the condition does not belong to a source. The text of Source begins with the
	// cluster's name.
	Cluster, Source string
	// File is a path, a program or a database; or empty.
	File string
	// Reason is one line of printable text.
	Reason string
	// Since is the time at which the condition began, by the injected clock.
	Since time.Time
	// Progress is the progress as text; empty if there is none. Unlike Reason it changes all the time.
	Progress string
}

// String formats the condition: name, source, file, reason, progress.
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

// HidesSource reports whether no events come from the condition's source during the condition.
func (c Condition) HidesSource() bool {
	return c.Name == SourceUnreadable || c.Name == StoreFailing || c.Name == NoCollector
}

// Harmless reports whether the daemon does all of its work despite the condition.
func (c Condition) Harmless() bool { return c.Name == SourceStandby }

// Unreadable returns the condition that prevents the reading of the source, nil if there is none.
func (s *SourceStatus) Unreadable() *Condition {
	if i := slices.IndexFunc(s.Conditions, Condition.HidesSource); i >= 0 {
		return &s.Conditions[i]
	}
	return nil
}

// Tried reports whether the source was read to its end at least once, or cannot be read.
func (s *SourceStatus) Tried() bool { return s.CaughtUp || s.Unreadable() != nil }
