package pipeline

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/past"
)

// TestHistoryThroughKills proves that a daemon that is killed at any write of an import or of the rebuild, and is
// started again, reaches the state of an undisturbed daemon.
func TestHistoryThroughKills(t *testing.T) {
	log := cut(t, 300, 180, 32)
	const servedLive = 40
	since := log.live[servedLive].Time

	undisturbed := newStore(t)
	p, src := newPipeline(testConfig(), undisturbed, collector.Live)
	restore(t, p, "one")
	follows(t, p, src, log.live[:servedLive])
	learns(t, p, undisturbed, past.Exact, log.past)
	follows(t, p, src, log.live[servedLive:])
	want, state := laterRows(t, undisturbed, since), learnt(t, p)

	for kill := 0; ; kill = next(kill) {
		path := filepath.Join(t.TempDir(), "test.db")
		store := openStore(t, path)
		mortal := &mortalStore{Store: store, left: -1}
		p, src := newPipeline(testConfig(), mortal, collector.Live)
		restore(t, p, "one")
		follows(t, p, src, log.live[:servedLive])
		h := putHistory(t, store, "h", past.Exact, log.past)
		mortal.left = kill
		died := dies(t, p, h)
		mortal.left = -1
		p, src = newPipeline(testConfig(), store, collector.Live)
		restore(t, p, "one")
		if died == beforeTeach {
			learns(t, p, store, past.Exact, log.past) // deletes the chunks of the first import
		} else if len(p.unlearnt.list()) > 0 {
			if err := p.beginRebuilds(t.Context()); err != nil {
				t.Fatal(err)
			}
			swapNow(t, p)
		}
		follows(t, p, src, log.live[servedLive:])
		if d := differences(want, laterRows(t, store, since)); d != "" {
			t.Fatalf("killed at write %d: later rows differ: %.3000s", kill, d)
		}
		if d := differences(state, learnt(t, p)); d != "" {
			t.Fatalf("killed at write %d: states differ: %.3000s", kill, d)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if died == survived {
			if kill < 4 {
				t.Fatalf("an import has only %d writes: the test proves little", kill)
			}
			return
		}
	}
}

// next returns the number of the write at which the next process is killed, given that of the previous one. These are
// all of the first writes, and some of the many later writes, which store the jobs of the history.
func next(kill int) int {
	if testing.Short() {
		return kill + 3 + 1000*(kill/3) // one kill in the middle is enough: the goroutines are always the same
	}
	if kill < 4 || os.Getenv("WAITCAST_LONG") != "" {
		return kill + 1
	}
	return kill + 1 + rand.IntN(50)
}

// mortalStore is a store whose process is killed after left further writes: all later writes fail.
type mortalStore struct {
	modelstore.Store
	left int // -1: no kill
}

func (m *mortalStore) write() error {
	if m.left == 0 {
		return modelstore.ErrClosed
	}
	m.left = max(-1, m.left-1)
	return nil
}

func (m *mortalStore) Commit(ctx context.Context, b modelstore.Batch) error {
	if err := m.write(); err != nil {
		return err
	}
	return m.Store.Commit(ctx, b)
}

func (m *mortalStore) SetMeta(ctx context.Context, key, value string) error {
	if err := m.write(); err != nil {
		return err
	}
	return m.Store.SetMeta(ctx, key, value)
}

func (m *mortalStore) PutHistory(ctx context.Context, c modelstore.HistoryChunk) error {
	if err := m.write(); err != nil {
		return err
	}
	return m.Store.PutHistory(ctx, c)
}

func (m *mortalStore) DropHistories(ctx context.Context, cluster string, keep ...string) error {
	if err := m.write(); err != nil {
		return err
	}
	return m.Store.DropHistories(ctx, cluster, keep...)
}

// fate is the end of a process: whether it was killed, and if so, before or after Teach had put the history in force.
type fate int

const (
	survived fate = iota
	beforeTeach
	afterTeach
)

// dies lets a pipeline learn a history and reports its fate. The store of the pipeline may kill the process.
func dies(t *testing.T, p *Pipeline, h past.History) fate {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := &teaching{ctx: ctx, cluster: "c", history: h, done: make(chan error, 1)}
	p.teach(ctx, call)
	if <-call.done != nil {
		return beforeTeach
	}
	select {
	case r := <-p.rebuilt:
		if p.swap(ctx, r) != nil {
			return afterTeach
		}
		return survived
	case <-p.rebuilds.of("c").over:
		return afterTeach
	}
}
