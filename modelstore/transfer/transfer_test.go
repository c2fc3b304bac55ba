package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/waitcast/waitcast/internal/memdir"
	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/modelstore/storetest"
	"github.com/waitcast/waitcast/modelstore/transfer"
)

var shared pgtest.Shared

func TestMain(m *testing.M) {
	memdir.Use()
	code := m.Run()
	if err := errors.Join(shared.Stop(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func file(t testing.TB) modelstore.Portable {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "w.db"), sqlite.Options{BadLines: 40})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func space(t testing.TB, url, name string) modelstore.Portable {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{Space: name, BadLines: 40})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	_, err = s.Acquire(t.Context(), "copy", time.Hour)
	must(t, err)
	return s
}

// fill writes data of every kind: entries that the store ignores, whose numbers stay unused; entries that are pruned at
// the end; two snapshots; more bad lines than are kept; and texts that are not UTF-8.
func fill(t testing.TB, s modelstore.Store) {
	t.Helper()
	ctx := t.Context()
	odd := "M\xfcller\x00"
	entries := storetest.MakeEntries(1, 2_345)
	entries[700].Event = entries[699].Event // the store ignores this entry, and its number stays unused
	entries[800].Event.User = odd
	entries[2_344].Event = entries[2_343].Event // the last number has no entry
	var rows []modelstore.Row
	for seq := int64(1); seq <= 1500; seq++ {
		rows = append(rows, storetest.MakeRow(seq))
		rows[seq-1].Seq = seq / 2 * 2
		if seq == 1 {
			rows[0].Seq, rows[0].Queue, rows[0].Reason = 1, odd, `\x41`
		}
	}
	must(t, s.Commit(ctx, modelstore.Batch{Entries: entries, Rows: rows, Snapshot: storetest.MakeSnapshot(1500),
		Checkpoints: []modelstore.Checkpoint{{Source: "log " + odd, Data: []byte{0, 1}},
			{Source: "b", Data: []byte("b")}}}))
	must(t, s.Commit(ctx, modelstore.Batch{Snapshot: storetest.MakeSnapshot(2_000)}))
	must(t, s.Commit(ctx, modelstore.Batch{Models: []modelstore.SavedModel{
		storetest.MakeModel("model "+odd, 12, 600_000), storetest.MakeModel("b", 0, 3),
	}}))
	for _, part := range []string{"events", "jobs"} {
		for n := range 2 {
			must(t, s.PutHistory(ctx, storetest.MakeChunk("c", "h1", part, n, 300)))
		}
	}
	must(t, s.PutHistory(ctx, storetest.MakeChunk("Köln", `\x41`, "events", 3, 30_000)))
	for i := range 90 {
		must(t,
			s.Commit(ctx,
				modelstore.Batch{BadLines: []modelstore.BadLine{{At: storetest.Epoch(), Source: odd, Path: odd,
					Line: int64(i + 1), Message: odd, Text: []byte(odd)}}}))
	}
	for key, value := range map[string]string{"fingerprint": "f", "k " + odd: odd} {
		must(t, s.SetMeta(ctx, key, value))
	}
	n, err := s.Prune(ctx, storetest.Epoch().Add(50*time.Second), 2_000)
	must(t, err)
	if n != 49 {
		t.Fatalf("%d entries pruned", n)
	}
}

// contents has everything in a store.
type contents struct {
	Last, BadEver int64
	Entries       []modelstore.Entry
	Rows          []modelstore.Row
	Bad           []modelstore.BadLine
	Checkpoints   map[string][]byte
	Models        map[string]modelstore.SavedModel
	Snapshots     []modelstore.Snapshot
	Histories     []modelstore.HistoryChunk
	Meta          map[string]string
}

func contentsOf(t testing.TB, s modelstore.Portable) contents {
	t.Helper()
	c := contents{Entries: storetest.Entries(t, s), Rows: storetest.Rows(t, s, modelstore.RowQuery{}),
		Histories: storetest.Histories(t, s)}
	var errs [7]error
	c.Last, errs[0] = s.LastSeq(t.Context())
	c.BadEver, errs[1] = s.CountBadLines(t.Context())
	c.Bad, errs[2] = s.BadLines(t.Context(), 0)
	c.Checkpoints, errs[3] = s.Checkpoints(t.Context())
	c.Meta, errs[4] = s.AllMeta(t.Context())
	errs[5] = s.Snapshots(t.Context(), func(snap modelstore.Snapshot) error {
		c.Snapshots = append(c.Snapshots, snap)
		return nil
	})
	c.Models, errs[6] = s.Models(t.Context())
	must(t, errors.Join(errs[:]...))
	return c
}

func wantEqual(t testing.TB, got, want contents) {
	t.Helper()
	if storetest.Same(want, got) {
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("the copy differs (-source +copy):\n%.4000s", diff)
	}
}

// TestRoundTrip proves that a store that is copied from SQLite to PostgreSQL and back has the same contents, and that
// both copies can be used further from there.
func TestRoundTrip(t *testing.T) {
	url := shared.NewDatabase(t)
	source, middle, back := file(t), space(t, url, "middle"), file(t)
	fill(t, source)
	want := contentsOf(t, source)
	if len(want.Entries) != 2_345-49-2 || len(want.Snapshots) != 2 || want.BadEver != 90 || len(want.Bad) != 40 {
		t.Fatalf("the source has %d entries, %d snapshots, %d of %d bad lines", len(want.Entries), len(want.Snapshots),
			len(want.Bad), want.BadEver)
	}
	there, err := transfer.Copy(t.Context(), middle, source, nil)
	must(t, err)
	wantEqual(t, contentsOf(t, middle), want)
	again, err := transfer.Copy(t.Context(), back, middle, nil)
	must(t, err)
	wantEqual(t, contentsOf(t, back), want)
	if *there != *again {
		t.Errorf("the summaries differ: %v, %v", there, again)
	}
	if there.Histories != 2 || there.HistoryChunks != 5 || there.HistoryBytes != 4*300+30_000 {
		t.Errorf("the summary has other histories: %v", there)
	}
	for _, s := range []modelstore.Portable{source, middle, back} {
		must(t,
			s.Commit(t.Context(), modelstore.Batch{Entries: storetest.MakeEntries(2_346, 2_347),
				BadLines: []modelstore.BadLine{{Line: 5}}}))
	}
	wantEqual(t, contentsOf(t, middle), contentsOf(t, source))
	wantEqual(t, contentsOf(t, back), contentsOf(t, source))
}

// TestNotEmpty proves that a target that is not empty is refused and left unchanged.
func TestNotEmpty(t *testing.T) {
	source := file(t)
	fill(t, source)
	for name, b := range map[string]modelstore.Batch{
		"entry": {Entries: storetest.MakeEntries(1, 1)}, "row": {Rows: []modelstore.Row{storetest.MakeRow(1)}},
		"checkpoint": {Checkpoints: []modelstore.Checkpoint{{Source: "a", Data: []byte("a")}}},
		"bad line":   {BadLines: []modelstore.BadLine{{}}},
		"model":      {Models: []modelstore.SavedModel{storetest.MakeModel("m", 1, 1)}},
	} {
		target := file(t)
		must(t, target.Commit(t.Context(), b))
		before := contentsOf(t, target)
		_, err := transfer.Copy(t.Context(), target, source, nil)
		if _, ok := errors.AsType[*transfer.NotEmptyError](err); !ok {
			t.Errorf("copying over a store with a %s gave %v", name, err)
		}
		wantEqual(t, contentsOf(t, target), before)
	}
	imported := file(t)
	must(t, imported.PutHistory(t.Context(), storetest.MakeChunk("c", "h", "events", 0, 9)))
	if _, err := transfer.Copy(t.Context(), imported, source, nil); err == nil {
		t.Error("a store with a history was copied over")
	}
	target := file(t)
	must(t, target.SetMeta(t.Context(), "k", "v"))
	if _, err := transfer.Copy(t.Context(), target, source, nil); err == nil {
		t.Error("a store with a value was copied over")
	}
}

// TestInterrupted proves that a copy that is interrupted at any stage is marked as unfinished, and continues when it is
// repeated from the same source. From another source it does not continue.
func TestInterrupted(t *testing.T) {
	source, other := file(t), file(t)
	fill(t, source)
	must(t, other.Commit(t.Context(), modelstore.Batch{Entries: storetest.MakeEntries(1, 3)}))
	want := contentsOf(t, source)
	url := shared.NewDatabase(t)
	for stop := 1; ; stop += 3 {
		target := space(t, url, fmt.Sprint("stop", stop))
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		_, err := transfer.Copy(ctx, target, source, func(transfer.Progress) {
			if seen++; seen == stop {
				cancel()
			}
		})
		cancel()
		if seen < stop {
			must(t, err)
			if stop < 8 {
				t.Errorf("progress was told only %d times", seen)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stop %d gave %v", stop, err)
		}
		if mark, err := target.Meta(t.Context(), transfer.UnfinishedKey); err != nil || mark == "" {
			t.Fatalf("stop %d: the target is not marked: %v", stop, err)
		}
		if _, err := transfer.Copy(t.Context(), target, other, nil); err == nil {
			t.Fatal("another source was copied into an unfinished target")
		}
		if _, err := transfer.Copy(t.Context(), file(t), target, nil); err == nil {
			t.Fatal("an unfinished copy was copied on")
		}
		_, err = transfer.Copy(t.Context(), target, source, nil) // this copy only compares
		must(t, err)
		if stop == 4 {
			wantEqual(t, contentsOf(t, target), want)
		}
	}
}

// forgetful is a store that changes a value of one row before it stores the rows.
type forgetful struct{ modelstore.Portable }

func (f forgetful) Load(ctx context.Context, b modelstore.Batch, to modelstore.Position) error {
	if len(b.Rows) > 0 {
		b.Rows[17].WaitSeconds++
	}
	return f.Portable.Load(ctx, b, to)
}

// TestInterruptedHistory proves that a copy that is interrupted between two chunks continues with the next chunk, and
// takes no chunks from another source.
func TestInterruptedHistory(t *testing.T) {
	source, target := file(t), file(t)
	fill(t, source)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := transfer.Copy(ctx, target, source, func(p transfer.Progress) {
		if p.Stage == "histories" && p.Done == 2 {
			cancel()
		}
	})
	cancel()
	if !errors.Is(err, context.Canceled) || len(storetest.Histories(t, target)) != 2 {
		t.Fatalf("interrupted after 2 chunks: %d are there, %v", len(storetest.Histories(t, target)), err)
	}
	counting := &counted{Portable: target}
	_, err = transfer.Copy(t.Context(), counting, source, nil)
	must(t, err)
	if counting.chunks != 3 {
		t.Errorf("%d chunks were copied after 2 of 5", counting.chunks)
	}
	wantEqual(t, contentsOf(t, target), contentsOf(t, source))
}

// counted is a store that counts the chunks of histories that it receives.
type counted struct {
	modelstore.Portable
	chunks int
}

func (c *counted) PutHistory(ctx context.Context, chunk modelstore.HistoryChunk) error {
	c.chunks++
	return c.Portable.PutHistory(ctx, chunk)
}

// TestMismatch proves that the comparison at the end notices a single changed value, and leaves the mark of an
// unfinished copy in place.
func TestMismatch(t *testing.T) {
	source, target := file(t), file(t)
	fill(t, source)
	_, err := transfer.Copy(t.Context(), forgetful{target}, source, nil)
	if e, ok := errors.AsType[*transfer.MismatchError](err); !ok || e.Source.RowsSum == e.Target.RowsSum ||
		e.Source.EntriesSum != e.Target.EntriesSum {
		t.Fatalf("a changed row gave %v", err)
	}
	if mark, err := target.Meta(t.Context(), transfer.UnfinishedKey); err != nil || mark == "" {
		t.Errorf("the target is not marked: %v", err)
	}
	target = file(t)
	_, err = transfer.Copy(t.Context(), careless{target}, source, nil)
	if e, ok := errors.AsType[*transfer.MismatchError](err); !ok || e.Source.HistoriesSum == e.Target.HistoriesSum ||
		e.Source.RowsSum != e.Target.RowsSum || e.Source.RestSum != e.Target.RestSum {
		t.Fatalf("a changed chunk gave %v", err)
	}
}

// careless is a store that changes a byte in the second chunk of each history part before it stores the chunk.
type careless struct{ modelstore.Portable }

func (c careless) PutHistory(ctx context.Context, chunk modelstore.HistoryChunk) error {
	chunk.Data = bytes.Clone(chunk.Data)
	if chunk.N == 1 {
		chunk.Data[7]++
	}
	return c.Portable.PutHistory(ctx, chunk)
}
