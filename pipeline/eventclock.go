package pipeline

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// The times in a log come from another clock than the daemon's. The time of an event is corrected once, when the event
// is read. The journal has the corrected event, so a replay never uses a clock. An event whose time is implausible by
// both clocks is set aside (see aside.go). docs/tailing.md describes the rules.
const (
	// clockTolerance is the largest difference between the two clocks that is not corrected. It is also the maximum by
	// which an event may be ahead of the daemon's clock.
	clockTolerance = source.AheadTolerance
	// The offset of a source's clock is measured from its newest events: at most clockSamples, and at least clockLeast.
	clockSamples, clockLeast = 50, 10
	// clockAgree is the maximum distance from the median at which a sample agrees with it. More than half of the
	// samples must agree. This distinguishes the offset of a clock, which is constant, from the delay of late records,
	// which varies. A change of a corrected offset by at most clockAgree is ignored.
	clockAgree = time.Minute
	// clockBehind is the maximum by which a log's clock may be behind to be corrected. No two time zones differ by
	// more. If the times are still further behind, an old log is being written again.
	clockBehind = 26 * time.Hour
)

// eventClock corrects the times of the events of one source.
type eventClock struct {
	sourceName string
	writer     *clusterWriter
	measures   bool // the offset of the clock is measured
	state      clockState
	changed    bool // the state has changed since it was saved
	aside      aside
	taken      int  // how many events after the newest checkpoint this process has applied
	openSaved  bool // the saved state includes judgements
}

// judgement has the inputs to the correction of the times of consecutive events: when the events were read, whether
// promptly, and the clock offset.
type judgement struct {
	Events int           `json:"events"` // number of events
	Read   time.Time     `json:"read"`
	Prompt bool          `json:"prompt,omitempty"`
	Offset time.Duration `json:"offset"`
}

// clockState is the stored part of an eventClock. Durations are stored in nanoseconds.
type clockState struct {
	Version int             `json:"v"`
	Offset  time.Duration   `json:"offset"`
	Samples []time.Duration `json:"samples"` // times of the newest events minus the times at which they were read, oldest first
	// Open has the judgements of all events after the newest checkpoint, in order. If the process is killed between two
	// transactions of a delivery, the delivery is read again later, and no longer promptly. Its events are then judged
	// by the inputs in Open, as before.
	Open []judgement `json:"open,omitempty"`
}

const clockVersion = 1

// clockKey returns the name under which the clock state of a source is stored among the checkpoints. So the state is
// committed together with the events that it corrected.
func clockKey(sourceName string) string { return sourceName + "/.clock" }

// judged returns how many events at the beginning of a delivery have a judgement already. An earlier process judged
// these events, and was killed before the next checkpoint.
func (c *eventClock) judged(d *source.Delivery) int {
	n := -c.taken
	for i := range c.state.Open {
		n += c.state.Open[i].Events
	}
	return min(max(0, n), len(d.Events))
}

// judge records the judgement of the events of a delivery that have none yet.
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

// judgementOf returns the judgement of the event with the given index in the current delivery.
func (c *eventClock) judgementOf(i int) *judgement {
	at := c.taken + i
	for n := range c.state.Open {
		if at -= c.state.Open[n].Events; at < 0 {
			return &c.state.Open[n]
		}
	}
	return &c.state.Open[len(c.state.Open)-1]
}

// took ends a delivery. It drops the judgements of all events so far, unless again is set and the delivery has no
// checkpoint: then the events may be read again, and keep their judgements.
func (c *eventClock) took(d *source.Delivery, again bool) {
	if c.taken += len(d.Events); again && d.Checkpoint == nil {
		return
	}
	c.state.Open, c.taken = nil, 0
}

// measure adds the events of a prompt delivery that have no judgement yet to the samples, and reports whether the
// offset has changed. It does nothing if the offset is not measured. It does not use the answers of a polled scheduler,
// because most of their events happened long ago.
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

// adjust sets the offset to the median of the samples, or to 0 if the median is not to be corrected. It does nothing if
// there are fewer than clockLeast samples, if the samples do not agree (see clockAgree), or if the offset would hardly
// change. It reports whether the offset changed.
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

// admit subtracts the offset of the source from the times of an event, unless they are plausible as they are. It
// returns false if the event is to be set aside.
func (c *eventClock) admit(ev *job.Event, by *judgement) bool {
	ahead, offset := ev.Latest().Sub(by.Read), by.Offset
	switch {
	case offset == 0, by.Prompt && ahead.Abs() <= clockTolerance: // the source's clock agrees with the daemon's
		return ahead <= clockTolerance
	case ahead-offset > clockTolerance: // the event is ahead even by the source's clock
		return ahead <= clockTolerance
	case by.Prompt && ahead > clockTolerance && ahead-offset < -clockTolerance: // between the clocks
		return false
	}
	c.correct(ev, offset)
	return true
}

// correct subtracts an offset from the times of an event. Records of the same job that were read before the offset was
// known have uncorrected times, which are too late by the offset. The event is not moved to before those times.
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

// restore restores the stored state of the source's clock, with the events that were set aside. saved has the stored
// values by key.
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
