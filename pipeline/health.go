package pipeline

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/internal/terminal"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// sameCondition reports whether two conditions are equal apart from the time at which they began and their progress.
func sameCondition(c, d readmodel.Condition) bool {
	c.Since, c.Progress = d.Since, d.Progress
	return c == d
}

// maxConditionText is the maximum number of runes in the file and in the reason of a condition. Both are label values
// of metrics.
const maxConditionText = 300

// plain returns text as one line of printable characters, shortened to maxConditionText. File names and reasons come
// from outside the daemon, so they may contain anything.
func plain(text string) string {
	clean := []rune(terminal.Line(text))
	if len(clean) > maxConditionText {
		clean = append(clean[:maxConditionText-1], '…')
	}
	return string(clean)
}

// maxSourceConditions is the maximum number of unreadable files that are named for one source.
const maxSourceConditions = 8

// unreadable returns a condition for each of the problems that prevent the reading of a source, up to
// maxSourceConditions.
func unreadable(s *source.Config, problems []tail.Problem) []readmodel.Condition {
	var out []readmodel.Condition
	for _, p := range problems[:min(len(problems), maxSourceConditions)] {
		out = append(out, readmodel.Condition{
			Name: readmodel.SourceUnreadable, Cluster: s.Options.Cluster, Source: s.Name,
			File: plain(p.Path), Reason: reasonOf(p.Err),
		})
	}
	return out
}

// ofAnswer reports whether a condition is one of those that incomplete returns.
func ofAnswer(c readmodel.Condition) bool {
	return c.Name == readmodel.SourceIncomplete || c.Name == readmodel.AccountingLost
}

// incomplete returns the conditions of a source whose answer has a gap, or lacks a part that did not answer.
func incomplete(d *source.Delivery) (out []readmodel.Condition) {
	of := readmodel.Condition{Cluster: d.Source.Options.Cluster, Source: d.Source.Name}
	if d.Gap != nil {
		of.Name, of.Reason, of.Progress = readmodel.SourceIncomplete, plain(d.Gap.Reason), d.Gap.Progress
		out = append(out, of)
	}
	if d.Outage != "" {
		of.Name, of.Reason, of.Progress = readmodel.AccountingLost, plain(d.Outage), ""
		out = append(out, of)
	}
	return out
}

// reasonOf returns an error's text without the path. The condition has the path already.
func reasonOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return plain(err.Error())
}

// ofClock reports whether a condition is one of those that noteClock sets.
func ofClock(c readmodel.Condition) bool {
	return c.Name == readmodel.ClockOffset || ofAside(c)
}

// ofAside reports whether a condition is set_aside.
func ofAside(c readmodel.Condition) bool { return c.Name == readmodel.SetAside }

// noteClock sets the conditions of a source's clock: one if the clock has an offset, and one for events that were set
// aside if aside is true. The reasons contain no counts or times: they are labels of metrics, and a condition with
// another reason would count as a new one.
func noteClock(s *readmodel.SourceStatus, clusterName string, aside bool, now time.Time) {
	var of []readmodel.Condition
	if s.ClockOffset != 0 {
		where := "ahead of"
		if s.ClockOffset < 0 {
			where = "behind"
		}
		of = append(of, readmodel.Condition{
			Name: readmodel.ClockOffset, Cluster: clusterName, Source: s.Name,
			Reason: "its times are " + s.ClockOffset.Abs().String() + " " + where +
				" this host's clock, and are corrected by that: " +
				"set time_zone, the clocks, or clock_offset of the source",
		})
	}
	if aside {
		of = append(of, readmodel.Condition{
			Name: readmodel.SetAside, Cluster: clusterName, Source: s.Name,
			Reason: "records are dated ahead of the clock, and are used when it gets there: " +
				"waitcast quarantine --reason future lists them",
		})
	}
	if len(of) > 0 || slices.ContainsFunc(s.Conditions, ofClock) {
		setConditions(s, ofClock, now, of...)
	}
}

// setConditions replaces those conditions of a source for which selects returns true. The given conditions take their
// place; those that existed before keep the time at which they began.
func setConditions(
	s *readmodel.SourceStatus, selects func(readmodel.Condition) bool, now time.Time, conditions ...readmodel.Condition,
) {
	kept := []readmodel.Condition{} // a new list, because published views share the old one
	for _, c := range s.Conditions {
		if !selects(c) {
			kept = append(kept, c)
		}
	}
	for _, c := range conditions {
		c.Since = now
		stood := func(d readmodel.Condition) bool { return sameCondition(c, d) }
		if i := slices.IndexFunc(s.Conditions, stood); i >= 0 {
			c.Since = s.Conditions[i].Since
		}
		kept = append(kept, c)
	}
	s.Conditions = kept
}

// Conditions returns Config.Noticed, then the condition of the database, then the conditions of the sources and of the
// histories, by the names of the clusters. A follower has no condition of the database: its sources have one instead.
// Conditions may be called from any goroutine.
func (p *Pipeline) Conditions() []readmodel.Condition {
	out := slices.Clone(p.cfg.Noticed)
	if c := p.storeProblem.Load(); c != nil && !p.cfg.Follows { // a follower has a condition of its source instead
		out = append(out, *c)
	}
	for _, v := range p.Views() {
		out = append(out, v.Conditions()...)
	}
	return out
}

// noteUnlogged records the time of a scheduler's answer with changes that no log of the cluster has. The first such
// answer since the newest line of a log counts.
func (p *Pipeline) noteUnlogged(in *sourceState, d *source.Delivery) {
	if !d.Unlogged {
		return
	}
	for _, other := range p.sources {
		if other.cluster == in.cluster && other.status.InTurn && other.status.LastLine.After(in.status.Unlogged) {
			in.status.Unlogged = time.Time{}
		}
	}
	if in.status.Unlogged.IsZero() {
		in.status.Unlogged = p.now()
	}
}
