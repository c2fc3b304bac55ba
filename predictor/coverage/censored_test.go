package coverage

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestJudgeByHand proves that each kind of submission is judged by its definition, worked out by hand with a resolution
// of 1 s.
func TestJudgeByHand(t *testing.T) {
	never := math.Inf(1)
	for _, c := range []struct {
		name    string
		s       Submission
		q       float64
		outcome Outcome
		age     float64
	}{
		{"started early, q passed", Submission{100, 20, true}, 50, Below, 20},
		{"started early, q to come: would flatter", Submission{49, 20, true}, 50, Undecided, 0},
		{"started early, q passes now", Submission{50, 20, true}, 50, Below, 20},
		{"started at q", Submission{100, 50, true}, 50, Tied, 50},
		{"started at q, at this very instant", Submission{50, 50, true}, 50, Tied, 50},
		{"started within the second", Submission{100, 51, true}, 50.5, Tied, 51},
		{"q passed, its second has not", Submission{50.7, 20, true}, 50.5, Undecided, 0},
		{"started later", Submission{100, 51, true}, 50, Missed, 50},
		{"waits beyond q", Submission{100, never, false}, 50, Missed, 50},
		{"will start later than now", Submission{100, 120, true}, 50, Missed, 50},
		{"waits, q to come", Submission{49, never, false}, 50, Undecided, 0},
		{"will be cancelled later than now", Submission{49, 60, false}, 50, Undecided, 0},
		{"cancelled before q", Submission{100, 20, false}, 50, Censored, 20},
		{"cancelled before q, q to come", Submission{49, 20, false}, 50, Undecided, 0},
		{"cancelled at q", Submission{100, 50, false}, 50, Censored, 50},
		{"cancelled after q", Submission{100, 51, false}, 50, Missed, 50},
		{"atom: starts at once, q 0", Submission{0, 0, true}, 0, Tied, 0},
		{"atom: starts at once, q above 0", Submission{9, 0, true}, 3, Below, 0},
		{"atom: does not start at once, q 0", Submission{5, never, false}, 0, Missed, 0},
		{"q is never", Submission{1e9, 3, true}, never, Undecided, 0},
		{"no q", Submission{1e9, 3, true}, math.NaN(), Undecided, 0},
	} {
		if o, age := c.s.Judge(c.q, 1); o != c.outcome || age != c.age {
			t.Errorf("%s: outcome %d at %g s, want %d at %g s", c.name, o, age, c.outcome, c.age)
		}
	}
}

// TestIntervalByHand checks the weighted shares of a small table, worked out by hand. Of ten submissions one starts at
// 10 s, then one is cancelled at 20 s (9 at risk), two start at 40 s, two are cancelled at 80 s (6 at risk), and one
// starts at 160 s within its quantile's second. Three have not started when their quantile passes, at 320 s. G is 1,
// then 8/9, then 8/9 x 4/6.
func TestIntervalByHand(t *testing.T) {
	var h OutcomeHistogram
	add := func(n int, o Outcome, age float64) {
		for range n {
			h.Add(o, age)
		}
	}
	add(3, Missed, 320)
	add(1, Tied, 160)
	add(2, Censored, 80)
	add(2, Below, 40)
	add(1, Censored, 20)
	add(1, Below, 10)
	add(5, Undecided, 0)
	g1, g2 := 8./9, 8./9*4/6
	below, tied, missed := 1+2/g1, 1/g2, 3/g2
	all := below + tied + missed
	if math.Abs(all-10) > 1e-12 {
		t.Fatalf("the weights of this table sum up to %v, want the ten submissions", all)
	}
	want := Interval{below / all, (below + tied) / all}
	if got := h.Interval(); math.Abs(got.Low-want.Low) > 1e-12 || math.Abs(got.High-want.High) > 1e-12 {
		t.Errorf("weighted %v, want %v", got, want)
	}
	c := h.Counts()
	if d := cmp.Diff(OutcomeCounts{Below: 3, Tied: 1, Missed: 3, Censored: 3}, c); d != "" {
		t.Error(d)
	}
	if got := c.Interval(); got != (Interval{3. / 7, 4. / 7}) || c.Decided() != 10 || c.Known() != 7 || c.UpTo() != 4 {
		t.Errorf("unweighted %v of %+v, want 3/7 and 4/7", got, c)
	}
}

// TestIntervalAtItsEdges proves three special cases. Weights are bounded. If no outcome is known the interval is [0,
// 1]. If the last job of all is cancelled, no weight is undefined.
func TestIntervalAtItsEdges(t *testing.T) {
	var none OutcomeHistogram
	none.Add(Censored, 7)
	if got := none.Interval(); got != (Interval{0, 1}) {
		t.Errorf("of cancelled jobs only: %v, want [0, 1]", got)
	}
	var rare OutcomeHistogram // one in a hundred is not cancelled: it counts 20 times, not 100 times
	for range 99 {
		rare.Add(Censored, 10)
	}
	rare.Add(Missed, 1000)
	for range 20 {
		rare.Add(Below, 1)
	}
	if got := rare.Interval(); math.Abs(got.High-.5) > 1e-12 {
		t.Errorf("the share is %v, want 20 starts against one miss that counts 20 times", got.High)
	}
	last := OutcomeHistogram{}
	last.Add(Below, 1)
	last.Add(Censored, 1e9)
	if got := last.Interval(); got != (Interval{1, 1}) {
		t.Errorf("%v, want the one that is known", got)
	}
}

