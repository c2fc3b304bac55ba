package postgres

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// TestSpaces proves that the spaces of one database are independent of each other, and are listed.
func TestSpaces(t *testing.T) {
	url := shared.NewDatabase(t)
	none, err := Spaces(t.Context(), url)
	must(t, err)
	if len(none) != 0 {
		t.Errorf("an empty database has the spaces %v", none)
	}
	if _, err := Open(t.Context(), url, Options{ReadOnly: true}); !isNoSpace(err, "") {
		t.Errorf("reading an empty database gave %v", err)
	}
	a, b := writer(t, url, Options{Space: "b"}), writer(t, url, Options{Space: "a-1"})
	full := modelstore.Batch{Entries: storetest.MakeEntries(1, 20), Rows: []modelstore.Row{storetest.MakeRow(1)},
		Snapshot:    storetest.MakeSnapshot(20),
		Checkpoints: []modelstore.Checkpoint{{Source: "s", Data: []byte("1")}},
		BadLines:    []modelstore.BadLine{{Reason: "x"}}}
	must(t, a.Commit(t.Context(), full))
	must(t, b.Commit(t.Context(), full))
	must(t, a.SetMeta(t.Context(), "k", strings.Repeat("v", 1<<20)))
	must(t, b.DropSnapshots(t.Context()))
	_, err = b.PruneRows(t.Context(), modelstore.MaxTime())
	must(t, err)
	snap, err := a.Latest(t.Context())
	must(t, err)
	value, err := a.Meta(t.Context(), "k")
	must(t, err)
	if len(storetest.Entries(t, a)) != 20 || len(storetest.Rows(t, a, modelstore.RowQuery{})) != 1 || snap == nil ||
		len(value) != 1<<20 {
		t.Error("the other space's changes are seen")
	}
	if value, err = b.Meta(t.Context(), "k"); err != nil || value != "" {
		t.Errorf("the other space's value is %d bytes, %v", len(value), err)
	}
	names, err := Spaces(t.Context(), url)
	must(t, err)
	if !slices.Equal(names, []string{"a-1", "b"}) {
		t.Errorf("spaces are %v", names)
	}
	if _, err := Open(t.Context(), url, Options{ReadOnly: true, Space: "c"}); !isNoSpace(err, "c") {
		t.Errorf("reading a space that is not there gave %v", err)
	}
	for _, name := range []string{"A", "a b", strings.Repeat("a", 65), "ä", "a/b", "a\n"} {
		if _, err := Open(t.Context(), url, Options{Space: name}); err == nil {
			t.Errorf("the space %q was made", name)
		}
	}
}

func isNoSpace(err error, space string) bool {
	e, ok := errors.AsType[*NoSpaceError](err)
	return ok && e.Space == space
}

// TestNewerSchema proves that a schema of a newer program is refused, for writing and reading.
func TestNewerSchema(t *testing.T) {
	url := shared.NewDatabase(t)
	s := mustOpen(t, url, Options{})
	_, err := s.pool.Exec(t.Context(), "INSERT INTO waitcast.schema_version (version) VALUES (99)")
	must(t, err)
	for _, readOnly := range []bool{false, true} {
		_, err := Open(t.Context(), url, Options{ReadOnly: readOnly})
		if newer, ok := errors.AsType[*modelstore.NewerError](err); !ok || newer.Have != 99 {
			t.Errorf("opening a newer schema gave %v", err)
		}
	}
}

