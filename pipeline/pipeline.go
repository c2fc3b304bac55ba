// Package pipeline is the only writer of waitcast's state. It takes the events of all sources as they are delivered,
// folds them into the picture of each cluster, updates the models, and forecasts and scores every job. It commits the
// results in one transaction with the checkpoints, and publishes immutable views for any number of readers.
package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/loadforecast"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
)

// ClusterConfig describes one cluster.
type ClusterConfig struct {
	Name string
	// Procs is the capacity in processors; 0 means the highest use seen.
	Procs int
	// Queues are the configured queues. They exist even before one of their jobs was read.
	Queues []string
	// Pools are the configured pools: which queues compete for which processors. If none are configured, the pools are
	// those that the scheduler reports, or one pool for all queues.
	Pools []cluster.PoolConfig
	// Policy is the scheduling policy of pools that have no policy of their own: fcfs, easy or priority. With auto or
	// an empty name it is learnt.
	Policy string
	// Location is the time zone of the cluster, on which the daily cycle of arrivals depends; nil means UTC.
	Location *time.Location
}

// namedQueues returns the queues that the configuration names, including those of its pools.
func (c *ClusterConfig) namedQueues() []string {
	queues := slices.Clone(c.Queues)
	for _, p := range c.Pools {
		queues = append(queues, p.Queues...)
	}
	return queues
}

// Config configures a pipeline.
type Config struct {
	Clusters []ClusterConfig
	Models   livemodels.Config
	// MaxQueues is the maximum number of queues of a cluster that have models, figures and ledger rows of their own.
	// Jobs of all further queues are counted under queuenames.Other. 0 means no limit.
	MaxQueues int
	// Engine is the configuration of the forecasting engine. Levels, capacity, policy, the order of queues and Downey
	// are set for each cluster, not here.
	Engine engine.Config
	// State and models are saved after SnapshotEvents events or SnapshotInterval, whichever comes first. 0 disables a
	// criterion.
	SnapshotEvents   int64
	SnapshotInterval time.Duration
	// Retention is how long, in event time, journal entries are kept; 0 means forever.
	Retention time.Duration
	// LedgerRetention is how long, in event time, rows of the ledger are kept; 0 means forever.
	LedgerRetention time.Duration
	// HistoryRetention is the maximum age of the events of a history. The age is counted back from the newest event of
	// the cluster, imported or followed. A history that has only older events is kept. 0 means forever.
	HistoryRetention time.Duration
	// Replay defines which part of a history a fast replay follows in full. Replay.Submissions is ignored; zeros mean
	// the engine's defaults.
	Replay engine.Replay
	// Forecasts is true if every job is predicted at its submission and scored at its start.
	Forecasts bool
	// Load is true if the load forecast of each cluster is made.
	Load bool
	// StoreName is the name of the store in messages: a path, or the space of a shared database.
	StoreName string
	// Follows is true if another process writes the store. Then Follow is called instead of Run, and nothing is
	// written.
	Follows bool
	// RebuildReason is the reason why the fingerprint of Restore may differ from the stored one; empty if it is
	// unknown.
	RebuildReason string
	// Noticed are conditions that were found when the store was opened. They remain as long as the pipeline exists.
	Noticed []readmodel.Condition
}

// publishEvery is the minimum time between two published views while further deliveries already wait. It is also the
// interval at which Run looks for work that is due without a delivery.
const publishEvery = 20 * time.Millisecond

// teachingEvery is the interval at which views with the progress of learning a history are published.
const teachingEvery = 500 * time.Millisecond

// groupEvents, groupBytes and groupTime bound one transaction. So a daemon makes progress even if it is killed often,
// it stops quickly, and uncommitted data need little memory. A delivery that exceeds the bounds is committed in parts,
// and its checkpoint with the last part. After a crash between two parts, lines that were committed already are read
// again; they are duplicates and change nothing.
const (
	groupEvents = 20_000
	groupBytes  = 16 << 20
	groupTime   = 250 * time.Millisecond
)

