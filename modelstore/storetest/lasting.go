package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/waitcast/waitcast/modelstore"
)

// checkpoints proves that the last checkpoint of a source is stored, and that a checkpoint without data deletes it.
func checkpoints(t *testing.T, p Place) {
	s := open(t, p)
	set := func(list ...modelstore.Checkpoint) { commit(t, s, modelstore.Batch{Checkpoints: list}) }
	set(modelstore.Checkpoint{Source: "a", Data: []byte{0, 255}},
		modelstore.Checkpoint{Source: "b", Data: []byte("old")})
	set(modelstore.Checkpoint{Source: "b", Data: []byte("mid")},
		modelstore.Checkpoint{Source: "b", Data: []byte("new")})
	set(modelstore.Checkpoint{Source: "c", Data: []byte("x")}, modelstore.Checkpoint{Source: "never"})
	set(modelstore.Checkpoint{Source: "c"})
	got, err := s.Checkpoints(background())
	must(t, err)
	equal(t, "checkpoints", got, map[string][]byte{"a": {0, 255}, "b": []byte("new")})
}

// MakeModel returns a saved model with size bytes. The bytes depend on the name, and from the second one on also on the
// number.
func MakeModel(name string, seq int64, size int) modelstore.SavedModel {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(int64(i)*seq) + name[i%len(name)]
	}
	return modelstore.SavedModel{Name: name, Seq: seq, Data: data}
}

// savedModels proves that the last model stored under a name is returned whole and with its number, whatever its size.
// A model without data deletes the model with that name. Models depend neither on checkpoints nor on snapshots.
func savedModels(t *testing.T, p Place) {
	s := p.Open(t)
	large, small := MakeModel("c/load", 7, 1_000_001), MakeModel("d/load", 0, 1)
	set := func(list ...modelstore.SavedModel) { commit(t, s, modelstore.Batch{Models: list}) }
	want := func(list ...modelstore.SavedModel) {
		t.Helper()
		all := map[string]modelstore.SavedModel{}
		for _, m := range list {
			all[m.Name] = m
		}
		got, err := s.Models(background())
		must(t, err)
		equal(t, "saved models", got, all)
	}
	commit(t, s, modelstore.Batch{
		Entries: MakeEntries(1, 5), Snapshot: MakeSnapshot(5), Models: []modelstore.SavedModel{large, small},
		Checkpoints: []modelstore.Checkpoint{{Source: "c/load", Data: []byte("x")}},
	})
	want(large, small)
	shorter := MakeModel("c/load", 3, 300_000)
	set(shorter, MakeModel("gone", 1, 10), modelstore.SavedModel{Name: "never"})
	set(modelstore.SavedModel{Name: "gone"})
	want(shorter, small)
	commit(t, s, modelstore.Batch{Checkpoints: []modelstore.Checkpoint{{Source: "c/load"}}})
	must(t, s.DropSnapshots(background()))
	must(t, s.Close())
	s = open(t, p)
	want(shorter, small)
}

// meta proves that values can be set, replaced and deleted.
func meta(t *testing.T, p Place) {
	s := open(t, p)
	for _, value := range []string{"", "one", "two", "", "three"} {
		must(t, s.SetMeta(background(), "fingerprint", value))
		must(t, s.SetMeta(background(), "other", "x"+value))
		got, err := s.Meta(background(), "fingerprint")
		must(t, err)
		equal(t, "value", got, value)
	}
}

