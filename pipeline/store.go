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

// These texts name the operations that may fail. The reason of a condition begins with one of them.
const (
	cannotWrite = "cannot write the database"
	cannotRead  = "cannot read the database"
)

// lookup searches the journal for a job that the fold has forgotten. While the store fails, lookup waits, because a
// record that is read twice must not count twice. If the store fails permanently, p.broken is set and the open
// transaction is abandoned.
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

// persist repeats an operation of the store until it succeeds, fails permanently, or ctx ends. problem says what cannot
// be done until then. Readers use the published views in the meantime.
func (p *Pipeline) persist(ctx context.Context, problem string, operation func() error) error {
	defer p.storeWorks()
	defer p.heartbeat.beat() // a writer that waits for the store is alive
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

// storeFails records that an operation on the database failed.
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
	p.fresh.broadcast() // wake the readers that show conditions
}

// storeWorks records that an operation on the database succeeded, or was given up. If the file of the database is
// missing, the condition stays: the database can still be read and written then, but the data will be lost.
func (p *Pipeline) storeWorks() {
	if !p.verifyStore() {
		return
	}
	p.metrics.StoreFailing.Set(0)
	if p.storeProblem.Swap(nil) != nil {
		p.fresh.broadcast()
	}
}

// verifyEvery is the time between two checks of the database file if nothing is stored meanwhile.
const verifyEvery = time.Second

// watchStore checks at intervals whether the database file is in its place, and records the result.
func (p *Pipeline) watchStore() {
	if p.store == nil || time.Since(p.verifiedAt) < verifyEvery {
		return
	}
	if lost := p.storeLost; p.verifyStore() && lost {
		p.storeWorks()
	}
}

// verifyStore reports whether the database file is in its place. If it is not, there is a condition until the file is
// back.
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

// StoreFails reports whether an operation on the database is being retried, or the database file is not in its place.
// It may be called from any goroutine.
func (p *Pipeline) StoreFails() bool { return p.storeProblem.Load() != nil }

// hopeless reports whether an error of the store is permanent: the store is damaged or closed, another daemon owns it
// now, it refuses the data, or the data cannot be encoded.
func hopeless(err error) bool {
	var invalid *modelstore.InvalidError
	var seq *modelstore.SeqError
	var encode *modelstore.EncodeError
	return errors.Is(err, modelstore.ErrCorrupt) || errors.Is(err, modelstore.ErrClosed) ||
		errors.Is(err, modelstore.ErrLeaseLost) || errors.As(err, &invalid) || errors.As(err, &seq) ||
		errors.As(err, &encode)
}

// lastLife returns the last attempt of a job that has ended, from the keys of its journal entries. It returns false if
// there are none.
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

// commit stores the batch, and a snapshot if one is due, and then deletes what is older than its retention (see prune).
// While the store cannot be written, commit tries again, and no new event is processed. Readers use the published views
// in the meantime.
func (p *Pipeline) commit(ctx context.Context, batch *modelstore.Batch) error {
	if p.store == nil {
		return nil
	}
	if p.snapshotDue() {
		batch.Snapshot = p.snapshot()
	}
	if len(batch.Entries)+len(batch.Checkpoints)+len(batch.Rows)+len(batch.BadLines) == 0 && batch.Snapshot == nil {
		return nil
	}
	started := time.Now()
	store := func() error { return p.store.Commit(ctx, *batch) }
	err := p.persist(ctx, cannotWrite, store)
	if p.stopEncoding(err) {
		batch.Snapshot = nil
		err = p.persist(ctx, cannotWrite, store)
	}
	if err != nil {
		return fmt.Errorf("committing %d events: %w", len(batch.Entries), err)
	}
	p.metrics.CommitSeconds.Observe(time.Since(started).Seconds())
	p.prune(ctx, batch.Snapshot)
	return nil
}

func (p *Pipeline) snapshotDue() bool {
	if p.seq == p.snapshotSeq || p.unusable() || p.anyStopped() {
		return false
	}
	return p.cfg.SnapshotEvents > 0 && p.seq-p.snapshotSeq >= p.cfg.SnapshotEvents ||
		p.cfg.SnapshotInterval > 0 && time.Since(p.snapshotAt) >= p.cfg.SnapshotInterval
}

// snapshot returns a snapshot of all clusters as of the newest entry. It also begins to count events and time again for
// the next snapshot. The snapshot is encoded while it is written, so it must be written before anything changes.
func (p *Pipeline) snapshot() *modelstore.Snapshot {
	parts := map[string]modelstore.Encoder{}
	for _, l := range p.writers {
		l.save(parts)
	}
	p.snapshotSeq, p.snapshotAt = p.seq, time.Now()
	return &modelstore.Snapshot{Seq: p.seq, At: p.now(), Encoders: parts}
}

// prune deletes journal entries, rows of the ledger and events of histories that are older than their retentions. It
// does so only after the snapshot snap was stored; nil for none.
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
		_, err := p.store.PruneRows(ctx, oldestRow(newest, p.cfg.LedgerRetention))
		failed("the ledger", err)
	}
	if p.cfg.HistoryRetention > 0 {
		failed("the histories", p.trimHistories(ctx))
	}
}

// wholeMonths is the minimum retention of the ledger that is rounded up to whole months.
const wholeMonths = 90 * 24 * time.Hour

// oldestRow returns the instant before which rows of the ledger are deleted. If the retention is at least wholeMonths,
// the instant is the beginning of a month (UTC), so that a store with one table per month can drop whole tables instead
// of deleting some rows after each snapshot.
func oldestRow(newest time.Time, retention time.Duration) time.Time {
	oldest := newest.Add(-retention).UTC()
	if retention < wholeMonths {
		return oldest
	}
	return time.Date(oldest.Year(), oldest.Month(), 1, 0, 0, 0, 0, time.UTC)
}
