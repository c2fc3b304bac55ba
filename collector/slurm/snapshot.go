package slurm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// settle is the minimum age of a change that a snapshot reports. Newer changes are left to the log, which has them with
// milliseconds and may be slightly behind. Without a log (SnapshotConfig.Alone), submissions and starts are reported at
// any age. Attributes of jobs that the log has reported are passed on at once.
const settle = 2 * time.Second

// Live has the state of a job in the picture of the cluster.
type Live = source.Live

// SnapshotConfig configures a Snapshot.
type SnapshotConfig struct {
	Options collector.Options
	// Picture returns the live jobs of the picture.
	Picture func() map[string]Live
	// Alone is set if no log has submissions, starts and ends. The snapshot then reports these, as far as it can
	// observe them.
	Alone bool
	// Facts returns the facts that the daemon has about the cluster, nil if there are none. Facts itself may be nil.
	Facts func() *job.Facts
}

// Snapshot compares squeue's output with the picture, and returns the differences as events. The picture may be
// slightly ahead of the output or behind it. So a job is reported as gone, or as waiting again, only if two consecutive
// snapshots agree.
//
// Slurm may hide jobs of other users from the user who asks (PrivateData). A job that is missing in the output is not
// reported as gone if it may be hidden (see comparison.visible), and the answer has a gap (see comparison.gap).
//
// A snapshot has no history. So jobs that are seen for the first time get no forecast (the cluster's fold derives their
// submissions), unless Alone is set.
type Snapshot struct {
	cfg    SnapshotConfig
	parser squeueParser
	first  bool      // no snapshot was taken before
	asked  time.Time // time of the last snapshot
	user   string    // see As
	seen   map[string]bool
	lacks  *source.Gap // of the last snapshot without bad lines
	// These are the differences that the last snapshot found, by job.
	missing, requeued, unknown, switched map[string]finding
	// reasons has, by job, the reasons of waiting jobs in the last snapshot that are not settled yet.
	reasons map[string]reasonSince
}

// reasonSince is the reason of a waiting job, and the time since which its cause has not changed.
type reasonSince struct {
	reason string
	at     time.Time
}

// reasonSettles is the minimum time for which the cause of a job's wait must stay the same until its reason is settled.
// It matters only if snapshots are frequent. Schedulers examine their jobs every few seconds.
const reasonSettles = 3 * time.Second

// finding is a difference that the last snapshot found.
type finding struct {
	at       time.Time
	reported bool // an event has reported it
	recent   bool // the job was announced shortly before, see comparison.recent
}

// NewSnapshot returns a Snapshot.
func NewSnapshot(cfg SnapshotConfig) *Snapshot {
	return &Snapshot{
		cfg: cfg, parser: squeueParser{common: newCommon(cfg.Options)}, first: true,
		seen: map[string]bool{}, missing: map[string]finding{}, requeued: map[string]finding{},
		unknown: map[string]finding{}, switched: map[string]finding{}, reasons: map[string]reasonSince{},
	}
}

// As sets the name of the user who asks Slurm, "" if it is unknown. From root Slurm hides nothing.
func (s *Snapshot) As(user string) { s.user = user }

// maxBadLines is the maximum number of lines of one snapshot that go to the quarantine.
const maxBadLines = 20

// Read parses the output of a call that began at the given time. If most of the output cannot be parsed, the answer has
// an error and no events. If any line cannot be parsed, no job is reported as gone.
func (s *Snapshot) Read(output []byte, asked time.Time) source.Answer {
	var refused refusals
	rows, lines := s.parser.rows(output, refused.add)
	return s.take(rows, lines, &refused, asked)
}

// refusals are the lines of a snapshot that could not be read.
type refusals struct {
	bad   []source.BadLine
	count int
	worst error // the first error
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

// take returns the differences between rows and the picture as events. It returns an error if most lines were refused.
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
		nextReasons: map[string]reasonSince{},
		left:        map[string]int{}, split: map[string]int{}, added: map[string]bool{}, owners: map[owner]bool{},
	}
	throttleTasks(rows)
	for i := range rows {
		c.owners[owner{rows[i].User, rows[i].Account}] = true
		c.others = c.others || rows[i].User != "" && rows[i].User != s.user
		if !rows[i].array {
			c.row(&rows[i])
		}
	}
	c.arrays(rows)
	s.requeued, s.unknown, s.switched, s.reasons = c.nextRequeued, c.nextUnknown, c.nextSwitched, c.nextReasons
	if refused.count == 0 {
		c.gone()
	}
	s.first, s.asked = false, c.at
	a.Events, a.Gap, a.Unlogged = c.events, s.lacks, c.unlogged
	return a
}

