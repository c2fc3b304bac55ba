package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// rowsOnce proves that the first row of a job's attempt is kept.
func rowsOnce(t *testing.T, p Place) {
	s := open(t, p)
	again, next := MakeRow(1), MakeRow(1)
	again.Seq, again.WaitSeconds, next.Attempt, next.Seq = 9, 77, 1, 8
	commit(t, s, modelstore.Batch{Rows: []modelstore.Row{MakeRow(1), again}})
	commit(t, s, modelstore.Batch{Rows: []modelstore.Row{again, next, MakeRow(1)}})
	equal(t, "rows", Rows(t, s, modelstore.RowQuery{}), []modelstore.Row{MakeRow(1), next})
}

// rowRoundTrip proves that every field of a row is returned unchanged, including the bits of NaN.
func rowRoundTrip(t *testing.T, p Place) {
	s := open(t, p)
	replayed, bare, other := MakeRow(1), MakeRow(4), MakeRow(3)
	replayed.Replayed = true
	odd := math.Float64frombits(0x7ff8_0000_dead_beef)
	replayed.Quantiles = []float64{odd, math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}
	bare.Queue, bare.Procs, bare.TimeLimit, bare.Method, bare.Levels, bare.Quantiles, bare.Reason, bare.Served = "", 0,
		0, "", nil, nil, "no history", 0
	bare.WaitSeconds = 86400.000000001
	other.Levels, other.Quantiles = []float64{.9}, []float64{1e9}
	other.Peers = []modelstore.Peer{{Method: "exact", Quantiles: []float64{math.Inf(1)}},
		{Method: "limits", Quantiles: []float64{5}}}
	other.Parts = &modelstore.Parts{BlockedSeconds: .1, Blocked: []float64{odd}, Eligible: []float64{math.Inf(1)},
		Settled: `\xWörter`}
	bare.Parts = &modelstore.Parts{BlockedSeconds: bare.WaitSeconds}
	commit(t, s, modelstore.Batch{Rows: []modelstore.Row{replayed, bare, other}})
	got := Rows(t, s, modelstore.RowQuery{})
	equal(t, "rows", got, []modelstore.Row{replayed, other, bare}) // in order of Seq
	for i, q := range got[0].Quantiles {
		if math.Float64bits(q) != math.Float64bits(replayed.Quantiles[i]) {
			t.Errorf("quantile %d came back as %x, was %x", i, math.Float64bits(q),
				math.Float64bits(replayed.Quantiles[i]))
		}
	}
	if q := got[1].Parts.Blocked[0]; math.Float64bits(q) != math.Float64bits(odd) {
		t.Errorf("the quantile of a part came back as %x, was %x", math.Float64bits(q), math.Float64bits(odd))
	}
}

