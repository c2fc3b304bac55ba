package pipeline

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/internal/terminal"
)

// ConditionName is the kind of a condition: a word of /readyz and the label "condition" of waitcast_health_condition.
type ConditionName string

// The kinds of conditions. Whoever adds one adds it to HidesSource if nothing comes from the source while it stands, to the
// table of docs/operate.md, and an alert if WaitcastDegraded is not enough.
const (
	// SourceUnreadable: a log cannot be read, or a scheduler that is polled does not answer.
	SourceUnreadable ConditionName = "source_unreadable"
	// SourceReading: the end of a log has not been reached since the start of the process.
	SourceReading ConditionName = "source_reading"
	// NothingRead: no record of any cluster is known, so that nothing can be forecast. Only a daemon that is not ready has it.
	NothingRead ConditionName = "nothing_read"
	// StoreFailing: the database cannot be read or written, or its file was deleted, moved or replaced.
	StoreFailing ConditionName = "store_failing"
	// StoreEmptied: the database was empty at the start, though there had been one before.
	StoreEmptied ConditionName = "store_emptied"
	// StoreExchanged: the database is not the one that was there at the start before, nor a copy of it.
	StoreExchanged ConditionName = "store_exchanged"
	// NoCollector: no daemon collects into the database that is answered from.
	NoCollector ConditionName = "no_collector"
	// ClockOffset: the clock that writes a log is off from the daemon's, and the log's times are corrected by the measured offset.
	ClockOffset ConditionName = "clock_offset"
	// SetAside: records of a source are dated ahead of the clock, and are used when it gets there.
	SetAside ConditionName = "set_aside"
)

// Condition is one thing that keeps the daemon from doing all of its work. /readyz, the metrics, the page and the command
// show the list of them in the words of String. A condition has no value of its own: it stands as long as it is listed.
//
// To add one: give it a ConditionName; if it belongs to a source put it into that source's SourceStatus.Conditions
// (SourceStatus.setConditions keeps Since), otherwise return it from Pipeline.Conditions or the daemon's views. Nothing else needs
// to know of it.
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
}

// String returns the words for people: name, source, file, reason.
func (c Condition) String() string {
	parts := []string{string(c.Name)}
	switch {
	case c.Source != "":
		parts = append(parts, "source "+c.Source)
	case c.Cluster != "":
		parts = append(parts, "cluster "+c.Cluster)
	}
	for _, part := range []string{c.File, c.Reason} {
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

// same reports whether d is the same condition, whenever it began.
func (c Condition) same(d Condition) bool {
	c.Since = d.Since
	return c == d
}

// maxConditionText is the most runes of a file or a reason: they are labels of metrics.
const maxConditionText = 300

// plain returns text as one line of printable characters, shortened if it is long: files and reasons come from outside.
func plain(text string) string {
	clean := []rune(terminal.Line(text))
	if len(clean) > maxConditionText {
		clean = append(clean[:maxConditionText-1], '…')
	}
	return string(clean)
}

// maxSourceConditions bounds the files that are named of one source.
const maxSourceConditions = 8

// unreadable returns the conditions of what keeps a source from being read.
func unreadable(s *source.Config, problems []tail.Problem) []Condition {
	var out []Condition
	for _, p := range problems[:min(len(problems), maxSourceConditions)] {
		out = append(out, Condition{
			Name: SourceUnreadable, Cluster: s.Options.Cluster, Source: s.Name, File: plain(p.Path), Reason: reasonOf(p.Err),
		})
	}
	return out
}

// reasonOf returns an error's words without the path, which the condition names already.
func reasonOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return plain(err.Error())
}

// Unreadable returns the condition that keeps the source from being read, nil if there is none.
func (s *SourceStatus) Unreadable() *Condition {
	if i := slices.IndexFunc(s.Conditions, Condition.HidesSource); i >= 0 {
		return &s.Conditions[i]
	}
	return nil
}

// Tried reports whether the source was read to its end at least once, or cannot be read.
func (s *SourceStatus) Tried() bool { return s.CaughtUp || s.Unreadable() != nil }

// ofClock reports whether a condition is one of those of noteClock.
func ofClock(c Condition) bool { return c.Name == ClockOffset || c.Name == SetAside }

// noteClock makes conditions of what is known of the source's clock. Their reasons do not count events or name instants: they are labels of metrics, and a
// condition begins anew when its words change.
func (s *SourceStatus) noteClock(clusterName string, now time.Time) {
	var of []Condition
	if s.ClockOffset != 0 {
		where := "ahead of"
		if s.ClockOffset < 0 {
			where = "behind"
		}
		of = append(of, Condition{
			Name: ClockOffset, Cluster: clusterName, Source: s.Name,
			Reason: "its times are " + s.ClockOffset.Abs().String() + " " + where + " this host's clock, and are corrected by that: set time_zone, the clocks, or clock_offset of the source",
		})
	}
	if s.SetAside > 0 {
		of = append(of, Condition{
			Name: SetAside, Cluster: clusterName, Source: s.Name,
			Reason: "records are dated ahead of the clock, and are used when it gets there: waitcast quarantine --reason future lists them",
		})
	}
	if len(of) > 0 || slices.ContainsFunc(s.Conditions, ofClock) {
		s.setConditions(ofClock, now, of...)
	}
}

// setConditions replaces the conditions that the filter selects; one that stood before keeps its begin.
func (s *SourceStatus) setConditions(selects func(Condition) bool, now time.Time, conditions ...Condition) {
	kept := []Condition{} // never in place: published views share the old list
	for _, c := range s.Conditions {
		if !selects(c) {
			kept = append(kept, c)
		}
	}
	for _, c := range conditions {
		c.Since = now
		if i := slices.IndexFunc(s.Conditions, c.same); i >= 0 {
			c.Since = s.Conditions[i].Since
		}
		kept = append(kept, c)
	}
	s.Conditions = kept
}

// Conditions returns what is wrong with the database and the sources, in a fixed order. It may be called from any goroutine.
func (p *Pipeline) Conditions() []Condition {
	out := slices.Clone(p.cfg.Noticed)
	if c := p.storeProblem.Load(); c != nil && !p.cfg.Follows { // one that follows has it as its source's
		out = append(out, *c)
	}
	for _, v := range p.Views() {
		out = append(out, v.Conditions()...)
	}
	return out
}

// Conditions returns what is wrong with the cluster's sources.
func (v *View) Conditions() []Condition {
	var out []Condition
	for i := range v.Sources {
		s := &v.Sources[i]
		out = append(out, s.Conditions...)
		if !s.Tried() {
			out = append(out, Condition{
				Name: SourceReading, Cluster: v.Cluster, Source: s.Name, Reason: "still reading what was there before", Since: s.Since,
			})
		}
	}
	slices.SortStableFunc(out, func(a, b Condition) int { return cmp.Compare(a.Source, b.Source) })
	return out
}