// comparison compares one snapshot with the picture.
type comparison struct {
	*Snapshot
	at                        time.Time
	picture                   map[string]Live
	present                   map[string]bool
	nextRequeued, nextUnknown map[string]finding
	nextSwitched              map[string]finding
	nextReasons               map[string]reasonSince
	// left and split are counts by the number of an array. left counts the tasks whose starts are left to the log.
	// split counts the tasks with a row of their own in this snapshot.
	left, split map[string]int
	// added has the arrays with a task that is not in the picture and has an event of this snapshot.
	added map[string]bool
	// owners are the owners of the jobs in this snapshot. others is true if they include a user who does not ask.
	owners map[owner]bool
	others bool
	events []job.Event
	// unlogged is true if a submission or an end since the previous snapshot is in no log.
	unlogged bool
}

// emit adds an event to the answer. If the event has a number of waiting tasks, emit also sets job.Event.Total, so that
// the fold subtracts the tasks whose starts the log reports before the event is applied. It does not set Total if the
// snapshot itself reports new tasks of the array, because these may be the same tasks.
func (c *comparison) emit(ev job.Event) {
	live, known := c.picture[ev.ID]
	if !known {
		c.added[wholeOf(ev.ID)] = true
	}
	if ev.Tasks > 0 && !c.added[ev.ID] {
		ev.Total = ev.Tasks + live.Split
	}
	c.events = append(c.events, ev)
}

// row compares one row with the picture, and emits events for the differences.
func (c *comparison) row(r *row) {
	live, known := c.picture[r.id]
	switch r.phase {
	case leaving:
		c.present[r.id] = known && live.Start.IsZero() // the picture has it waiting again
		return
	case over:
		c.ended(r)
		return
	}
	c.present[r.id], c.seen[r.id] = true, true
	if r.phase == waiting && live.Start.IsZero() {
		r.settled = c.settles(r, live.Settled)
	}
	if !live.Planned.IsZero() || c.at.Sub(r.Submit) > plannedWithin {
		r.Planned = time.Time{}
	}
	if known {
		c.known(r, &live)
		c.switches(r, &live)
	} else {
		c.unknownJob(r)
	}
}

// event returns an event about a row's job.
func (c *comparison) event(kind job.Kind, r *row) job.Event {
	return job.Event{Kind: kind, Cluster: c.cfg.Options.Cluster, ID: r.id, Time: c.at, Attributes: r.Attributes,
		Live: !c.first}
}

// fresh reports whether a change is so recent that it is left to the log.
func (c *comparison) fresh(at time.Time) bool {
	return !c.cfg.Alone && at.After(c.at.Add(-settle))
}

// ended reports the end of a job, once. The event has all attributes, because the job may have come and gone between
// two snapshots. The end of a job that is not in the picture is reported only if the job ended since the previous
// snapshot. The first snapshot reports such ends only if there is no log (Alone).
func (c *comparison) ended(r *row) {
	live, pictured := c.picture[r.id]
	late := r.Times.End.Before(c.asked.Add(-settle)) || c.first && !c.cfg.Alone
	recent := !r.Times.End.Before(c.at.Add(-settle)) && live.Over.IsZero()
	if recent { // the job is not gone until a later snapshot reports the end
		c.present[r.id] = true
	}
	if late && !pictured || recent {
		return
	}
	ev := c.event(job.End, r)
	ev.Time, ev.Times = r.Times.End, r.Times
	if pictured && live.Over.IsZero() {
		c.notLogged(r, ev.Time)
	}
	c.emit(ev)
}

// notLogged notes that no log had a submission or an end of a job at the given time. Parts of arrays and of
// heterogeneous jobs do not count, because the log names many of them only with the whole job.
func (c *comparison) notLogged(r *row, at time.Time) {
	if !c.first && !c.cfg.Alone && at.After(c.asked.Add(-settle)) && !strings.ContainsAny(r.id, "_+") {
		c.unlogged = true
	}
}

