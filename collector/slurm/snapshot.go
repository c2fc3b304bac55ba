package slurm

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// settle is the minimum age of a change that a snapshot reports: younger changes are left to the log, which has them to
// the millisecond and may be a moment behind. Attributes of jobs that are in the log are reported at once.
const settle = 2 * time.Second

// Live is what the picture of the cluster holds of a job.
type Live struct {
	job.Attributes
	Submit, Eligible time.Time
	Start            time.Time // zero while it waits
	Held             bool
	Suspended        bool
}

// SnapshotConfig is what a Snapshot is made from.
type SnapshotConfig struct {
	Options collector.Options
	// Picture returns the jobs of the picture that live.
	Picture func() map[string]Live
	// Alone is set if no log has submissions, starts and ends: then the snapshot reports them, as far as it sees them.
	Alone bool
	// User is the daemon's own user where Slurm may hide other users' jobs from it (PrivateData), else "".
	User string
}

// Snapshot compares squeue's output with the picture, and returns the differences as events. The picture may be ahead
// of a snapshot or behind it by a moment, so that it never undoes anything at once: a job that is gone, or waits again,
// must be so in two snapshots in a row.
//
// A snapshot has no history: its events of unseen jobs give no forecast (the cluster's fold derives their submissions),
// unless it is alone.
type Snapshot struct {
	cfg    SnapshotConfig
	parser squeueParser
	first  bool      // no snapshot was taken yet
	asked  time.Time // when the last one was
	open   bool      // other users' jobs are seen
	seen   map[string]bool
	// What the last snapshot found, by job; at is when it was first found.
	missing, requeued, unknown, switched map[string]finding
}

// finding is something that the last snapshot found.
type finding struct {
	at       time.Time
	reported bool // an event was made of it
}

// NewSnapshot returns a Snapshot.
func NewSnapshot(cfg SnapshotConfig) *Snapshot {
	return &Snapshot{
		cfg: cfg, parser: squeueParser{newCommon(cfg.Options)}, first: true, open: cfg.User == "",
		seen: map[string]bool{}, missing: map[string]finding{}, requeued: map[string]finding{},
		unknown: map[string]finding{}, switched: map[string]finding{},
	}
}

// maxBadLines bounds the lines of one snapshot that go to quarantine.
const maxBadLines = 20

// Read parses the output of a call that began at an instant. If most of it cannot be read, the answer has an error and
// no events; if one line cannot, no job is taken for gone.
func (s *Snapshot) Read(output []byte, asked time.Time) source.Answer {
	var refused refusals
	rows, lines := s.parser.rows(output, refused.add)
	return s.take(rows, lines, &refused, asked)
}

// refusals are the lines of a snapshot that could not be read.
type refusals struct {
	bad   []source.BadLine
	count int
	worst error // the first
}

func (r *refusals) add(number int64, line []byte, err error) {
	r.count++
	if r.worst == nil {
		r.worst = fmt.Errorf("line %d: %w", number, err)
	}
	if len(r.bad) < maxBadLines {
		r.bad = append(r.bad, source.Refused("", number, line, err))
	}
}

// take compares rows with the picture.
func (s *Snapshot) take(rows []row, lines int, refused *refusals, asked time.Time) source.Answer {
	a := source.Answer{Lines: lines, Bad: refused.bad}
	if 2*refused.count > lines {
		a.Err = fmt.Errorf("%d of the %d lines it printed cannot be read, first %w", refused.count, lines,
			refused.worst)
		return a
	}
	c := comparison{
		Snapshot: s, at: asked.UTC(), picture: s.cfg.Picture(), present: make(map[string]bool, len(rows)),
		nextRequeued: map[string]finding{}, nextUnknown: map[string]finding{}, nextSwitched: map[string]finding{},
		left: map[string]int{}, split: map[string]int{},
		emit: func(ev job.Event) { a.Events = append(a.Events, ev) },
	}
	for i := range rows {
		if !rows[i].array {
			c.row(&rows[i])
		}
	}
	c.arrays(rows)
	s.requeued, s.unknown, s.switched = c.nextRequeued, c.nextUnknown, c.nextSwitched
	if refused.count == 0 {
		c.gone()
	}
	s.first, s.asked = false, c.at
	return a
}

// comparison is the work on one snapshot.
type comparison struct {
	*Snapshot
	at                        time.Time
	picture                   map[string]Live
	present                   map[string]bool
	nextRequeued, nextUnknown map[string]finding
	nextSwitched              map[string]finding
	// Of arrays, by number: the tasks whose starts are left to the log, and those that have a row of their own in this
	// snapshot.
	left, split map[string]int
	emit        func(job.Event)
}