// snapshotsNewestTwo proves that the newest snapshot is returned whole, that a snapshot replaces an earlier one with
// the same number, and that only the newest two are kept.
func snapshotsNewestTwo(t *testing.T, p Place) {
	s := p.Open(t)
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, 50)})
	for seq := int64(10); seq <= 40; seq += 10 {
		commit(t, s, modelstore.Batch{Snapshot: MakeSnapshot(seq)})
		snap, err := s.Latest(background())
		must(t, err)
		equal(t, "snapshot", snap, MakeSnapshot(seq))
	}
	replaced := MakeSnapshot(40)
	replaced.Parts = map[string][]byte{"state": []byte("other")}
	commit(t, s, modelstore.Batch{Snapshot: replaced})
	snap, err := s.Latest(background())
	must(t, err)
	equal(t, "replaced snapshot", snap, replaced)
	must(t, s.Close())
	p.DamageSnapshot(t, 40)
	p.DamageSnapshot(t, 30)
	s = open(t, p)
	_, err = s.Latest(background())
	equal(t, "kept snapshots", wantError[*modelstore.DamagedError](t, err).Seqs, []int64{40, 30})
}

// snapshotEncoders proves that a part that is encoded while it is written is stored like any other part. It also proves
// that nothing is committed if a part cannot be encoded, or if its size is not the announced one.
func snapshotEncoders(t *testing.T, p Place) {
	s := open(t, p)
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, 50), Snapshot: MakeSnapshot(10)})
	want := MakeSnapshot(20)
	want.Parts["models/large"] = bytes.Repeat([]byte("0123456789"), 100_000)
	snap := &modelstore.Snapshot{Seq: want.Seq, At: want.At, Parts: map[string][]byte{"state": want.Parts["state"]},
		Encoders: map[string]modelstore.Encoder{}}
	for name, data := range want.Parts {
		if name != "state" {
			snap.Encoders[name] = inPieces(data, len(data))
		}
	}
	commit(t, s, modelstore.Batch{Snapshot: snap})
	got, err := s.Latest(background())
	must(t, err)
	equal(t, "snapshot", got, want)

	broken := errors.New("broken")
	for name, encode := range map[string]modelstore.Encoder{
		"one that cannot begin": modelstore.Whole(func() ([]byte, error) { return nil, broken }),
		"one that cannot go on": func() (int, func(func([]byte) error) error, error) {
			return 1, func(func([]byte) error) error { return broken }, nil
		},
		"one that is too long":  inPieces([]byte("abc"), 2),
		"one that is too short": inPieces([]byte("abc"), 4),
	} {
		b := modelstore.Batch{Entries: MakeEntries(51, 52), Snapshot: &modelstore.Snapshot{Seq: 51, At: want.At,
			Parts: map[string][]byte{"a": []byte("x")}, Encoders: map[string]modelstore.Encoder{"b": encode}}}
		err := s.Commit(background(), b)
		if e := wantError[*modelstore.EncodeError](t, err); e.Part != "b" {
			t.Errorf("%s: %v", name, err)
		}
		got, err := s.Latest(background())
		must(t, err)
		equal(t, "snapshot after "+name, got, want)
		equal(t, "journal after "+name, replay(t, s, 50), []modelstore.Entry(nil))
	}
}

// inPieces returns an encoder that announces the given size and writes data in uneven pieces.
func inPieces(data []byte, size int) modelstore.Encoder {
	return func() (int, func(put func([]byte) error) error, error) {
		return size, func(put func([]byte) error) error {
			buffer := make([]byte, 300_001) // used again for every piece
			for rest := data; len(rest) > 0; {
				n := copy(buffer, rest)
				if err := put(buffer[:n]); err != nil {
					return err
				}
				rest = rest[n:]
			}
			return nil
		}, nil
	}
}

// snapshotFallback proves that a damaged newest snapshot is ignored and reported. It also proves that an earlier
// pruning kept the entries that the older snapshot needs.
func snapshotFallback(t *testing.T, p Place) {
	s := p.Open(t)
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, 50), Snapshot: MakeSnapshot(20)})
	commit(t, s, modelstore.Batch{Snapshot: MakeSnapshot(40)})
	_, err := s.Prune(background(), modelstore.MaxTime(), 50)
	must(t, err)
	must(t, s.Close())
	p.DamageSnapshot(t, 40)
	s = open(t, p)
	snap, err := s.Latest(background())
	must(t, err)
	want := MakeSnapshot(20)
	want.Damaged = []int64{40}
	equal(t, "snapshot", snap, want)
	equal(t, "what is to replay", replay(t, s, 20), MakeEntries(21, 50))
	commit(t, s, modelstore.Batch{Snapshot: MakeSnapshot(40)}) // repairs the store
	snap, err = s.Latest(background())
	must(t, err)
	equal(t, "snapshot", snap, MakeSnapshot(40))
}