// Pipeline folds events. Call New, Restore, then Run, all in one goroutine. View may be called from any goroutine.
type Pipeline struct {
	cfg     Config
	store   modelstore.Store // nil if nothing is stored
	now     func() time.Time
	log     *zap.Logger
	metrics *Metrics

	writers map[string]*clusterWriter
	sources map[string]*sourceState
	swaps   chan *sourceSwap // for Run, which takes them between two transactions
	views   atomic.Pointer[map[string]*readmodel.View]
	inOrder atomic.Pointer[[]*readmodel.View] // the views sorted by cluster name; immutable
	fresh   broadcaster

	restoring    atomic.Pointer[restoring]           // nil unless Restore is running
	storeProblem atomic.Pointer[readmodel.Condition] // nil while the store works
	storeLost    bool                                // the last verifyStore failed
	verifiedAt   time.Time                           // time of the last verifyStore, by the machine's clock
	heartbeat    heartbeat

	saved map[string][]byte // stored checkpoints by key; the clocks of new sources continue from these

	histories histories
	teachings chan *teaching // for Run, which takes them between two transactions
	rebuilds  rebuilds
	rebuilt   chan *rebuild // for Run, which takes them between two transactions
	stops     chan stopRequest
	unlearnt  unlearnt

	run    context.Context // context of Run, for the fold's reads of the journal
	broken error           // permanent error of one of these reads; nil for none

	seq           int64 // number of the newest journal entry
	snapshotSeq   int64
	snapshotAt    time.Time // by the machine's clock, because no state depends on the times of snapshots
	publishedAt   time.Time
	publishNeeded bool
	partEvents    int // maximum number of events in one part of a delivery; tests use fewer
}

// sourceState is the writer's state of one source.
type sourceState struct {
	cluster      string
	events       [cluster.Orphan + 1]prometheus.Counter // counters of events, by verdict
	hold         *holdback                              // nil for a source whose lines are in the order of events
	waiting      []pendingCheckpoint                    // checkpoints that must not be committed yet
	newest       pendingCheckpoint                      // the newest checkpoint, including those in waiting
	bad          openBad
	badSaved     bool      // the store has hashes of bad lines
	lastDelivery time.Time // when the last delivery came, by the machine's clock
	status       readmodel.SourceStatus
	clock        *eventClock // nil for a followed journal
}

// pendingCheckpoint is a checkpoint that may be committed once all events with numbers up to event have left the
// holdback.
type pendingCheckpoint struct {
	event      uint64
	bad        int // number of bad lines up to it, see openBad.count
	checkpoint []byte
}

// New returns a pipeline with empty pictures, and publishes views of them. If store is nil, nothing is stored. An error
// names the configuration key whose value was refused.
func New(
	cfg Config, store modelstore.Store, now func() time.Time, log *zap.Logger, m *Metrics,
) (*Pipeline, error) {
	p := &Pipeline{
		cfg: cfg, store: store, now: now, log: log, metrics: m,
		sources: map[string]*sourceState{}, swaps: make(chan *sourceSwap),
		histories: newHistories(), teachings: make(chan *teaching),
		rebuilt: make(chan *rebuild), stops: make(chan stopRequest),
		run: context.Background(), partEvents: groupEvents,
	}
	if err := p.resetWriters(); err != nil {
		return nil, err
	}
	for name := range p.writers {
		m.Stopped.WithLabelValues(name)
	}
	p.cfg.Noticed = slices.Clone(cfg.Noticed)
	for i := range p.cfg.Noticed {
		c := &p.cfg.Noticed[i]
		c.File, c.Reason = plain(c.File), plain(c.Reason)
	}
	p.snapshotAt = time.Now()
	p.heartbeat.beat()
	p.publish()
	return p, nil
}

// resetWriters replaces the writers of all clusters by new ones without events.
func (p *Pipeline) resetWriters() error {
	for _, l := range p.writers {
		l.close()
	}
	p.writers = map[string]*clusterWriter{}
	for _, c := range p.cfg.Clusters {
		l, err := p.newClusterWriter(c)
		if err != nil {
			return err
		}
		p.writers[c.Name] = l
	}
	return nil
}

