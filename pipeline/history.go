package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/past"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// histories has the descriptions and jobs of the clusters' histories. The keys are names of clusters.
type histories struct {
	inForce map[string]*past.History
	// jobs are the jobs of the histories that the published states include.
	jobs map[string]*past.Jobs
	// learnt are the stored descriptions of the histories that the published states include.
	learnt map[string]*past.Learnt
	// trimmed are the newest event times that the clusters had when their histories were last trimmed.
	trimmed map[string]time.Time
}

func newHistories() histories {
	return histories{
		inForce: map[string]*past.History{}, jobs: map[string]*past.Jobs{}, learnt: map[string]*past.Learnt{},
		trimmed: map[string]time.Time{},
	}
}

// teaching is a call of Teach, passed to the goroutine of Run.
type teaching struct {
	ctx     context.Context // context of the call
	cluster string
	history past.History
	done    chan error // for the result of the call; buffered for one
}

// Teach puts a history of a cluster in force while Run is running. The chunks of the history must be in the store.
// Teach sets After of the stored history to the number of the newest journal entry. Once Teach has returned nil, the
// history stays in force, even after a crash: a state that includes the history is built in the background, and then
// replaces the published state in one step. The previous history is then dropped.
//
// Teach returns the error of h.Check or of the store, an error if the cluster is unknown, or the cause of ctx if the
// writer stays busy until ctx ends.
func (p *Pipeline) Teach(ctx context.Context, cluster string, h past.History) error {
	if err := h.Check(); err != nil {
		return err
	}
	t := &teaching{ctx: ctx, cluster: cluster, history: h, done: make(chan error, 1)}
	select {
	case p.teachings <- t:
		return <-t.done
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AwaitTaught waits until the published state of a cluster includes the history in force, if there is one. The error is
// the reason why the history cannot be learnt, or the cause of ctx if ctx ends before.
func (p *Pipeline) AwaitTaught(ctx context.Context, cluster string) error {
	for {
		published := p.Published()
		// If there is no rebuild, but the cluster is in unlearnt, Run will soon start one.
		r := p.rebuilds.of(cluster)
		if r != nil {
			published = r.over
		} else if _, unlearnt := p.unlearnt.of(cluster); !unlearnt {
			return nil
		}
		select {
		case <-published:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if r != nil {
			return r.err
		}
	}
}

// AwaitUsable waits until the published state of a cluster can accept records of its logs. It returns the cause of ctx
// if ctx ends before.
func (p *Pipeline) AwaitUsable(ctx context.Context, cluster string) error {
	for {
		published := p.Published()
		if p.unlearnt.usable(cluster) {
			return nil
		}
		select {
		case <-published:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// HistoryOf returns the description of the history in force of a cluster, nil if there is none. Callers must not change
// it.
func (p *Pipeline) HistoryOf(ctx context.Context, cluster string) (*past.History, error) {
	text, err := p.store.Meta(ctx, past.InForceKey(cluster))
	if err != nil {
		return nil, err
	}
	return past.Decode[past.History](text)
}

// teach executes a call of Teach.
func (p *Pipeline) teach(ctx context.Context, t *teaching) {
	t.done <- func() error {
		writer := p.writers[t.cluster]
		if writer == nil {
			return fmt.Errorf("no cluster %q", t.cluster)
		}
		if writer.stopped != nil {
			return errStopped(writer)
		}
		h := t.history
		h.After = p.seq
		text, err := json.Marshal(h)
		if err != nil {
			return fmt.Errorf("describing the history of cluster %s: %w", t.cluster, err)
		}
		if err := p.store.SetMeta(t.ctx, past.InForceKey(t.cluster), string(text)); err != nil {
			return err
		}
		p.histories.inForce[t.cluster] = &h
		if r := p.rebuilds.of(t.cluster); r != nil {
			r.stop()
		}
		return p.beginRebuild(ctx, t.cluster, p.unlearnt.usable(t.cluster))
	}()
}

// restoreHistories loads the descriptions of the histories in force and of those that the published states include. It
// is called before states are restored.
func (p *Pipeline) restoreHistories(ctx context.Context) error {
	p.histories = newHistories()
	for name := range p.writers {
		text, err := p.store.Meta(ctx, past.InForceKey(name))
		if err != nil {
			return err
		}
		h, err := past.Decode[past.History](text)
		if err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
		text, err = p.store.Meta(ctx, past.LearntKey(name))
		if err != nil {
			return err
		}
		if p.histories.learnt[name], err = past.Decode[past.Learnt](text); err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
		if h != nil {
			p.histories.inForce[name] = h
		}
	}
	return nil
}

// compareHistories adds to unlearnt the clusters whose state must be rebuilt because it does not include the history in
// force. restored is true if the states come from a snapshot. Until the rebuild ends, a restored state is used for
// answers if it is usable; otherwise it is replaced by an empty state. compareHistories also loads the jobs of included
// histories, and deletes the histories that are no longer needed.
func (p *Pipeline) compareHistories(ctx context.Context, restored bool) error {
	for name, w := range p.writers {
		h, learnt := p.histories.inForce[name], p.histories.learnt[name]
		if restored && w.learnt != nil {
			if err := p.loadJobs(ctx, name, w.learnt.ID); err != nil {
				return err
			}
		}
		switch {
		case h == nil:
			continue
		case restored && w.learnt != nil && w.learnt.ID == h.ID:
			if err := p.noteLearnt(ctx, name, w.learnt); err != nil {
				return err
			}
			continue
		}
		// If a published state has included this history before, later journal entries depend on that state. A restored
		// state without the history cannot be continued with those entries.
		usable := restored && (learnt == nil || learnt.ID != h.ID)
		if !usable {
			if err := p.resetWriter(name); err != nil {
				return err
			}
		}
		if !p.cfg.Follows { // a follower waits for the state of the collecting daemon
			p.unlearnt.set(name, usable)
		}
	}
	return p.dropHistories(ctx)
}

// loadJobs loads the jobs of the history that a restored state includes. If the history is damaged, this is only
// logged.
func (p *Pipeline) loadJobs(ctx context.Context, name, id string) error {
	jobs, err := past.LoadJobs(ctx, p.store, name, id)
	if errors.Is(err, modelstore.ErrCorrupt) {
		p.log.Error("a part of a cluster's history is damaged: import it again", zap.Error(err))
		return nil
	}
	p.histories.jobs[name] = jobs
	return err
}

// dropHistories deletes from the store the histories that are neither in force nor included in a state, such as those
// of interrupted imports.
func (p *Pipeline) dropHistories(ctx context.Context) error {
	if p.cfg.Follows {
		return nil
	}
	for name, w := range p.writers {
		var keep []string
		if h := p.histories.inForce[name]; h != nil {
			keep = append(keep, h.ID)
		}
		if w.learnt != nil {
			keep = append(keep, w.learnt.ID)
		}
		if err := p.store.DropHistories(ctx, name, keep...); err != nil {
			return err
		}
	}
	return nil
}

// checkLearnt returns ErrConfigChanged if, since the states were restored, the collecting daemon has published a state
// that includes another history, or none.
func (p *Pipeline) checkLearnt(ctx context.Context) error {
	for name, known := range p.histories.learnt {
		text, err := p.store.Meta(ctx, past.LearntKey(name))
		if err != nil {
			return err
		}
		now, err := past.Decode[past.Learnt](text)
		switch {
		case err != nil:
			return fmt.Errorf("cluster %s: %w", name, err)
		case (now == nil) != (known == nil), now != nil && *known != *now:
			return ErrConfigChanged
		}
	}
	return nil
}

// noteLearnt stores which history the published state of a cluster includes. now is nil if it includes none. A follower
// stores nothing.
func (p *Pipeline) noteLearnt(ctx context.Context, name string, now *past.Learnt) error {
	old := p.histories.learnt[name]
	if p.cfg.Follows || old == now || old != nil && now != nil && *old == *now {
		return nil
	}
	var text []byte
	if now != nil {
		var err error
		if text, err = json.Marshal(now); err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
	}
	if err := p.store.SetMeta(ctx, past.LearntKey(name), string(text)); err != nil {
		return err
	}
	p.histories.learnt[name] = now
	return nil
}

// resetWriter replaces the writer of a cluster by an empty one, and closes the old writer.
func (p *Pipeline) resetWriter(name string) error {
	for _, c := range p.cfg.Clusters {
		if c.Name != name {
			continue
		}
		l, err := p.newClusterWriter(c)
		if err != nil {
			return err
		}
		p.writers[name].close()
		p.writers[name] = l
	}
	return nil
}

// unusable reports whether there is a cluster whose state can neither be saved nor used for answers until its history
// is learnt.
func (p *Pipeline) unusable() bool {
	for _, usable := range p.unlearnt.list() {
		if !usable {
			return true
		}
	}
	return false
}

// remembered looks up a job that the fold may have forgotten, in the history that the published state of a cluster
// includes. It returns false if there is no such job, or if the store fails permanently; then p.broken is set.
func (p *Pipeline) remembered(name, id string) (cluster.Left, bool) {
	jobs := p.histories.jobs[name]
	if jobs == nil || p.broken != nil {
		return cluster.Left{}, false
	}
	var left cluster.Left
	var ok bool
	p.broken = p.persist(p.run, cannotRead, func() (err error) {
		left, ok, err = jobs.Known(p.run, id)
		if errors.Is(err, modelstore.ErrCorrupt) { // an old record may count twice then; no reason to stop
			p.metrics.StoreErrors.Inc()
			p.log.Error("a part of a cluster's history is damaged: import it again", zap.Error(err))
			left, ok, err = cluster.Left{}, false, nil
		}
		return err
	})
	return left, ok && p.broken == nil
}

// teachingOf returns the progress of learning the history of a cluster, nil if no history is being learnt.
func (p *Pipeline) teachingOf(name string) *readmodel.Teaching {
	r := p.rebuilds.of(name)
	if r == nil {
		return nil
	}
	return r.progress(p.unlearnt.usable(name))
}

// historyFails counts and logs that the history of a cluster cannot be learnt, unless learning was only interrupted.
func (p *Pipeline) historyFails(name string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	p.metrics.StoreErrors.Inc()
	p.log.Error("the history of a cluster cannot be learnt: forecasts go on without it; import it again",
		zap.String("cluster", name), zap.Error(err))
}