// rowQueries compares the result of each condition of a query with the same selection, computed in Go.
func rowQueries(t *testing.T, p Place) {
	s := open(t, p)
	var all []modelstore.Row
	for seq := int64(1); seq <= 40; seq++ {
		r := MakeRow(seq)
		r.Cluster, r.Queue, r.Replayed = []string{"c", "d"}[seq%2], []string{"batch", "debug", "gpu"}[seq%3], seq%5 == 0
		r.Seq = (seq + 1) / 2 * 2 // two rows share a number
		all = append(all, r)
	}
	for _, r := range all[20:] { // the rows are not in order
		commit(t, s, modelstore.Batch{Rows: []modelstore.Row{r}})
	}
	commit(t, s, modelstore.Batch{Rows: all[:20]})
	at := Epoch().Add(17 * time.Second)
	for name, c := range map[string]struct {
		q    modelstore.RowQuery
		keep func(r *modelstore.Row) bool
	}{
		"all":     {modelstore.RowQuery{}, func(*modelstore.Row) bool { return true }},
		"cluster": {modelstore.RowQuery{Cluster: "d"}, func(r *modelstore.Row) bool { return r.Cluster == "d" }},
		"queue": {modelstore.RowQuery{Cluster: "c", Queue: "gpu"},
			func(r *modelstore.Row) bool { return r.Cluster == "c" && r.Queue == "gpu" }},
		"outcome": {modelstore.RowQuery{Outcome: modelstore.Cancelled},
			func(r *modelstore.Row) bool { return r.Start.IsZero() }},
		"since": {modelstore.RowQuery{Since: at}, func(r *modelstore.Row) bool { return !r.Closed().Before(at) }},
		"until": {modelstore.RowQuery{Until: at, Since: at.Add(-5 * time.Second)},
			func(r *modelstore.Row) bool { return r.WaitSeconds < 17 && r.WaitSeconds >= 12 }},
		"forever": {modelstore.RowQuery{Since: time.Unix(-1e15, 0), Until: time.Unix(1e15, 0)},
			func(*modelstore.Row) bool { return true }},
		"after": {modelstore.RowQuery{After: 30}, func(r *modelstore.Row) bool { return r.Seq > 30 }},
		"live":  {modelstore.RowQuery{LiveOnly: true}, func(r *modelstore.Row) bool { return !r.Replayed }},
		"none":  {modelstore.RowQuery{Cluster: "e"}, func(*modelstore.Row) bool { return false }},
	} {
		var want []modelstore.Row
		for i := range all {
			if c.keep(&all[i]) {
				want = append(want, all[i])
			}
		}
		equal(t, name, Rows(t, s, c.q), want)
		n, err := s.CountRows(background(), c.q)
		must(t, err)
		equal(t, name+" counted", n, int64(len(want)))
		c.q.Limit = 3
		equal(t, name+" limited", Rows(t, s, c.q), want[:min(3, len(want))])
		c.q.Newest = true
		slices.Reverse(want)
		equal(t, name+" newest", Rows(t, s, c.q), want[:min(3, len(want))])
		n, err = s.CountRows(background(), c.q)
		must(t, err)
		equal(t, name+" counted with a limit", n, int64(min(3, len(want))))
	}
}

// rowClosed returns the row that the entry seq closed at an instant.
func rowClosed(seq int64, at time.Time) modelstore.Row {
	r := MakeRow(seq)
	r.Submit, r.Start, r.Outcome, r.WaitSeconds, r.Parts = at.Add(-time.Second), at, modelstore.Started, 1, nil
	return r
}

// rowsOfManyMonths uses a ledger of thirty years, with rows close to the first instant that can be stored, at the last
// one, and at the ends of months. It proves that one row of each key is kept whatever its month, that a query for a
// range of closing times finds the right rows, and that pruning is exact to the instant.
func rowsOfManyMonths(t *testing.T, p Place) {
	s := open(t, p)
	turn := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	instants := []time.Time{modelstore.MinTime().Add(time.Second), turn.Add(-1), turn, turn.Add(1),
		turn.AddDate(0, 0, 17), modelstore.MaxTime()}
	for i := range 360 {
		instants = append(instants, time.Date(1996, time.Month(1+i), 15, 0, 0, 0, i, time.UTC))
	}
	var all []modelstore.Row
	for i, at := range instants {
		all = append(all, rowClosed(int64(i+1), at))
	}
	commit(t, s, modelstore.Batch{Rows: all[100:]})
	again := rowClosed(300, turn.AddDate(1, 0, 0)) // the job has a row in another month
	commit(t, s, modelstore.Batch{Rows: append([]modelstore.Row{again}, all[:100]...)})
	equal(t, "rows", Rows(t, s, modelstore.RowQuery{}), all)
	since, until := turn, turn.AddDate(0, 0, 17)
	in := func(from, to time.Time) (rows []modelstore.Row) {
		for i, at := range instants {
			if !at.Before(from) && at.Before(to) {
				rows = append(rows, all[i])
			}
		}
		return rows
	}
	equal(t, "rows of a month", Rows(t, s, modelstore.RowQuery{Since: since, Until: until}), in(since, until))
	keys, err := s.Known(background(), "c", all[0].JobID)
	must(t, err)
	equal(t, "known of the oldest", len(keys), 2)
	end := modelstore.MaxTime()
	for _, before := range []time.Time{turn.AddDate(-10, 0, 3), turn.Add(1), turn.Add(1), until.Add(1)} {
		want := int64(len(Rows(t, s, modelstore.RowQuery{Until: before})))
		deleted, err := s.PruneRows(background(), before)
		must(t, err)
		equal(t, "deleted", deleted, want)
		equal(t, "left", Rows(t, s, modelstore.RowQuery{Until: end}), in(before, end))
	}
	commit(t, s, modelstore.Batch{Rows: all[:5]}) // older than the pruned rows
	equal(t, "rows again", len(Rows(t, s, modelstore.RowQuery{Until: until.Add(1)})), 5)
}

