package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// emptyStore proves that a new store returns empty answers, and that an empty batch changes nothing.
func emptyStore(t *testing.T, p Place) {
	s := open(t, p)
	commit(t, s, modelstore.Batch{})
	checkNothing(t, s)
	keys, err := s.Known(background(), "c", "1")
	must(t, err)
	equal(t, "known", keys, []modelstore.Key(nil))
}

// journalRoundTrip proves that every field of an event is returned unchanged. It uses an event with all fields, an
// event with no optional field, texts with odd characters, and the earliest and latest instants.
func journalRoundTrip(t *testing.T, p Place) {
	full := MakeEntry(1)
	full.Event.Attempt, full.Event.Live, full.Event.Derived = 3, true, true
	full.Event.Times = job.Times{Submit: Epoch(), Eligible: Epoch().Add(1), Start: Epoch().Add(time.Hour),
		End: Epoch().Add(2 * time.Hour)}
	bare := modelstore.Entry{Seq: 2,
		Event: job.Event{Kind: job.Requeue, Cluster: "c", ID: "7[12]", Time: time.Unix(0, 0).UTC()}}
	raw := MakeEntry(3)
	raw.Event.Name, raw.Event.User = job.Printable("Auswertung_f\xfcr_\x00\"<&>\u2028"), "müller"
	first, last := MakeEntry(4), MakeEntry(5)
	first.Event.Time, last.Event.Time = modelstore.MinTime(), modelstore.MaxTime()
	last.Event.TimeLimit = math.MaxInt64
	want := []modelstore.Entry{full, bare, raw, first, last}
	s := open(t, p)
	commit(t, s, modelstore.Batch{Entries: want})
	equal(t, "journal", Entries(t, s), want)

	zone := MakeEntry(6)
	zone.Event.Time = zone.Event.Time.In(time.FixedZone("CET", 3600))
	commit(t, s, modelstore.Batch{Entries: []modelstore.Entry{zone}})
	equal(t, "time of another zone", replay(t, s, 5)[0].Event.Time, MakeEntry(6).Event.Time)
}

// replayInOrder proves that a replay returns the entries after the given number, in order.
func replayInOrder(t *testing.T, p Place) {
	s := open(t, p)
	for seq := int64(1); seq <= 30; seq += 3 {
		commit(t, s, modelstore.Batch{Entries: MakeEntries(seq, seq+2)})
	}
	for _, after := range []int64{-1, 0, 1, 15, 29, 30, 99} {
		equal(t, fmt.Sprint("replay after ", after), replay(t, s, after), MakeEntries(max(after, 0)+1, 30))
	}
}

// replayLong proves that a replay of many thousand entries loses no entry, repeats none, and ends with the entry that
// was the last one when the replay started.
func replayLong(t *testing.T, p Place) {
	s := open(t, p)
	const n = 5000
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, n)})
	next := int64(1)
	must(t, s.Replay(background(), 0, func(e modelstore.Entry) error {
		if e.Seq != next {
			t.Fatalf("entry %d came, want %d", e.Seq, next)
		}
		next++
		return s.Commit(background(), modelstore.Batch{Entries: []modelstore.Entry{MakeEntry(n + e.Seq)}})
	}))
	equal(t, "next entry", next, int64(n+1))
}

// replayStops proves that a replay ends with the error of the caller's function, or with that of a cancelled context,
// and that a reading of rows ends with the error of the function.
func replayStops(t *testing.T, p Place) {
	s := open(t, p)
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, 10), Rows: []modelstore.Row{MakeRow(1), MakeRow(2)}})
	stop := errors.New("enough")
	calls := 0
	err := s.Replay(background(), 0, func(modelstore.Entry) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Fatalf("replay gave %v after %d calls", err, calls)
	}
	if err := s.Rows(background(), modelstore.RowQuery{}, func(modelstore.Row) error {
		return stop
	}); !errors.Is(err, stop) {
		t.Fatalf("rows gave %v", err)
	}
	ctx, cancel := context.WithCancel(background())
	err = s.Replay(ctx, 0, func(modelstore.Entry) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("canceled replay gave %v", err)
	}
}

// entriesOnce proves that an event that is read twice or from two sources is stored once, in its first version.
func entriesOnce(t *testing.T, p Place) {
	s := open(t, p)
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, 3)})
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, 3)}) // the same batch again
	again, inBatch := MakeEntry(2), MakeEntry(2)
	again.Seq, again.Source, again.Event.Time = 4, "slurm", again.Event.Time.Add(time.Second)
	inBatch.Seq = 6
	other := []modelstore.Entry{MakeEntry(5), inBatch, MakeEntry(7), MakeEntry(8), MakeEntry(9), MakeEntry(10)}
	other[3].Event.Attempt, other[3].Event.ID, other[3].Event.Kind = 1, "1000", job.Start // another attempt
	other[4].Event.Cluster, other[4].Event.ID, other[4].Event.Kind = "d", "1000", job.Start
	other[5].Event = other[0].Event // twice in one batch
	commit(t, s, modelstore.Batch{Entries: append([]modelstore.Entry{MakeEntry(3), again}, other...)})
	want := append(MakeEntries(1, 3), other[0], other[2], other[3], other[4])
	equal(t, "journal", Entries(t, s), want)
	last, err := s.LastSeq(background())
	must(t, err)
	equal(t, "last number", last, int64(10))
}

