package accuracy

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// life is a job of a simulated log. leave is the time at which the job starts or is cancelled, later than all other
// times if neither happens.
type life struct {
	submit, leave int
	started       bool
	forecast      Waiting
}

func lives(rng *rand.Rand, n int) []life {
	var out []life
	for range n {
		l := life{submit: rng.IntN(4000), started: rng.IntN(3) > 0, leave: math.MaxInt}
		if rng.IntN(10) > 0 {
			l.leave = l.submit + int(300*rng.ExpFloat64()*float64(rng.IntN(3)))
		}
		l.forecast = Waiting{Queue: []string{"a", "b"}[rng.IntN(2)], Procs: []int{1, 4, 100}[rng.IntN(3)],
			Submit: sec(l.submit), Replayed: rng.IntN(4) == 0}
		q := 0.
		for range waittime.Levels() {
			q += 150 * rng.ExpFloat64() * float64(rng.IntN(2))
			l.forecast.Quantiles = append(l.forecast.Quantiles, q)
		}
		if rng.IntN(10) == 0 {
			l.forecast.Quantiles[5] = waittime.Never
		}
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b life) int { return a.submit - b.submit })
	return out
}

// play passes the events of jobs to d in the order of a log, up to the instant upTo, which stays open, and returns the
// decisions. If again is not nil, they are saved and restored whenever again returns true.
func play(t *rapid.T, d *Decisions, jobs []life, upTo int, again func() bool) *Decisions {
	numbers := make([]uint64, len(jobs))
	for now := 0; now <= upTo; now++ {
		d.Advance(sec(now))
		for i := range jobs {
			if jobs[i].submit == now {
				numbers[i] = d.Follow(&jobs[i].forecast)
			}
		}
		for i, j := range jobs {
			if j.leave == now {
				d.Close(numbers[i], float64(j.leave-j.submit), j.started, j.forecast.Quantiles)
			}
		}
		if again == nil || !again() {
			continue
		}
		data, err := json.Marshal(d)
		var saved Decisions
		if err == nil {
			err = json.Unmarshal(data, &saved)
		}
		if err == nil {
			d, err = saved.Restored()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// oracle returns the counts that Decisions must have as of an instant. It computes them from the full list of jobs,
// level by level.
func oracle(jobs []life, asOf int) (map[Key]*DecidedCounts, map[string]*NewestDecided) {
	counts, newest := map[Key]*DecidedCounts{}, map[string]*NewestDecided{}
	for _, j := range jobs {
		if j.submit > asOf {
			continue
		}
		for l, q := range j.forecast.Quantiles {
			if q == waittime.Never {
				q = 365 * 86400
			}
			due, wait := j.submit+int(math.Ceil(q)), float64(j.leave-j.submit)
			if due > asOf {
				continue
			}
			var o coverage.Outcome
			age := wait
			switch {
			case j.leave > due:
				o, age = coverage.Missed, math.Ceil(q)
			case !j.started:
				o = coverage.Censored
			case wait < math.Floor(q):
				o = coverage.Below
			default:
				o = coverage.Tied
			}
			key := Key{Queue: j.forecast.Queue, Size: waittime.SizeClass(j.forecast.Procs)}
			made := 0
			if j.forecast.Replayed {
				made = 1
			}
			if counts[key] == nil {
				counts[key] = NewDecidedCounts()
			}
			counts[key].add(made, l, o)
			if newest[key.Queue] == nil {
				newest[key.Queue] = SumNewest(nil)
			}
			newest[key.Queue][made][l].Add(o, age)
		}
	}
	return counts, newest
}

// TestDecisionsAgreeWithTheList proves that at a random instant the running counts equal those from the full list of
// jobs, no matter how often the decisions were saved and restored.
func TestDecisionsAgreeWithTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		jobs := lives(rng, rapid.IntRange(0, 80).Draw(t, "jobs"))
		asOf := rng.IntN(6000)
		straight := play(t, NewDecisions(), jobs, asOf, nil)
		cut := play(t, NewDecisions(), jobs, asOf, func() bool { return rng.IntN(500) == 0 })
		counts, newest := oracle(jobs, asOf)
		got := straight.AsOf(sec(asOf))
		if d := cmp.Diff(counts, got.Counts, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("counts (-want +got): %s", d)
		}
		if d := cmp.Diff(newest, got.Newest, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("newest (-want +got): %s", d)
		}
		if d := cmp.Diff(got, cut.AsOf(sec(asOf)), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("saved and restored (-straight +cut): %s", d)
		}
		a, errA := json.Marshal(straight)
		b, errB := json.Marshal(cut)
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Fatalf("saved: %s\n%s", a, b)
		}
	})
}