func (p *Pipeline) newClusterWriter(c ClusterConfig) (*clusterWriter, error) {
	var known cluster.Known
	if p.store != nil {
		known = func(id string) (cluster.Left, bool) {
			if left, ok := p.lookup(c.Name, id); ok {
				return left, true
			}
			return p.remembered(c.Name, id)
		}
	}
	l, err := newClusterWriter(c, &p.cfg, known)
	if err != nil {
		return nil, err
	}
	l.journal, l.took, l.log = p.store != nil, p.metrics.RefitSeconds, p.log
	if p.cfg.Load {
		l.load, err = loadforecast.New(loadforecast.Config{Cluster: c.Name, Zone: c.Location, Log: p.log,
			Users: p.cfg.Engine.Users, ForgetAfter: p.cfg.Engine.ForgetAfter})
		if err != nil {
			return nil, fmt.Errorf("cluster %s: load forecast: %w", c.Name, err)
		}
		l.observers = append(l.observers, l.load)
	}
	return l, nil
}

// View returns the newest view of a cluster, or nil if there is no such cluster.
func (p *Pipeline) View(name string) *readmodel.View { return (*p.views.Load())[name] }

// Views returns the newest view of every cluster, in order of their names.
func (p *Pipeline) Views() []*readmodel.View {
	return slices.Clone(*p.inOrder.Load())
}

