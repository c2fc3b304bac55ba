package correction

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/coverage"
)

// TestStepsByHand proves that what a job earns at each level follows the package comment during and after the wait. The
// values for the levels 0.5 and 0.9, served as 100 s and 1,000 s, were computed by hand: at 100 s the level 0.9 has
// earned -(1 - .9) .5/(1 - .5) if the job still waits.
func TestStepsByHand(t *testing.T) {
	const started, cancelled = 's', 'c'
	for _, c := range []struct {
		name     string
		what     rune
		at, now  float64
		d50, d90 float64
	}{
		{"starts at once, not looked at before 100 s", started, 0, 100, 0, 0},
		{"starts at once", started, 0, 101, .5, .1},
		{"starts at the very quantile", started, 100, 101, .5, .1},
		{"starts in the second stretch", started, 500, 1001, -.5, .1},
		{"starts late", started, 2000, 2000, -.5, -.9},
		{"waits past the median", 0, 0, 101, -.5, -.1},
		{"waits past both", 0, 0, 1001, -.5, -.9},
		{"cancelled late", cancelled, 2000, 2000, 0, 0},
		{"cancelled between", cancelled, 400, 1001, 0, 0},
		{"cancelled between, not looked at before 1000 s", cancelled, 400, 1000, -.5, -.1},
		{"cancelled at once", cancelled, 0, 101, 0, 0},
	} {
		cal := mustNew(t, Config{Levels: []float64{.5, .9}})
		q := []float64{100, 1000}
		cal.Watch(1, 0, Job{}, q, q)
		switch c.what {
		case started:
			cal.Started(1, c.at)
		case cancelled:
			cal.Cancelled(1, c.at)
		}
		cal.Advance(c.now)
		for l, want := range []float64{c.d50, c.d90} {
			if got := -cal.cells[0].Shifts[l] / step(0, 1); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: level %d earned %.4f, want %.4f", c.name, l, got, want)
			}
		}
	}
}

// TestZeroCannotFall proves that starts at once leave levels that are served as 0 alone, and that later starts raise
// them.
func TestZeroCannotFall(t *testing.T) {
	c := mustNew(t, Config{})
	raw, out := make([]float64, 6), make([]float64, 6)
	for i := range int64(1000) {
		c.Correct(Job{}, raw, out)
		c.Watch(i, float64(i), Job{}, raw, out)
		c.Started(i, float64(i))
	}
	if c.Correct(Job{}, raw, out); out[5] != 0 || c.cells[0].Shifts[0] != 0 {
		t.Errorf("served %v after 1,000 starts at once, with the shifts %v", out, c.cells[0].Shifts)
	}
	for i := range int64(100) {
		at := float64(2000 + 1000*i)
		c.Correct(Job{}, raw, out)
		c.Watch(i, at, Job{}, raw, out)
		c.Started(i, at+30)
	}
	if c.Correct(Job{}, raw, out); !(out[5] > 1) {
		t.Errorf("served %v after 100 starts after 30 s", out)
	}
}

// TestCrowds proves that the outcomes of jobs that are undecided together count less, and that a single job counts in
// full.
func TestCrowds(t *testing.T) {
	c := mustNew(t, Config{Levels: []float64{.5}})
	q := []float64{10}
	const jobs = 41
	for i := range int64(jobs) {
		c.Watch(i, 0, Job{User: "u"}, q, q)
	}
	if first, last := c.jobs.byID[0].Weights, c.jobs.byID[jobs-1].Weights; first[0] != 1 ||
		last[0] != 1/math.Sqrt(5) || last[3] != last[0] {
		t.Errorf("the first job has the weights %v, the last %v", first, last)
	}
	c.Advance(11)
	if x := c.cells[0]; x.Open != 0 || x.Crowd != jobs {
		t.Errorf("%v jobs are open, the crowd was %v", x.Open, x.Crowd)
	}
}

// TestBound proves the bound of the package comment for arbitrary forecasts and waits, one job at a time.
func TestBound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const p = .9
		c := mustNew(t, Config{Levels: []float64{p}})
		earned, decided := 0.0, 0.0
		c.Observe(func(_ string, by float64, done bool) {
			earned += by * math.Sqrt(p*(1-p))
			if done {
				decided++
			}
		})
		// no level falls to 0 or rises to its limit, where outcomes change nothing
		forecast, seconds := rapid.SampledFrom([]float64{600, 3600}), rapid.SampledFrom([]float64{30, 600, 1800})
		name := rapid.SampledFrom([]string{"", "a", "b"})
		farthest := 0.0
		raw, out := make([]float64, 1), make([]float64, 1)
		n := rapid.IntRange(1, 300).Draw(rt, "jobs")
		for i := range int64(n) {
			of := Job{Queue: name.Draw(rt, "queue"), User: name.Draw(rt, "user")}
			at := 1e6 * float64(i)
			raw[0] = forecast.Draw(rt, "raw")
			c.Correct(of, raw, out)
			c.Watch(i, at, of, raw, out)
			c.Started(i, at+seconds.Draw(rt, "wait"))
			c.Advance(at + 9e5)
			farthest = max(farthest, math.Abs(c.cells[0].Shifts[0]))
		}
		if decided != float64(n) {
			rt.Fatalf("%v of %d jobs are decided", decided, n)
		}
		if bound := 2 * farthest / (decided * step(0, decided)); math.Abs(earned)/decided > bound+1e-9 {
			rt.Fatalf("the coverage is off by %v, the bound is %v", earned/decided, bound)
		}
	})
}

