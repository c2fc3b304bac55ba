package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// What cannot be done begins the reason of a condition.
const (
	cannotWrite = "cannot write the database"
	cannotRead  = "cannot read the database"
)

// lookup asks the journal about a job that the fold has forgotten. It waits until there is an answer: a record that is
// read twice must not count twice. Where there will be none the batch is given up.
func (p *Pipeline) lookup(clusterName, id string) (cluster.Left, bool) {
	if p.broken != nil {
		return cluster.Left{}, false
	}
	var keys []modelstore.Key
	p.broken = p.persist(p.run, cannotRead, func() (err error) {
		keys, err = p.store.Known(p.run, clusterName, id)
		return err
	})
	return lastLife(id, keys)
}

// persist repeats an operation of the store until it succeeds or cannot succeed any more. Readers go on meanwhile with
// what is published.
func (p *Pipeline) persist(ctx context.Context, problem string, operation func() error) error {
	defer p.storeWorks()
	defer p.heartbeat.beat() // before it: a writer that waited here lives
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := operation()
		if hopeless(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, next time.Duration) {
		p.storeFails(problem, err)
		p.log.Error(problem+": forecasts go on from what is known, new records wait",
			zap.Error(err), zap.Duration("next_try_in", next))
	}))
	return err
}

// storeFails notes that an operation on the database failed.
func (p *Pipeline) storeFails(problem string, err error) {
	p.metrics.StoreErrors.Inc()
	p.metrics.StoreFailing.Set(1)
	c := readmodel.Condition{
		Name: readmodel.StoreFailing, File: plain(p.cfg.StoreName),
		Reason: plain(fmt.Sprintf("%s: %v", problem, err)), Since: p.now(),
	}
	if before := p.storeProblem.Load(); before != nil {
		c.Since = before.Since
	}
	p.storeProblem.Store(&c)
	p.fresh.broadcast() // those who show conditions look again
}

// storeWorks notes that an operation on the database succeeded, or was given up. A database that is not in its place
// still answers and may even be written, which helps nobody: the condition stays.
func (p *Pipeline) storeWorks() {
	if !p.verifyStore() {
		return
	}
	p.metrics.StoreFailing.Set(0)
	if p.storeProblem.Swap(nil) != nil {
		p.fresh.broadcast()
	}
}

// verifyEvery is the time between two looks at the place of the database while nothing is stored.
const verifyEvery = time.Second

// watchStore looks now and then whether the database is in its place, and notes it.
func (p *Pipeline) watchStore() {
	if p.store == nil || time.Since(p.verifiedAt) < verifyEvery {
		return
	}
	if lost := p.storeLost; p.verifyStore() && lost {
		p.storeWorks()
	}
}

// verifyStore reports whether the database is in its place. Where it is not, that is its condition until it is back.
func (p *Pipeline) verifyStore() bool {
	p.verifiedAt = time.Now()
	err := modelstore.Verify(p.store)
	switch lost := p.storeLost; {
	case err != nil && !lost:
		p.storeFails(cannotWrite, err)
		p.log.Error("the database is not in its place: nothing more is stored, forecasts go on from what is known",
			zap.Error(err))
	case err == nil && lost:
		p.log.Info("the database is in its place again", zap.String("database", p.cfg.StoreName))
	}
	p.storeLost = err != nil
	return err == nil
}

// StoreFails reports whether an operation on the database is tried again and again. It may be called from any
// goroutine.
func (p *Pipeline) StoreFails() bool { return p.storeProblem.Load() != nil }

// hopeless reports whether trying again cannot help: the store is damaged or closed, is another's now, or refuses what
// it is given.
func hopeless(err error) bool {
	var invalid *modelstore.InvalidError
	var seq *modelstore.SeqError
	return errors.Is(err, modelstore.ErrCorrupt) || errors.Is(err, modelstore.ErrClosed) ||
		errors.Is(err, modelstore.ErrLeaseLost) || errors.As(err, &invalid) || errors.As(err, &seq)
}