// everything returns a batch with values of every kind.
func everything() modelstore.Batch {
	return modelstore.Batch{
		Entries: MakeEntries(1, 700), Rows: []modelstore.Row{MakeRow(1), MakeRow(2)}, Snapshot: MakeSnapshot(700),
		Checkpoints: []modelstore.Checkpoint{{Source: "a", Data: []byte("1")}},
		BadLines:    []modelstore.BadLine{{At: Epoch(), Reason: "field"}},
		Models:      []modelstore.SavedModel{MakeModel("m", 650, 1)},
	}
}

// failureLeavesNothing proves that one value that cannot be stored makes the whole batch fail, whatever its kind and
// even if it is the last.
func failureLeavesNothing(t *testing.T, p Place) {
	s := open(t, p)
	entry := func(change func(*modelstore.Entry)) func(*modelstore.Batch) {
		return func(b *modelstore.Batch) { change(&b.Entries[699]) }
	}
	row := func(change func(*modelstore.Row)) func(*modelstore.Batch) {
		return func(b *modelstore.Batch) { change(&b.Rows[1]) }
	}
	for name, spoil := range map[string]func(*modelstore.Batch){
		"kind":              entry(func(e *modelstore.Entry) { e.Event.Kind = 0 }),
		"kind high":         entry(func(e *modelstore.Entry) { e.Event.Kind = job.Machine + 1 }),
		"cluster":           entry(func(e *modelstore.Entry) { e.Event.Cluster = "" }),
		"id":                entry(func(e *modelstore.Entry) { e.Event.ID = "12\x00" }),
		"id text":           entry(func(e *modelstore.Entry) { e.Event.ID = "12\xff" }),
		"source":            entry(func(e *modelstore.Entry) { e.Source = "\xff" }),
		"attempt":           entry(func(e *modelstore.Entry) { e.Event.Attempt = -1 }),
		"no time":           entry(func(e *modelstore.Entry) { e.Event.Time = time.Time{} }),
		"time late":         entry(func(e *modelstore.Entry) { e.Event.Time = modelstore.MaxTime().Add(1) }),
		"end early":         entry(func(e *modelstore.Entry) { e.Event.Times.End = modelstore.MinTime().Add(-1) }),
		"row number":        row(func(r *modelstore.Row) { r.Seq = 0 }),
		"row cluster":       row(func(r *modelstore.Row) { r.Cluster = "" }),
		"row job":           row(func(r *modelstore.Row) { r.JobID = "" }),
		"row attempt":       row(func(r *modelstore.Row) { r.Attempt = -1 }),
		"row submit":        row(func(r *modelstore.Row) { r.Submit = time.Time{} }),
		"row outcome":       row(func(r *modelstore.Row) { r.Outcome = "lost" }),
		"row not started":   row(func(r *modelstore.Row) { r.Start = time.Time{} }),
		"row started":       row(func(r *modelstore.Row) { r.Outcome = modelstore.Cancelled }),
		"row wait NaN":      row(func(r *modelstore.Row) { r.WaitSeconds = math.NaN() }),
		"row wait infinite": row(func(r *modelstore.Row) { r.WaitSeconds = math.Inf(1) }),
		"row wait long":     row(func(r *modelstore.Row) { r.WaitSeconds = 1e12 }),
		"row wait negative": row(func(r *modelstore.Row) { r.WaitSeconds = -1 }),
		"row quantiles":     row(func(r *modelstore.Row) { r.Quantiles = r.Quantiles[1:] }),
		"peer unnamed":      row(func(r *modelstore.Row) { r.Peers = []modelstore.Peer{{Quantiles: r.Quantiles}} }),
		"peer quantiles": row(func(r *modelstore.Row) {
			r.Peers = []modelstore.Peer{{Method: "qbets", Quantiles: r.Quantiles[1:]}}
		}),
		"peer twice": row(func(r *modelstore.Row) {
			r.Peers = []modelstore.Peer{{Method: "qbets", Quantiles: r.Quantiles},
				{Method: "qbets", Quantiles: r.Quantiles}}
		}),
		"blocked longer than the wait": row(func(r *modelstore.Row) { r.Parts.BlockedSeconds = r.WaitSeconds + 1 }),
		"blocked NaN":                  row(func(r *modelstore.Row) { r.Parts.BlockedSeconds = math.NaN() }),
		"one part":                     row(func(r *modelstore.Row) { r.Parts.Eligible = nil }),
		"quantiles of parts": row(func(r *modelstore.Row) {
			r.Parts.Blocked, r.Parts.Eligible = r.Quantiles[1:], r.Quantiles[1:]
		}),
		"snapshot ahead": func(b *modelstore.Batch) { b.Snapshot.Seq = 701 },
		"snapshot name":  func(b *modelstore.Batch) { b.Snapshot.Parts[""] = nil },
		"snapshot time":  func(b *modelstore.Batch) { b.Snapshot.At = time.Time{} },
	} {
		b := everything()
		spoil(&b)
		err := s.Commit(background(), b)
		if e := wantError[*modelstore.InvalidError](t, err); e.What == "" || e.Field == "" || e.Problem == "" {
			t.Errorf("%s: error %v lacks a part", name, e)
		}
		checkNothing(t, s)
	}
	commit(t, s, everything())
	equal(t, "journal", Entries(t, s), MakeEntries(1, 700))
}

