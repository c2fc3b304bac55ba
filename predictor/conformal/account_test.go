package conformal

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/coverage"
)

// TestAccountsByHand proves that the account of each level follows the package comment during and after the wait. The
// values for the levels 0.5 and 0.9, served as 100 s and 1,000 s, were computed by hand.
func TestAccountsByHand(t *testing.T) {
	const started, cancelled = 's', 'c'
	half := .5 * math.Log(160./60) / math.Log(160./60) // at 100 s the whole probability .5 has passed
	for _, c := range []struct {
		name     string
		keep     float64
		what     rune
		at, now  float64
		d50, d90 float64
	}{
		{"starts at once, not looked at before 100 s", 1, started, 0, 100, 0, 0},
		{"starts at once", 1, started, 0, 101, .5, .1},
		{"starts in the second stretch", 1, started, 500, 1001, -.5, .1},
		{"starts late", 1, started, 2000, 2000, -.5, -.9},
		{"waits past the median", 1, 0, 0, 101, -.5, -.1 * half / (1 - half)},
		{"waits past both", 1, 0, 0, 1001, -.5, -.9},
		{"cancelled late", 1, cancelled, 2000, 2000, -.5, -.9},
		{"cancelled late, taken back", 0, cancelled, 2000, 2000, 0, 0},
		{"cancelled at 100 s counts as waited so long", 1, cancelled, 100, 101, -.5, -.1},
		{"cancelled at 400 s", 1, cancelled, 400, 1001, -.5, censored400},
		{"cancelled at once", 1, cancelled, 0, 101, 0, 0},
		{"tie at the median is no step, and a hit of the other", 1, started, 100, 101, 0, .1},
	} {
		cal := mustNew(t, Config{Levels: []float64{.5, .9}, Memory: 1e300, KeepCancelled: c.keep})
		q := []float64{100, 1000}
		cal.Watch(1, 0, nil, q, q)
		switch c.what {
		case started:
			cal.Started(1, c.at)
		case cancelled:
			cal.Cancelled(1, c.at)
		}
		cal.Advance(c.now)
		for l, want := range []float64{c.d50, c.d90} {
			if got := -cal.Shift(nil, l); math.Abs(got-want*cal.rate(l, 0)) > .01*cal.rate(l, 0) {
				t.Errorf("%s: level %d earned %.4f, want %.4f", c.name, l, got/cal.rate(l, 0), want)
			}
		}
	}
}

// censored400 is D (see the package comment) of level .9 for a job that is cancelled at 400 s. Of the probability .4
// between 100 and 1,000 s the part ln(460/160)/ln(1060/160) = .5585 has passed. So F = .7234 has passed in all, and D =
// -.1 F/(1-F).
const censored400 = -.2615

// forecaster returns the raw forecast for job i at level p, in seconds.
type forecaster func(i int, w *world, p float64) float64

// serve runs n jobs through a calibrator and returns the coverage of the raw forecasts and of the served ones.
func serve(t *testing.T, w *world, n int, patience float64, say forecaster) (raw, served coverage.Report) {
	t.Helper()
	c := mustNew(t, Config{})
	scores := [2]*coverage.Score{}
	for i := range scores {
		s, err := coverage.New(coverage.Config{Levels: levels()})
		if err != nil {
			t.Fatal(err)
		}
		scores[i] = s
	}
	var todo agenda
	for i := range n {
		w.next()
		todo.until(w.now, c)
		for l, p := range levels() {
			w.raw[l] = say(i, w, p)
		}
		groups := []string{"short"}
		if w.raw[2] > 60 {
			groups[0] = "long"
		}
		c.Correct(groups, w.raw, w.served)
		if !c.Watch(int64(i), w.now, groups, w.raw, w.served) {
			t.Fatalf("job %d is not followed", i)
		}
		wait := w.wait()
		if until := w.rng.ExpFloat64() * patience; patience > 0 && until < wait {
			todo.add(ending{at: w.now + until, id: int64(i), cancel: true})
			continue
		}
		todo.add(ending{at: w.now + wait, id: int64(i)})
		if i < n/10 {
			continue
		}
		for k, q := range [][]float64{w.raw, w.served} {
			if err := scores[k].Add(w.now, wait, q); err != nil {
				t.Fatal(err)
			}
		}
	}
	return scores[0].Report(), scores[1].Report()
}

// TestServedForecastsCover proves that wrong forecasts are corrected until they cover their levels, in bursts and with
// late outcomes. They are biased, too narrow, wrong in the opposite direction after a change, or judged by other jobs
// than those that start. Uncorrected, each of them fails.
func TestServedForecastsCover(t *testing.T) {
	for _, c := range []struct {
		name     string
		atom     float64
		patience float64
		say      forecaster
	}{
		{"three times too short", 0, 0, func(_ int, w *world, p float64) float64 { return w.quantile(p) / 3 }},
		{"three times too long, with atoms", .4, 0, func(_ int, w *world, p float64) float64 {
			return w.quantile(p) * 3
		}},
		{"too sure", .2, 0, func(_ int, w *world, p float64) float64 { return w.quantile(.5 + (p-.5)*.8) }},
		{"wrong the other way round after half", 0, 0, func(i int, w *world, p float64) float64 {
			if i < 20000 {
				return w.quantile(p) * 2.5
			}
			return w.quantile(p) / 2.5
		}},
		{"says 0 where half wait", .5, 0, func(_ int, w *world, p float64) float64 {
			if p <= .75 {
				return 0
			}
			return w.quantile(p)
		}},
		{"many give up", 0, 6000, func(_ int, w *world, p float64) float64 { return w.quantile(p) }},
	} {
		w := newWorld(11)
		w.atom = c.atom
		raw, served := serve(t, w, 40000, c.patience, c.say)
		if raw.Pass {
			t.Errorf("%s: passes uncorrected: the test shows nothing", c.name)
		}
		if !served.Pass {
			t.Errorf("%s: all %+v\nlong %+v\nmonths %.3f", c.name, served.All, served.Long, served.Share)
		}
	}
}

