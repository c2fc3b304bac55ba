// Package storetest proves that a modelstore.Store gives all guarantees of its package. One suite of tests runs
// against every implementation.
package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// Place is the location of one test's stores.
type Place interface {
	// Open opens the store at this place. The test closes the store before it opens it again.
	Open(t testing.TB) modelstore.Store
	// DamageSnapshot changes bytes of the stored parts of the snapshot without using the store, which is closed.
	DamageSnapshot(t testing.TB, seq int64)
	// DamageHistory changes a byte of the stored data of a chunk without using the store, which is open.
	DamageHistory(t testing.TB, c modelstore.HistoryChunk)
}

// BadLineLimit is the number of bad lines that the tested stores must be configured to keep.
const BadLineLimit = 50

// Run runs the suite. newPlace returns a new empty place.
func Run(t *testing.T, newPlace func(t testing.TB) Place) {
	for name, test := range map[string]func(*testing.T, Place){
		"EmptyStore": emptyStore, "JournalRoundTrip": journalRoundTrip, "ReplayInOrder": replayInOrder,
		"ReplayLong": replayLong, "ReplayStops": replayStops, "EntriesOnce": entriesOnce,
		"RepeatingKinds": repeatingKinds, "SeqMustGoOn": seqMustGoOn,
		"RowsOnce": rowsOnce, "RowRoundTrip": rowRoundTrip, "RowQueries": rowQueries,
		"FailureLeavesNothing": failureLeavesNothing,
		"CancelLeavesNothing":  cancelLeavesNothing, "Known": known, "Checkpoints": checkpoints,
		"SavedModels": savedModels, "Meta": meta,
		"SnapshotsNewestTwo": snapshotsNewestTwo, "SnapshotEncoders": snapshotEncoders,
		"SnapshotFallback":    snapshotFallback,
		"SnapshotsAllDamaged": snapshotsAllDamaged,
		"DropSnapshots":       dropSnapshots, "PruneBounds": pruneBounds, "PruneKeepsNumbers": pruneKeepsNumbers,
		"PruneRows": pruneRows, "RowsOfManyMonths": rowsOfManyMonths,
		"BadLines": badLines, "Reopen": reopen, "Closed": closed, "Concurrent": concurrent,
		"CloseDuringReplay": closeDuringReplay, "ModelAgainstStore": modelAgainstStore,
		"Histories": histories, "HistoriesRefused": historiesRefused, "HistoriesStop": historiesStop,
		"DropHistories": dropHistories, "DamagedChunk": damagedChunk,
		"HistoriesBesideCommits": historiesBesideCommits,
	} {
		t.Run(name, func(t *testing.T) { test(t, newPlace(t)) })
	}
}

// Epoch is the instant at which the jobs of the suite begin: a Tuesday, with nanoseconds.
func Epoch() time.Time { return time.Date(2024, 3, 5, 13, 14, 15, 123456789, time.UTC) }

// MakeEntry returns the entry seq, at Epoch + seq seconds. From 1 on, each three consecutive entries are the
// submission, the start and the end of one job of the cluster "c".
func MakeEntry(seq int64) modelstore.Entry {
	n := seq - 1
	at := Epoch().Add(time.Duration(seq) * time.Second)
	ev := job.Event{
		Kind: [...]job.Kind{job.Submit, job.Start, job.End}[n%3], Cluster: "c", ID: fmt.Sprint(1000 + n/3), Time: at,
		Attributes: job.Attributes{Queue: "batch", User: fmt.Sprintf("user%d", n%17), Account: "physics", QOS: "normal",
			Name: "run.sh", Procs: int(1 + n%64), Nodes: int(1 + n%4), TimeLimit: time.Duration(1+n%24) * time.Hour},
		Times: job.Times{Submit: at.Add(-time.Duration(n%3) * time.Second)},
	}
	return modelstore.Entry{Seq: seq, Source: "pbs:/var/spool/pbs/server_priv/accounting", Event: ev}
}

// MakeEntries returns the entries with the numbers from `from` to `to`.
func MakeEntries(from, to int64) []modelstore.Entry {
	var entries []modelstore.Entry
	for seq := from; seq <= to; seq++ {
		entries = append(entries, MakeEntry(seq))
	}
	return entries
}