// TestSharpQueue proves that a queue whose jobs start within a second gets short quantiles, although all forecasts are
// those of a queue with waits of an hour, and that the other queue keeps its own.
func TestSharpQueue(t *testing.T) {
	c := mustNew(t, Config{})
	law := distuv.LogNormal{Mu: 8, Sigma: 1}
	rng := rand.New(rand.NewPCG(4, 5))
	raw, out := make([]float64, 6), make([]float64, 6)
	for l, p := range levels() {
		raw[l] = law.Quantile(p)
	}
	var todo agenda
	for i := range int64(20000) {
		now := 600 * float64(i)
		todo.until(now, c)
		of, wait := Job{Queue: "batch"}, law.Quantile(rng.Float64())
		if i%2 == 0 {
			of, wait = Job{Queue: "interactive"}, math.Floor(2*rng.Float64())
		}
		c.Correct(of, raw, out)
		c.Watch(i, now, of, raw, out)
		todo.add(ending{at: now + wait, id: i})
	}
	c.Correct(Job{Queue: "interactive"}, raw, out)
	if out[5] > raw[5]/5 {
		t.Errorf("the sharp queue is served %.0f s at 0.95, the forecast was %.0f s", out[5], raw[5])
	}
	c.Correct(Job{Queue: "batch"}, raw, out)
	if out[5] < raw[5]/2 || out[5] > raw[5]*2 {
		t.Errorf("the other queue is served %.0f s at 0.95, the forecast was %.0f s", out[5], raw[5])
	}
}

// forecaster returns the raw forecast for job i at level p, in seconds.
type forecaster func(i int, w *world, p float64) float64

// serve runs n jobs through a correction and returns the coverage of the raw forecasts and of the served ones.
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
		c.Correct(Job{}, w.raw, w.served)
		if !c.Watch(int64(i), w.now, Job{}, w.raw, w.served) {
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
		c.Correct(Job{}, w.raw, w.served)
		c.Watch(int64(i), w.now, Job{}, w.raw, w.served)
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
// restored Correction continues like the one that was saved.
func TestAnyInputAndRestore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := mustNew(t, Config{Levels: []float64{.25, .5, .9}, MaxPending: 8})
		number := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -5, 0, .3, 1, 59, 61, 3600, 1e9,
			math.MaxFloat64})
		group := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"})
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			raw := []float64{number.Draw(rt, "a"), number.Draw(rt, "b"), number.Draw(rt, "c")}
			of := Job{Queue: group.Draw(rt, "queue"), User: group.Draw(rt, "user")}
			out := make([]float64, 3)
			if !c.Correct(of, raw, out) || !(out[0] >= 0) || !slices.IsSorted(out) || !(out[2] <= MaxWait) {
				rt.Fatalf("%v of %v is served as %v", raw, of, out)
			}
			id, at := rapid.Int64Range(0, 12).Draw(rt, "id"), number.Draw(rt, "at")
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0, 1:
				c.Watch(id, at, of, raw, raw)
			case 2:
				c.Started(id, at)
			case 3:
				c.Cancelled(id, at)
			case 4:
				c = restored(rt, c)
			}
			if c.Pending() > 8 {
				rt.Fatalf("%d pending: not bounded", c.Pending())
			}
		}
	})
}

func restored(t *rapid.T, c *Correction) *Correction {
	var out Correction
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

func watching(t testing.TB) *Correction {
	c := mustNew(t, Config{})
	q := []float64{1, 2, 3, 4, 5, 6}
	c.Watch(1, 0, Job{Queue: "a", User: "u"}, q, q)
	c.Watch(2, 3, Job{}, q, q)
	return c
}

// FuzzUnmarshal proves that damaged fields give an error or a Correction that serves numbers, and never a panic.
func FuzzUnmarshal(f *testing.F) {
	data, err := watching(f).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	codectest.Fuzz(f, data, func() codec.Savable { return new(Correction) }, func(t *testing.T, v codec.Savable) {
		c := v.(*Correction)
		n := len(c.cfg.Levels)
		raw, out := make([]float64, n), make([]float64, n)
		c.Started(1, 10)
		c.Advance(1e6)
		if c.Correct(Job{Queue: "a"}, raw, out); !(out[0] >= 0) {
			t.Fatalf("serves %v", out)
		}
	})
}