// seqMustGoOn proves that a gap in the numbers, a repeated number and a wrong order are refused, and that nothing is
// stored then.
func seqMustGoOn(t *testing.T, p Place) {
	s := open(t, p)
	commit(t, s, modelstore.Batch{Entries: MakeEntries(1, 6)})
	reused := MakeEntry(9)
	reused.Seq = 6
	for name, entries := range map[string][]modelstore.Entry{
		"gap": MakeEntries(8, 9), "gap inside": {MakeEntry(7), MakeEntry(9)}, "reused": {reused},
		"disorder": {MakeEntry(8), MakeEntry(7)}, "twice": {MakeEntry(7), MakeEntry(7)},
	} {
		err := s.Commit(background(),
			modelstore.Batch{Entries: entries, Checkpoints: []modelstore.Checkpoint{{Source: name, Data: []byte("x")}}})
		_ = wantError[*modelstore.SeqError](t, err)
	}
	equal(t, "journal", Entries(t, s), MakeEntries(1, 6))
	cps, err := s.Checkpoints(background())
	must(t, err)
	equal(t, "checkpoints", len(cps), 0)
	commit(t, s, modelstore.Batch{Entries: MakeEntries(5, 9)})
	equal(t, "journal", Entries(t, s), MakeEntries(1, 9))
}

// known proves that Known returns the events of all attempts of a job and of no other job, and that it uses the ledger
// for events that were pruned.
func known(t *testing.T, p Place) {
	s := open(t, p)
	entries := MakeEntries(1, 8)
	entries[3].Event = job.Event{Kind: job.Requeue, Cluster: "c", ID: "1000", Time: Epoch().Add(time.Hour)}
	entries[4].Event = job.Event{Kind: job.Submit, Cluster: "c", ID: "1000", Attempt: 1, Time: Epoch().Add(time.Hour)}
	entries[5].Event = job.Event{Kind: job.Submit, Cluster: "d", ID: "1000", Time: Epoch()}
	row := MakeRow(2)
	row.JobID, row.Submit, row.Start = "1000", entries[0].Event.Time, entries[1].Event.Time
	canceled := MakeRow(4)
	canceled.JobID, canceled.Attempt = "1000", 2
	commit(t, s, modelstore.Batch{Entries: entries, Rows: []modelstore.Row{row, canceled}})
	submit := entries[0].Event.Time
	want := []modelstore.Key{
		{Kind: job.Submit, Time: submit, Submit: submit},
		{Kind: job.Start, Time: submit.Add(time.Second), Submit: submit},
		{Kind: job.End, Time: submit.Add(2 * time.Second), Submit: submit},
		{Kind: job.Requeue, Time: Epoch().Add(time.Hour)},
		{Attempt: 1, Kind: job.Submit, Time: Epoch().Add(time.Hour), Submit: Epoch().Add(time.Hour)},
		{Attempt: 2, Kind: job.Submit, Time: Epoch(), Submit: Epoch()},
		{Attempt: 2, Kind: job.Cancel, Time: Epoch().Add(4 * time.Second), Submit: Epoch()},
	}
	keys, err := s.Known(background(), "c", "1000")
	must(t, err)
	equal(t, "known", keys, want)
	commit(t, s, modelstore.Batch{Snapshot: MakeSnapshot(8)})
	if _, err := s.Prune(background(), modelstore.MaxTime(), 8); err != nil {
		t.Fatal(err)
	}
	keys, err = s.Known(background(), "c", "1000")
	must(t, err)
	equal(t, "known after pruning", keys, []modelstore.Key{want[0], want[1], want[5], want[6]})
}

// modelAgainstStore makes random commits, some of which fail, and compares the store with a plain list.
func modelAgainstStore(t *testing.T, p Place) {
	s := open(t, p)
	var last int64
	var want []modelstore.Entry
	seen := map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		var b modelstore.Batch
		var kept []modelstore.Entry
		fresh := map[string]bool{}
		for i := range rapid.IntRange(1, 20).Draw(rt, "entries") {
			e := MakeEntry(last + 1 + int64(i))
			e.Event.ID = fmt.Sprint(rapid.IntRange(0, 60).Draw(rt, "job"))
			e.Event.Attempt = rapid.IntRange(0, 1).Draw(rt, "attempt")
			b.Entries = append(b.Entries, e)
			key := fmt.Sprint(e.Event.ID, " ", e.Event.Attempt, " ", e.Event.Kind)
			if !seen[key] && !fresh[key] {
				fresh[key] = true
				kept = append(kept, e)
			}
		}
		fails := rapid.IntRange(0, 4).Draw(rt, "fails") == 0
		if fails {
			b.Rows = []modelstore.Row{{}}
		}
		if err := s.Commit(background(), b); (err != nil) != fails {
			rt.Fatalf("commit gave %v, should fail: %v", err, fails)
		}
		if !fails {
			last += int64(len(b.Entries))
			want = append(want, kept...)
			for key := range fresh {
				seen[key] = true
			}
		}
		after := rapid.Int64Range(0, last).Draw(rt, "after")
		i := slices.IndexFunc(want, func(e modelstore.Entry) bool { return e.Seq > after })
		if i < 0 {
			i = len(want)
		}
		equal(t, "journal", replay(t, s, after), want[i:])
	})
}

// repeatingKinds proves that every event of a kind that can occur many times in one life of a job is stored, and only
// the first event of any other kind. A batch that is committed again adds nothing.
func repeatingKinds(t *testing.T, p Place) {
	var all, want []modelstore.Entry
	for round := range 2 {
		for kind := job.Submit; kind <= job.Machine; kind++ {
			e := MakeEntry(1)
			e.Seq, e.Event.Kind = int64(len(all)+1), kind
			e.Event.Time = Epoch().Add(time.Duration(len(all)) * time.Second)
			all = append(all, e)
			if round == 0 || kind.Repeats() {
				want = append(want, e)
			}
		}
	}
	s := open(t, p)
	commit(t, s, modelstore.Batch{Entries: all})
	commit(t, s, modelstore.Batch{Entries: all})
	equal(t, "journal", Entries(t, s), want)
}
