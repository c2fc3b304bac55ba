package markov_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/markov"
)

// steps returns a chain of the states 1, 2, 4, ... that starts in the first and always goes from the state with the
// index i to the one with the index to[i].
func steps(to ...int) markov.Chain {
	c := markov.Chain{Max: 1 << 30}
	for i, j := range to {
		row := make([]float64, len(to))
		row[j] = 1
		c.States = append(c.States, 1<<i)
		c.Counts = append(c.Counts, 0)
		c.Quality = append(c.Quality, 1)
		c.Transitions = append(c.Transitions, row)
	}
	c.Counts[0] = 1
	return c
}

func generator(t testing.TB, c *markov.Chains, seed uint64) *markov.Generator {
	t.Helper()
	g, err := markov.NewGenerator(c, rand.New(rand.NewPCG(seed, 1)))
	must(t, err)
	return g
}

// TestRules proves the three rules of sec. 4.2. A correlation of 0 or 1, and chains without a choice, make each rule
// certain. The adjusted state is fed back, rounded and clamped. Each sequence follows from the rules by hand.
func TestRules(t *testing.T) {
	cycle := func() markov.Chain { return steps(1, 2, 3, 0) }
	opposite := func() markov.Chain { return steps(2, 3, 0, 1) } // the state changes in every step
	for _, c := range []struct {
		name   string
		chains markov.Chains
		want   []int // processors
	}{
		{"rule 1: processors stay", markov.Chains{Procs: steps(0, 1), Runtime: cycle(), Cor0: 1, Cor1: 1},
			[]int{1, 1, 1, 1, 1}},
		{"rule 2 without correlation", markov.Chains{Procs: steps(1, 0), Runtime: steps(0), Cor1: 1},
			[]int{1, 2, 1, 2, 1}},
		// n (a/b) = 1 * 2/1 = state 2, whatever the chain's next state is.
		{"rule 2", markov.Chains{Procs: steps(1, 0), Runtime: steps(0), Cor0: 1}, []int{1, 2, 2, 2, 2}},
		{"rule 2, negative correlation", markov.Chains{Procs: steps(1, 0), Runtime: steps(0), Cor0: -1},
			[]int{1, 2, 1, 2, 1}},
		// n (a/b) = 1 * 3/2 is rounded to state 2. From there the chain goes to state 3, which is adjusted to 2 again.
		{"rule 2, rounded", markov.Chains{Procs: steps(1, 2, 0), Runtime: steps(0, 0), Cor0: 1}, []int{1, 2, 2, 2}},
		{"rule 3 without correlation", markov.Chains{Procs: opposite(), Runtime: cycle(), Cor0: 1},
			[]int{1, 4, 1, 4, 1}},
		// The processors follow the runtime's changes +1 +1 +1 -3.
		{"rule 3", markov.Chains{Procs: opposite(), Runtime: cycle(), Cor1: 1}, []int{1, 2, 4, 8, 1, 2, 4, 8, 1}},
		// The changes are -1 (clamped at state 1) three times, then +3.
		{"rule 3, negative", markov.Chains{Procs: opposite(), Runtime: cycle(), Cor1: -1},
			[]int{1, 1, 1, 1, 8, 4, 2, 1, 8}},
		// a/b = 3/2: 1 + 1.5 is rounded to state 3, 3 - 1.5 to state 2, 2 + 1.5 to 4 and clamped to 3.
		{"rule 3, rounded", markov.Chains{Procs: steps(1, 0, 0), Runtime: steps(1, 0), Cor1: 1}, []int{1, 4, 2, 4, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := generator(t, &c.chains, 1)
			var got []int
			for range c.want {
				p, _ := g.Next()
				got = append(got, p)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("processors %v, want %v", got, c.want)
			}
		})
	}
}

// TestVariants proves the variants in the same way. 1 * 3/2 is state 1 rounded down and state 2 rounded up. Without
// feedback the chain continues from its own state.
func TestVariants(t *testing.T) {
	rule2 := markov.Chains{Procs: steps(1, 2, 0), Runtime: steps(0, 0), Cor0: 1}
	for name, c := range map[string]struct {
		option markov.Option
		want   []int
	}{
		"down":             {markov.WithRounding(markov.Down), []int{1, 1, 1, 1, 1}},
		"up":               {markov.WithRounding(markov.Up), []int{1, 2, 2, 2, 2}},
		"without feedback": {markov.WithoutFeedback(), []int{1, 2, 2, 2, 2}},
		"without rules":    {markov.WithoutRules(), []int{1, 2, 4, 1, 2}},
	} {
		g, err := markov.NewGenerator(&rule2, rand.New(rand.NewPCG(1, 1)), c.option)
		must(t, err)
		var got []int
		for range c.want {
			p, _ := g.Next()
			got = append(got, p)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: processors %v, want %v", name, got, c.want)
		}
	}
	// A cor0 of -1 never adjusts by the paper's wording, and always adjusts by its magnitude.
	negative := rule2
	negative.Cor0 = -1
	for want, options := range map[string][]markov.Option{
		"1 2 4 1 2": nil, "1 2 2 2 2": {markov.WithMagnitudeOfCor0()},
	} {
		g, err := markov.NewGenerator(&negative, rand.New(rand.NewPCG(1, 1)), options...)
		must(t, err)
		var got []int
		for range 5 {
			p, _ := g.Next()
			got = append(got, p)
		}
		if text := strings.Trim(fmt.Sprint(got), "[]"); text != want {
			t.Errorf("cor0 -1: processors %s, want %s", text, want)
		}
	}
	// The adjusted state is 4 of 4 both ways. With feedback the chain stays there. Without feedback it is always in
	// state 1 or 2.
	stay := markov.Chains{Procs: steps(1, 1, 2, 3), Runtime: steps(0), Cor0: 1}
	g, err := markov.NewGenerator(&stay, rand.New(rand.NewPCG(1, 1)), markov.WithoutFeedback())
	must(t, err)
	var got []int
	for range 4 {
		p, _ := g.Next()
		got = append(got, p)
	}
	// 1 * 4/1 = state 4, and then the chain stays in its own state 2.
	if want := []int{1, 8, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("without feedback: %v, want %v", got, want)
	}
}

