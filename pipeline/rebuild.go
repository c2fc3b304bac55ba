package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/past"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
)

const (
	// pageEntries is the maximum number of journal entries that a rebuild reads at once, and the number of rows from
	// which it stores them.
	pageEntries = 2000
	// loadSampled is the length of the last part of a history from which a fast replay learns the load forecast, with 4
	// samples a day. The trees of that forecast need 300 samples whose longest horizon, a week, has passed.
	loadSampled = 90 * 24 * time.Hour
	// A rebuild goes on in the background until fewer than fewEntries journal entries of the cluster are left. The
	// writer folds these at the swap, while all its other work waits.
	fewEntries = 200
)

// rebuilds has the rebuilds that are running or have failed, by cluster. It is safe for concurrent use.
type rebuilds struct {
	mu  sync.Mutex
	all map[string]*rebuild
}

// of returns the newest rebuild of a cluster. It returns nil if there is none, or if that rebuild has succeeded.
func (s *rebuilds) of(name string) *rebuild {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[name]
}

func (s *rebuilds) set(name string, r *rebuild) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*rebuild{}
	}
	if r == nil {
		delete(s.all, name)
		return
	}
	s.all[name] = r
}

func (s *rebuilds) list() []*rebuild {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*rebuild
	for _, r := range s.all {
		out = append(out, r)
	}
	return out
}

// teaches reports whether a view is due that shows the progress of learning a history, or its end. It returns false if
// the newest views were published less than teachingEvery ago, because they show the progress too. If it returns true,
// the caller must publish, because teaches counts the end of a rebuild as shown.
func (p *Pipeline) teaches() bool {
	if time.Since(p.publishedAt) < teachingEvery {
		return false
	}
	due := false
	for _, r := range p.rebuilds.list() {
		due = due || !r.endShown
		select {
		case <-r.over:
			r.endShown = true // the view that is now published shows the end
		default:
		}
	}
	return due
}

// unlearnt is the set of the clusters whose published state does not include the history in force. It is safe for
// concurrent use.
type unlearnt struct {
	mu  sync.Mutex
	all map[string]bool // by cluster: true if the state can be used and continued until another state replaces it
}

// of reports whether a cluster is in the set (ok), and whether its state is usable.
func (u *unlearnt) of(name string) (usable, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	usable, ok = u.all[name]
	return usable, ok
}

// usable reports whether the published state of a cluster can be used and continued. It is true for clusters that are
// not in the set.
func (u *unlearnt) usable(name string) bool {
	usable, ok := u.of(name)
	return usable || !ok
}

func (u *unlearnt) set(name string, usable bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[string]bool{}
	}
	u.all[name] = usable
}

func (u *unlearnt) remove(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, name)
}

// list returns a copy of the set. The value of a cluster is true if its state is usable.
func (u *unlearnt) list() map[string]bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.all)
}

// rebuild builds a new state of a cluster from its history and the journal, in its own goroutine. The writer continues
// meanwhile, and then takes over the finished state. If the history is damaged and the cluster has no usable state, a
// second rebuild builds one from the journal alone.
type rebuild struct {
	name    string
	history past.History // empty for a rebuild from the journal alone
	plans   engine.Replay
	store   modelstore.Store
	log     *zap.Logger
	began   time.Time
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the goroutine has ended
	over    chan struct{} // closed when the rebuilt state is published, or when the rebuild has failed
	err     error         // why the history cannot be learnt; nil if it can
	// endShown is true if a view was published after the rebuild ended. Only the writer uses it.
	endShown bool
	failed   atomic.Pointer[string]
	done     atomic.Int64
	total    atomic.Int64

	// The goroutine uses the fields below until it passes the rebuild to the writer. Then only the writer uses them.
	broken   error // why the goroutine could not build a state; nil if it could
	writer   *clusterWriter
	events   *past.Events
	jobs     *past.Gathering
	gatherer gatherer
	rows     []modelstore.Row
	folded   int64 // number of events of the history that are folded
	dropped  bool  // dropUnknown was called
	seq      int64 // number of the newest journal entry that was read
	// raw is the number of the last journal entry that was written by a state without the history. It is math.MaxInt64
	// if no state has included the history yet.
	raw    int64
	learnt past.Learnt
}