// TestOlderSchema proves that a row of an earlier version is read unchanged, and that the store can be used further.
// The writing daemon upgrades the schema to the newest version. Before that, a reader gets an error.
func TestOlderSchema(t *testing.T) {
	url := shared.NewDatabase(t)
	const before = 3 // the version without the parts of a wait
	olderSchema(t, url, before, "INSERT INTO waitcast.space (name, last_seq) VALUES ('"+DefaultSpace+"', 7)",
		`INSERT INTO waitcast.ledger (space, seq, cluster, job_id, attempt, queue, procs, time_limit, submit, start,
			closed, outcome, wait_seconds, method, levels, quantiles, peers, reason, replayed, served)
		VALUES (1, 7, 'kth', '1.kth', 0, 'batch', 8, 0, 1709596810000000000, 1709596820000000000,
			1709596820000000000, 'started', 10, 'combined', '\x000000000000e03f', '\x0000000000001e40', NULL, '',
			false, 3)`)
	if _, err := Open(t.Context(), url, Options{ReadOnly: true}); err == nil {
		t.Error("a reader opened the schema before")
	}
	s := writer(t, url, Options{})
	submit := time.Unix(1709596810, 0).UTC()
	old := modelstore.Row{Seq: 7, Cluster: "kth", JobID: "1.kth", Queue: "batch", Procs: 8, Submit: submit,
		Start: submit.Add(10 * time.Second), Outcome: modelstore.Started, WaitSeconds: 10, Method: "combined",
		Levels: []float64{.5}, Quantiles: []float64{7.5}, Served: 3}
	next := storetest.MakeRow(17)
	must(t, s.Commit(t.Context(), modelstore.Batch{Rows: []modelstore.Row{next}}))
	got := storetest.Rows(t, s, modelstore.RowQuery{})
	if diff := cmp.Diff([]modelstore.Row{old, next}, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

// TestPasswordUnsaid proves that no error contains the password.
func TestPasswordUnsaid(t *testing.T) {
	for _, url := range []string{
		"postgres://u:geheim@127.0.0.1:1/db", "postgres://u:geheim@127.0.0.1:x/db",
		"host=/nowhere password=geheim dbname=db", "host=/nowhere password=geheim =", "postgres://u:geheim%zz@h/db",
	} {
		_, err := Open(t.Context(), url, Options{})
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s gave %v", url, err)
		}
	}
}

// TestChanged proves that every kind of change by another store ends a Changed that waits, that a lost notification
// does no harm, and that the end of the context and Close also end it.
func TestChanged(t *testing.T) {
	url := shared.NewDatabase(t)
	w := writer(t, url, Options{})
	r, err := Open(t.Context(), url, Options{ReadOnly: true, Poll: time.Hour})
	must(t, err)
	version, err := r.Changed(t.Context(), -1) // this returns at once
	must(t, err)
	type answer struct {
		version int64
		err     error
	}
	wait := func(s *Store, ctx context.Context) <-chan answer {
		answers := make(chan answer, 1)
		after := version
		go func() { v, err := s.Changed(ctx, after); answers <- answer{v, err} }()
		eventually(t, "it listens", func() bool {
			var n int
			must(t, w.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = "+
				"current_database() AND query LIKE 'SELECT version%' AND state = 'idle'").Scan(&n))
			return n > 0
		})
		return answers
	}
	for name, change := range map[string]func() error{
		"snapshot": func() error {
			return w.Commit(t.Context(), modelstore.Batch{Snapshot: &modelstore.Snapshot{At: storetest.Epoch()}})
		},
		"checkpoint": func() error {
			return w.Commit(t.Context(), modelstore.Batch{Checkpoints: []modelstore.Checkpoint{{Source: "s"}}})
		},
		"entries": func() error {
			return w.Commit(t.Context(), modelstore.Batch{Entries: storetest.MakeEntries(1, 1)})
		},
		"value": func() error { return w.SetMeta(t.Context(), "k", "v") },
	} {
		answers := wait(r, t.Context())
		must(t, change())
		got := <-answers
		if got.err != nil || got.version <= version {
			t.Fatalf("%s: version %d after %d, %v", name, got.version, version, got.err)
		}
		version = got.version
	}
	polling := mustOpen(t, url, Options{ReadOnly: true, Poll: 20 * time.Millisecond})
	answers := wait(polling, t.Context())
	_, err = w.pool.Exec(t.Context(), "UPDATE waitcast.space SET version = version + 1")
	must(t, err)
	if got := <-answers; got.err != nil || got.version != version+1 {
		t.Fatalf("without a notification: %v", got)
	}
	version++
	ctx, cancel := context.WithCancel(t.Context())
	answers = wait(r, ctx)
	cancel()
	if got := <-answers; !errors.Is(got.err, context.Canceled) {
		t.Errorf("canceled waiting gave %v", got.err)
	}
	answers = wait(r, t.Context())
	must(t, r.Close())
	if got := <-answers; !errors.Is(got.err, modelstore.ErrClosed) {
		t.Errorf("waiting beside Close gave %v", got.err)
	}
}

// TestDocsRemoveSpace proves that the statements in docs/store.md for removing a space remove all data of that space
// and no other data.
func TestDocsRemoveSpace(t *testing.T) {
	docs, err := os.ReadFile("../../docs/store.md")
	must(t, err)
	_, rest, begins := strings.Cut(string(docs), "    BEGIN;\n")
	statements, _, ends := strings.Cut(rest, "    COMMIT;\n")
	if !begins || !ends {
		t.Fatal("the docs have no such statements")
	}
	url := shared.NewDatabase(t)
	old, other := writer(t, url, Options{Space: "old"}), writer(t, url, Options{Space: "other"})
	for _, s := range []*Store{old, other} {
		must(t, s.Commit(t.Context(), numbered(0)))
		must(t, s.SetMeta(t.Context(), "k", "v"))
		must(t, s.PutHistory(t.Context(), storetest.MakeChunk("c", "h", "events", 0, 100)))
	}
	for statement := range strings.SplitSeq(strings.TrimSpace(statements), ";") {
		if _, err := other.pool.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for _, table := range []string{
		"journal", "ledger", "checkpoint", "meta", "bad_line", "snapshot", "snapshot_part", "saved_model", "history",
	} {
		var theirs, ours int
		must(t,
			other.pool.QueryRow(t.Context(),
				"SELECT count(*) FILTER (WHERE space = $1), count(*) FILTER (WHERE space = $2) FROM waitcast."+table,
				old.space, other.space).
				Scan(&theirs, &ours))
		if theirs != 0 || ours == 0 {
			t.Errorf("%s: %d rows are left of the space, %d of the other", table, theirs, ours)
		}
	}
	if err := old.SetMeta(t.Context(), "k", "v"); !errors.Is(err, modelstore.ErrCorrupt) {
		t.Errorf("writing to a space that is gone gave %v", err)
	}
}
