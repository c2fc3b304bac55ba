package pipeline

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/modelstore"
)

// fingerprintKey is the key under which the store has the fingerprint of the configuration that its snapshots depend
// on.
const fingerprintKey = "fingerprint"

// Restore restores the state at the end of the store's journal: it loads the newest snapshot and replays the later
// entries. If the fingerprint differs from the stored one, a configuration key on which state depends has changed. Then
// the snapshots are dropped and the whole journal is replayed. Existing rows of the ledger are not changed.
func (p *Pipeline) Restore(ctx context.Context, fingerprint string) error {
	if p.store == nil {
		return nil
	}
	if err := p.checkFingerprint(ctx, fingerprint); err != nil {
		return err
	}
	if err := p.restoreHistories(ctx); err != nil {
		return err
	}
	from, err := p.restoreSnapshot(ctx)
	if err != nil {
		return err
	}
	if err := p.compareHistories(ctx, from.restored); err != nil {
		return err
	}
	if p.saved, err = p.store.Checkpoints(ctx); err != nil {
		return err
	}
	if err := p.beginLoads(ctx); err != nil {
		return err
	}
	for _, l := range p.writers { // look up forgotten jobs only in histories: the journal has the derived events
		l.known, l.recall = func(id string) (cluster.Left, bool) { return p.remembered(l.state.Name(), id) }, l.known
		defer func() { l.known = l.recall }()
	}
	replayed, err := p.replay(ctx, from.seq)
	if err != nil {
		return err
	}
	p.endLoads()
	p.log.Info("restored", zap.Int64("snapshot", from.seq), zap.Int64("replayed", replayed), zap.Int64("events", p.seq))
	p.publishAtOnce()
	return nil
}

// replay folds the journal entries whose numbers are greater than from, and returns how many it has folded. It skips
// the entries of clusters that are not configured, or whose state is not usable.
func (p *Pipeline) replay(ctx context.Context, from int64) (replayed int64, err error) {
	last, err := p.store.LastSeq(ctx)
	if err != nil {
		return 0, err
	}
	var out output
	err = p.store.Replay(ctx, from, func(e modelstore.Entry) error {
		p.seq = e.Seq
		l := p.writers[e.Event.Cluster]
		if l == nil {
			return nil // the cluster is no longer configured
		}
		if !p.unlearnt.usable(e.Event.Cluster) {
			return nil // this state is built with its history in the background
		}
		replayed++
		out.entries, out.rows, out.bytes = out.entries[:0], out.rows[:0], 0
		l.take(e.Event, e.Source, func() int64 { return e.Seq }, &out)
		return nil
	})
	p.seq = max(p.seq, from, last) // the numbers after the last entry may be unused
	if err != nil {
		return replayed, fmt.Errorf("replaying the journal after event %d: %w", from, err)
	}
	return replayed, nil
}

func (p *Pipeline) checkFingerprint(ctx context.Context, fingerprint string) error {
	old, err := p.store.Meta(ctx, fingerprintKey)
	if err != nil {
		return err
	}
	if old == fingerprint {
		return nil
	}
	if p.cfg.Follows {
		return ErrConfigChanged
	}
	if old != "" {
		p.log.Info("the configuration that shapes the state has changed: rebuilding it from the journal")
	}
	if err := p.store.DropSnapshots(ctx); err != nil {
		return err
	}
	return p.store.SetMeta(ctx, fingerprintKey, fingerprint)
}

// restoredFrom describes where restored states come from. seq is the number of the last entry that they include.
type restoredFrom struct {
	seq      int64
	restored bool // the state comes from a snapshot
}

// restoreSnapshot restores all clusters from the newest undamaged snapshot, if there is one. If all snapshots are
// damaged, or the newest undamaged one cannot be used, it drops all snapshots and leaves the writers empty. A follower
// drops none.
func (p *Pipeline) restoreSnapshot(ctx context.Context) (restoredFrom, error) {
	snap, err := p.store.Latest(ctx)
	var damaged *modelstore.DamagedError
	switch {
	case errors.As(err, &damaged):
		p.log.Error("every saved state is damaged: rebuilding from the journal", zap.Error(err))
		return restoredFrom{}, p.dropSnapshots(ctx)
	case err != nil:
		return restoredFrom{}, err
	case snap == nil:
		return restoredFrom{}, nil
	}
	if len(snap.Damaged) > 0 {
		p.log.Warn("a saved state is damaged: using an older one", zap.Int64s("damaged", snap.Damaged))
	}
	for name, l := range p.writers {
		if err := l.restore(snap.Parts); err != nil {
			p.logUnusable(name, err)
			if err := p.resetWriters(); err != nil {
				return restoredFrom{}, err
			}
			return restoredFrom{}, p.dropSnapshots(ctx)
		}
		l.dirty = true
	}
	p.snapshotSeq = snap.Seq
	return restoredFrom{seq: snap.Seq, restored: true}, nil
}

// logUnusable logs why the saved state of a cluster is rebuilt from the journal. A saved state of another version is
// expected after an upgrade.
func (p *Pipeline) logUnusable(cluster string, err error) {
	if errors.Is(err, codec.ErrVersion) {
		p.log.Info("the saved state is of another version of this program: rebuilding it from the journal",
			zap.String("cluster", cluster), zap.Error(err))
		return
	}
	p.log.Warn("the saved state cannot be used: rebuilding it from the journal", zap.String("cluster", cluster),
		zap.Error(err))
}

// dropSnapshots deletes all snapshots, because they are unusable. A follower keeps them, because only the collecting
// daemon may delete them.
func (p *Pipeline) dropSnapshots(ctx context.Context) error {
	if p.cfg.Follows {
		return nil
	}
	return p.store.DropSnapshots(ctx)
}