// Run processes deliveries until ctx ends or the channel is closed, and saves a snapshot at the end. It returns an
// error only if the daemon cannot continue (a damaged or closed store), or if the snapshot at the end cannot be saved.
func (p *Pipeline) Run(ctx context.Context, deliveries <-chan *source.Delivery) error {
	p.run = ctx
	p.observeWriters()
	defer p.stopRebuilds()
	if err := p.beginRebuilds(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(publishEvery)
	defer tick.Stop()
	for {
		p.heartbeat.beat()
		var err error
		select {
		case <-ctx.Done():
			return p.finish()
		case d, ok := <-deliveries:
			if !ok {
				return p.finish()
			}
			err = p.step(ctx, d, deliveries)
		case s := <-p.swaps:
			p.swapSources(s, deliveries)
		case t := <-p.teachings:
			p.teach(ctx, t)
		case r := <-p.rebuilt:
			err = p.swap(ctx, r)
		case s := <-p.stops:
			p.stop(s.cluster, s.caught)
		case <-tick.C:
			err = p.doDueWork(ctx)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return nil // stopped while the store could not be written; the next process reads those log lines again
		case err != nil:
			return err
		}
	}
}

// doDueWork does the work that becomes due with time, without a delivery.
func (p *Pipeline) doDueWork(ctx context.Context) error {
	p.watchStore()
	if err := p.releaseQuiet(ctx); err != nil {
		return err
	}
	if err := p.readmitDue(ctx); err != nil {
		return err
	}
	if p.publishNeeded || p.due() || p.teaches() || p.asideOver() {
		p.publish()
	}
	return nil
}

// Close ends background work. It is called after Run. The views remain available. Goroutines that wait for the next
// view are woken.
func (p *Pipeline) Close() {
	for _, l := range p.writers {
		l.close()
	}
	p.fresh.broadcast()
}

// Release frees the memory that only the writer needs. It is called after Close. Readers still use the views of this
// pipeline until the next one has restored its state. Without Release, a reload would hold every state twice.
func (p *Pipeline) Release() {
	for _, l := range p.writers {
		*l = clusterWriter{} // clear the value, because others may still point to it
	}
	p.writers = nil
}

// finish publishes the newest instant, and saves all state, when Run ends in an orderly way. It saves no snapshot if
// there are no new events, or while a cluster's state is unusable or a cluster is stopped. Readers use the published
// views until another writer has started.
func (p *Pipeline) finish() error {
	if p.publishNeeded || p.owes() {
		p.publishAtOnce()
	}
	if p.store == nil {
		return nil
	}
	p.finishLoads()
	if p.seq == p.snapshotSeq || p.unusable() || p.anyStopped() {
		return nil
	}
	return p.store.Commit(context.Background(), modelstore.Batch{Snapshot: p.snapshot()})
}

// step processes one delivery and the deliveries that already wait in more. They are committed in one transaction, or
// in several if they are large. step ends after groupTime even if more deliveries wait. So views are published while
// the daemon reads a long log or cannot keep up.
func (p *Pipeline) step(ctx context.Context, d *source.Delivery, more <-chan *source.Delivery) error {
	begun := time.Now()
	g := group{p: p, ctx: ctx, begun: begun}
	for {
		p.heartbeat.beat()
		if err := p.guard(d.Source.Options.Cluster, &g, func() error { return p.takeDelivery(d, &g) }); err != nil {
			return err
		}
		if g.out.full() || time.Since(begun) >= groupTime || ctx.Err() != nil {
			break
		}
		next, ok := poll(more)
		if !ok {
			break
		}
		d = next
	}
	if err := g.commit(); err != nil {
		return err
	}
	if p.store != nil {
		p.saveLoads(ctx)
	}
	if time.Since(p.publishedAt) >= publishEvery || len(more) == 0 {
		p.publish()
	} else {
		p.publishNeeded = true
	}
	return nil
}

func poll(more <-chan *source.Delivery) (*source.Delivery, bool) {
	select {
	case d, ok := <-more:
		return d, ok
	default:
		return nil, false
	}
}

// takeDelivery folds one delivery. It returns an error only if the daemon cannot continue.
func (p *Pipeline) takeDelivery(d *source.Delivery, g *group) error {
	in := p.sources[d.Source.Name]
	writer := p.writers[in.cluster]
	p.metrics.observe(d)
	emit := func(ev job.Event) {
		in.events[writer.take(ev, d.Source.Name, p.nextSeq, &g.out)].Inc()
		g.keepEvent()
	}
	decides := !d.Read.IsZero()
	if decides {
		if in.clock.measure(d) {
			p.noteOffset(in)
			p.readmit(in, p.now(), emit)
		}
		in.clock.judge(d)
	}
	for i := range d.Events {
		ev, err := Storable(d.Events[i])
		if err != nil {
			p.refuse(d, err, &g.batch)
			continue
		}
		if decides {
			if by := in.clock.judgementOf(i); !in.clock.admit(&ev, by) {
				p.setAside(in, d, i, ev, by, &g.batch)
				continue
			}
		}
		if in.hold != nil {
			in.hold.add(ev, emit)
		} else {
			emit(ev)
		}
		if g.due() {
			if err := g.commit(); err != nil {
				return err
			}
		}
	}
	if decides {
		in.clock.took(d, in.hold == nil && !d.Answered)
	}
	for _, b := range d.Bad {
		p.quarantine(d, &modelstore.BadLine{Path: b.Path, Line: b.Number, Reason: b.Reason, Message: b.Err.Error(),
			Text: b.Text}, &g.batch)
	}
	// A reader that waits for CaughtUp must not get an older picture with it.
	writer.atOnce = writer.atOnce || d.CaughtUp && !in.status.CaughtUp
	in.note(d, p.now())
	p.noteUnlogged(in, d)
	in.lastDelivery = time.Now()
	if d.Checkpoint == nil { // another delivery has the rest of the same lines
		return nil
	}
	if d.CaughtUp {
		in.bad.readAgain()
	}
	if cp := in.checkpoint(d.Checkpoint); cp != nil {
		g.batch.Checkpoints = append(g.batch.Checkpoints, modelstore.Checkpoint{Source: d.Source.Name, Data: cp})
	}
	return nil
}

// Storable returns an event in the form in which it is stored: times in UTC, long texts truncated. It returns an error
// for an event that no store can keep. Such an event would stop the daemon when it is committed.
func Storable(ev job.Event) (job.Event, error) {
	ev = clip(utc(ev))
	if len(ev.ID) > maxText {
		return ev, fmt.Errorf("a job id of %d bytes, more than %d: no scheduler writes such", len(ev.ID), maxText)
	}
	entry := modelstore.Entry{Seq: 1, Event: ev}
	return ev, entry.Check()
}

// refuse puts an unusable event into the quarantine.
func (p *Pipeline) refuse(d *source.Delivery, err error, batch *modelstore.Batch) {
	p.metrics.BadLines.WithLabelValues(d.Source.Options.Cluster, d.Source.Name, collector.ReasonField).Inc()
	p.quarantine(d, &modelstore.BadLine{Reason: collector.ReasonField, Message: err.Error()}, batch)
}

func (p *Pipeline) nextSeq() int64 {
	p.seq++
	return p.seq
}

// Flush applies all events that are still held back (see holdback), and publishes views. It is called after Run in a
// one-shot run, when the logs have ended.
func (p *Pipeline) Flush() {
	var out output
	for _, name := range slices.Sorted(maps.Keys(p.sources)) {
		if in := p.sources[name]; in.hold != nil {
			in.hold.flush(func(ev job.Event) { p.writers[in.cluster].take(ev, name, p.nextSeq, &out) })
		}
	}
	p.publishAtOnce()
}

// note updates the status of the source after a delivery.
func (in *sourceState) note(d *source.Delivery, now time.Time) {
	if d.CaughtUp {
		in.status.CaughtUp = true
	}
	if d.Lines > 0 || d.Answered {
		in.status.LastLine = now
	}
	in.status.LagBytes = d.LagBytes
	setConditions(&in.status, readmodel.Condition.HidesSource, now, unreadable(d.Source, d.Standing)...)
	if d.Answered {
		setConditions(&in.status, ofAnswer, now, incomplete(d)...)
	}
}

// checkpoint records the newest checkpoint of a source. It returns the newest of all checkpoints that may be committed
// now, nil if there is none. A checkpoint may be committed once all events before it have left the holdback. Lines
// after it are read again after a restart; they are duplicates and change nothing.
func (in *sourceState) checkpoint(cp []byte) []byte {
	in.newest = pendingCheckpoint{bad: in.bad.count(), checkpoint: cp}
	if in.hold == nil {
		in.bad.commit(in.newest.bad)
		return cp
	}
	in.newest.event = in.hold.count
	in.waiting = append(in.waiting, in.newest)
	oldest := in.hold.oldest()
	i := 0
	for i < len(in.waiting) && in.waiting[i].event < oldest {
		i++
	}
	if i == 0 {
		return nil
	}
	cp = in.waiting[i-1].checkpoint
	in.bad.commit(in.waiting[i-1].bad)
	in.waiting = slices.Delete(in.waiting, 0, i)
	return cp
}

// due reports whether there is a cluster whose view is owed and can be made now.
func (p *Pipeline) due() bool {
	for _, l := range p.writers {
		if l.due() {
			return true
		}
	}
	return false
}

// publish publishes new views of all clusters. All parts of a view belong to one instant.
func (p *Pipeline) publish() {
	now := p.now()
	old := p.views.Load()
	views := make(map[string]*readmodel.View, len(p.writers))
	for _, c := range p.cfg.Clusters {
		l := p.writers[c.Name]
		var v readmodel.View
		if old != nil {
			v = *(*old)[c.Name]
		}
		_ = p.guard(c.Name, nil, func() error { // it returns no error
			if next := l.next(old == nil); next != nil {
				v = *next
			}
			if !l.owed {
				v.Seq = p.seq
			}
			l.present(&v, p.statuses(c.Name))
			return nil
		})
		v.Published, v.Sources, v.Teaching = now, p.statuses(c.Name), p.teachingOf(c.Name)
		v.Stopped = l.stopped
		views[c.Name] = &v
	}
	all := make([]*readmodel.View, 0, len(views))
	for _, name := range slices.Sorted(maps.Keys(views)) {
		all = append(all, views[name])
	}
	p.views.Store(&views)
	p.inOrder.Store(&all)
	p.publishedAt, p.publishNeeded = time.Now(), false
	p.metrics.publish(views)
	p.fresh.broadcast()
}

// asideOver reports whether the condition set_aside of a source has ended, but is still published.
func (p *Pipeline) asideOver() bool {
	now := p.now()
	for _, in := range p.sources {
		if in.clock != nil && !in.clock.aside.shown(now) && slices.ContainsFunc(in.status.Conditions, ofAside) {
			return true
		}
	}
	return false
}

func (p *Pipeline) statuses(clusterName string) []readmodel.SourceStatus {
	var out []readmodel.SourceStatus
	for _, name := range slices.Sorted(maps.Keys(p.sources)) {
		if in := p.sources[name]; in.cluster == clusterName {
			if in.clock != nil {
				in.status.ClockOffset = in.clock.state.Offset
				in.status.SetAside, in.status.SetAsideUntil = in.clock.aside.count, in.clock.aside.next
				now := p.now()
				noteClock(&in.status, in.cluster, in.clock.aside.shown(now), now)
			}
			out = append(out, in.status)
		}
	}
	return out
}