// row compares one line.
func (c *comparison) row(r *row) {
	c.open = c.open || r.User != "" && r.User != c.cfg.User
	live, known := c.picture[r.id]
	switch r.phase {
	case leaving:
		c.present[r.id] = known && live.Start.IsZero() // it waits again
		return
	case over:
		c.ended(r)
		return
	}
	c.present[r.id], c.seen[r.id] = true, true
	if known {
		c.known(r, &live)
		c.switches(r, &live)
	} else {
		c.unknownJob(r)
	}
}

// event makes an event about a row's job.
func (c *comparison) event(kind job.Kind, r *row) job.Event {
	return job.Event{Kind: kind, Cluster: c.cfg.Options.Cluster, ID: r.id, Time: c.at, Attributes: r.Attributes,
		Live: !c.first}
}

// fresh reports whether a change is so recent that the log should have it.
func (c *comparison) fresh(at time.Time) bool {
	return !c.cfg.Alone && at.After(c.at.Add(-settle))
}

// ended reports the end of a job, once, with all that is known of the job, which may have come and gone between two
// snapshots. The first snapshot reports it for jobs that the picture still has, and without a log for all: they ended
// while the daemon was down.
func (c *comparison) ended(r *row) {
	_, pictured := c.picture[r.id]
	late := r.Times.End.Before(c.asked.Add(-settle)) || c.first && !c.cfg.Alone
	recent := !r.Times.End.Before(c.at.Add(-settle))
	if recent { // a later snapshot reports it whole; until then it has not vanished
		c.present[r.id] = true
	}
	if late && !pictured || recent {
		return
	}
	ev := c.event(job.End, r)
	ev.Time, ev.Times = r.Times.End, r.Times
	c.emit(ev)
}

// unknownJob reports a job that the picture does not have. If it was reported before and is still not there, the
// picture took it for gone (a kill that was refused, a try that ended): it is submitted again as of now.
func (c *comparison) unknownJob(r *row) {
	if c.fresh(r.Submit) || r.phase == holding && c.fresh(r.Times.Start) {
		c.left[wholeOf(r.id)]++
		return
	}
	c.split[wholeOf(r.id)]++
	times := job.Times{Submit: r.Submit, Eligible: r.Eligible, Start: r.Times.Start}
	before, told := c.unknown[r.id]
	if told {
		times = job.Times{Submit: c.at, Eligible: r.Eligible}
		if r.phase == holding {
			times.Start = c.at
		}
	} else {
		before.at = c.at
	}
	c.nextUnknown[r.id] = before
	var ev job.Event
	switch {
	case r.phase == holding:
		ev = c.event(job.Start, r)
	case c.cfg.Alone && !told:
		ev = c.event(job.Submit, r)
	default:
		ev = c.event(job.Update, r)
	}
	ev.Times = times
	if !told && times.Submit.After(c.at) { // it came while squeue was at work
		ev.Time = times.Submit
	}
	if times.Start.After(ev.Time) {
		ev.Time = times.Start
	}
	c.emit(ev)
	if r.phase == holding && r.stopped {
		c.emit(c.switchAt(ev.Time, r))
	}
	if r.phase == waiting && r.blocked {
		hold := c.event(job.Hold, r)
		hold.Time, hold.Reason = ev.Time, r.reason
		c.emit(hold)
	}
}

// known reports the differences of a job that the picture has.
func (c *comparison) known(r *row, live *Live) {
	news := c.news(r, live)
	switch {
	case r.phase == holding && live.Start.IsZero() && !c.fresh(r.Times.Start):
		ev := c.event(job.Start, r)
		ev.Attributes = news.Attributes
		ev.Times.Start = r.Times.Start
		if live.Submit.After(ev.Times.Start) { // whole seconds against milliseconds
			ev.Times.Start = live.Submit
		}
		if ev.Times.Start.After(ev.Time) {
			ev.Time = ev.Times.Start
		}
		c.emit(ev)
		return
	case r.phase == waiting && live.Start.Before(c.at.Add(-settle)) && !live.Start.IsZero():
		c.waitsAgain(r)
		return
	}
	if r.phase == waiting && !live.Start.IsZero() { // what it asked for is not what it was given meanwhile
		news.Procs, news.Nodes, news.Memory, news.GPUs, news.GPUType = 0, 0, 0, 0, ""
		news.Tasks, news.Priority = 0, 0
	}
	held := r.phase == waiting && r.blocked && live.Start.IsZero()
	news.ID, news.Time, news.Cluster, news.Live = r.id, c.at, c.cfg.Options.Cluster, !c.first
	switch {
	case held && (!live.Held || r.reason != "" && r.reason != live.Reason):
		news.Kind, news.Reason = job.Hold, r.reason
	case r.phase == waiting && !held && live.Held:
		news.Kind = job.Release
	case news.Attributes != job.Attributes{} || !news.Times.Eligible.IsZero():
		news.Kind = job.Update
	default:
		return
	}
	c.emit(news)
}

