package readmodel

import (
	"slices"
	"strings"
	"time"
)

// SourceStatus is the state of the reading of one log.
type SourceStatus struct {
	Name string
	// CaughtUp is true when the end of the log has been reached.
	CaughtUp bool
	// Since is when the source became known.
	Since time.Time
	// Conditions are what is wrong with it. Readers must not change them.
	Conditions []Condition
	// InTurn is true for a log of one of several servers of the scheduler, of which one writes at a time.
	InTurn bool
	// LastLine is when the source last delivered a line, or a polled scheduler answered, by the daemon's clock; zero
	// before the first.
	LastLine time.Time
	// ClockOffset is the measured time by which the log's clock is ahead of the daemon's. Times of the log are
	// corrected by it. 0 if the clocks agree, or if the offset is configured.
	ClockOffset time.Duration
	// SetAside is the number of events that are ahead of the clock and wait for it; SetAsideUntil is the earliest of
	// them, zero if there is none.
	SetAside      int
	SetAsideUntil time.Time
}

// ConditionName is the kind of a condition: a word of /readyz and the label "condition" of waitcast_health_condition.
type ConditionName string

// The kinds of conditions. To add one, also extend HidesSource if nothing comes from the source while it stands, the
// table of docs/operate.md, and the alerts if WaitcastDegraded is not enough.
const (
	// SourceUnreadable: a log cannot be read, or a scheduler that is polled does not answer.
	SourceUnreadable ConditionName = "source_unreadable"
	// SourceStandby: a log cannot be read that is written by the host of one of several servers, in turn with that of
	// another, which is followed. It alone keeps nothing from working.
	SourceStandby ConditionName = "source_standby"
	// SourceReading: the end of a log has not been reached since the start of the process.
	SourceReading ConditionName = "source_reading"
	// NothingRead: no record of any cluster is known, so that nothing can be forecast. Only a daemon that is not ready
	// has it.
	NothingRead ConditionName = "nothing_read"
	// StoreFailing: the database cannot be read or written, or its file was deleted, moved or replaced.
	StoreFailing ConditionName = "store_failing"
	// StoreEmptied: the database was empty at the start, though there had been one before.
	StoreEmptied ConditionName = "store_emptied"
	// StoreExchanged: the database is not the one that was there at the start before, nor a copy of it.
	StoreExchanged ConditionName = "store_exchanged"
	// NoCollector: no daemon collects into the database that is answered from.
	NoCollector ConditionName = "no_collector"
	// ClockOffset: the clock that writes a log is off from the daemon's, and the log's times are corrected by the
	// measured offset.
	ClockOffset ConditionName = "clock_offset"
	// HistoryReading: logs of the past are being read into the history of a cluster.
	HistoryReading ConditionName = "history_reading"
	// HistoryLearning: the state of a cluster is built from its history, beside the one that is answered from.
	HistoryLearning ConditionName = "history_learning"
	// HistoryFailing: the history of a cluster cannot be read or learnt.
	HistoryFailing ConditionName = "history_failing"
	// SetAside: records of a source are dated ahead of the clock, and are used when it gets there. It ends then, or a
	// day after the newest one was read.
	SetAside ConditionName = "set_aside"
)

// Condition is one thing that keeps the daemon from doing all of its work. /readyz, the metrics, the page and the
// command show the list of them in the words of String. A condition has no value of its own: it stands as long as it is
// listed.
type Condition struct {
	Name ConditionName
	// Cluster and Source are empty where the condition is not of a source. Source begins with the cluster's name.
	Cluster, Source string
	// File is a path, a program or a database; empty where none is meant.
	File string
	// Reason is one line of printable text, for people.
	Reason string
	// Since is when the condition began, by the injected clock.
	Since time.Time
	// Progress is how far it is, for people; empty where it makes none. Unlike Reason it changes all the time.
	Progress string
}

// String returns the words for people: name, source, file, reason, progress.
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

// HidesSource reports whether nothing comes from the condition's source while it stands.
func (c Condition) HidesSource() bool {
	return c.Name == SourceUnreadable || c.Name == StoreFailing || c.Name == NoCollector
}

// Harmless reports whether the daemon does all of its work while the condition stands.
func (c Condition) Harmless() bool { return c.Name == SourceStandby }

// Unreadable returns the condition that keeps the source from being read, nil if there is none.
func (s *SourceStatus) Unreadable() *Condition {
	if i := slices.IndexFunc(s.Conditions, Condition.HidesSource); i >= 0 {
		return &s.Conditions[i]
	}
	return nil
}

// Tried reports whether the source was read to its end at least once, or cannot be read.
func (s *SourceStatus) Tried() bool { return s.CaughtUp || s.Unreadable() != nil }
