package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// numbered returns the n-th batch of a run. Each part of it differs from the same part of all other batches.
func numbered(n int64) modelstore.Batch {
	from, to := 7*n+1, 7*n+7
	b := modelstore.Batch{
		Entries:     storetest.MakeEntries(from, to),
		Checkpoints: []modelstore.Checkpoint{{Source: "log", Data: fmt.Append(nil, to)}},
		BadLines:    []modelstore.BadLine{{At: storetest.Epoch(), Source: "log", Line: to, Reason: "field"}},
		Models:      []modelstore.SavedModel{storetest.MakeModel("c/load", to, 1000)},
	}
	for seq := from; seq <= to; seq += 2 {
		b.Rows = append(b.Rows, storetest.MakeRow(seq))
	}
	if n%5 == 0 {
		b.Snapshot = storetest.MakeSnapshot(to)
	}
	return b
}

// chunkOf returns the chunk of a history that is stored after the n-th batch.
func chunkOf(n int64) modelstore.HistoryChunk {
	return storetest.MakeChunk("c", "h", "events", int(n), 2000)
}

// contents has everything in a store.
type contents struct {
	Last, BadEver int64
	Entries       []modelstore.Entry
	Rows          []modelstore.Row
	BadLines      []modelstore.BadLine
	Checkpoints   map[string][]byte
	Models        map[string]modelstore.SavedModel
	Snapshot      *modelstore.Snapshot
	Histories     []modelstore.HistoryChunk
}

func contentsOf(t testing.TB, s modelstore.Store) contents {
	t.Helper()
	var c contents
	var errs [6]error
	c.Entries, c.Rows = storetest.Entries(t, s), storetest.Rows(t, s, modelstore.RowQuery{})
	c.Histories = storetest.Histories(t, s)
	c.Last, errs[0] = s.LastSeq(t.Context())
	c.BadEver, errs[1] = s.CountBadLines(t.Context())
	c.BadLines, errs[2] = s.BadLines(t.Context(), 0)
	c.Checkpoints, errs[3] = s.Checkpoints(t.Context())
	c.Snapshot, errs[4] = s.Latest(t.Context())
	c.Models, errs[5] = s.Models(t.Context())
	must(t, errors.Join(errs[:]...))
	return c
}

// insist repeats a write until the store accepts it, as the pipeline does. It gives up when the context ends, the lease
// is lost, the store is damaged or the numbers of the entries are wrong. It returns the number of times that the
// outcome of the write was unknown.
func insist(ctx context.Context, write func() error) (unknown int, err error) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := write()
		var seq *modelstore.SeqError
		switch {
		case err == nil, ctx.Err() != nil, errors.As(err, &seq), errors.Is(err, modelstore.ErrLeaseLost),
			errors.Is(err, modelstore.ErrCorrupt):
			return unknown, err
		case strings.Contains(err.Error(), "unknown whether"):
			unknown++
		}
		<-tick.C
	}
}

// killRounds returns the number of times that TestServerKilled kills the server.
func killRounds() int {
	switch {
	case os.Getenv("WAITCAST_LONG") != "":
		return 200
	case testing.Short():
		return 5
	}
	return 30
}