// beginRebuild starts to rebuild the state of a cluster with the history in force. usable is true if the present state
// can be used until then.
func (p *Pipeline) beginRebuild(ctx context.Context, name string, usable bool) error {
	h := p.histories.inForce[name]
	r, err := p.newRebuild(name, *h)
	if err != nil {
		return err
	}
	r.raw, r.learnt.Seq = math.MaxInt64, -1 // the swap sets the final learnt.Seq
	if learnt := p.histories.learnt[name]; learnt != nil && learnt.ID == h.ID {
		r.raw, r.learnt = learnt.Seq, *learnt
	}
	p.startRebuild(ctx, r, usable)
	return nil
}

// beginWithoutHistory starts to rebuild the state of a cluster from the journal alone, because its history cannot be
// learnt and there is no usable state. why is the reason. The journal entries are folded unchanged, as at a restart.
func (p *Pipeline) beginWithoutHistory(ctx context.Context, name string, why error) error {
	r, err := p.newRebuild(name, past.History{})
	if err != nil {
		return err
	}
	r.fail(why)
	p.startRebuild(ctx, r, false)
	return nil
}

// newRebuild returns a rebuild of a cluster with the history h. It does not start the rebuild.
func (p *Pipeline) newRebuild(name string, h past.History) (*rebuild, error) {
	r := &rebuild{
		name: name, history: h, plans: p.cfg.Replay, store: p.store, log: p.log, began: time.Now(),
		ended: make(chan struct{}), over: make(chan struct{}), jobs: past.NewGathering(),
		events: past.NewEvents(p.store, name, &h), learnt: past.Learnt{ID: h.ID},
	}
	for _, c := range p.cfg.Clusters {
		if c.Name != name {
			continue
		}
		var err error
		if r.writer, err = p.newClusterWriter(c); err != nil {
			return nil, err
		}
	}
	r.writer.journal, r.writer.known = false, r.jobs.Known
	r.writer.observers = append(r.writer.observers, &r.gatherer)
	r.total.Store(h.Events + p.seq)
	return r, nil
}

// startRebuild starts the goroutine of a rebuild, which passes the finished rebuild to the writer. If the rebuild
// fails, the goroutine passes it to the writer only if there is no usable state. The writer then starts another
// rebuild, without the history.
func (p *Pipeline) startRebuild(ctx context.Context, r *rebuild, usable bool) {
	p.unlearnt.set(r.name, usable)
	p.rebuilds.set(r.name, r)
	p.publishNeeded = true
	working, cancel := context.WithCancel(ctx)
	r.cancel = cancel
	go func() {
		defer close(r.ended)
		err := caughtIn(func() error { return r.fold(working) })
		if err != nil && usable {
			p.rebuildFails(r, err)
			return
		}
		r.broken = err
		select {
		case p.rebuilt <- r:
		case <-working.Done():
			p.rebuildFails(r, working.Err())
		}
	}()
}

// rebuildFails ends a rebuild that could not build a state.
func (p *Pipeline) rebuildFails(r *rebuild, err error) {
	r.writer.close()
	if !r.withoutHistory() {
		r.fail(err)
		p.historyFails(r.name, err)
	}
	close(r.over)
}

// withoutHistory reports whether the rebuild makes a state from the journal alone.
func (r *rebuild) withoutHistory() bool { return r.history.ID == "" }

// fail records why the history cannot be learnt.
func (r *rebuild) fail(why error) {
	text := plain(why.Error())
	r.failed.Store(&text)
	r.err = fmt.Errorf("the history of cluster %s cannot be learnt: %w", r.name, why)
}

// stop ends a rebuild, because another one replaces it or the process ends.
func (r *rebuild) stop() {
	r.cancel()
	<-r.ended
}

// newestCost is the approximate cost of an event in the last part of a fast replay, which makes forecasts, relative to
// the cost of an earlier event. It was measured on SDSC-SP2.
const newestCost = 15

// work returns the cost of the given number of events at the beginning of a rebuild. In a fast replay the unit is the
// cost of an early event. In any other rebuild each event costs 1.
func (r *rebuild) work(events int64) float64 {
	if r.history.Mode != past.Fast || r.history.Submissions == 0 {
		return float64(events)
	}
	plan := r.plans
	plan.Submissions = int(r.history.Submissions)
	share := float64(plan.Forecasts()) / float64(plan.Submissions)
	// The events of the journal are replayed in full too.
	newest := float64(events) - (1-share)*float64(r.history.Events)
	return float64(events) + (newestCost-1)*max(0, newest)
}

