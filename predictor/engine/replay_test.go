package engine

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// replayed passes events to an engine under a plan, and returns the forecasts.
func replayed(e *Engine, all []happening, plan Replay, after func(i int)) []Forecast {
	var out []Forecast
	e.BeginReplay(plan)
	for i, h := range all {
		if f := h.tell(e); h.kind == submitted {
			out = append(out, f)
		}
		if after != nil {
			after(i)
		}
	}
	return out
}

func stateOf(t *testing.T, e *Engine) []byte {
	t.Helper()
	data, err := e.MarshalBinary()
	check(t, err)
	return data
}

// TestReplayOfFewIsExact proves that a plan changes nothing, to the last bit, if all its submissions are followed in
// full.
func TestReplayOfFewIsExact(t *testing.T) {
	const submissions = 700
	all := happenings(3, submissions)
	plain, e := quick(t, Config{}), quick(t, Config{})
	var want []Forecast
	for _, h := range all {
		if f := h.tell(plain); h.kind == submitted {
			want = append(want, f)
		}
	}
	got := replayed(e, all, Replay{Submissions: submissions, Newest: submissions}, nil)
	for i := range want {
		if !same(want[i], got[i]) {
			t.Fatalf("submission %d: %+v without a plan, %+v with one", i, want[i], got[i])
		}
	}
	if e.Replaying() {
		t.Error("it has a plan")
	}
	if e.EndReplay(); !bytes.Equal(stateOf(t, plain), stateOf(t, e)) {
		t.Error("the engines are not the same")
	}
}

// TestReplayIsDeterministic saves and restores an engine at random events, which also cuts trainings short. It proves
// that this changes neither a forecast nor a byte of the saved state, within a plan, at its end and after it.
func TestReplayIsDeterministic(t *testing.T) {
	submissions := sized(900, 1500)
	all := happenings(4, submissions)
	in := 2 * submissions // events within the plan
	plan := Replay{Submissions: submissions * 3 / 5, Newest: submissions / 5, Older: submissions / 8}
	plain, e := quick(t, Config{First: 60}), quick(t, Config{First: 60})
	rng := rand.New(rand.NewPCG(1, 2))
	training := 0
	restore := func() {
		if rng.IntN(25) > 0 && e.learner.Next == nil {
			return
		}
		if e.learner.Next != nil {
			training++
		}
		fresh := quick(t, Config{First: 60})
		check(t, fresh.UnmarshalBinary(stateOf(t, e)))
		e.Close()
		e = fresh
	}
	plain.BeginReplay(plan)
	e.BeginReplay(plan)
	restore()
	for i, h := range all {
		if i == in {
			plain.EndReplay()
			e.EndReplay()
		}
		want, got := h.tell(plain), h.tell(e)
		if !same(want, got) {
			t.Fatalf("event %d: %+v, and after restores %+v", i, want, got)
		}
		if restore(); i == in-1 || i == in {
			if !bytes.Equal(stateOf(t, plain), stateOf(t, e)) {
				t.Fatalf("event %d: the states are not the same", i)
			}
		}
	}
	if !bytes.Equal(stateOf(t, plain), stateOf(t, e)) {
		t.Error("the states are not the same")
	}
	if training < 3 || plain.withoutRow < submissions/5 {
		t.Fatalf("%d restores while trees were trained, %d waits without a row: too few", training, plain.withoutRow)
	}
}

// facts returns the saved bytes of everything that an engine learns without forecasts.
func facts(t *testing.T, e *Engine) []byte {
	t.Helper()
	s := &codec.Codec{}
	e.tracker.CodeQueues(s)
	e.tracker.CodeUsers(s)
	e.tracker.Past.Code(s)
	e.tracker.Laws.Code(s)
	e.pools.CodePools(s)
	e.pools.Gates.Code(s)
	return s.Writer
}

// TestReplayLearnsFactsFromAll proves that within a plan queues, users, lifetimes, arrivals, pools and the histories of
// waits are as in an exact replay, byte for byte. Only the newest jobs have forecasts. Except for the simulation, the
// rows for training are rows of the exact replay, in its order, and as many as requested, within four standard
// deviations.
func TestReplayLearnsFactsFromAll(t *testing.T) {
	const submissions, newest, older = 2000, 300, 400
	all := happenings(6, submissions)
	plain, e := quick(t, Config{}), quick(t, Config{})
	for _, h := range all {
		h.tell(plain)
	}
	forecasts := replayed(e, all, Replay{Submissions: submissions, Newest: newest, Older: older}, nil)
	if len(forecasts) != submissions || !e.Replaying() {
		t.Fatalf("%d submissions, plan %v", len(forecasts), e.Replaying())
	}
	if !bytes.Equal(facts(t, plain), facts(t, e)) {
		t.Error("the facts are not those of an exact replay")
	}
	for i, f := range forecasts {
		known := len(f.Experts) > 0 && f.Quantiles != nil
		if known != (i >= submissions-newest) || !known && (f.Experts != nil || f.Combined != nil || f.Basis != "") {
			t.Fatalf("submission %d of %d, of which %d have forecasts: %+v", i, submissions, newest, f)
		}
	}
	if n := e.learnt(); n != plain.learner.Seen || n != e.View(math.Inf(1)).learnt || e.Stats().Learnt != n {
		t.Errorf("%d waits learnt, %d in an exact replay", n, plain.learner.Seen)
	}
	at, rows, exact := 0, e.learner.Rows.Len(), plain.learner.Rows.Len()
	for k := range rows {
		row := e.learner.Rows.Row(k, nil)
		for at < exact && !sameRow(e.features, plain.learner.Rows.Row(at, nil), row) {
			at++
		}
		if at == exact {
			t.Fatalf("row %d of %d is none of an exact replay", k, rows)
		}
		at++
	}
	waits, part := float64(exact)/submissions, older/float64(submissions-newest)
	want := waits * (newest + older)
	off := float64(rows) - want
	if math.Abs(off) > 4*math.Sqrt(older*(1-part)+submissions*waits*(1-waits)) {
		t.Errorf("%d rows, want about %.0f", rows, want)
	}
}

