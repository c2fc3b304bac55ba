package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// asideMost is the maximum number of events of one source that are set aside at a time. Any further event becomes a
// bad line and is dropped.
const asideMost = 20_000

// asideShown is how long the condition set_aside lasts after the newest of the events was set aside. Without this
// bound, an event with a date in another century would keep the daemon degraded forever.
const asideShown = 24 * time.Hour

// asideEvent is an event that was set aside.
type asideEvent struct {
	event  job.Event
	read   time.Time
	prompt bool
}

// aside has the events of one source that were set aside, because their times are implausible. The events of one
// transaction form a group. Each group is stored under its own key among the checkpoints, so that adding a group does
// not rewrite the others.
type aside struct {
	groups  map[int][]asideEvent
	last    int // number of the newest group
	count   int
	refused int       // number of events for which there was no room
	next    time.Time // the earliest instant at which an event becomes due; zero if there is none
	newest  time.Time // when the newest event was read, by the daemon's clock
	dirty   map[int]bool
	known   map[asideID]bool // identities of the events in groups
}

// asideID identifies an event that is set aside. With it, an event that is read again is not set aside twice.
type asideID struct {
	kind job.Kind
	id   string
	at   int64
}

func (e *asideEvent) identity() asideID {
	return asideID{e.event.Kind, e.event.ID, e.event.Time.UnixNano()}
}

// has reports whether the event is set aside already.
func (a *aside) has(e *asideEvent) bool { return a.known[e.identity()] }

func asideKey(sourceName string, group int) string {
	return fmt.Sprintf("%s/.aside/%08d", sourceName, group)
}

// add sets an event aside. It returns false if there is no room for it: asideMost events are set aside already.
func (a *aside) add(e asideEvent) bool {
	a.newest = later(a.newest, e.read)
	if a.count >= asideMost {
		a.refused++
		return false
	}
	a.init()
	a.known[e.identity()] = true
	if !a.dirty[a.last] || a.groups[a.last] == nil {
		a.last++
		a.dirty[a.last] = true
	}
	a.groups[a.last] = append(a.groups[a.last], e)
	a.count++
	if at := e.event.Latest(); a.next.IsZero() || at.Before(a.next) {
		a.next = at
	}
	return true
}

// shown reports whether the source has the condition set_aside at an instant.
func (a *aside) shown(now time.Time) bool { return a.count > 0 && now.Before(a.newest.Add(asideShown)) }

func (a *aside) init() {
	if a.groups == nil {
		a.groups, a.dirty, a.known = map[int][]asideEvent{}, map[int]bool{}, map[asideID]bool{}
	}
}

// release calls use for each event, in the order in which the events were set aside. It removes the events for which
// use returns true.
func (a *aside) release(use func(asideEvent) bool) {
	a.next, a.count = time.Time{}, 0
	for _, n := range slices.Sorted(maps.Keys(a.groups)) {
		before := len(a.groups[n])
		a.groups[n] = slices.DeleteFunc(a.groups[n], func(e asideEvent) bool {
			used := use(e)
			if used {
				delete(a.known, e.identity())
			}
			return used
		})
		if len(a.groups[n]) < before {
			a.dirty[n] = true
		}
		for i := range a.groups[n] {
			a.newest = later(a.newest, a.groups[n][i].read)
			if at := a.groups[n][i].event.Latest(); a.next.IsZero() || at.Before(a.next) {
				a.next = at
			}
		}
		a.count += len(a.groups[n])
	}
}

// savedAside is the stored form of an asideEvent: the members of the event that are columns of the journal, its payload
// as in the journal, and times in nanoseconds since 1970.
type savedAside struct {
	Kind    string          `json:"kind"`
	Cluster string          `json:"cluster"`
	ID      string          `json:"id"`
	Time    int64           `json:"time"`
	All     bool            `json:"all,omitempty"`
	Ran     bool            `json:"ran,omitempty"`
	Total   int             `json:"total,omitempty"`
	Event   json.RawMessage `json:"event"`
	Read    int64           `json:"read"`
	Prompt  bool            `json:"prompt,omitempty"`
}

// save appends the groups that have changed to a batch. A group without events is appended without data.
func (a *aside) save(sourceName string, batch *modelstore.Batch) error {
	for _, n := range slices.Sorted(maps.Keys(a.dirty)) {
		var data []byte
		if list := a.groups[n]; len(list) > 0 {
			saved := make([]savedAside, len(list))
			for i := range list {
				ev := &list[i].event
				payload, err := modelstore.EncodeEvent(ev)
				if err != nil {
					return err
				}
				saved[i] = savedAside{
					Kind: ev.Kind.String(), Cluster: ev.Cluster, ID: ev.ID, Time: ev.Time.UnixNano(), All: ev.All,
					Ran: ev.Ran, Total: ev.Total, Event: payload,
					Read: list[i].read.UnixNano(), Prompt: list[i].prompt,
				}
			}
			var err error
			if data, err = json.Marshal(saved); err != nil {
				return err
			}
		} else {
			delete(a.groups, n)
		}
		batch.Checkpoints = append(batch.Checkpoints, modelstore.Checkpoint{Source: asideKey(sourceName, n),
			Data: data})
	}
	clear(a.dirty)
	return nil
}

