package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/polling"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// eventually fails unless the condition becomes true within five minutes.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	if !polling.Until(5*time.Minute, condition) {
		t.Fatalf("%s: not within 5 min", what)
	}
}

func wantLost(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, modelstore.ErrLeaseLost) {
		t.Fatalf("%s gave %v, want ErrLeaseLost", what, err)
	}
}

// runOut makes the leases on all spaces of the store's database expire, by the database's clock.
func runOut(t testing.TB, s *Store) {
	t.Helper()
	_, err := s.pool.Exec(t.Context(),
		"UPDATE waitcast.space SET expires = clock_timestamp() - interval '1 microsecond'")
	must(t, err)
}

// TestLeaseHeld proves that an attempt to acquire a held lease is refused with the holder's name, that Close releases
// the lease, and that epochs only grow.
func TestLeaseHeld(t *testing.T) {
	url := shared.NewDatabase(t)
	a, err := Open(t.Context(), url, Options{})
	must(t, err)
	b := mustOpen(t, url, Options{})
	first, err := a.Acquire(t.Context(), "host-a pid 1", time.Hour)
	must(t, err)
	_, err = b.Acquire(t.Context(), "host-b", time.Hour)
	held, ok := errors.AsType[*HeldError](err)
	if !ok || held.Holder != "host-a pid 1" || held.Space != DefaultSpace || held.Left < 59*time.Minute ||
		held.Left > time.Hour ||
		time.Until(held.Until) < 50*time.Minute {
		t.Fatalf("acquiring a held lease gave %v", err)
	}
	again, err := a.Acquire(t.Context(), "host-a pid 1", time.Hour) // by the holder itself
	must(t, err)
	wantLost(t, "renewing the lease before", first.Renew(t.Context()))
	must(t, a.Close())
	second, err := b.Acquire(t.Context(), "host-b", time.Hour)
	must(t, err)
	if first.Epoch() != 1 || again.Epoch() != 2 || second.Epoch() != 3 {
		t.Errorf("epochs are %d, %d, %d", first.Epoch(), again.Epoch(), second.Epoch())
	}
	other := mustOpen(t, url, Options{Space: "other"}) // each space has its own lease
	_, err = other.Acquire(t.Context(), "host-a", time.Hour)
	must(t, err)
}

// TestLeaseRunsOut proves that a lease stays with its holder while it is renewed. When it is no longer renewed, another
// holder gets it, not before its end by the database's clock, but soon afterwards.
func TestLeaseRunsOut(t *testing.T) {
	url := shared.NewDatabase(t)
	a, b := mustOpen(t, url, Options{}), mustOpen(t, url, Options{})
	const ttl = 400 * time.Millisecond
	l, err := a.Acquire(t.Context(), "a", ttl)
	must(t, err)
	keep, stop := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- l.Keep(keep) }()
	clock := func() (now time.Time) {
		must(t, b.pool.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&now))
		return now
	}
	var held *HeldError
	for began := clock(); clock().Sub(began) < 3*ttl; { // a renewed lease stays with its holder
		if _, err := b.Acquire(t.Context(), "b", time.Hour); !errors.As(err, &held) {
			t.Fatalf("acquiring a lease that is renewed gave %v", err)
		}
	}
	stop()
	must(t, <-kept)
	eventually(t, "the lease passes on", func() bool {
		if _, err = b.Acquire(t.Context(), "b", time.Hour); err == nil {
			return true
		}
		if !errors.As(err, &held) {
			t.Fatal(err)
		}
		return false
	})
	if late := clock().Sub(held.Until); late < 0 || late > 5*time.Second {
		t.Errorf("the lease passed on %v after its end", late)
	} else {
		t.Logf("the lease passed on %v after its end", late)
	}
}

