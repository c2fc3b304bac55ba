package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// restoring is the progress of Restore.
type restoring struct {
	reason      string
	since       time.Time // by the injected clock
	began       time.Time // when the replay began, by the machine's clock
	logged      time.Time // when the progress was logged, by the machine's clock
	first, last int64     // numbers of the first and the last journal entry to replay; 0 before the replay
	seq         atomic.Int64
}

// progress returns the share of the journal that is replayed, with an estimate of the remaining time; empty before the
// replay.
func (r *restoring) progress() string {
	seq := r.seq.Load()
	if seq == 0 {
		return ""
	}
	done, total := seq-r.first+1, r.last-r.first+1
	took := time.Since(r.began).Seconds()
	left := time.Duration(took / float64(done) * float64(total-done) * float64(time.Second))
	return readmodel.ShareDone(done, total, left)
}

// replayLogEvery is the interval at which the progress of a replay is logged.
const replayLogEvery = 30 * time.Second

// passed records that the entry with the number seq is replayed. last is the number of the last entry of the journal.
func (p *Pipeline) passed(seq, last int64) {
	r := p.restoring.Load()
	if r == nil { // a follower that has restored its state
		return
	}
	now := time.Now()
	if r.first == 0 {
		r.first, r.last, r.began = seq, last, now
	}
	r.seq.Store(seq)
	if now.Sub(r.logged) >= replayLogEvery {
		r.logged = now
		p.log.Info("restoring the state", zap.String("because", r.reason), zap.String("progress", r.progress()))
	}
}

// Restoring returns the condition of a pipeline whose Restore is running, nil for any other. It may be called from any
// goroutine.
func (p *Pipeline) Restoring() *readmodel.Condition {
	r := p.restoring.Load()
	if r == nil {
		return nil
	}
	return &readmodel.Condition{
		Name: readmodel.StateRestoring, Reason: r.reason, Since: r.since, Progress: r.progress(),
	}
}

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
	now := p.now()
	p.restoring.Store(&restoring{since: now, reason: "reading the saved state"})
	defer p.restoring.Store(nil)
	changed, err := p.checkFingerprint(ctx, fingerprint)
	if err != nil {
		return err
	}
	if err := p.restoreHistories(ctx); err != nil {
		return err
	}
	from, err := p.restoreSnapshot(ctx)
	if err != nil {
		return err
	}
	p.restoring.Store(&restoring{since: now, reason: cmp.Or(changed, from.reason)})
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
		p.passed(e.Seq, last)
		l := p.writers[e.Event.Cluster]
		if l == nil {
			return nil // the cluster is no longer configured
		}
		if !p.unlearnt.usable(e.Event.Cluster) {
			return nil // this state is built with its history in the background
		}
		replayed++
		out.entries, out.rows, out.bytes = out.entries[:0], out.rows[:0], 0
		return p.guard(e.Event.Cluster, nil, func() error {
			l.take(e.Event, e.Source, func() int64 { return e.Seq }, &out)
			return nil
		})
	})
	p.seq = max(p.seq, from, last) // the numbers after the last entry may be unused
	if err != nil {
		return replayed, fmt.Errorf("replaying the journal after event %d: %w", from, err)
	}
	return replayed, nil
}

// checkFingerprint compares the fingerprint with the stored one. If they differ, it drops the snapshots, stores the
// fingerprint, and returns the reason why the state is rebuilt; empty if the store is new.
func (p *Pipeline) checkFingerprint(ctx context.Context, fingerprint string) (reason string, err error) {
	old, err := p.store.Meta(ctx, fingerprintKey)
	if err != nil || old == fingerprint {
		return "", err
	}
	if p.cfg.Follows {
		return "", ErrConfigChanged
	}
	if old != "" {
		reason = cmp.Or(p.cfg.RebuildReason, "the configuration that shapes the state has changed") + rebuilding
		p.log.Info(reason)
	}
	if err := p.store.DropSnapshots(ctx); err != nil {
		return "", err
	}
	return reason, p.store.SetMeta(ctx, fingerprintKey, fingerprint)
}

// rebuilding is the end of each reason for a replay of the whole journal.
const rebuilding = ": the state is rebuilt from the journal"

// restoredFrom describes where restored states come from. seq is the number of the last entry that they include.
type restoredFrom struct {
	seq      int64
	restored bool   // the state comes from a snapshot
	reason   string // why the journal after seq is replayed
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
		return restoredFrom{reason: "every saved state is damaged" + rebuilding}, p.dropSnapshots(ctx)
	case err != nil:
		return restoredFrom{}, err
	case snap == nil:
		return restoredFrom{reason: "there is no saved state" + rebuilding}, nil
	}
	if len(snap.Damaged) > 0 {
		p.log.Warn("a saved state is damaged: using an older one", zap.Int64s("damaged", snap.Damaged))
	}
	for name, l := range p.writers {
		if err := caughtIn(func() error { return l.restore(snap.Parts) }); err != nil {
			reason := p.logUnusable(name, err)
			if err := p.resetWriters(); err != nil {
				return restoredFrom{}, err
			}
			return restoredFrom{reason: reason}, p.dropSnapshots(ctx)
		}
		l.dirty = true
	}
	p.snapshotSeq = snap.Seq
	return restoredFrom{seq: snap.Seq, restored: true, reason: "replaying the journal since the last saved state"}, nil
}

// logUnusable logs and returns why the saved state of a cluster is rebuilt from the journal. A saved state of another
// version is expected after an upgrade.
func (p *Pipeline) logUnusable(cluster string, err error) (reason string) {
	if errors.Is(err, codec.ErrVersion) {
		reason = "the saved state has the format of another version of waitcastd" + rebuilding
		p.log.Info(reason, zap.String("cluster", cluster), zap.Error(err))
		return reason
	}
	reason = "the saved state cannot be used" + rebuilding
	p.log.Warn(reason, zap.String("cluster", cluster), zap.Error(err))
	return reason
}

// dropSnapshots deletes all snapshots, because they are unusable. A follower keeps them, because only the collecting
// daemon may delete them.
func (p *Pipeline) dropSnapshots(ctx context.Context) error {
	if p.cfg.Follows {
		return nil
	}
	return p.store.DropSnapshots(ctx)
}
