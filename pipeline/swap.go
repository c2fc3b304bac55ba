package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/internal/panics"
	"github.com/waitcast/waitcast/modelstore"
)

// swap replaces the published state of a cluster by the state of a finished rebuild. If the rebuild has failed, swap
// ends it instead (see giveUp). After an error the daemon cannot continue.
func (p *Pipeline) swap(ctx context.Context, r *rebuild) error {
	if p.rebuilds.of(r.name) != r {
		return nil // another rebuild has begun since
	}
	if p.stopped(r.name) {
		p.rebuildFails(r, errStopped(p.writers[r.name]))
		return nil
	}
	err := r.broken
	if err == nil {
		err = p.persist(ctx, cannotRead, func() error {
			return caughtIn(func() error { return r.catchUp(ctx, p.seq) })
		})
	}
	old := p.writers[r.name]
	if err == nil {
		err = caughtIn(func() error {
			p.adopt(r, old)
			return nil
		})
	}
	if err != nil {
		return p.giveUp(ctx, r, err)
	}
	p.writers[r.name] = r.writer
	if r.withoutHistory() {
		delete(p.histories.jobs, r.name)
	} else {
		p.histories.jobs[r.name] = r.jobs.Jobs(p.store, r.name, r.history.ID)
	}
	r.jobs = nil
	p.observeWriters()
	go old.close() // in the background, because it waits for the training of trees
	if r.withoutHistory() {
		p.unlearnt.set(r.name, true)
	} else {
		p.unlearnt.remove(r.name)
	}
	if err := p.storeSwap(ctx, r); err != nil {
		return err
	}
	if r.withoutHistory() { // keep the rebuild in p.rebuilds: it has the reason of the failure
		p.log.Warn("the state of a cluster is built from the journal alone: import its history again",
			zap.String("cluster", r.name), zap.Error(r.err))
	} else {
		p.rebuilds.set(r.name, nil)
		p.log.Info("a history is learnt", zap.String("cluster", r.name), zap.Int64("events", r.history.Events),
			zap.String("mode", string(r.history.Mode)))
	}
	p.publishAtOnce()
	close(r.over)
	return nil
}

// giveUp ends a rebuild that failed because of why. If the cluster has no usable state, it starts a rebuild from the
// journal alone. If the failed rebuild was itself from the journal alone, giveUp stops the cluster after a panic;
// otherwise it returns an error, and the daemon cannot continue.
func (p *Pipeline) giveUp(ctx context.Context, r *rebuild, why error) error {
	defer p.rebuildFails(r, why)
	var bug *panics.Error
	switch {
	case ctx.Err() != nil || p.unlearnt.usable(r.name):
		return nil
	case r.withoutHistory() && errors.As(why, &bug):
		p.stop(r.name, bug)
		return nil
	case r.withoutHistory():
		return fmt.Errorf("building the state of cluster %s from the journal: %w", r.name, why)
	}
	return p.beginWithoutHistory(ctx, r.name, why)
}

// catchUp folds the rest of the journal, up to the entry with the number to.
func (r *rebuild) catchUp(ctx context.Context, to int64) error {
	for r.seq < to {
		entries, last, err := r.page(ctx)
		if err != nil {
			return err
		}
		if err := r.foldPage(ctx, entries, last); err != nil {
			return err
		}
		if len(entries) == 0 {
			r.seq = to // the numbers between belong to other clusters, or are unused
		}
	}
	return nil
}

// adopt prepares the writer of a rebuild to take the place of the cluster's writer, old. It keeps the forecasts that
// were really served: those of waiting jobs, and the outcomes of forecasts made live.
func (p *Pipeline) adopt(r *rebuild, old *clusterWriter) {
	if r.learnt.Seq < 0 {
		r.learnt.Seq = p.seq
	}
	w := r.writer
	w.known, w.recall, w.journal = old.known, old.recall, true
	if learnt := r.learnt; !r.withoutHistory() {
		w.learnt = &learnt
	}
	w.observers = slices.DeleteFunc(w.observers, func(o changes.Observer) bool { return o == &r.gatherer })
	w.seq, w.dirty, w.atOnce = p.seq, true, true
	if w.ledger != nil && old.ledger != nil {
		w.ledger.keepServed(old.ledger)
	}
	if w.load != nil {
		w.load.EndReplay(p.seq, w.state)
	}
}

// storeSwap stores the rows and the state of a rebuild, so that the next process starts from them. It stores no
// snapshot while the state of a cluster is unusable. Then it stores which history the state includes (see noteLearnt),
// and drops the unused histories.
func (p *Pipeline) storeSwap(ctx context.Context, r *rebuild) error {
	batch := modelstore.Batch{Rows: r.rows}
	r.rows = nil
	if !p.unusable() {
		batch.Snapshot = p.snapshot()
	}
	if err := p.commit(ctx, &batch); err != nil {
		return err
	}
	return p.persist(ctx, cannotWrite, func() error {
		if err := p.noteLearnt(ctx, r.name, r.writer.learnt); err != nil {
			return err
		}
		return p.store.DropHistories(ctx, r.name, p.histories.inForce[r.name].ID)
	})
}

// keepServed replaces forecasts of the rebuilt ledger by those that were really served, which are in the ledger old of
// the state published so far.
func (l *ledger) keepServed(old *ledger) {
	numbers := l.record.Decisions.TakeLive(old.record.Decisions)
	for _, o := range l.pending {
		if was := old.open[o.Job.ID]; was != nil && was.Job.Attempt == o.Job.Attempt {
			o.Live = was.Live // the forecast itself is made after the swap
		}
	}
	for id, o := range l.open {
		was := old.open[id]
		same := was != nil && was.Live && was.Made && o.Made && was.Job.Attempt == o.Job.Attempt &&
			was.Job.Submit.Equal(o.Job.Submit) && was.Part == o.Part && was.Parts == o.Parts && was.Renamed == o.Renamed
		if !same {
			continue
		}
		l.record.Decisions.Forget(o.Followed)
		o.Live, o.Sized, o.After = was.Live, was.Sized, was.After
		o.Answers, o.Last, o.Followed = slices.Clone(was.Answers), was.Last, numbers[was.Followed]
		l.show(o)
	}
	for key, s := range old.record.Scores {
		if mine := l.record.Scores[key]; mine != nil {
			mine.Live = s.Live
		}
	}
}

// stopRebuilds stops the running rebuilds. The next process starts them from the beginning.
func (p *Pipeline) stopRebuilds() {
	for _, r := range p.rebuilds.list() {
		r.stop()
	}
}

// beginRebuilds starts the rebuilds that the restored states need.
func (p *Pipeline) beginRebuilds(ctx context.Context) error {
	for name, usable := range p.unlearnt.list() {
		if err := p.beginRebuild(ctx, name, usable); err != nil {
			return err
		}
	}
	return nil
}