// sameRow reports whether two rows are the same, except for two kinds of features: those of simulations, which have
// fewer futures in a plan, and those that follow from the fitted priority, which is learnt from fewer jobs.
func sameRow(f *features, a, b []float32) bool {
	for i, name := range f.names {
		same := a[i] == b[i] || a[i] != a[i] && b[i] != b[i]
		if !same && !strings.HasPrefix(name, "simulated_") && name != "order_fitted" && name != "plan" {
			return false
		}
	}
	return len(a) == len(f.names) && len(b) == len(f.names)
}

// TestEndReplayTrains proves that a plan ends with trees trained on all rows, and that without a plan nothing happens.
func TestEndReplayTrains(t *testing.T) {
	e := quick(t, Config{First: 60})
	all := happenings(7, 900)
	replayed(e, all, Replay{Submissions: 900, Newest: 200, Older: 200}, nil)
	trainings := e.Stats().Trainings
	e.EndReplay()
	s := e.Stats()
	if s.TreesBehind != 0 || e.learner.Record.From != e.learner.Seen || s.Trainings <= trainings || e.Replaying() {
		t.Errorf("after the plan the trees are %d waits behind, %d trainings after %d", s.TreesBehind, s.Trainings,
			trainings)
	}
	before := stateOf(t, e)
	if e.EndReplay(); !bytes.Equal(before, stateOf(t, e)) {
		t.Error("another end changes the engine")
	}
}

// TestReplaySample proves how much is learnt from a submission, by its place in a plan. Everything is learnt from all
// of the newest submissions, from further ones, and without a plan. The sample has the requested number of the older
// submissions, within four standard deviations. It has none whose rows would have been forgotten in an exact replay.
func TestReplaySample(t *testing.T) {
	const submissions, newest, older = 300_000, 5_000, 9_000
	e := quick(t, Config{})
	e.BeginReplay(Replay{Submissions: submissions, Newest: newest, Older: older})
	var seen [factsOnly + 1]int
	for i := range submissions + 10 {
		what, first := e.replay.next()
		switch {
		case (what == full) != (i >= submissions-newest), first != (i == submissions-newest):
			t.Fatalf("submission %d: %v, first %v", i, what, first)
		case what == rowOnly && i < submissions-e.cfg.Rows:
			t.Fatalf("submission %d is in the sample, an exact replay would have forgotten its row", i)
		}
		seen[what]++
	}
	part := older / float64(e.cfg.Rows-newest)
	if off := math.Abs(float64(seen[rowOnly] - older)); off > 4*math.Sqrt(older*(1-part)) {
		t.Errorf("%d in the sample, want about %d", seen[rowOnly], older)
	}
	e.EndReplay()
	if what, first := e.replay.next(); what != full || first {
		t.Errorf("without a plan a submission is %v, first %v", what, first)
	}
}

// TestReplayOfLargePools proves that tables of a large pool are made only when a row needs them, and are then
// available.
func TestReplayOfLargePools(t *testing.T) {
	e, clock := crowd(t, Config{First: 450})
	made := e.Stats().Simulations
	e.BeginReplay(Replay{Submissions: 2000, Newest: 10, Older: 60})
	median, rows := slices.Index(e.features.names, "simulated_median"), 0
	for i := range 1000 {
		clock += 20
		id := uint64(1e6 + i)
		e.Submit(clock, id, track.Request{Queue: "long", User: "u3", Procs: 1 + i%40, Limit: 600})
		j := e.tracker.Jobs[id]
		if j.FactsOnly {
			continue
		}
		rows++
		if v := j.Pending.Row[median]; v != v {
			t.Fatalf("submission %d has a row without a simulation", i)
		}
	}
	if n := e.Stats().Simulations - made; rows < 10 || n == 0 || n > rows+1 { // one was being made
		t.Errorf("%d simulations for %d rows", n, rows)
	}
}
