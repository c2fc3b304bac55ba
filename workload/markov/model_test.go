package markov_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/markov"
)

func near(t testing.TB, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v within %v", what, got, want, tol)
	}
}

func newModel(t testing.TB, forget float64) *markov.Model {
	t.Helper()
	m, err := markov.New(forget)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ran is a job of a test's sequence. gap says that nothing pairs the job with its predecessor, because a job between
// them has not ended.
type ran struct {
	procs   int
	runtime float64
	gap     bool
}

// batch computes equations 1 to 11 directly over a sequence of jobs. A gap cuts the sequence.
func batch(jobs []ran) *markov.Chains {
	var n, r []int64
	for _, j := range jobs {
		n = append(n, int64(j.procs))
		r = append(r, max(int64(j.runtime), 1))
	}
	c := &markov.Chains{Jobs: uint64(len(jobs))}
	var u, v []float64
	c.Procs, u = batchChain(n, jobs)
	c.Runtime, v = batchChain(r, jobs)
	c.Cor0 = correlation(u, v)
	var du, dv []float64
	for i := 1; i < len(jobs); i++ {
		if jobs[i].gap {
			continue
		}
		c.Pairs++
		if u[i] != u[i-1] && v[i] != v[i-1] {
			du = append(du, u[i]-u[i-1])
			dv = append(dv, v[i]-v[i-1])
		}
	}
	c.Cor1 = correlation(du, dv)
	return c
}

// correlation returns gonum's correlation, and 0 if one side does not vary.
func correlation(x, y []float64) float64 {
	if len(x) == 0 || slices.Min(x) == slices.Max(x) || slices.Min(y) == slices.Max(y) {
		return 0
	}
	return stat.Correlation(x, y, nil)
}

// batchChain returns the chain of a series and the indices u_i of its states, from 1.
func batchChain(series []int64, jobs []ran) (c markov.Chain, u []float64) {
	power := func(t int64) int64 { return 1 << (bits.Len64(uint64(t)) - 1) }
	seen := map[int64]bool{}
	for _, t := range series {
		seen[power(t)] = true
		c.Max = max(c.Max, t)
	}
	for s := range seen {
		c.States = append(c.States, s)
	}
	slices.Sort(c.States)
	q := len(c.States)
	c.Counts = make([]float64, q)
	c.Quality = make([]float64, q)
	c.Transitions = make([][]float64, q)
	for i := range c.Transitions {
		c.Transitions[i] = make([]float64, q)
	}
	for i, t := range series {
		s := slices.Index(c.States, power(t))
		u = append(u, float64(s+1))
		c.Counts[s]++
		if t == c.States[s] {
			c.Quality[s]++
		}
		if i > 0 && !jobs[i].gap {
			c.Transitions[int(u[i-1])-1][s]++
		}
	}
	for i, row := range c.Transitions {
		c.Quality[i] /= c.Counts[i]
		var sum float64
		for _, w := range row {
			sum += w
		}
		for j := range row {
			if sum > 0 {
				row[j] /= sum
			} else {
				row[j] = c.Counts[j] / float64(len(series))
			}
		}
	}
	return c, u
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// compareChains compares chains up to rounding errors.
func compareChains(t fataler, got, want *markov.Chains) {
	t.Helper()
	if got.Jobs != want.Jobs || got.Pairs != want.Pairs {
		t.Fatalf("%d jobs, %d pairs, want %d, %d", got.Jobs, got.Pairs, want.Jobs, want.Pairs)
	}
	compareChain(t, "processors", got.Procs, want.Procs)
	compareChain(t, "runtime", got.Runtime, want.Runtime)
	if math.Abs(got.Cor0-want.Cor0) > 1e-9 || math.Abs(got.Cor1-want.Cor1) > 1e-9 {
		t.Fatalf("cor0 %v cor1 %v, want %v %v", got.Cor0, got.Cor1, want.Cor0, want.Cor1)
	}
}

func compareChain(t fataler, what string, got, want markov.Chain) {
	t.Helper()
	equal := func(a, b []float64) bool {
		return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(1, y) })
	}
	if !slices.Equal(got.States, want.States) || got.Max != want.Max || !equal(got.Counts, want.Counts) ||
		!equal(got.Quality, want.Quality) || !slices.EqualFunc(got.Transitions, want.Transitions, equal) {
		t.Fatalf("chain of %s:\n got %+v\nwant %+v", what, got, want)
	}
}