// MakeRow returns a row that the entry seq closed. The queue is "batch". If seq is a multiple of 4, the job was
// cancelled; otherwise it started. In both cases the job waited for seq seconds. Some rows have forecasts of other
// methods, and some have parts of the wait.
func MakeRow(seq int64) modelstore.Row {
	r := modelstore.Row{
		Seq: seq, Cluster: "c", JobID: fmt.Sprint(1000 + seq), Queue: "batch", Procs: 8, TimeLimit: time.Hour,
		Submit: Epoch(),
		Start:  Epoch().Add(time.Duration(seq) * time.Second), Outcome: modelstore.Started, WaitSeconds: float64(seq),
		Method: "combined", Levels: []float64{.25, .5, .75, .95},
		Quantiles: []float64{1, 2.5, math.Inf(1), math.NaN()}, Served: seq,
	}
	if seq%3 == 0 {
		r.Peers = []modelstore.Peer{{Method: "qbets", Quantiles: []float64{0, 1, 2, 3}},
			{Method: "limits", Quantiles: []float64{math.NaN(), 7, 7, math.Inf(1)}}}
	}
	switch seq % 5 { // the other jobs have no parts of waits
	case 1:
		r.Parts = &modelstore.Parts{BlockedSeconds: float64(seq) / 2, Predicted: "priority"}
	case 2:
		r.Parts = &modelstore.Parts{BlockedSeconds: float64(seq), Blocked: []float64{0, 1, math.NaN(), math.Inf(1)},
			Eligible: []float64{0, .5, math.Inf(1), math.NaN()}, Predicted: "limit",
			Settled: "QOSMaxCpuPerUserLimit"}
	}
	if seq%4 == 0 {
		r.Start, r.Outcome = time.Time{}, modelstore.Cancelled
	}
	return r
}

// MakeSnapshot returns a snapshot after the entry seq. Every snapshot is different.
func MakeSnapshot(seq int64) *modelstore.Snapshot {
	state := binary.BigEndian.AppendUint64(nil, uint64(seq))
	model := make([]byte, 20_000)
	for i := range model {
		model[i] = byte(int64(i) * seq)
	}
	return &modelstore.Snapshot{Seq: seq, At: Epoch().Add(time.Duration(seq) * time.Minute),
		Parts: map[string][]byte{"state": state, "models/batch": model, "models/empty": {}}}
}

func background() context.Context { return context.Background() }

func open(t testing.TB, p Place) modelstore.Store {
	t.Helper()
	s := p.Open(t)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func commit(t testing.TB, s modelstore.Store, b modelstore.Batch) {
	t.Helper()
	must(t, s.Commit(background(), b))
}

// Entries returns the whole journal.
func Entries(t testing.TB, s modelstore.Store) []modelstore.Entry {
	t.Helper()
	return replay(t, s, 0)
}

func replay(t testing.TB, s modelstore.Store, after int64) []modelstore.Entry {
	t.Helper()
	var entries []modelstore.Entry
	must(t, s.Replay(background(), after, func(e modelstore.Entry) error {
		entries = append(entries, e)
		return nil
	}))
	return entries
}

// Rows returns the rows of a query.
func Rows(t testing.TB, s modelstore.Store, q modelstore.RowQuery) []modelstore.Row {
	t.Helper()
	var rows []modelstore.Row
	must(t, s.Rows(background(), q, func(r modelstore.Row) error {
		rows = append(rows, r)
		return nil
	}))
	return rows
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if Same(want, got) {
		return // cmp takes a hundred times as long, which is too long for thousands of rows
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s differs (-want +got):\n%s", what, diff)
	}
}

func wantError[E error](t testing.TB, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("error is %v (%T), want a %T", err, err, e)
	}
	return e
}

// checkNothing fails unless the store is empty.
func checkNothing(t testing.TB, s modelstore.Store) {
	t.Helper()
	last, err := s.LastSeq(background())
	must(t, err)
	equal(t, "last number", last, int64(0))
	equal(t, "entries", Entries(t, s), []modelstore.Entry(nil))
	equal(t, "rows", Rows(t, s, modelstore.RowQuery{}), []modelstore.Row(nil))
	cps, err := s.Checkpoints(background())
	must(t, err)
	equal(t, "checkpoints", cps, map[string][]byte(nil))
	models, err := s.Models(background())
	must(t, err)
	equal(t, "saved models", models, map[string]modelstore.SavedModel(nil))
	snap, err := s.Latest(background())
	must(t, err)
	equal(t, "snapshot", snap, (*modelstore.Snapshot)(nil))
	lines, err := s.BadLines(background(), 0)
	must(t, err)
	equal(t, "bad lines", lines, []modelstore.BadLine(nil))
	ever, err := s.CountBadLines(background())
	must(t, err)
	equal(t, "bad lines ever", ever, int64(0))
}