// TestFencing proves that a writer whose lease another process has taken over can store nothing, whatever method it
// calls, and gets an error that says so. A writer whose lease has only expired can continue.
func TestFencing(t *testing.T) {
	url := shared.NewDatabase(t)
	a, b := mustOpen(t, url, Options{}), mustOpen(t, url, Options{})
	l, err := a.Acquire(t.Context(), "a", time.Hour)
	must(t, err)
	must(t,
		a.Commit(t.Context(),
			modelstore.Batch{Entries: storetest.MakeEntries(1, 5), Snapshot: storetest.MakeSnapshot(5)}))
	runOut(t, a)
	must(t,
		a.Commit(t.Context(),
			modelstore.Batch{Entries: storetest.MakeEntries(6, 8), Rows: []modelstore.Row{storetest.MakeRow(6)}}))
	must(t, l.Renew(t.Context()))
	if _, err := b.Acquire(t.Context(), "b", time.Hour); err == nil {
		t.Fatal("a commit did not renew the lease")
	}
	runOut(t, a)
	_, err = b.Acquire(t.Context(), "b", time.Hour)
	must(t, err)
	late := modelstore.Batch{Entries: storetest.MakeEntries(9, 12), Rows: []modelstore.Row{storetest.MakeRow(9)},
		Snapshot:    storetest.MakeSnapshot(12),
		Checkpoints: []modelstore.Checkpoint{{Source: "log", Data: []byte("a")}},
		BadLines:    []modelstore.BadLine{{Reason: "late"}}}
	for name, write := range map[string]func() error{
		"Commit":        func() error { return a.Commit(t.Context(), late) },
		"SetMeta":       func() error { return a.SetMeta(t.Context(), "k", "v") },
		"DropSnapshots": func() error { return a.DropSnapshots(t.Context()) },
		"PutHistory": func() error {
			return a.PutHistory(t.Context(), storetest.MakeChunk("c", "h", "events", 0, 100))
		},
		"DropHistories": func() error { return a.DropHistories(t.Context(), "c") },
		"Prune":         func() error { _, err := a.Prune(t.Context(), modelstore.MaxTime(), 8); return err },
		"PruneRows":     func() error { _, err := a.PruneRows(t.Context(), modelstore.MaxTime()); return err },
		"Renew":         func() error { return l.Renew(t.Context()) },
		"Keep": func() error {
			return (&Lease{store: a, epoch: l.epoch, nonce: l.nonce, ttl: time.Millisecond}).Keep(t.Context())
		},
	} {
		wantLost(t, name, write())
	}
	must(t, l.Release(t.Context())) // does not change b's lease
	forgotten, err := b.Acquire(t.Context(), "b", time.Hour)
	must(t, err)
	// This is the state after a failover to a standby that lagged behind.
	_, err = b.pool.Exec(t.Context(), "UPDATE waitcast.space SET nonce = 'of another lease of that number'")
	must(t, err)
	wantLost(t, "a lease that the server forgot", b.SetMeta(t.Context(), "k", "v"))
	wantLost(t, "renewing it", forgotten.Renew(t.Context()))
	runOut(t, b)
	_, err = b.Acquire(t.Context(), "b", time.Hour)
	must(t, err)
	must(t, b.Commit(t.Context(), modelstore.Batch{Entries: storetest.MakeEntries(9, 10)}))
	if got := storetest.Entries(t, b); len(got) != 10 {
		t.Errorf("there are %d entries", len(got))
	}
	snap, err := b.Latest(t.Context())
	must(t, err)
	lines, err := b.CountBadLines(t.Context())
	must(t, err)
	cps, err := b.Checkpoints(t.Context())
	must(t, err)
	if chunks := storetest.Histories(t, b); len(chunks) != 0 {
		t.Errorf("the fenced writer left %v", chunks)
	}
	if snap == nil || snap.Seq != 5 || lines != 0 || len(cps) != 0 ||
		len(storetest.Rows(t, b, modelstore.RowQuery{})) != 1 {
		t.Errorf("the fenced writer left something: snapshot %v, %d bad lines, checkpoints %v", snap, lines, cps)
	}
}