// snapshotsAllDamaged proves that no state is returned if all snapshots are damaged. Deleting the snapshots repairs
// the store.
func snapshotsAllDamaged(t *testing.T, p Place) {
	s := p.Open(t)
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, 5), Snapshot: MakeSnapshot(5)})
	must(t, s.Close())
	p.DamageSnapshot(t, 5)
	s = open(t, p)
	snap, err := s.Latest(background())
	if snap != nil || !errors.Is(err, modelstore.ErrCorrupt) {
		t.Fatalf("got %v, %v", snap, err)
	}
	must(t, s.DropSnapshots(background()))
	snap, err = s.Latest(background())
	must(t, err)
	equal(t, "snapshot", snap, (*modelstore.Snapshot)(nil))
}

// dropSnapshots proves that DropSnapshots deletes only snapshots.
func dropSnapshots(t *testing.T, p Place) {
	s := open(t, p)
	commit(t, s, everything())
	must(t, s.DropSnapshots(background()))
	snap, err := s.Latest(background())
	must(t, err)
	equal(t, "snapshot", snap, (*modelstore.Snapshot)(nil))
	equal(t, "journal", Entries(t, s), MakeEntries(1, 700))
	equal(t, "rows", len(Rows(t, s, modelstore.RowQuery{})), 2)
	cps, err := s.Checkpoints(background())
	must(t, err)
	equal(t, "checkpoints", len(cps), 1)
	models, err := s.Models(background())
	must(t, err)
	equal(t, "saved models", len(models), 1)
}

// pruneBounds proves each of the three limits of pruning: the time, the number and the oldest snapshot.
func pruneBounds(t *testing.T, p Place) {
	s := open(t, p)
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, 100), Rows: []modelstore.Row{MakeRow(1)}})
	prune := func(before time.Time, upTo, wantDeleted, wantFirst int64) {
		t.Helper()
		n, err := s.Prune(background(), before, upTo)
		must(t, err)
		equal(t, "deleted", n, wantDeleted)
		equal(t, "journal", Entries(t, s), MakeEntries(wantFirst, 100))
	}
	at := func(seq int64) time.Time { return MakeEntry(seq).Event.Time }
	prune(modelstore.MaxTime(), 100, 0, 1) // there is no snapshot
	commit(t, s, modelstore.Batch{Snapshot: MakeSnapshot(60)})
	commit(t, s, modelstore.Batch{Snapshot: MakeSnapshot(90)})
	prune(at(11), 60, 10, 11)                // deletes entries before the instant, but not at it
	prune(time.Unix(-1e15, 0), 60, 0, 11)    // an instant before all entries
	prune(at(60), 20, 10, 21)                // up to and including the number
	prune(at(60), 20, 0, 21)                 // repeated
	prune(modelstore.MaxTime(), 999, 40, 61) // limited by the oldest snapshot in the store
	equal(t, "rows", len(Rows(t, s, modelstore.RowQuery{})), 1)
}

// pruneKeepsNumbers proves that a journal that is empty after pruning still has its last number. It also proves that
// pruning works over many transactions.
func pruneKeepsNumbers(t *testing.T, p Place) {
	if testing.Short() {
		t.Skip("25,000 entries are long under the race detector")
	}
	s := open(t, p)
	const n = 25_000
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, n), Snapshot: MakeSnapshot(n)})
	deleted, err := s.Prune(background(), modelstore.MaxTime(), n)
	must(t, err)
	equal(t, "deleted", deleted, int64(n))
	last, err := s.LastSeq(background())
	must(t, err)
	equal(t, "last number", last, int64(n))
	_ = wantError[*modelstore.SeqError](t, s.Commit(background(), modelstore.Batch{Entries: MakeEntries(1, 1)}))
	commit(t, s, modelstore.Batch{Entries: MakeEntries(n+1, n+2)})
	equal(t, "journal", Entries(t, s), MakeEntries(n+1, n+2))
}