// restore restores the stored groups of a source. saved has the checkpoints and other stored values by key.
func (a *aside) restore(sourceName string, saved map[string][]byte) error {
	prefix := strings.TrimSuffix(asideKey(sourceName, 0), "00000000")
	for key, data := range saved {
		var n int
		if _, err := fmt.Sscanf(strings.TrimPrefix(key, prefix), "%d", &n); err != nil ||
			!strings.HasPrefix(key, prefix) {
			continue
		}
		var list []savedAside
		if err := json.Unmarshal(data, &list); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		a.init()
		for i := range list {
			e, err := list[i].decode()
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			a.groups[n] = append(a.groups[n], e)
			a.known[e.identity()] = true
		}
		a.last = max(a.last, n)
	}
	a.release(func(asideEvent) bool { return false })
	return nil
}

func (s *savedAside) decode() (asideEvent, error) {
	kind, err := modelstore.ParseKind(s.Kind)
	if err != nil {
		return asideEvent{}, err
	}
	e := asideEvent{read: time.Unix(0, s.Read).UTC(), prompt: s.Prompt}
	e.event = job.Event{Kind: kind, Cluster: s.Cluster, ID: s.ID, Time: time.Unix(0, s.Time).UTC(), All: s.All,
		Ran: s.Ran, Total: s.Total}
	return e, modelstore.DecodeEvent(s.Event, &e.event)
}

// setAside sets aside the event ev, which has the index i in the delivery d. by is the judgement of the event. If there
// is no room for it, the event is dropped. In both cases its line is put into the quarantine, once for all events of
// the line. If the event is set aside already, setAside does nothing.
func (p *Pipeline) setAside(
	in *sourceState, d *source.Delivery, i int, ev job.Event, by *judgement, batch *modelstore.Batch,
) {
	e := asideEvent{event: ev, read: by.Read, prompt: by.Prompt}
	if in.clock.aside.has(&e) {
		return // the event was read again, or the next listing repeats it
	}
	first := in.clock.aside.count == 0
	kept := in.clock.aside.add(e)
	ahead := ev.Latest().Sub(by.Read).Round(time.Second)
	message := fmt.Sprintf(
		"%s of job %s is dated %s, %s ahead of the clock: it is set aside, and used when the clock gets there",
		ev.Kind, ev.ID, ev.Latest().Format(time.RFC3339), ahead)
	if !kept {
		message = fmt.Sprintf(
			"%s of job %s is dated %s, %s ahead of the clock, and %d events are set aside already: it is not used",
			ev.Kind, ev.ID, ev.Latest().Format(time.RFC3339), ahead, asideMost)
	}
	line := d.Ahead[i]
	if n := len(batch.BadLines); n > 0 && line.Number > 0 {
		if last := &batch.BadLines[n-1]; last.Line == line.Number && last.Path == line.Path {
			return // another event of the line is set aside already
		}
	}
	p.metrics.BadLines.WithLabelValues(in.cluster, d.Source.Name, collector.ReasonFuture).Inc()
	p.metrics.SetAside.WithLabelValues(in.cluster, d.Source.Name).Inc()
	if first || !kept && in.clock.aside.refused == 1 {
		p.log.Warn("a record is dated ahead of the clock; waitcast quarantine --reason future lists all",
			zap.String("source", d.Source.Name), zap.String("at", line.Path+lineNumber(line.Number)),
			zap.String("problem", message))
	}
	p.quarantine(d, &modelstore.BadLine{Path: line.Path, Line: line.Number, Reason: collector.ReasonFuture,
		Message: message, Text: line.Text}, batch)
}

func lineNumber(n int64) string {
	if n == 0 { // a delivery without lines is the answer of a polled scheduler
		return ""
	}
	return fmt.Sprintf(":%d", n)
}