// switches reports that a running job was suspended or resumed, once two snapshots agree, at the instant of the first;
// without a log at once.
func (c *comparison) switches(r *row, live *Live) {
	if r.phase != holding || live.Start.IsZero() || r.stopped == live.Suspended {
		return
	}
	f, again := c.switched[r.id]
	if !again {
		f.at = c.at
	}
	c.nextSwitched[r.id] = f
	if again || c.cfg.Alone {
		c.emit(c.switchAt(f.at, r))
	}
}

// switchAt makes the event that brings a job into the state of its row.
func (c *comparison) switchAt(at time.Time, r *row) job.Event {
	ev := job.Event{Kind: job.Resume, Cluster: c.cfg.Options.Cluster, ID: r.id, Time: at, Live: !c.first}
	if r.stopped {
		ev.Kind = job.Suspend
	}
	return ev
}

// waitsAgain reports that a job that ran waits again, once two snapshots agree.
func (c *comparison) waitsAgain(r *row) {
	f, again := c.requeued[r.id]
	if !again {
		f.at = c.at
	}
	c.nextRequeued[r.id] = f
	if again {
		ev := c.event(job.Requeue, r)
		ev.Times.Eligible = r.Eligible
		// Slurm gave it a new submission
		if live, ok := c.picture[r.id]; ok && r.Submit.After(live.Start) && r.Submit.Before(c.at) {
			ev.Time = r.Submit
		}
		c.emit(ev)
	}
}

// news is what a row knows better than the picture. A job that asked for several queues is in the first, until it
// starts in one; the picture may have it in another of them.
func (c *comparison) news(r *row, live *Live) (ev job.Event) {
	better(&ev.Queue, r.Queue, live.Queue)
	if r.phase == waiting && slices.Contains(r.queues, live.Queue) {
		ev.Queue = ""
	}
	better(&ev.User, r.User, live.User)
	better(&ev.Account, r.Account, live.Account)
	better(&ev.QOS, r.QOS, live.QOS)
	better(&ev.Procs, r.Procs, live.Procs)
	better(&ev.Nodes, r.Nodes, live.Nodes)
	better(&ev.Memory, r.Memory, live.Memory)
	better(&ev.GPUs, r.GPUs, live.GPUs)
	better(&ev.GPUType, r.GPUType, live.GPUType)
	better(&ev.Whole, r.Whole, live.Whole)
	if moved(r.Priority, live.Priority) {
		ev.Priority = r.Priority
	}
	if left := live.Tasks - c.split[r.id]; live.Tasks == 0 || !r.tasks.cut || r.Tasks > left {
		better(&ev.Tasks, r.Tasks, left)
	}
	better(&ev.TimeLimit, r.TimeLimit, live.TimeLimit)
	better(&ev.Times.Eligible, r.Eligible, live.Eligible)
	return ev
}

// moved reports whether a priority is more than a twentieth off the one that was reported last: priorities grow with a
// job's age, all the time.
func moved(now, told int64) bool {
	return now != 0 && max(now-told, told-now)*20 > told
}

func better[T comparable](to *T, told, known T) {
	var zero T
	if told != zero && told != known {
		*to = told
	}
}

// gone ends the jobs of the picture that are in neither this snapshot nor the one before, at the instant of the first
// without them.
func (c *comparison) gone() {
	next := map[string]finding{}
	for _, id := range slices.Sorted(maps.Keys(c.picture)) {
		live := c.picture[id]
		if c.present[id] || !c.open && !c.seen[id] {
			continue
		}
		f, again := c.missing[id]
		if !again {
			f.at = c.at
			if c.fresh(live.Submit) || c.fresh(live.Start) || !live.Submit.Before(c.at) || !live.Start.Before(c.at) {
				continue
			}
		} else {
			ev := job.Event{Kind: job.End, Cluster: c.cfg.Options.Cluster, ID: id, Time: f.at, Live: !c.first}
			if f.reported { // that was too early for it
				ev.Time = c.at
			}
			ev.Times.End = ev.Time
			c.emit(ev)
			f.reported = true
		}
		next[id] = f
	}
	c.missing = next
	maps.DeleteFunc(c.seen, func(id string, _ bool) bool {
		_, live := c.picture[id]
		return !live && !c.present[id]
	})
}