// countdown is a context that is cancelled after it was checked n times, so that a Commit is cancelled at the same
// place in every run.
type countdown struct {
	context.Context
	n int
}

func (c *countdown) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

// cancelLeavesNothing proves that a Commit that is cancelled at any place where it checks its context stores nothing.
// It also proves that Commit checks its context while it works.
func cancelLeavesNothing(t *testing.T, p Place) {
	s := open(t, p)
	for looks := 0; ; looks++ {
		err := s.Commit(&countdown{Context: background(), n: looks}, everything())
		if err == nil {
			if looks < 4 {
				t.Fatalf("a commit of 700 entries looks at its context only %d times", looks)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("canceled commit gave %v", err)
		}
		checkNothing(t, s)
	}
	equal(t, "journal", Entries(t, s), MakeEntries(1, 700))
}

// badLines proves that the newest bad lines are kept, newest first, and that long texts and messages are cut.
func badLines(t *testing.T, p Place) {
	s := open(t, p)
	long := strings.Repeat("ü", modelstore.MaxBadLineText)
	var lines []modelstore.BadLine
	for i := range 3 * BadLineLimit {
		lines = append(lines, modelstore.BadLine{At: Epoch().Add(time.Duration(i)), Source: "s", Path: "/var/log/acct",
			Line: int64(i + 1), Reason: "field", Message: fmt.Sprint("bad ", i), Text: []byte{byte(i), 0xff, 0}})
	}
	commit(t, s, modelstore.Batch{BadLines: lines[:BadLineLimit-1]})
	for i := BadLineLimit - 1; i < 2*BadLineLimit; i++ {
		commit(t, s, modelstore.Batch{BadLines: lines[i : i+1]})
	}
	commit(t, s, modelstore.Batch{BadLines: lines[2*BadLineLimit:]})
	got, err := s.BadLines(background(), 0)
	must(t, err)
	want := slices.Clone(lines[2*BadLineLimit:])
	slices.Reverse(want)
	equal(t, "bad lines", got, want)
	ever, err := s.CountBadLines(background())
	must(t, err)
	equal(t, "bad lines ever", ever, int64(len(lines)))
	got, err = s.BadLines(background(), 5)
	must(t, err)
	equal(t, "five bad lines", got, want[:5])

	commit(t, s,
		modelstore.Batch{BadLines: []modelstore.BadLine{{Message: long + "x", Text: bytes.Repeat([]byte{7}, 5000)}}})
	got, err = s.BadLines(background(), 1)
	must(t, err)
	if len(got[0].Text) != modelstore.MaxBadLineText || len(got[0].Message) != modelstore.MaxBadLineText {
		t.Errorf("kept %d bytes of text, %d of message", len(got[0].Text), len(got[0].Message))
	}
}
