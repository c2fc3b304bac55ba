package drift

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"
)

// run feeds values to a detector until the first change or the end.
func run(d *Detector, n int, next func() float64) (Change, int) {
	for i := range n {
		if c := d.Add(next()); c != None {
			return c, i + 1
		}
	}
	return None, n
}

// TestQuiet proves that a constant level raises hardly any alarm. For independent normal blocks there is one alarm in
// 70,000 blocks. Losses are neither independent nor normal, so the test uses skewed values and correlated neighbors,
// and allows some more alarms.
func TestQuiet(t *testing.T) {
	for name, rho := range map[string]float64{"independent": 0, "neighbors alike": .8} {
		alarms := 0
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 1))
			d, x := New(Config{}), 0.0
			for range 100_000 {
				x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
				d.Add(math.Exp(x))
			}
			alarms += d.Alarms()
		}
		if alarms > 10 {
			t.Errorf("%s: %d false alarms in 20,000 blocks", name, alarms)
		}
	}
}

// TestNoticesChange proves that a move of the level by one deviation of a block's mean is noticed, with the right
// direction, within 60 blocks on average: a sum gains .5 per block on its way to 10.
func TestNoticesChange(t *testing.T) {
	for _, want := range []Change{Up, Down} {
		total := 0
		const streams = 40
		for seed := range uint64(streams) {
			rng := rand.New(rand.NewPCG(seed, 2))
			d := New(Config{})
			if c, at := run(d, 20_000, rng.NormFloat64); c != None {
				t.Logf("false alarm %v at %d", c, at)
				continue
			}
			shift := float64(want) / math.Sqrt(100)
			c, after := run(d, 100_000, func() float64 { return shift + rng.NormFloat64() })
			if c != want {
				t.Fatalf("seed %d: %v, want %v", seed, c, want)
			}
			total += after
		}
		if mean := float64(total) / streams / 100; mean > 60 {
			t.Errorf("%v: noticed after %.0f blocks on average", want, mean)
		}
	}
}

// TestOutlier proves that neither one extreme block nor values that are not numbers are a change.
func TestOutlier(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	d := New(Config{})
	if c, _ := run(d, 20_000, rng.NormFloat64); c != None {
		t.Fatal("false alarm before")
	}
	if c, _ := run(d, 100, func() float64 { return 1e9 }); c != None {
		t.Error("one wild block is taken for a change")
	}
	if d.Add(math.NaN()) != None || d.Add(math.Inf(1)) != None {
		t.Error("what is no number is taken for a change")
	}
}

// TestConstant proves that a stream without any spread causes no division by 0, and that its change is noticed.
func TestConstant(t *testing.T) {
	d := New(Config{})
	if c, _ := run(d, 20_000, func() float64 { return 3 }); c != None {
		t.Errorf("a constant is a change: %v", c)
	}
	if c, _ := run(d, 5000, func() float64 { return 4 }); c != Up {
		t.Errorf("got %v, want up", c)
	}
}

// TestCodec proves that a restored detector continues like the saved one, and that other bytes are refused.
func TestCodec(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	a := New(Config{})
	run(a, 3333, rng.NormFloat64)
	data, err := a.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	b := New(Config{})
	if err := b.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	for range 20_000 {
		v := rng.NormFloat64() + .2
		if x, y := a.Add(v), b.Add(v); x != y {
			t.Fatalf("the restored one says %v, the other %v", y, x)
		}
	}
	codectest.Check(t, data, func() codec.Savable { return New(Config{}) })
}

// TestBegan proves that the beginning of a change is found within two blocks, also by a restored detector.
func TestBegan(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	d := New(Config{})
	if c, _ := run(d, 20_000, rng.NormFloat64); c != None || d.Began() != 0 {
		t.Fatalf("before the change: %v, began %d values ago", c, d.Began())
	}
	shifted := func() float64 { return .3 + rng.NormFloat64() }
	run(d, 250, shifted)
	data, err := d.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	d = New(Config{})
	if err := d.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	c, more := run(d, 10_000, shifted)
	if ago := 250 + more; c != Up || math.Abs(float64(d.Began()-ago)) > 200 {
		t.Errorf("%v: it began %d values ago, was thought to have %d ago", c, ago, d.Began())
	}
}

// FuzzUnmarshal proves that damaged state gives an error or a detector that continues.
func FuzzUnmarshal(f *testing.F) {
	d := New(Config{})
	run(d, 5000, rand.New(rand.NewPCG(4, 4)).NormFloat64)
	data, err := d.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	codectest.Fuzz(f, data, func() codec.Savable { return New(Config{}) }, func(t *testing.T, v codec.Savable) {
		d := v.(*Detector)
		run(d, 300, func() float64 { return 1 })
		if d.Began() < 0 {
			t.Fatalf("a change began %d values ago", d.Began())
		}
	})
}
