package pipeline

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// A log's times come from another clock than the daemon's. What an event's time is worth is decided when the event is
// read, once: what the writer journals is the corrected event, and a replay never looks at a clock. An event that no
// clock explains is set aside (aside.go). docs/tailing.md describes the rules.
const (
	// clockTolerance is the difference between clocks that is left alone, and how far ahead of the daemon's clock an
	// event may be.
	clockTolerance = source.AheadTolerance
	// clockSamples is how many of a source's newest events its offset is measured by, clockLeast how many it takes at
	// least.
	clockSamples, clockLeast = 50, 10
	// clockAgree is how close to the median more than half of the samples must be: a clock is off by a constant, what
	// is written late is not. An offset that changes by less stays as it is.
	clockAgree = time.Minute
	// clockBehind is how far behind the daemon's clock a log may be that is corrected: no zone is further off. What is
	// older is an old log that is written again.
	clockBehind = 26 * time.Hour
)

// eventClock decides what the times of one source's events are worth.
type eventClock struct {
	sourceName string
	writer     *clusterWriter
	measures   bool // the offset is measured
	state      clockState
	changed    bool // the state, since it was saved
	aside      aside
	taken      int  // events behind the newest checkpoint that were taken in by this process
	openSaved  bool // the saved state has judgements
}

// judgement is what the decision about the times of some events rests on.
type judgement struct {
	Events int           `json:"events"` // how many
	Read   time.Time     `json:"read"`
	Prompt bool          `json:"prompt,omitempty"`
	Offset time.Duration `json:"offset"`
}

// clockState is what of an eventClock is saved, in nanoseconds.
type clockState struct {
	Version int             `json:"v"`
	Offset  time.Duration   `json:"offset"`
	Samples []time.Duration `json:"samples"` // event time - clock of the newest events, oldest first
	// Open are the judgements of the events behind the newest checkpoint, in order. A delivery that takes several
	// transactions is read again after a kill between them, later and as history; its events are judged as they were.
	Open []judgement `json:"open,omitempty"`
}

const clockVersion = 1

// clockKey is the name under which the state is kept among the checkpoints: it is committed with the events that were
// decided by it.
func clockKey(sourceName string) string { return sourceName + "/.clock" }

// judged is the number of events of a delivery, from its first on, that were judged before a kill.
func (c *eventClock) judged(d *source.Delivery) int {
	n := -c.taken
	for i := range c.state.Open {
		n += c.state.Open[i].Events
	}
	return min(max(0, n), len(d.Events))
}

// judge notes what the other events of a delivery are judged by.
func (c *eventClock) judge(d *source.Delivery) {
	fresh := judgement{
		Events: len(d.Events) - c.judged(d), Read: d.Read.Round(0).UTC(), Prompt: d.Prompt(), Offset: c.state.Offset,
	}
	if fresh.Events == 0 {
		return
	}
	if n := len(c.state.Open); n > 0 {
		last := c.state.Open[n-1]
		if last.Events = fresh.Events; last == fresh {
			c.state.Open[n-1].Events += fresh.Events
			return
		}
	}
	c.state.Open = append(c.state.Open, fresh)
}

// judgementOf returns what the event of the present delivery with an index is judged by.
func (c *eventClock) judgementOf(i int) *judgement {
	at := c.taken + i
	for n := range c.state.Open {
		if at -= c.state.Open[n].Events; at < 0 {
			return &c.state.Open[n]
		}
	}
	return &c.state.Open[len(c.state.Open)-1]
}

// took ends a delivery. No event behind its checkpoint is read again; what has no checkpoint of its own is.
func (c *eventClock) took(d *source.Delivery, again bool) {
	if c.taken += len(d.Events); again && d.Checkpoint == nil {
		return
	}
	c.state.Open, c.taken = nil, 0
}

// measure takes the samples of a delivery and reports whether the offset has changed. The answers of a scheduler are
// not measured: most of what they show happened long ago.
func (c *eventClock) measure(d *source.Delivery) bool {
	fresh := d.Events[c.judged(d):]
	if !c.measures || len(fresh) == 0 || !d.Prompt() || d.Answered {
		return false
	}
	s := c.state.Samples
	for i := range fresh {
		s = append(s, fresh[i].Latest().Sub(d.Read).Round(time.Millisecond))
	}
	c.state.Samples, c.changed = slices.Clone(s[max(0, len(s)-clockSamples):]), true
	return c.adjust()
}

// adjust takes over the offset that the samples show, if they show one, and reports whether it is another one.
func (c *eventClock) adjust() bool {
	samples := slices.Sorted(slices.Values(c.state.Samples))
	if len(samples) < clockLeast {
		return false
	}
	median, agree := samples[len(samples)/2], 0
	for _, s := range samples {
		if (s - median).Abs() <= clockAgree {
			agree++
		}
	}
	if 2*agree <= len(samples) {
		return false
	}
	offset := median.Round(time.Second)
	if offset.Abs() <= clockTolerance || offset < -clockBehind {
		offset = 0
	}
	if (offset-c.state.Offset).Abs() <= clockAgree && (offset == 0) == (c.state.Offset == 0) {
		return false
	}
	c.state.Offset = offset
	return true
}

// admit corrects an event by the source's offset and returns true, or false for an event that is to be set aside.
func (c *eventClock) admit(ev *job.Event, by *judgement) bool {
	ahead, offset := ev.Latest().Sub(by.Read), by.Offset
	switch {
	case offset == 0, by.Prompt && ahead.Abs() <= clockTolerance: // its clock agrees with the daemon's
		return ahead <= clockTolerance
	case ahead-offset > clockTolerance: // its clock is ahead even of the source's
		return ahead <= clockTolerance
	case by.Prompt && ahead > clockTolerance && ahead-offset < -clockTolerance: // between the two clocks
		return false
	}
	c.correct(ev, offset)
	return true
}

// correct moves an event by an offset. What was told of its job before the offset was known keeps its time, which may
// be later by the offset: the event then happened no earlier than that.
func (c *eventClock) correct(ev *job.Event, offset time.Duration) {
	ev.Shift(-offset)
	j := c.writer.state.Job(ev.ID)
	if j == nil || ev.Kind == job.Submit {
		return
	}
	told := later(j.Submit, j.Start)
	if gap := told.Sub(ev.Time); gap <= 0 || gap > offset {
		return
	}
	ev.Time = told
	for _, t := range [...]*time.Time{&ev.Times.Start, &ev.Times.End} {
		if !t.IsZero() {
			*t = later(*t, told)
		}
	}
}

// restore takes over what was saved.
func (c *eventClock) restore(saved map[string][]byte) error {
	if data := saved[clockKey(c.sourceName)]; len(data) > 0 {
		var s clockState
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		if s.Version == clockVersion {
			c.state, c.openSaved = s, len(s.Open) > 0
		}
		if !c.measures {
			c.state.Offset, c.state.Samples = 0, nil
		}
	}
	return c.aside.restore(c.sourceName, saved)
}
