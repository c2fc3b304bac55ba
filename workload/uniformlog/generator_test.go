package uniformlog_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/workload/uniformlog"
)

// TestGenerator proves that classes are drawn by their weights, that a fit to drawn lifetimes finds their law again,
// and that a limit holds.
func TestGenerator(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	classes := []uniformlog.Class{
		{Name: "none", Model: paragon}, {Name: "short", Weight: 3, Model: uniformlog.Model{B0: -.569, B1: .222}},
		{Name: "long", Weight: 1, Model: paragon, Limit: 3600},
	}
	g, err := uniformlog.NewGenerator(rng, classes...)
	if err != nil {
		t.Fatal(err)
	}
	const n = 100_000
	lifetimes := make([][]float64, len(classes))
	atLimit := 0
	for range n {
		c, seconds := g.Next()
		lifetimes[c] = append(lifetimes[c], seconds)
		if seconds > 3600 && c == 2 {
			t.Fatalf("%v s beyond the limit", seconds)
		}
		if seconds == 3600 {
			atLimit++
		}
	}
	near(t, "share of class short", float64(len(lifetimes[1]))/n, .75, .006) // 4.5 standard errors
	near(t, "share of class none", float64(len(lifetimes[0])), 0, 0)
	near(t, "share at the limit", float64(atLimit)/float64(len(lifetimes[2])), paragon.Survival(3600), .014)
	f, err := uniformlog.FitValues(lifetimes[1])
	if err != nil {
		t.Fatal(err)
	}
	near(t, "b0", f.B0, -.569, .01)
	near(t, "b1", f.B1, .222, .002)
}

func TestGeneratorRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for want, classes := range map[string][]uniformlog.Class{
		"no class": nil, "above 0 to draw": {{Model: paragon}},
		`"x"): weight -1`: {{Name: "x", Weight: -1, Model: paragon}}, "no distribution": {{Weight: 1}},
		"limit -1": {{Weight: 1, Model: paragon, Limit: -1}},
	} {
		if _, err := uniformlog.NewGenerator(rng, classes...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func BenchmarkGenerator(b *testing.B) {
	g, err := uniformlog.NewGenerator(rand.New(rand.NewPCG(1, 1)), uniformlog.Class{Weight: 1, Model: paragon},
		uniformlog.Class{Weight: 2, Model: paragon})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		g.Next()
	}
}