// pruneRows proves that the rows that were closed before an instant are deleted, over many transactions. Other rows
// and the journal stay.
func pruneRows(t *testing.T, p Place) {
	if testing.Short() {
		t.Skip("25,000 entries are long under the race detector")
	}
	s := open(t, p)
	const n = 25_000
	var all []modelstore.Row
	for seq := int64(1); seq <= n; seq++ {
		all = append(all, MakeRow(seq))
	}
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, 3), Rows: all})
	for _, c := range []struct {
		before  time.Time
		deleted int64
		left    []modelstore.Row
	}{
		{time.Unix(-1e15, 0), 0, all}, // an instant before all rows
		{Epoch().Add(21_001 * time.Second), 21_000, all[21_000:]},
		{Epoch().Add(21_001 * time.Second), 0, all[21_000:]}, // repeated
		{modelstore.MaxTime(), n - 21_000, nil},
	} {
		deleted, err := s.PruneRows(background(), c.before)
		must(t, err)
		equal(t, "deleted", deleted, c.deleted)
		equal(t, "rows", Rows(t, s, modelstore.RowQuery{}), c.left)
	}
	equal(t, "journal", Entries(t, s), MakeEntries(1, 3))
}

// reopen proves that all data are still stored after the store was closed in order and opened again.
func reopen(t *testing.T, p Place) {
	s := p.Open(t)
	commit(t, s, everything())
	must(t, s.SetMeta(background(), "fingerprint", "f"))
	must(t, s.Close())
	s = open(t, p)
	b := everything()
	equal(t, "journal", Entries(t, s), b.Entries)
	equal(t, "rows", Rows(t, s, modelstore.RowQuery{}), b.Rows)
	snap, err := s.Latest(background())
	must(t, err)
	equal(t, "snapshot", snap, b.Snapshot)
	cps, err := s.Checkpoints(background())
	must(t, err)
	equal(t, "checkpoints", cps, map[string][]byte{"a": []byte("1")})
	models, err := s.Models(background())
	must(t, err)
	equal(t, "saved models", models, map[string]modelstore.SavedModel{"m": b.Models[0]})
	lines, err := s.BadLines(background(), 0)
	must(t, err)
	equal(t, "bad lines", len(lines), 1)
	value, err := s.Meta(background(), "fingerprint")
	must(t, err)
	equal(t, "value", value, "f")
	last, err := s.LastSeq(background())
	must(t, err)
	equal(t, "last number", last, int64(700))
}

// closed proves that every method of a closed store returns ErrClosed, and that a store can be closed twice.
func closed(t *testing.T, p Place) {
	s := p.Open(t)
	must(t, s.Close())
	must(t, s.Close())
	for name, call := range map[string]func() error{
		"Commit":      func() error { return s.Commit(background(), everything()) },
		"Replay":      func() error { return s.Replay(background(), 0, nil) },
		"LastSeq":     func() error { _, err := s.LastSeq(background()); return err },
		"Known":       func() error { _, err := s.Known(background(), "c", "1"); return err },
		"Checkpoints": func() error { _, err := s.Checkpoints(background()); return err },
		"Models":      func() error { _, err := s.Models(background()); return err },
		"Latest":      func() error { _, err := s.Latest(background()); return err },
		"Rows":        func() error { return s.Rows(background(), modelstore.RowQuery{}, nil) },
		"CountRows":   func() error { _, err := s.CountRows(background(), modelstore.RowQuery{}); return err },
		"BadLines":    func() error { _, err := s.BadLines(background(), 0); return err },
		"CountBad":    func() error { _, err := s.CountBadLines(background()); return err },
		"Meta":        func() error { _, err := s.Meta(background(), "x"); return err },
		"SetMeta":     func() error { return s.SetMeta(background(), "x", "y") },
		"Prune":       func() error { _, err := s.Prune(background(), Epoch(), 1); return err },
		"PruneRows":   func() error { _, err := s.PruneRows(background(), Epoch()); return err },
		"Drop":        func() error { return s.DropSnapshots(background()) },
		"PutHistory":  func() error { return s.PutHistory(background(), MakeChunk("c", "h", "events", 0, 9)) },
		"Chunks":      func() error { return s.HistoryChunks(background(), "c", "h", "events", nil) },
		"Chunk":       func() error { _, err := s.HistoryChunk(background(), "c", "h", "events", 0); return err },
		"DropHistory": func() error { return s.DropHistories(background(), "c") },
		"Histories":   func() error { _, err := s.Histories(background()); return err },
	} {
		if err := call(); !errors.Is(err, modelstore.ErrClosed) {
			t.Errorf("%s on a closed store gave %v", name, err)
		}
	}
}