// unknownJob reports a job that is not in the picture, unless its submission or start is so recent that it is left to
// the log. If it was reported before and is still missing, the picture considers it ended (after a refused kill, or
// because an attempt ended). The job is then reported as submitted now, and as started now if it runs.
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
		c.notLogged(r, r.Submit)
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
	if !told && times.Submit.After(c.at) { // the job was submitted while squeue ran
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

// known reports the differences of a job that is in the picture.
func (c *comparison) known(r *row, live *Live) {
	news := c.news(r, live)
	switch {
	case r.phase == holding && live.Start.IsZero() && !c.fresh(r.Times.Start):
		ev := c.event(job.Start, r)
		ev.Attributes = news.Attributes
		ev.Times.Start = r.Times.Start
		if live.Submit.After(ev.Times.Start) { // one time has whole seconds, the other milliseconds
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
	if r.phase == waiting && !live.Start.IsZero() { // the request must not replace the allocation
		news.Procs, news.Nodes, news.Memory, news.GPUs, news.GPUType = 0, 0, 0, 0, ""
		news.Tasks, news.Priority = 0, 0
	}
	if r.phase == waiting && live.Start.IsZero() {
		news.Settled, news.Planned = r.settled, r.Planned
	}
	held := r.phase == waiting && r.blocked && live.Start.IsZero()
	news.ID, news.Time, news.Cluster, news.Live = r.id, c.at, c.cfg.Options.Cluster, !c.first
	if r.phase == waiting && live.Start.IsZero() && live.Submit.After(c.at) { // it was submitted while squeue ran
		news.Time = live.Submit
	}
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

// settles returns the reason of a waiting job if all snapshots of the last reasonSettles have had the same cause. Each
// job's reason is returned once; otherwise the result is "". The delay is needed because Slurm shows a new job as
// waiting for its priority until it has examined it.
func (c *comparison) settles(r *row, before string) string {
	cause := job.CauseOf(r.reason)
	if before != "" || cause == job.NoCause {
		return ""
	}
	now := reasonSince{r.reason, c.at}
	if was := c.reasons[r.id]; job.CauseOf(was.reason) == cause {
		if c.at.Sub(was.at) >= reasonSettles {
			return r.reason
		}
		now.at = was.at
	}
	c.nextReasons[r.id] = now
	return ""
}

// switches reports that a running job was suspended or resumed, when two snapshots agree, with the time of the first
// one. Without a log it reports this after one snapshot.
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

// switchAt returns the event that brings a job into the state of its row.
func (c *comparison) switchAt(at time.Time, r *row) job.Event {
	ev := job.Event{Kind: job.Resume, Cluster: c.cfg.Options.Cluster, ID: r.id, Time: at, Live: !c.first}
	if r.stopped {
		ev.Kind = job.Suspend
	}
	return ev
}

// waitsAgain reports, when two snapshots agree, that a job that ran waits again.
func (c *comparison) waitsAgain(r *row) {
	f, again := c.requeued[r.id]
	if !again {
		f.at = c.at
	}
	c.nextRequeued[r.id] = f
	if again {
		ev := c.event(job.Requeue, r)
		ev.Times.Eligible = r.Eligible
		// Slurm gave the job a new submission.
		if live, ok := c.picture[r.id]; ok && r.Submit.After(live.Start) && r.Submit.Before(c.at) {
			ev.Time = r.Submit
		}
		c.emit(ev)
	}
}

// news returns the attributes of a row that differ from the picture. squeue shows a job that requested several queues
// under the first of them until it starts in one of them. The picture may have the job under another one; this is no
// difference.
func (c *comparison) news(r *row, live *Live) (ev job.Event) {
	better(&ev.Queue, r.Queue, live.Queue)
	if r.phase == waiting && slices.Contains(r.queues, live.Queue) {
		ev.Queue = ""
	}
	if r.phase == waiting && (r.Queues != "" || live.Queues != "") {
		better(&ev.Queues, strings.Join(r.queues, ","), live.Queues)
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
	if r.After != job.UnknownAfter || live.After != "" {
		better(&ev.After, r.After, live.After)
	}
	better(&ev.Throttle, r.Throttle, live.Throttle)
	if live.Throttle > 0 && r.Throttle == 0 && len(r.tasks.ranges) > 0 {
		ev.Throttle = job.NoThrottle // the throttle was removed
	}
	better(&ev.Nice, r.Nice, live.Nice)
	if live.Lowered() != 0 && r.Nice == 0 && r.phase == waiting {
		ev.Nice = job.NoNice
	}
	better(&ev.TimeLimit, r.TimeLimit, live.TimeLimit)
	better(&ev.Times.Eligible, r.Eligible, live.Eligible)
	return ev
}

// moved reports whether a priority is not 0 and differs by more than 1/20 from the last reported one. Priorities grow
// continuously with a job's age.
func moved(now, told int64) bool {
	return now != 0 && max(now-told, told-now)*20 > told
}

func better[T comparable](to *T, told, known T) {
	var zero T
	if told != zero && told != known {
		*to = told
	}
}