// readmit removes the events of a source that need not be set aside any more: their time is not after now, or the
// source's present clock offset explains their time. It passes them to emit, unless later records made them useless
// (see outrun).
func (p *Pipeline) readmit(in *sourceState, now time.Time, emit func(job.Event)) {
	in.clock.aside.release(func(e asideEvent) bool {
		ev := e.event
		if !in.clock.explains(&ev, &e) && ev.Latest().After(now) {
			return false
		}
		ev.Live = false // with Live set, a forecast made after the fact would count as live
		if p.writers[in.cluster].outrun(&ev, e.read) {
			p.log.Info("a record that was set aside is not needed any more: later records told of its job",
				zap.String("source", in.clock.sourceName), zap.String("job", ev.ID), zap.Stringer("kind", ev.Kind))
			return true
		}
		emit(ev)
		return true
	})
}

// explains reports whether the time of an event that was set aside is plausible after the clock offset of its source
// has been subtracted. If so, it subtracts the offset. It returns false if the offset is not positive.
func (c *eventClock) explains(ev *job.Event, e *asideEvent) bool {
	offset := c.state.Offset
	beyond := ev.Latest().Sub(e.read) - offset
	if offset <= 0 || beyond > clockTolerance || e.prompt && beyond < -clockTolerance {
		return false
	}
	c.correct(ev, offset)
	return true
}

// outrun reports whether an event that was set aside is useless, because later records have overtaken it. That is so in
// two cases: it is the submission of a job that has come into the picture since; or no job with its id is in the
// picture, and the last one has left it since. Here "since" means later than read minus clockTolerance, where read is
// the instant at which the event was read.
func (l *clusterWriter) outrun(ev *job.Event, read time.Time) bool {
	since := read.Add(-clockTolerance)
	if j := l.state.Job(ev.ID); j != nil {
		return ev.Kind == job.Submit && j.Order.After(since)
	}
	return l.state.LeftAt(ev.ID, l.known).After(since)
}

// readmitDue applies the set-aside events whose time the clock has reached, in a transaction of their own. Then it
// publishes views. If no event is due, it does nothing.
func (p *Pipeline) readmitDue(ctx context.Context) error {
	now := p.now()
	g := group{p: p, ctx: ctx}
	due := false
	for _, name := range slices.Sorted(maps.Keys(p.sources)) {
		in := p.sources[name]
		if in.clock == nil || in.clock.aside.next.IsZero() || in.clock.aside.next.After(now) || p.stopped(in.cluster) {
			continue
		}
		due = true
		_ = p.guard(in.cluster, &g, func() error { // it returns no error
			p.readmit(in, now, func(ev job.Event) {
				in.events[p.writers[in.cluster].take(ev, name, p.nextSeq, &g.out)].Inc()
				g.keepEvent()
			})
			return nil
		})
	}
	if !due {
		return nil
	}
	if err := g.commit(); err != nil {
		if ctx.Err() != nil {
			return nil // the store keeps the events, and they are applied after the next start
		}
		return err
	}
	p.publish()
	return nil
}

// saveClocks appends to a batch the changed states of the sources' clocks, and the changed groups of events that are
// set aside.
func (p *Pipeline) saveClocks(batch *modelstore.Batch) error {
	if p.store == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.sources)) {
		c := p.sources[name].clock
		if c == nil || p.stopped(p.sources[name].cluster) {
			continue
		}
		if open := len(c.state.Open) > 0; c.changed || open || c.openSaved {
			c.state.Version, c.changed, c.openSaved = clockVersion, false, open
			data, err := json.Marshal(c.state)
			if err != nil {
				return err
			}
			batch.Checkpoints = append(batch.Checkpoints, modelstore.Checkpoint{Source: clockKey(name), Data: data})
		}
		if err := c.aside.save(name, batch); err != nil {
			return fmt.Errorf("source %s: saving what is set aside: %w", name, err)
		}
	}
	return nil
}

// newClock returns the clock of a source with its saved state. If that state cannot be read, this is logged.
func (p *Pipeline) newClock(s source.Config) *eventClock {
	c := &eventClock{
		sourceName: s.Name, writer: p.writers[s.Options.Cluster],
		measures: s.ClockOffset == nil && s.Format.Order == collector.Live,
	}
	if err := c.restore(p.saved); err != nil {
		p.log.Error("what is known of the clock of a log cannot be read: it is measured again",
			zap.String("source", s.Name), zap.Error(err))
	}
	return c
}

// noteOffset logs a change of a source's offset.
func (p *Pipeline) noteOffset(in *sourceState) {
	if in.clock.state.Offset == 0 {
		p.log.Info("the times of a log agree with this host's clock again", zap.String("source", in.clock.sourceName))
		return
	}
	p.log.Warn("the times of a log are corrected: the clock that wrote them differs from this host's; "+
		"set the clocks right or time_zone, or clock_offset of the source if they are to differ",
		zap.String("source", in.clock.sourceName), zap.Duration("clock_offset", in.clock.state.Offset))
}