// TestDecisionsNewest proves that AsOf changes nothing, that later events do not change its result, and that the
// windows have the newest 901 to 1000 decided forecasts.
func TestDecisionsNewest(t *testing.T) {
	d := NewDecisions()
	six := []float64{10, 10, 10, 10, 10, 10}
	first := d.AsOf(sec(0))
	for i := range 2500 {
		d.Advance(sec(i))
		n := d.Follow(&Waiting{Queue: "a", Procs: 1, Submit: sec(i), Quantiles: six})
		if i >= 1500 { // the older ones wait forever
			d.Close(n, 0, true, six)
		}
		if i%97 != 0 {
			continue
		}
		snapshot := d.AsOf(sec(i))
		if i < 10 {
			continue
		}
		counts := snapshot.Newest["a"][0][2].Counts()
		decided := int64(i - 9)
		if n := counts.Decided(); n < min(decided, 901) || n > min(decided, 1001) {
			t.Fatalf("after %d decided the window has %d", decided, n)
		}
		if all := snapshot.Counts[Key{"a", "1"}][0][2].Decided(); all != decided {
			t.Fatalf("%d decided, want %d", all, decided)
		}
	}
	if c := d.AsOf(sec(2499)).Newest["a"][0][2].Counts(); c.Missed != 0 || c.Below < 901 {
		t.Errorf("the newest are %+v, want those that started", c)
	}
	if len(first.Counts)+len(first.Newest) != 0 {
		t.Errorf("an old snapshot has changed: %+v", first)
	}
}

// TestDecisionsAreBounded proves that forecasts beyond maxFollowed are not followed but counted in Unfollowed, and that
// the followed forecasts stay.
func TestDecisionsAreBounded(t *testing.T) {
	d := NewDecisions()
	six := []float64{10, 10, 10, 10, 10, 10}
	for range maxFollowed {
		d.Follow(&Waiting{Queue: "a", Procs: 1, Submit: sec(0), Quantiles: six})
	}
	if n := d.Follow(&Waiting{Queue: "a", Procs: 1, Submit: sec(0), Quantiles: six}); n != 0 || d.Unfollowed != 1 {
		t.Fatalf("number %d, %d not followed", n, d.Unfollowed)
	}
	d.Close(0, 5, true, six)
	d.Advance(sec(11))
	if got := d.AsOf(sec(11)); got.Followed != 0 || got.Counts[Key{"a", "1"}][0][0].Missed != maxFollowed {
		t.Errorf("%d are followed still, %+v", got.Followed, got.Counts)
	}
}

// TestDecisionsOfAJobWhoseSizeComesLate covers a job that gets new quantiles because its size becomes known at its
// start. It proves that the levels that are still open are decided by the new quantiles, and that a forecast without
// new quantiles is no longer followed.
func TestDecisionsOfAJobWhoseSizeComesLate(t *testing.T) {
	d := NewDecisions()
	n := d.Follow(&Waiting{Queue: "a", Submit: sec(0), Quantiles: []float64{50, 60, 70, 80, 90, 100}})
	gone := d.Follow(&Waiting{Queue: "a", Submit: sec(0), Quantiles: []float64{50, 60, 70, 80, 90, 100}})
	d.Advance(sec(75))
	d.Update(n, "b", 100)
	d.Close(n, 76, true, []float64{5, 6, 7, 8, 76, 77})
	d.Close(gone, 76, true, nil)
	d.Advance(sec(100))
	got := d.AsOf(sec(100))
	if c := got.Counts[Key{"b", "65-512"}]; got.Followed != 0 || c[0][3].Missed != 1 || c[0][4].Tied != 1 ||
		c[0][5].Below != 1 || got.Counts[Key{"a", "1"}][0][2].Missed != 2 {
		t.Errorf("%+v", got)
	}
}

// TestDecisionsRestored proves that decisions saved by an older program are read, and that damaged ones are refused.
func TestDecisionsRestored(t *testing.T) {
	var none *Decisions
	if d, err := none.Restored(); err != nil || d.Follow(&Waiting{Submit: time.Now(), Quantiles: []float64{1}}) != 1 {
		t.Errorf("without any: %v", err)
	}
	for _, text := range []string{
		`{"followed":{"1":null},"next":2}`, `{"followed":{"2":{"quantiles":[1,2,3,4,5,6]}},"next":2}`,
		`{"followed":{"1":{"quantiles":[1]}},"next":2}`, `{"counts":{"1 a":[[],[]]},"next":1}`,
		`{"newest":{"a":null},"next":1}`, `{"newest":{"a":[[],[]]},"next":1}`,
	} {
		var d Decisions
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Restored(); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