// TestRecorded proves that recorded submit times come in their order, whatever the chains draw in between, and then
// end.
func TestRecorded(t *testing.T) {
	g, next := generator(t, &markov.Chains{Procs: steps(1, 0), Runtime: steps(0)}, 1),
		markov.Recorded([]float64{3, 5, 5})
	type drawn struct {
		submit  float64
		procs   int
		runtime float64
	}
	var got []drawn
	for at, ok := next(); ok; at, ok = next() {
		procs, runtime := g.Next()
		got = append(got, drawn{at, procs, runtime})
	}
	if want := []drawn{{3, 1, 1}, {5, 2, 1}, {5, 1, 1}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestQualityRatio proves that a state's value is the power of two with probability c_j, and otherwise uniform from
// that power to the next one, cut at the largest value.
func TestQualityRatio(t *testing.T) {
	runtime := steps(0)
	runtime.States[0], runtime.Quality[0] = 1024, 0.4
	procs := steps(0)
	procs.States[0], procs.Quality[0], procs.Max = 64, 0, 99
	g := generator(t, &markov.Chains{Procs: procs, Runtime: runtime}, 5)
	const n = 20000
	exact := 0
	var rest, sizes []float64
	for range n {
		p, r := g.Next()
		if r == 1024 {
			exact++
		} else {
			rest = append(rest, r)
		}
		sizes = append(sizes, float64(p))
	}
	near(t, "share of exact powers", float64(exact)/n, 0.4, 0.012) // 3.5 standard errors; 1 in 1024 of the others
	near(t, "mean of the others", stat.Mean(rest, nil), 1536, 10)
	if lo, hi := slices.Min(rest), slices.Max(rest); lo < 1025 || lo > 1030 || hi > 2047 || hi < 2042 {
		t.Errorf("runtimes %v to %v, want 1025 to 2047", lo, hi)
	}
	if lo, hi := slices.Min(sizes), slices.Max(sizes); lo != 64 || hi != 99 {
		t.Errorf("processors %v to %v, want 64 to 99", lo, hi)
	}
}

func TestGeneratorNeedsJobs(t *testing.T) {
	if _, err := markov.NewGenerator(newModel(t, 0).Chains(), rand.New(rand.NewPCG(1, 1))); !errors.Is(err,
		markov.ErrEmpty) {
		t.Errorf("generator of an empty model: %v", err)
	}
}

// TestDrawnJobsLieInStates proves for any learnt chains that drawn jobs lie in the learnt states and within the largest
// values, and that the same seed draws the same jobs.
func TestDrawnJobsLieInStates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		m, back := newModel(t, 0), newModel(t, 0)
		var h history
		for range rapid.IntRange(1, 60).Draw(rt, "jobs") {
			j := h.jobs[h.add(rng, 'e')]
			must(t, m.Append(j.procs, j.runtime))
		}
		c := m.Chains()
		a, b := generator(t, c, 3), generator(t, c, 3)
		for range 200 {
			p, r := a.Next()
			if p2, r2 := b.Next(); p != p2 || r != r2 {
				rt.Fatalf("same seed, %d %v and %d %v", p, r, p2, r2)
			}
			must(t, back.Append(p, r))
		}
		for _, x := range [][2]markov.Chain{{back.Chains().Procs, c.Procs}, {back.Chains().Runtime, c.Runtime}} {
			for _, s := range x[0].States {
				if !slices.Contains(x[1].States, s) || x[0].Max > x[1].Max {
					rt.Fatalf("drawn %+v from %+v", x[0], x[1])
				}
			}
		}
	})
}

// TestDrawnSharesAreStationary proves that without correlation the two chains follow their matrices: in the long run
// the states' shares are the stationary ones.
func TestDrawnSharesAreStationary(t *testing.T) {
	m := newModel(t, 0)
	for _, j := range randomJobs(3000) {
		must(t, m.Append(j.procs, j.runtime))
	}
	c := m.Chains()
	c.Cor0, c.Cor1 = 0, 0
	g := generator(t, c, 11)
	drawn := newModel(t, 0)
	const n = 200000
	for range n {
		p, r := g.Next()
		must(t, drawn.Append(p, r))
	}
	got := drawn.Chains().Procs
	for i, share := range c.Procs.Stationary() {
		near(t, "share of a state", got.Counts[i]/n, share, 0.006)
	}
}

func BenchmarkNext(b *testing.B) {
	m := newModel(b, 0)
	for _, j := range randomJobs(1 << 14) {
		must(b, m.Append(j.procs, j.runtime))
	}
	g := generator(b, m.Chains(), 1)
	b.ReportAllocs()
	for b.Loop() {
		g.Next()
	}
}