// TestPaperTable2 checks Table 2 of the paper: the sizes 2, 4, 6, 16 have the states 2, 4, 16, whose indices are 1, 2,
// 2, 3.
func TestPaperTable2(t *testing.T) {
	m := newModel(t, 0)
	for _, v := range []int{2, 4, 6, 16} {
		must(t, m.Append(v, float64(v)))
	}
	c := m.Chains()
	want := markov.Chain{
		States: []int64{2, 4, 16},
		Counts: []float64{1, 2, 1},
		// The transitions are 1-2, 2-2 and 2-3. State 3 has no successor and gets the shares of the states.
		Transitions: [][]float64{{0, 1, 0}, {0, 0.5, 0.5}, {0.25, 0.5, 0.25}},
		Quality:     []float64{1, 0.5, 1}, // 6 is not a power of two
		Max:         16,
	}
	compareChain(t, "processors", c.Procs, want)
	compareChain(t, "runtime", c.Runtime, want)
	near(t, "cor0 of a series with itself", c.Cor0, 1, 1e-12)
	near(t, "cor1 of changes that are all 1", c.Cor1, 0, 0) // the changes do not vary
}

// TestHandComputedCorrelations checks correlations that were computed by hand. The indices are 1 2 1 3 for processors
// and 1 2 2 1 for the runtime. Only the steps 1-2 and 1-3 of the processors go with a change of the runtime, (+1, +1)
// and (+2, -1): cor1 is -1. For cor0 the means are 7/4 and 3/2, and the covariance is -1/8.
func TestHandComputedCorrelations(t *testing.T) {
	m := newModel(t, 0)
	for _, j := range []ran{
		{procs: 1, runtime: 60}, {procs: 2, runtime: 100}, {procs: 1, runtime: 90}, {procs: 5, runtime: 33},
	} {
		must(t, m.Append(j.procs, j.runtime))
	}
	c := m.Chains()
	near(t, "cor1", c.Cor1, -1, 1e-12)
	// The sum of n r is 1+4+2+3 = 10, and 10/4 - 7/4 * 3/2 = -1/8. The variances are 15/4 - 49/16 = 11/16 and 10/4 -
	// 9/4 = 1/4.
	near(t, "cor0", c.Cor0, -0.125/math.Sqrt(11./16*0.25), 1e-12)
}

// TestPairsCountOnceBothEnded proves that a pair counts once both jobs have ended, in any order, and that the neighbors
// of a job that never ran become a pair.
func TestPairsCountOnceBothEnded(t *testing.T) {
	m := newModel(t, 0)
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		must(t, m.Submitted(key))
	}
	step := func(what string, err error, wantPairs uint64) {
		t.Helper()
		must(t, err)
		if got := m.Chains().Pairs; got != wantPairs {
			t.Fatalf("after %s: %d pairs, want %d", what, got, wantPairs)
		}
	}
	step("d's end", m.Ended("d", 8, 8), 0)
	step("b's end", m.Ended("b", 2, 2), 0)
	step("a's end", m.Ended("a", 1, 1), 1)
	step("c's giving up", m.NeverRan("c"), 2) // b-d
	step("e's giving up", m.NeverRan("e"), 2)
	step("f's arrival", m.Submitted("f"), 2)
	step("f's end", m.Ended("f", 16, 16), 3) // d-f
	step("g's appending", m.Append(1, 1), 4) // f-g
	compareChains(t, m.Chains(), batch([]ran{{procs: 1, runtime: 1}, {procs: 2, runtime: 2}, {procs: 8, runtime: 8},
		{procs: 16, runtime: 16}, {procs: 1, runtime: 1}}))
}

// TestRuntimeSeconds proves that runtimes count in whole seconds, rounded down, and below 1 s as 1 s.
func TestRuntimeSeconds(t *testing.T) {
	m := newModel(t, 0)
	for _, s := range []float64{0, 0.3, 1.9, 2.5, 3, 1023.9, 1024.5} {
		must(t, m.Append(1, s))
	}
	c := m.Chains().Runtime
	if !slices.Equal(c.States, []int64{1, 2, 512, 1024}) || !slices.Equal(c.Counts, []float64{3, 2, 1, 1}) ||
		!slices.Equal(c.Quality, []float64{1, 0.5, 0, 1}) || c.Max != 1024 {
		t.Errorf("%+v", c)
	}
}