// lastLife finds the last life of a job that is over.
func lastLife(id string, keys []modelstore.Key) (cluster.Left, bool) {
	if len(keys) == 0 {
		return cluster.Left{}, false
	}
	left := cluster.Left{ID: id, Attempt: keys[len(keys)-1].Attempt}
	var began time.Time
	for _, k := range keys {
		switch {
		case k.Kind == job.Submit && k.Attempt == left.Attempt, k.Kind == job.Requeue && k.Attempt == left.Attempt-1:
			began = k.Time
			if k.Kind == job.Submit && !k.Submit.IsZero() {
				began = k.Submit
			}
		case k.Kind == job.Start && k.Attempt == left.Attempt:
			left.Began = began
		}
		switch {
		case k.Kind == job.Submit:
			left.Submit = k.Time
			if !k.Submit.IsZero() {
				left.Submit = k.Submit
			}
		case k.Attempt == left.Attempt:
			left.At = later(left.At, k.Time)
		}
	}
	left.At = later(left.At, left.Submit)
	return left, true
}

func later(t, u time.Time) time.Time {
	if u.After(t) {
		return u
	}
	return t
}

// commit stores the batch, with a snapshot if one is due. While the store cannot be written it keeps trying and takes
// in nothing new; readers go on with what is published.
func (p *Pipeline) commit(ctx context.Context, batch *modelstore.Batch) error {
	if p.store == nil {
		return nil
	}
	if p.snapshotDue() {
		snap, err := p.snapshot()
		if err != nil {
			return err
		}
		batch.Snapshot = snap
	}
	if len(batch.Entries)+len(batch.Checkpoints)+len(batch.Rows)+len(batch.BadLines) == 0 && batch.Snapshot == nil {
		return nil
	}
	started := time.Now()
	err := p.persist(ctx, cannotWrite, func() error { return p.store.Commit(ctx, *batch) })
	if err != nil {
		return fmt.Errorf("committing %d events: %w", len(batch.Entries), err)
	}
	p.metrics.CommitSeconds.Observe(time.Since(started).Seconds())
	p.prune(ctx, batch.Snapshot)
	return nil
}

func (p *Pipeline) snapshotDue() bool {
	if p.seq == p.snapshotSeq || p.unusable() {
		return false
	}
	return p.cfg.SnapshotEvents > 0 && p.seq-p.snapshotSeq >= p.cfg.SnapshotEvents ||
		p.cfg.SnapshotInterval > 0 && time.Since(p.snapshotAt) >= p.cfg.SnapshotInterval
}

// snapshot saves all clusters as of the newest entry.
func (p *Pipeline) snapshot() (*modelstore.Snapshot, error) {
	parts := map[string][]byte{}
	for _, l := range p.writers {
		if err := l.save(parts); err != nil {
			return nil, err
		}
	}
	p.snapshotSeq, p.snapshotAt = p.seq, time.Now()
	return &modelstore.Snapshot{Seq: p.seq, At: p.now(), Parts: parts}, nil
}

// prune forgets journal entries, rows of the ledger and events of histories that are older than their retentions, after
// a snapshot.
func (p *Pipeline) prune(ctx context.Context, snap *modelstore.Snapshot) {
	if snap == nil {
		return
	}
	newest := time.Time{}
	for _, l := range p.writers {
		newest = later(newest, l.state.Now())
	}
	failed := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			p.metrics.StoreErrors.Inc()
			p.log.Warn("cannot prune "+what+": it grows beyond its retention", zap.Error(err))
		}
	}
	if p.cfg.Retention > 0 {
		_, err := p.store.Prune(ctx, newest.Add(-p.cfg.Retention), snap.Seq)
		failed("the journal", err)
	}
	if p.cfg.LedgerRetention > 0 {
		_, err := p.store.PruneRows(ctx, newest.Add(-p.cfg.LedgerRetention))
		failed("the ledger", err)
	}
	if p.cfg.HistoryRetention > 0 {
		failed("the histories", p.trimHistories(ctx))
	}
}