// concurrent proves, with the race detector, that readers see only whole commits while a writer is busy. Each commit
// changes journal, ledger, checkpoint and snapshot together.
func concurrent(t *testing.T, p Place) {
	s := open(t, p)
	const commits, each = 150, 4
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				if err := readAll(s, each); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range int64(commits) {
		commit(t, s, modelstore.Batch{Entries: MakeEntries(i*each+1, (i+1)*each),
			Rows:        []modelstore.Row{MakeRow((i + 1) * each)},
			Checkpoints: []modelstore.Checkpoint{{Source: "s", Data: fmt.Append(nil, i)}},
			Snapshot:    MakeSnapshot((i + 1) * each)})
		if i%10 == 9 {
			if _, err := s.Prune(background(), modelstore.MaxTime(), i); err != nil {
				t.Error(err)
			}
		}
	}
	close(done)
	readers.Wait()
}

// readAll reads all data once and checks that every commit is whole.
func readAll(s modelstore.Store, each int64) error {
	last, err := s.LastSeq(background())
	if err != nil {
		return err
	}
	if last%each != 0 {
		return fmt.Errorf("saw a part of a commit: last number %d", last)
	}
	n, err := s.CountRows(background(), modelstore.RowQuery{})
	if err != nil {
		return err
	}
	if n < last/each {
		return fmt.Errorf("%d rows beside %d entries", n, last)
	}
	snap, err := s.Latest(background())
	if err != nil {
		return err
	}
	if snap != nil && (snap.Seq < last || snap.Seq%each != 0 || len(snap.Damaged) > 0) {
		return fmt.Errorf("snapshot %d (damaged %v) beside %d entries", snap.Seq, snap.Damaged, last)
	}
	if _, err := s.Known(background(), "c", fmt.Sprint(1000+last/3)); err != nil {
		return err
	}
	if _, err := s.Checkpoints(background()); err != nil {
		return err
	}
	if _, err := s.Models(background()); err != nil {
		return err
	}
	return s.Replay(background(), last, func(modelstore.Entry) error { return nil })
}

// closeDuringReplay proves that Close waits for a running replay, which ends with ErrClosed.
func closeDuringReplay(t *testing.T, p Place) {
	s := p.Open(t)
	commit(t, s, everything())
	result := make(chan error, 1)
	err := s.Replay(background(), 0, func(modelstore.Entry) error {
		go func() { result <- s.Close() }()
		for { // wait until the store is closing
			if _, err := s.LastSeq(background()); errors.Is(err, modelstore.ErrClosed) {
				break
			}
		}
		select {
		case err := <-result:
			t.Errorf("Close did not wait for the replay: %v", err)
			result <- err
		case <-time.After(200 * time.Millisecond): // far longer than an idle store takes to close
		}
		return nil
	})
	if !errors.Is(err, modelstore.ErrClosed) {
		t.Errorf("replay beside Close gave %v", err)
	}
	must(t, <-result)
}