// progress returns the progress of the rebuild. usable is true if the cluster has a usable state meanwhile. The
// remaining time is estimated from the time so far and from the costs of the folded and of the remaining events.
func (r *rebuild) progress(usable bool) *readmodel.Teaching {
	t := &readmodel.Teaching{Began: r.began, Done: r.done.Load(), Total: r.total.Load(), Usable: usable}
	if text := r.failed.Load(); text != nil {
		t.Failure = *text
		if t.Usable {
			return t
		}
	}
	t.Total = max(t.Total, t.Done)
	if t.Done > 0 {
		took, done := time.Since(r.began).Seconds(), r.work(t.Done)
		t.Remaining = time.Duration(took / done * (r.work(t.Total) - done) * float64(time.Second))
	}
	return t
}

// fold folds history and journal, except the newest entries. While the store fails, it tries again and goes on from the
// place where it stopped.
func (r *rebuild) fold(ctx context.Context) error {
	if r.writer.load != nil {
		r.writer.load.BeginReplay(nil)
	}
	r.plan()
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := r.foldRest(ctx)
		if hopeless(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, next time.Duration) {
		r.log.Warn("cannot read or write the database: learning a history waits", zap.String("cluster", r.name),
			zap.Error(err), zap.Duration("next_try_in", next))
	}))
	return err
}

// foldRest folds the events of history and journal that are not folded yet, except the newest entries, and stores the
// jobs that left in the history. After an error it can be called again.
func (r *rebuild) foldRest(ctx context.Context) error {
	for {
		entries, last, err := r.page(ctx)
		if err != nil {
			return err
		}
		next, err := r.events.Peek(ctx)
		if err != nil {
			return err
		}
		if next == nil && r.folded == r.history.Events && len(entries) < fewEntries && last >= r.history.After {
			return r.storeJobs(ctx) // the writer folds the remaining entries
		}
		if err := r.foldPage(ctx, entries, last); err != nil {
			return err
		}
	}
}

// plan prepares engine and load forecast for a fast replay, if the history is to be learnt that way. It sets which part
// of the history they follow in full.
func (r *rebuild) plan() {
	if l := r.writer.ledger; l != nil && r.history.Mode == past.Fast {
		plan := r.plans
		plan.Submissions = int(r.history.Submissions)
		l.feeder.engine.BeginReplay(plan)
	}
	if l := r.writer.load; l != nil && r.history.Mode == past.Fast {
		l.SampleFrom(r.history.To.Add(-loadSampled))
	}
}

// errPageFull ends the reading of a page early. A call that read the whole journal could take minutes.
var errPageFull = errors.New("the page is full")

// page reads the next journal entries, and returns those of the cluster, at most pageEntries. last is the number of the
// last entry that was read, of any cluster. At the end of the journal it is at least history.After, if the store has
// given out that number.
func (r *rebuild) page(ctx context.Context) (entries []modelstore.Entry, last int64, err error) {
	last = r.seq
	err = r.store.Replay(ctx, r.seq, func(e modelstore.Entry) error {
		last = e.Seq
		if e.Event.Cluster == r.name {
			entries = append(entries, e)
		}
		if len(entries) == pageEntries {
			return errPageFull
		}
		return nil
	})
	if errors.Is(err, errPageFull) {
		return entries, last, nil
	}
	if err != nil {
		return nil, 0, err
	}
	newest, err := r.store.LastSeq(ctx)
	return entries, max(last, min(newest, r.history.After)), err // the numbers after the last entry may be unused
}

// foldPage folds journal entries of the cluster. Before each entry it folds the earlier events of the history. If last,
// the number of the last journal entry that was read (of any cluster), is at least history.After, it then folds the
// rest of the history. Then it calls storeRows.
func (r *rebuild) foldPage(ctx context.Context, entries []modelstore.Entry, last int64) error {
	for i := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.foldEntry(ctx, &entries[i]); err != nil {
			return err
		}
	}
	r.seq = max(r.seq, last)
	if last >= r.history.After {
		if err := r.foldHistory(ctx, time.Time{}); err != nil {
			return err
		}
		r.dropUnknown()
	}
	return r.storeRows(ctx)
}