// TestTakeoverDuringCommit proves that a takeover waits for a running commit, which renews the lease at its end.
func TestTakeoverDuringCommit(t *testing.T) {
	url := shared.NewDatabase(t)
	a, b := writer(t, url, Options{}), mustOpen(t, url, Options{})
	inside, goOn := make(chan struct{}), make(chan struct{})
	committed, acquired := make(chan error, 1), make(chan error, 1)
	runOut(t, a)
	go func() {
		committed <- a.change(context.Background(), "test", func(w *change) error {
			close(inside)
			<-goOn
			w.checkpoints([]modelstore.Checkpoint{{Source: "log", Data: []byte("a")}})
			return nil
		})
	}()
	<-inside
	go func() { _, err := b.Acquire(context.Background(), "b", time.Hour); acquired <- err }()
	eventually(t, "the takeover waits for the commit", func() bool {
		var waiting int
		must(t,
			b.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "+
				"AND wait_event_type = 'Lock'").Scan(&waiting))
		return waiting == 1
	})
	close(goOn)
	must(t, <-committed)
	if err := <-acquired; err == nil {
		t.Error("the lease passed on though a commit had just renewed it")
	}
}

// TestPausedInsideCommit proves that a writer that is paused in the middle of a commit does not block a takeover, and
// that nothing of that commit is stored when the writer continues.
func TestPausedInsideCommit(t *testing.T) {
	url := shared.NewDatabase(t)
	a, b := writer(t, url, Options{Timeout: time.Second}), mustOpen(t, url, Options{})
	inside, goOn := make(chan struct{}), make(chan struct{})
	committed := make(chan error, 1)
	go func() {
		committed <- a.change(context.Background(), "test", func(w *change) error {
			_, err := w.tx.Exec(w.ctx, "INSERT INTO waitcast.checkpoint (space, source, data) VALUES ($1, 'log', 'x')",
				w.s.space)
			close(inside)
			<-goOn
			return err
		})
	}()
	<-inside
	runsOut := make(chan error, 1)
	go func() { // waits for the row, as the takeover does
		_, err := b.pool.Exec(context.Background(),
			"UPDATE waitcast.space SET expires = clock_timestamp() - interval '1 microsecond'")
		runsOut <- err
	}()
	must(t, <-runsOut)
	_, err := b.Acquire(t.Context(), "b", time.Hour)
	must(t, err)
	close(goOn)
	if err := <-committed; err == nil {
		t.Error("a commit succeeded after another took over")
	}
	wantLost(t, "the next commit", a.SetMeta(t.Context(), "k", "v"))
	cps, err := b.Checkpoints(t.Context())
	must(t, err)
	if len(cps) != 0 {
		t.Errorf("the paused commit left %v", cps)
	}
}