func TestErrors(t *testing.T) {
	for _, forget := range []float64{-0.1, 1, 2, math.NaN(), math.Inf(1)} {
		if _, err := markov.New(forget); err == nil {
			t.Errorf("New(%v) is accepted", forget)
		}
	}
	m := newModel(t, 0)
	must(t, m.Submitted("a"))
	if err := m.Submitted("a"); !errors.Is(err, markov.ErrKnown) {
		t.Errorf("submitted twice: %v", err)
	}
	for _, bad := range []ran{{procs: 0, runtime: 1}, {procs: -1, runtime: 1}, {procs: markov.MaxValue, runtime: 1},
		{procs: 1, runtime: -1}, {procs: 1, runtime: math.NaN()}, {procs: 1, runtime: math.Inf(1)},
		{procs: 1, runtime: markov.MaxValue}} {
		if err := m.Ended("a", bad.procs, bad.runtime); !errors.Is(err, markov.ErrValue) {
			t.Errorf("ended with %+v: %v", bad, err)
		}
		if err := m.Append(bad.procs, bad.runtime); !errors.Is(err, markov.ErrValue) {
			t.Errorf("appended %+v: %v", bad, err)
		}
	}
	if m.Unresolved() != 1 || m.Chains().Jobs != 0 {
		t.Errorf("refused values changed the model: %d unresolved, %d jobs", m.Unresolved(), m.Chains().Jobs)
	}
	must(t, m.Ended("a", markov.MaxValue-1, markov.MaxValue-1))
	for what, err := range map[string]error{
		"ended twice": m.Ended("a", 1, 1), "ended, then given up": m.NeverRan("a"),
		"never submitted": m.Ended("b", 1, 1),
	} {
		if !errors.Is(err, markov.ErrUnknown) {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, m.Submitted("a")) // a key is free again
}

// history is a random life of jobs. The model gets its events in order, and the reference the resolved sequence.
type history struct {
	jobs []ran
	done []byte // by job: 0 open, 'e' ended, 'n' never ran
}

// sequence returns the jobs that ran, with a gap wherever a job between them is open.
func (h *history) sequence() []ran {
	var out []ran
	gap := false
	for i, j := range h.jobs {
		switch h.done[i] {
		case 0:
			gap = true
		case 'e':
			j.gap = gap
			out = append(out, j)
			gap = false
		}
	}
	return out
}

func (h *history) add(rng *rand.Rand, done byte) int {
	h.jobs = append(h.jobs, ran{procs: 1 + rng.IntN(1<<rng.IntN(8)), runtime: float64(rng.IntN(1<<rng.IntN(18)*4)) / 4})
	h.done = append(h.done, done)
	return len(h.jobs) - 1
}

func (h *history) open() []int {
	var out []int
	for i, d := range h.done {
		if d == 0 {
			out = append(out, i)
		}
	}
	return out
}

// step makes one random event, the same for each of the models.
func (h *history) step(t testing.TB, rng *rand.Rand, models ...*markov.Model) {
	open := h.open()
	event := rng.IntN(10)
	if len(open) == 0 && event > 4 {
		event = 0
	}
	var at int
	switch {
	case event <= 3:
		at = h.add(rng, 0)
	case event == 4:
		at = h.add(rng, 'e')
	default:
		at = open[rng.IntN(len(open))]
		h.done[at] = 'e'
		if event == 9 {
			h.done[at] = 'n'
		}
	}
	for _, m := range models {
		j, key := h.jobs[at], strconv.Itoa(at)
		switch {
		case event <= 3:
			must(t, m.Submitted(key))
		case event == 4:
			must(t, m.Append(j.procs, j.runtime))
		case event == 9:
			must(t, m.NeverRan(key))
		default:
			must(t, m.Ended(key, j.procs, j.runtime))
		}
	}
}

// TestAnyOrderGivesTheBatchCounts proves that the counts equal those of the resolved sequence. They do so for every
// order in which jobs end or are reported as never run.
func TestAnyOrderGivesTheBatchCounts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		steps := rapid.IntRange(0, 300).Draw(rt, "steps")
		m := newModel(t, 0)
		var h history
		for range steps {
			h.step(t, rng, m)
			if m.Unresolved() != len(h.open()) {
				rt.Fatalf("%d unresolved, want %d", m.Unresolved(), len(h.open()))
			}
		}
		compareChains(rt, m.Chains(), batch(h.sequence()))
	})
}