// TestPerfectForecastIsLeftAlone proves that a perfect forecast of waits, most of which are 0, hardly changes. A
// forecast of an immediate start is served as 0, and the others move by less than a tenth of z in the mean.
func TestPerfectForecastIsLeftAlone(t *testing.T) {
	w := newWorld(5)
	w.atom = .7
	c := mustNew(t, Config{})
	var todo agenda
	moved, zeros, kept, n := 0.0, 0.0, 0.0, 0.0
	for i := range 40000 {
		w.next()
		todo.until(w.now, c)
		for l, p := range levels() {
			w.raw[l] = w.quantile(p)
		}
		c.Correct(nil, w.raw, w.served)
		c.Watch(int64(i), w.now, nil, w.raw, w.served)
		todo.add(ending{at: w.now + w.wait(), id: int64(i)})
		for l, q := range w.raw {
			if q == 0 {
				zeros++
				if w.served[l] == 0 {
					kept++
				}
				continue
			}
			n++
			moved += math.Abs(math.Log((w.served[l] + 60) / (q + 60)))
		}
	}
	if kept < .999*zeros || moved/n > .1 {
		t.Errorf("%.4f of the zeros kept, the rest moved by %.3f in the mean", kept/zeros, moved/n)
	}
}

// TestAnyInputAndRestore proves that for any input the served quantiles rise, are numbers and not below 0, and that a
// restored Calibrator continues like the one that was saved.
func TestAnyInputAndRestore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := mustNew(t,
			Config{Levels: []float64{.25, .5, .9}, MaxPending: 8, MaxGroups: 3, Rate: .5, KeepCancelled: .5})
		number := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -5, 0, .3, 1, 59, 61, 3600, 1e9,
			math.MaxFloat64})
		group := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"})
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			raw := []float64{number.Draw(rt, "a"), number.Draw(rt, "b"), number.Draw(rt, "c")}
			groups := []string{group.Draw(rt, "g"), group.Draw(rt, "h")}
			out := make([]float64, 3)
			if !c.Correct(groups, raw, out) || !(out[0] >= 0) || !slices.IsSorted(out) || !(out[2] <= MaxWait) {
				rt.Fatalf("%v in %v is served as %v", raw, groups, out)
			}
			id, at := rapid.Int64Range(0, 12).Draw(rt, "id"), number.Draw(rt, "at")
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0, 1:
				c.Watch(id, at, groups, raw, raw)
			case 2:
				c.Started(id, at)
			case 3:
				c.Cancelled(id, at)
			case 4:
				c = restored(rt, c)
			}
			if c.Pending() > 8 || len(c.accounts) > 4 {
				rt.Fatalf("%d pending, %d accounts: not bounded", c.Pending(), len(c.accounts))
			}
		}
	})
}

func restored(t *rapid.T, c *Calibrator) *Calibrator {
	var out Calibrator
	codectest.Transfer(t, c, &out)
	c.Advance(1e8)
	out.Advance(1e8)
	one, _ := c.MarshalBinary()
	two, _ := out.MarshalBinary()
	if !bytes.Equal(one, two) {
		t.Fatal("what was restored goes on otherwise")
	}
	return &out
}

// TestEnvelope proves that damaged saved state, and that of another version, is refused.
func TestEnvelope(t *testing.T) {
	data, err := watching(t).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	codectest.Check(t, data, func() codec.Savable { return mustNew(t, Config{}) })
}

func watching(t testing.TB) *Calibrator {
	c := mustNew(t, Config{})
	q := []float64{1, 2, 3, 4, 5, 6}
	c.Watch(1, 0, []string{"a"}, q, q)
	c.Watch(2, 3, nil, q, q)
	return c
}

// FuzzUnmarshal proves that damaged fields give an error or a Calibrator that serves numbers, and never a panic.
func FuzzUnmarshal(f *testing.F) {
	data, err := watching(f).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	codectest.Fuzz(f, data, func() codec.Savable { return new(Calibrator) }, func(t *testing.T, v codec.Savable) {
		c := v.(*Calibrator)
		n := len(c.cfg.Levels)
		raw, out := make([]float64, n), make([]float64, n)
		c.Started(1, 10)
		c.Advance(1e6)
		if c.Correct([]string{"a"}, raw, out); !(out[0] >= 0) {
			t.Fatalf("serves %v", out)
		}
	})
}

// TestHotPathDoesNotAllocate proves that the calls made for every job do not allocate once that many jobs have been
// pending.
func TestHotPathDoesNotAllocate(t *testing.T) {
	c := mustNew(t, Config{})
	step := stepper(c)
	for range 5000 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%g allocations for each job", n)
	}
}

// stepper returns a function that plays one job's life: corrected, watched, a start of an earlier job, time passing.
func stepper(c *Calibrator) func() {
	groups := []string{"long", "queue 1"}
	raw, out := []float64{0, 30, 600, 4000, 20000, 50000}, make([]float64, 6)
	id, now := int64(0), 0.0
	return func() {
		now += 30
		c.Correct(groups, raw, out)
		c.Watch(id, now, groups, raw, out)
		c.Started(id-100, now)
		id++
	}
}

func BenchmarkJob(b *testing.B) {
	step := stepper(mustNew(b, Config{}))
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
}