// TestLeaseRace proves, again and again, that exactly one of many stores that acquire the lease at the same time gets
// it, and that exactly one of many stores that are opened at the same time creates the tables.
func TestLeaseRace(t *testing.T) {
	url := shared.NewDatabase(t)
	const n = 8
	stores := make([]*Store, n)
	var opening sync.WaitGroup
	for i := range stores {
		opening.Go(func() {
			s, err := Open(context.Background(), url, Options{Connections: 2})
			if err != nil {
				t.Error(err)
				return
			}
			stores[i] = s
		})
	}
	opening.Wait()
	for _, s := range stores {
		if s == nil {
			t.FailNow()
		}
		t.Cleanup(func() { must(t, s.Close()) })
	}
	for round := range 10 {
		var got atomic.Int32
		var asking sync.WaitGroup
		for i, s := range stores {
			if s.lease != nil {
				must(t, s.lease.Release(t.Context()))
			}
			asking.Go(func() {
				_, err := s.Acquire(context.Background(), fmt.Sprint("store ", i), time.Hour)
				if _, held := errors.AsType[*HeldError](err); err == nil {
					got.Add(1)
				} else if !held {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		if got.Load() != 1 {
			t.Fatalf("round %d: %d stores got the lease", round, got.Load())
		}
	}
}

// TestMayNotWrite proves that nothing is written without a lease, by a store that was opened for reading, or by a role
// with only the right to read.
func TestMayNotWrite(t *testing.T) {
	server := shared.Server(t)
	p := newPlace(t).(place)
	s := mustOpen(t, p.url, Options{})
	write := func(s *Store) error { return s.SetMeta(t.Context(), "k", "v") }
	wantLost(t, "writing without a lease", write(s))
	for _, ttl := range []time.Duration{0, time.Millisecond} {
		if _, err := s.Acquire(t.Context(), "x", ttl); err == nil {
			t.Errorf("a lease of %v was given", ttl)
		}
	}
	wantReadOnly := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, modelstore.ErrReadOnly) {
			t.Errorf("%s gave %v", what, err)
		}
	}
	reader := mustOpen(t, p.url, Options{ReadOnly: true})
	wantReadOnly("writing to a store for reading", write(reader))
	_, err := reader.Acquire(t.Context(), "x", time.Hour)
	wantReadOnly("acquiring the lease of a store for reading", err)
	_, err = reader.pool.Exec(t.Context(), "DELETE FROM waitcast.space")
	wantReadOnly("a statement behind its back", reader.fail("test", err))
	server.Exec(t, p.database(), "CREATE ROLE "+p.database()+"_reader LOGIN",
		"GRANT USAGE ON SCHEMA waitcast TO "+p.database()+"_reader",
		"GRANT SELECT ON ALL TABLES IN SCHEMA waitcast TO "+p.database()+"_reader")
	asReader := server.URL(p.database()) + "&user=" + p.database() + "_reader"
	limited := mustOpen(t, asReader, Options{})
	_, err = limited.Acquire(t.Context(), "x", time.Hour)
	wantReadOnly("acquiring as a role that may only read", err)
	_, err = Open(t.Context(), asReader, Options{Space: "new"})
	wantReadOnly("making a space as a role that may only read", err)
	// These statements are those of docs/store.md.
	server.Exec(t, p.database(), "CREATE ROLE "+p.database()+"_collector LOGIN",
		"GRANT USAGE ON SCHEMA waitcast TO "+p.database()+"_collector",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA waitcast TO "+p.database()+"_collector")
	collector := writer(t, server.URL(p.database())+"&user="+p.database()+"_collector", Options{Space: "new"})
	must(t,
		collector.Commit(t.Context(),
			modelstore.Batch{Entries: storetest.MakeEntries(1, 3), Rows: []modelstore.Row{storetest.MakeRow(1)},
				Snapshot:    storetest.MakeSnapshot(3),
				Checkpoints: []modelstore.Checkpoint{{Source: "s", Data: []byte("x")}},
				BadLines:    []modelstore.BadLine{{Reason: "x"}}}))
	must(t, collector.PutHistory(t.Context(), storetest.MakeChunk("c", "h", "events", 0, 100)))
	if _, err := mustOpen(t, asReader, Options{ReadOnly: true}).Changed(t.Context(), -1); err != nil {
		t.Errorf("a role that may only read cannot wait for changes: %v", err)
	}
}

// TestFull proves that a full disk of the server causes an error and leaves no data, and that everything works again
// when there is room. The test needs root, to mount a file system.
func TestFull(t *testing.T) {
	dir := smallDisk(t, 96)
	server := shared.Server(t)
	// The server's WAL is on another disk. If that disk were full, the server would end and not start until there is
	// room.
	server.Exec(t, "postgres", "CREATE TABLESPACE small LOCATION '"+dir+"'", "CREATE DATABASE small TABLESPACE small")
	t.Cleanup(func() { server.Exec(t, "postgres", "DROP DATABASE small", "DROP TABLESPACE small") })
	s, err := Open(t.Context(), server.URL("small"), Options{})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	_, err = s.Acquire(t.Context(), "test", time.Hour)
	must(t, err)
	empty := fillDisk(t, dir, 40<<20)
	last := int64(0)
	for err == nil && last < 400_000 {
		if err = s.Commit(t.Context(), modelstore.Batch{Entries: storetest.MakeEntries(last+1, last+4000),
			Checkpoints: []modelstore.Checkpoint{{Source: "s", Data: fmt.Append(nil, last)}}}); err == nil {
			last += 4000
		}
	}
	if !errors.Is(err, modelstore.ErrFull) {
		t.Fatalf("after %d entries: %v", last, err)
	}
	if got := storetest.Entries(t, s); int64(len(got)) != last {
		t.Errorf("%d entries, want %d", len(got), last)
	}
	empty()
	must(t, s.Commit(t.Context(), modelstore.Batch{Entries: storetest.MakeEntries(last+1, last+4000)}))
	if got := storetest.Entries(t, s); int64(len(got)) != last+4000 {
		t.Errorf("%d entries, want %d", len(got), last+4000)
	}
}
