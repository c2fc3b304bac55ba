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

// sameCondition reports whether two conditions are the same, whenever they began.
func sameCondition(c, d readmodel.Condition) bool {
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

// reasonOf returns an error's words without the path, which the condition names already.
func reasonOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return plain(err.Error())
}

// ofClock reports whether a condition is one of those of noteClock.
func ofClock(c readmodel.Condition) bool {
	return c.Name == readmodel.ClockOffset || ofAside(c)
}

// ofAside reports whether a condition is that of events that were set aside.
func ofAside(c readmodel.Condition) bool { return c.Name == readmodel.SetAside }

// noteClock makes conditions of what is known of the source's clock; aside says whether events that were set aside are
// one. Their reasons do not count events or name
// instants: they are labels of metrics, and a condition begins anew when its words change.
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

// setConditions replaces the conditions that the filter selects; one that stood before keeps its begin.
func setConditions(
	s *readmodel.SourceStatus, selects func(readmodel.Condition) bool, now time.Time, conditions ...readmodel.Condition,
) {
	kept := []readmodel.Condition{} // never in place: published views share the old list
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

// Conditions returns what is wrong with the database and the sources, in a fixed order. It may be called from any
// goroutine.
func (p *Pipeline) Conditions() []readmodel.Condition {
	out := slices.Clone(p.cfg.Noticed)
	if c := p.storeProblem.Load(); c != nil && !p.cfg.Follows { // one that follows has it as its source's
		out = append(out, *c)
	}
	for _, v := range p.Views() {
		out = append(out, v.Conditions()...)
	}
	return out
}