// TestServerKilled kills a server (SIGKILL to all its processes) at random instants of commits, and of the storing of
// chunks of a history between them. It proves that nothing that was stored is lost, and that nothing that is committed
// again is stored twice. In the end the store has the same contents as an undisturbed SQLite store.
func TestServerKilled(t *testing.T) {
	// In the long test each COMMIT waits for some time before its data are synced, so that many kills occur in that
	// time.
	server := pgtest.New(t, pgtest.Options{Fsync: os.Getenv("WAITCAST_LONG") != "",
		Settings: map[string]string{"autovacuum": "off", "commit_delay": "3000", "commit_siblings": "0"}})
	s := writer(t, server.NewDatabase(t), Options{Timeout: 20 * time.Second})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	ctx, stop := context.WithCancel(t.Context())
	type outcome struct {
		batches int64
		unknown int
		err     error
	}
	committing := make(chan int64)
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		for ctx.Err() == nil {
			select {
			case committing <- o.batches:
			default:
			}
			toTheEnd := context.WithoutCancel(ctx)
			n, err := insist(toTheEnd, func() error { return s.Commit(toTheEnd, numbered(o.batches)) })
			if o.unknown += n; err == nil {
				_, err = insist(toTheEnd, func() error { return s.PutHistory(toTheEnd, chunkOf(o.batches)) })
			}
			if err != nil {
				o.err = err
				break
			}
			o.batches++
		}
		done <- o
	}()
	for range killRounds() {
		for range 1 + rnd.IntN(4) {
			select {
			case <-committing:
			case o := <-done:
				t.Fatalf("the writer ended: %v", o.err)
			}
		}
		for range rnd.IntN(1 << 22) { // wait into some part of a commit
		}
		must(t, server.Kill())
		must(t, server.Start())
	}
	stop()
	o := <-done
	must(t, o.err)
	t.Logf("%d batches, %d times with an unknown outcome", o.batches, o.unknown)

	calm, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "calm.db"), sqlite.Options{})
	must(t, err)
	defer func() { must(t, calm.Close()) }()
	for n := range o.batches {
		must(t, calm.Commit(t.Context(), numbered(n)))
		must(t, calm.PutHistory(t.Context(), chunkOf(n)))
	}
	if diff := cmp.Diff(contentsOf(t, calm), contentsOf(t, s), cmpopts.EquateNaNs(),
		cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the store differs from an undisturbed one (-undisturbed +killed):\n%.3000s", diff)
	}
}

// writeBeside makes the writes of an import, of a rebuild and of maintenance. They must not make the store forget a
// batch whose outcome is unknown.
func writeBeside(t *testing.T, s *Store, n int) {
	t.Helper()
	must(t, s.PutHistory(t.Context(), storetest.MakeChunk("c", "h", "events", n, 100)))
	must(t, s.DropHistories(t.Context(), "c", "h"))
	must(t, s.SetMeta(t.Context(), "history-files/c", fmt.Sprint(n)))
	must(t, s.DropSnapshots(t.Context()))
	_, err := s.Prune(t.Context(), time.Time{}, 0)
	must(t, err)
	_, err = s.PruneRows(t.Context(), time.Time{})
	must(t, err)
	model := storetest.MakeModel("c/other", 1, 10)
	must(t, s.Commit(t.Context(), modelstore.Batch{Models: []modelstore.SavedModel{model}}))
	line := modelstore.BadLine{At: storetest.Epoch(), Source: "import", Line: int64(n), Reason: "field"}
	must(t, s.Commit(t.Context(), modelstore.Batch{BadLines: []modelstore.BadLine{line}}))
}

// TestUnknownOutcome covers a batch whose COMMIT got no answer. When the batch is committed again, it and its bad lines
// are stored only if the server had not made that COMMIT.
func TestUnknownOutcome(t *testing.T) {
	s := writer(t, shared.NewDatabase(t), Options{})
	for n, made := range []bool{true, false, true} {
		b := numbered(int64(n))
		if made {
			must(t, s.Commit(t.Context(), b))
			var token string
			must(t, s.pool.QueryRow(t.Context(), "SELECT token FROM waitcast.space").Scan(&token))
			// This is the state after a lost answer.
			s.unsure = unsure{sumBadLines(b.BadLines): {tokens: []string{"before", token, "after"}}}
		} else {
			s.unsure = unsure{sumBadLines(b.BadLines): {tokens: []string{"never made"}}}
		}
		writeBeside(t, s, n)
		must(t, s.Commit(t.Context(), b))
		if got, want := contentsOf(t, s), int64(7*n+7); got.Last != want || int64(len(got.Entries)) != want ||
			got.BadEver != int64(2*n+2) || len(got.Rows) != 4*(n+1) {
			t.Fatalf("after batch %d: last %d, %d entries, %d rows, %d bad lines", n, got.Last, len(got.Entries),
				len(got.Rows), got.BadEver)
		}
	}
	same := numbered(3)
	// After a commit with a known outcome, the same lines count as new bad lines.
	same.BadLines = numbered(2).BadLines
	must(t, s.Commit(t.Context(), same))
	if n, err := s.CountBadLines(t.Context()); err != nil || n != 7 {
		t.Errorf("%d bad lines, %v", n, err)
	}
}