// listed is a job in a list, with one quantile.
type listed struct {
	submit, q, leave float64 // leave is +Inf if the job never leaves
	started          bool
}

// oracle returns the coverage by its definition, from the full list of jobs. It looks at every job, and each weight is
// a product over all cancellations before it.
func oracle(jobs []listed, asOf float64) (weighted, plain Interval, counts OutcomeCounts) {
	type known struct {
		class  uint8
		kind   int // 0: start, 1: cancellation, 2: miss; this is their order within a class
		lo, hi float64
	}
	var all []known
	for _, j := range jobs {
		up, down := math.Ceil(j.q), math.Floor(j.q)
		wait := j.leave - j.submit
		switch {
		case j.submit+up > asOf: // still to come
		case j.leave <= asOf && wait <= up && j.started:
			k := known{class: ageClass(wait), hi: 1}
			if wait < down {
				k.lo = 1
				counts.Below++
			} else {
				counts.Tied++
			}
			all = append(all, k)
		case j.leave <= asOf && wait <= up:
			all = append(all, known{class: ageClass(wait), kind: 1})
			counts.Censored++
		default:
			all = append(all, known{class: ageClass(up), kind: 2})
			counts.Missed++
		}
	}
	before := func(a, b known) bool { return a.class < b.class || a.class == b.class && a.kind < b.kind }
	var lo, hi, sum, low, high, n float64
	for _, k := range all {
		if k.kind == 1 {
			continue
		}
		g := 1.0
		for class := range 256 { // Kaplan and Meier: the product over the classes with cancellations before k
			cancelled, atRisk := 0., 0.
			here := known{class: uint8(class), kind: 1}
			for _, o := range all {
				if o.class == here.class && o.kind == 1 {
					cancelled++
				}
				if !before(o, here) {
					atRisk++
				}
			}
			if cancelled > 0 && before(here, k) {
				g *= 1 - cancelled/atRisk
			}
		}
		w := 1 / math.Max(g, .05)
		lo, hi, sum = lo+w*k.lo, hi+w*k.hi, sum+w
		low, high, n = low+k.lo, high+k.hi, n+1
	}
	if n == 0 {
		return Interval{0, 1}, Interval{0, 1}, counts
	}
	return Interval{lo / sum, hi / sum}, Interval{low / n, high / n}, counts
}

// TestHistogramAgreesWithTheList proves that at random instants the histogram agrees with a computation from the full
// list of jobs, even if it is merged from parts that were saved and restored.
func TestHistogramAgreesWithTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		jobs := make([]listed, rapid.IntRange(0, 60).Draw(t, "jobs"))
		for i := range jobs {
			j := listed{submit: math.Floor(rng.Float64() * 5000), leave: math.Inf(1), started: rng.IntN(3) > 0}
			j.q = rng.ExpFloat64() * 300 * float64(rng.IntN(4)) // a quarter of the quantiles is 0
			if rng.IntN(2) > 0 {
				j.q = math.Round(j.q)
			}
			if rng.IntN(8) > 0 {
				j.leave = j.submit + math.Floor(rng.ExpFloat64()*300*float64(rng.IntN(3)))
			}
			jobs[i] = j
		}
		asOf := math.Floor(rng.Float64() * 7000)
		var whole OutcomeHistogram
		parts := make([]OutcomeHistogram, 3)
		for i, j := range jobs {
			if j.submit > asOf {
				continue
			}
			o, age := Submission{Age: asOf - j.submit, Waited: j.leave - j.submit, Started: j.started}.Judge(j.q, 1)
			parts[i%3].Add(o, age)
		}
		for i := range parts {
			data, err := json.Marshal(&parts[i])
			var back OutcomeHistogram
			if err != nil || json.Unmarshal(data, &back) != nil || back.Check() != nil {
				t.Fatalf("%s does not come back", data)
			}
			whole.Merge(&back)
		}
		jobs = slices.DeleteFunc(jobs, func(j listed) bool { return j.submit > asOf })
		weighted, plain, counts := oracle(jobs, asOf)
		if d := cmp.Diff(counts, whole.Counts()); d != "" {
			t.Fatalf("counts (-want +got): %s", d)
		}
		if got := whole.Counts().Interval(); got != plain {
			t.Fatalf("unweighted %v, want %v", got, plain)
		}
		got := whole.Interval()
		if math.Abs(got.Low-weighted.Low) > 1e-9 || math.Abs(got.High-weighted.High) > 1e-9 {
			t.Fatalf("weighted %v, want %v", got, weighted)
		}
		if counts.Censored == 0 && (math.Abs(got.Low-plain.Low) > 1e-12 || math.Abs(got.High-plain.High) > 1e-12) {
			t.Fatalf("nobody was cancelled, and %v differs from %v", got, plain)
		}
	})
}

// TestHistogramCheckAndClone proves that a damaged histogram is noticed, and that a clone is independent.
func TestHistogramCheckAndClone(t *testing.T) {
	bad := OutcomeHistogram{Ages: []AgeCount{{Class: 4}, {Class: 4}}}
	if bad.Check() == nil {
		t.Error("two counts of one class are taken")
	}
	var a OutcomeHistogram
	a.Add(Below, 3)
	b := a.Clone()
	b.Add(Below, 3)
	if a.Counts().Below != 1 || b.Counts().Below != 2 {
		t.Errorf("%+v and its copy %+v", a, b)
	}
}
