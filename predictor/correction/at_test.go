package correction

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAt proves that the result of At corrects like a whole copy brought to the instant, that it does not change when
// the original learns more, and that the original is not changed by it.
func TestAt(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	cfg := Config{Levels: []float64{.1, .5, .9}}
	c, plain := mustNew(t, cfg), mustNew(t, cfg)
	moved := 0
	var old *Correction
	oldRaw, oldOut := make([]float64, 3), make([]float64, 3)
	clock := 0.0
	for id := range int64(600) {
		clock += rng.ExpFloat64() * 10
		of := Job{Queue: []string{"a", "b"}[rng.IntN(2)], User: []string{"u", "v", ""}[rng.IntN(3)]}
		raw := []float64{float64(rng.IntN(2)) * 5, 100, 400}
		out := make([]float64, 3)
		c.Correct(of, raw, out)
		for _, x := range []*Correction{c, plain} {
			x.Watch(id, clock, of, raw, out)
		}
		other, what := rng.Int64N(id+1), rng.IntN(4)
		for _, x := range []*Correction{c, plain} {
			switch what {
			case 0, 1:
				x.Started(other, clock)
			case 2:
				x.Cancelled(other, clock)
			}
		}
		now := clock + rng.ExpFloat64()*200
		data, err := c.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		whole := &Correction{}
		if err := whole.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		before := make([]float64, 3)
		whole.Correct(of, raw, before)
		whole.Advance(now)
		got, want := make([]float64, 3), make([]float64, 3)
		at := c.At(now)
		at.Correct(of, raw, got)
		whole.Correct(of, raw, want)
		if !slices.Equal(got, want) {
			t.Fatalf("job %d: At corrects to %v, a copy to %v", id, got, want)
		}
		if at.Pending() != 0 {
			t.Fatalf("%d jobs are pending in what At returned", at.Pending())
		}
		if !slices.Equal(want, before) {
			moved++
		}
		if old != nil {
			again := make([]float64, 3)
			if old.Correct(Job{}, oldRaw, again); !slices.Equal(again, oldOut) {
				t.Fatalf("job %d: an earlier result of At changed from %v to %v", id, oldOut, again)
			}
		}
		old, oldRaw = at, raw
		old.Correct(Job{}, oldRaw, oldOut)
	}
	a, _ := c.MarshalBinary()
	b, _ := plain.MarshalBinary()
	if !slices.Equal(a, b) {
		t.Error("asking At changed the correction")
	}
	if moved < 60 {
		t.Errorf("the correction moved only %d times: the test shows little", moved)
	}
}