// TestForgetting proves that with forgetting the weight of a job is multiplied by 1 - forget for each job counted after
// it, and that a pair weighs as much as its later job. This also holds after the weights have been scaled down, and
// when one step passes the limit.
func TestForgetting(t *testing.T) {
	for _, forget := range []float64{0.001, 0.1, 0.5, 1 - 1e-15, math.Nextafter(1, 0)} {
		t.Run(fmt.Sprint(forget), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(9, 9))
			m := newModel(t, forget)
			var n, r, age []float64
			for range 2000 {
				// All states must occur, even in the last few jobs.
				n = append(n, float64(rng.IntN(2)))
				r = append(r, float64(rng.IntN(2)))
				must(t, m.Append(1<<int(n[len(n)-1]), 60*math.Pow(16, r[len(r)-1])))
			}
			for i := range n {
				age = append(age, math.Pow(1-forget, float64(len(n)-1-i)))
			}
			c := m.Chains()
			var counts [2]float64
			var next [2][2]float64
			for i := range n {
				counts[int(n[i])] += age[i]
				if i > 0 {
					next[int(n[i-1])][int(n[i])] += age[i]
				}
			}
			near(t, "weight of state 1", c.Procs.Counts[0], counts[0], 1e-9*counts[0])
			near(t, "weight of state 2", c.Procs.Counts[1], counts[1], 1e-9*counts[1])
			near(t, "p11", c.Procs.Transitions[0][0], next[0][0]/(next[0][0]+next[0][1]), 1e-9)
			near(t, "p21", c.Procs.Transitions[1][0], next[1][0]/(next[1][0]+next[1][1]), 1e-9)
			if forget < 0.5 {
				near(t, "cor0", c.Cor0, stat.Correlation(n, r, age), 1e-9)
			}
			if c.Jobs != 2000 || c.Pairs != 1999 {
				t.Errorf("%d jobs, %d pairs: numbers are not forgotten", c.Jobs, c.Pairs)
			}
		})
	}
}

// TestChainsAreImmutable proves that chains taken earlier do not change.
func TestChainsAreImmutable(t *testing.T) {
	m := newModel(t, 0)
	for i := range 20 {
		must(t, m.Append(1+i, float64(i*i)))
	}
	c := m.Chains()
	before, err := json.Marshal(c)
	must(t, err)
	for i := range 20 {
		must(t, m.Append(20-i, float64(i)))
	}
	if after, err := json.Marshal(c); err != nil || string(after) != string(before) {
		t.Errorf("chains changed: %s, were %s (%v)", after, before, err)
	}
}

func TestJSON(t *testing.T) {
	m := newModel(t, 0)
	const chain = `{"states":[],"counts":[],"transitions":[],"quality":[],"max":0}`
	got, err := json.Marshal(m.Chains())
	if want := `{"procs":` + chain + `,"runtime":` + chain + `,"cor0":0,"cor1":0,"jobs":0,"pairs":0}`; err != nil ||
		string(got) != want {
		t.Errorf("JSON %s (%v), want %s", got, err, want)
	}
}

func TestStationary(t *testing.T) {
	two := markov.Chain{States: []int64{1, 2}, Counts: []float64{1, 0}}
	two.Transitions = [][]float64{{0.9, 0.1}, {0.3, 0.7}} // 3/4 and 1/4 by the balance 0.1 x = 0.3 y
	got := two.Stationary()
	near(t, "share of state 1", got[0], 0.75, 1e-9)
	near(t, "share of state 2", got[1], 0.25, 1e-9)
	two.Transitions = [][]float64{{0, 1}, {1, 0}} // a periodic chain
	near(t, "share in a periodic chain", two.Stationary()[0], 0.5, 1e-9)
	two.Transitions = [][]float64{{1, 0}, {0, 1}} // a chain in two parts: the shares so far
	near(t, "share in a chain that falls apart", two.Stationary()[0], 1, 1e-9)
	if got := (&markov.Chain{}).Stationary(); got != nil {
		t.Errorf("stationary shares of nothing: %v", got)
	}
}

func randomJobs(n int) []ran {
	rng := rand.New(rand.NewPCG(1, 1))
	var h history
	for range n {
		h.add(rng, 'e')
	}
	return h.jobs
}

func BenchmarkAppend(b *testing.B) {
	for _, forget := range []float64{0, 0.001} {
		b.Run(fmt.Sprint("forget", forget), func(b *testing.B) {
			m, jobs := newModel(b, forget), randomJobs(1<<16)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				j := jobs[i&(1<<16-1)]
				if m.Append(j.procs, j.runtime) != nil {
					b.Fatal("refused")
				}
			}
		})
	}
}

// BenchmarkSubmittedEnded keeps 1,000 jobs unresolved, which end in a random order.
func BenchmarkSubmittedEnded(b *testing.B) {
	m, jobs := newModel(b, 0), randomJobs(1<<16)
	rng := rand.New(rand.NewPCG(1, 1))
	open := make([]string, 1000)
	for i := range open {
		open[i] = strconv.Itoa(i)
		must(b, m.Submitted(open[i]))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		j, at := jobs[i&(1<<16-1)], rng.IntN(len(open))
		if m.Ended(open[at], j.procs, j.runtime) != nil || m.Submitted(open[at]) != nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkChains(b *testing.B) {
	m := newModel(b, 0)
	for _, j := range randomJobs(1 << 16) {
		must(b, m.Append(j.procs, j.runtime))
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = m.Chains()
	}
}