// foldEntry folds one entry of the journal, after the events of the history that come before it.
func (r *rebuild) foldEntry(ctx context.Context, e *modelstore.Entry) error {
	until := e.Event.Time
	if e.Seq > r.history.After {
		until = time.Time{}
	}
	if err := r.foldHistory(ctx, until); err != nil {
		return err
	}
	if e.Seq > r.history.After {
		r.dropUnknown()
	}
	r.seq = e.Seq
	r.done.Add(1)
	ev := e.Event
	if e.Seq <= r.raw {
		ev.Live = false
		if derivedAgain(&ev) {
			return nil
		}
	}
	r.take(ev, e.Source)
	return nil
}

// derivedAgain reports whether a journal entry of a state without the history must be skipped, because that state
// derived the event from other events. The rebuilt state derives such an event again, or has the real one from the
// history.
func derivedAgain(ev *job.Event) bool {
	if !ev.Derived {
		return false
	}
	switch ev.Kind {
	case job.Submit, job.Start, job.End, job.Cancel:
		return true
	}
	return false
}

// foldHistory folds the events of the history that are not after the instant until; if until is zero, it folds all.
func (r *rebuild) foldHistory(ctx context.Context, until time.Time) error {
	for n := 0; ; n++ {
		ev, err := r.events.Peek(ctx)
		switch {
		case err != nil:
			return err
		case ev == nil:
			return r.endHistory()
		case !until.IsZero() && ev.Time.After(until):
			return nil
		}
		r.gatherer.to = r.jobs
		r.writer.state.ReadsHistory(true)
		r.take(*ev, "")
		r.writer.state.ReadsHistory(false)
		r.gatherer.to = nil
		r.events.Pass()
		r.done.Add(1)
		r.folded++
		if n%1000 == 0 {
			if err := errors.Join(ctx.Err(), r.storeRows(ctx)); err != nil {
				return err
			}
		}
	}
}

// endHistory ends the fast replay that plan began, if it has not ended yet. It returns an error if the store does not
// have the whole history.
func (r *rebuild) endHistory() error {
	if r.folded != r.history.Events {
		return fmt.Errorf("the store has %d of its %d events: %w", r.folded, r.history.Events, modelstore.ErrCorrupt)
	}
	if l := r.writer.ledger; l != nil && l.feeder.engine.Replaying() {
		l.feeder.engine.EndReplay()
	}
	return nil
}

// dropUnknown removes from the picture the open jobs of the history that no journal entry up to history.After is about.
// It is called after these entries and the whole history.
func (r *rebuild) dropUnknown() {
	if !r.dropped && !r.withoutHistory() {
		r.collect(r.writer.endHistory)
	}
	r.dropped = true
}

// take folds one event of the history or the journal, and keeps the rows that it completes.
func (r *rebuild) take(ev job.Event, source string) {
	r.collect(func(seq func() int64, out *output) { r.writer.take(ev, source, seq, out) })
}

// collect calls do, which changes the state, and keeps the rows that it completes.
func (r *rebuild) collect(do func(seq func() int64, out *output)) {
	out := output{rows: r.rows}
	number := max(1, r.seq) // rows have numbers from 1
	do(func() int64 { return number }, &out)
	r.rows = out.rows
}

// storeRows stores the rows that were completed so far, if there are at least pageEntries. Rows that the store has
// already are not changed.
func (r *rebuild) storeRows(ctx context.Context) error {
	if len(r.rows) < pageEntries {
		return nil
	}
	if err := r.store.Commit(ctx, modelstore.Batch{Rows: r.rows}); err != nil {
		return err
	}
	r.rows = nil
	return nil
}

// storeJobs stores the jobs that left while the history was folded.
func (r *rebuild) storeJobs(ctx context.Context) error {
	return r.jobs.Save(func(n int, data []byte) error {
		c := modelstore.HistoryChunk{Cluster: r.name, ID: r.history.ID, Part: past.JobsPart, N: n, Data: data}
		return r.store.PutHistory(ctx, c)
	})
}

// gatherer is an observer that collects the jobs that leave while the history is folded.
type gatherer struct {
	to *past.Gathering // nil while the journal is folded
}

// InstantOver implements changes.Observer.
func (g *gatherer) InstantOver(time.Time, bool, *cluster.State) {}

// Observe implements changes.Observer.
func (g *gatherer) Observe(c *changes.Change, _ *cluster.State) {
	if g.to != nil && c.After == nil && c.Before != nil {
		left := c.Left()
		g.to.Add(&left)
	}
}
