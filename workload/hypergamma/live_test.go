package hypergamma_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"github.com/waitcast/waitcast/workload/hypergamma"
)

func newLive(t testing.TB, forget float64) *hypergamma.Live {
	t.Helper()
	return must[*hypergamma.Live](t)(hypergamma.NewLive(forget))
}

func feed(t testing.TB, l *hypergamma.Live, j hypergamma.Jobs, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := errors.Join(l.Submitted(j.Local[i]), l.Ended(j.Procs[i], j.Seconds[i])); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLiveIsTheBatchFit proves that without forgetting the live model equals the batch fit, up to its bins (5 % of the
// runtime): KTH's parameters of the runtimes to 3 %, sizes and arrivals exactly.
func TestLiveIsTheBatchFit(t *testing.T) {
	j := readTrace(t, kth).jobs()
	slices.Sort(j.Local) // because the clock goes back an hour in October
	want := must[hypergamma.ModelFit](t)(hypergamma.FitModel(j, 100, hypergamma.ArrivalOptions{}))
	l := newLive(t, 0)
	feed(t, l, j, 0, len(j.Procs))
	got := must[hypergamma.ModelFit](t)(l.Fit(100))
	if got.Size != want.Size {
		t.Errorf("sizes %+v, want %+v", got.Size, want.Size)
	}
	for _, c := range []struct{ got, want float64 }{
		{got.Runtime.First.Shape, want.Runtime.First.Shape}, {got.Runtime.First.Scale, want.Runtime.First.Scale},
		{got.Runtime.Second.Shape, want.Runtime.Second.Shape}, {got.Runtime.Second.Scale, want.Runtime.Second.Scale},
		{got.Runtime.P, want.Runtime.P}, {got.Runtime.B, want.Runtime.B},
	} {
		if math.Abs(c.got/c.want-1) > .03 {
			t.Errorf("runtimes: %v, want %v", c.got, c.want)
		}
	}
	if d := got.Runtime.Law.CDF(9) - want.Runtime.Law.CDF(9); math.Abs(d) > .003 ||
		got.Runtime.Dropped != want.Runtime.Dropped || got.Runtime.Largest != want.Runtime.Largest {
		t.Errorf("runtimes %+v, want %+v", got.Runtime.Fit, want.Runtime.Fit)
	}
	a, b := got.Arrival, want.Arrival
	b.PeakKS = 0
	for _, x := range []*float64{
		&a.Peak.Shape, &a.Peak.Scale, &a.ARAR, &a.MeanGap, &b.Peak.Shape, &b.Peak.Scale, &b.ARAR, &b.MeanGap,
	} {
		*x = math.Round(*x*1e9) / 1e9 // because the sums are in another order
	}
	if a != b {
		t.Errorf("arrivals %+v, want %+v", a, b)
	}
	g := generator(t, 1, got.Params())
	for range 1000 {
		if x := g.Next(); x.Procs < 1 || x.Procs > 100 || !(x.Runtime >= 1) {
			t.Fatalf("%+v", x)
		}
	}
}

// TestLiveForgets proves that with forgetting the model is that of the latest jobs. After a change of all parameters
// the old parameters have no influence, even after weights were scaled down.
func TestLiveForgets(t *testing.T) {
	old, fresh := benchJobs(5000), readTrace(t, kth).jobs()
	slices.Sort(fresh.Local)
	l := newLive(t, .003)
	feed(t, l, old, 0, 5000)
	before := must[hypergamma.ModelFit](t)(l.Fit(128))
	feed(t, l, fresh, 0, len(fresh.Procs))
	only := newLive(t, .003)
	feed(t, only, fresh, 0, len(fresh.Procs))
	a, b := must[hypergamma.ModelFit](t)(l.Fit(128)), must[hypergamma.ModelFit](t)(only.Fit(128))
	if math.Abs(a.Runtime.Law.Mean()/b.Runtime.Law.Mean()-1) > 1e-6 ||
		math.Abs(a.Size.Params.Serial-b.Size.Params.Serial) > 1e-9 ||
		math.Abs(a.Arrival.Peak.Shape/b.Arrival.Peak.Shape-1) > 1e-6 {
		t.Errorf("%+v, without the old %+v", a, b)
	}
	if math.Abs(before.Runtime.Law.Mean()/a.Runtime.Law.Mean()-1) < .01 {
		t.Error("the change of the jobs does not show")
	}
	if a.Size.N < 330 || a.Size.N > 337 { // 1/.003
		t.Errorf("%d jobs weigh, want about 333", a.Size.N)
	}
}

// TestLiveRestart proves that a model that is saved and restored again and again ends bit for bit like a model that was
// not.
func TestLiveRestart(t *testing.T) {
	j := benchJobs(3000)
	for _, forget := range []float64{0, .0005, .999} {
		whole, restarted := newLive(t, forget), newLive(t, 0)
		if err := restarted.UnmarshalBinary(must[[]byte](t)(whole.MarshalBinary())); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(j.Procs); i += 100 {
			feed(t, whole, j, i, i+100)
			feed(t, restarted, j, i, i+100)
			back := newLive(t, 0)
			if err := back.UnmarshalBinary(must[[]byte](t)(restarted.MarshalBinary())); err != nil {
				t.Fatal(err)
			}
			restarted = back
		}
		if a, b := must[[]byte](t)(whole.MarshalBinary()),
			must[[]byte](t)(restarted.MarshalBinary()); !bytes.Equal(a, b) {
			t.Error("bytes differ")
		}
		a, errA := whole.Fit(0)
		b, errB := restarted.Fit(0)
		if !reflect.DeepEqual(a, b) || (errA == nil) != (errB == nil) || forget < .5 && errA != nil {
			t.Errorf("forget %v: %+v (%v), restarted %+v (%v)", forget, a, errA, b, errB)
		}
	}
}

func TestLiveErrors(t *testing.T) {
	for _, forget := range []float64{-.1, 1, math.NaN()} {
		if _, err := hypergamma.NewLive(forget); !errors.Is(err, hypergamma.ErrValue) {
			t.Errorf("forget %v: %v", forget, err)
		}
	}
	l := newLive(t, 0)
	for _, err := range []error{
		l.Ended(0, 1), l.Ended(1<<30+1, 1), l.Ended(1, -1), l.Ended(1, math.NaN()), l.Ended(1, 1<<40),
		l.Submitted(math.NaN()), l.Submitted(1e13),
	} {
		if !errors.Is(err, hypergamma.ErrValue) {
			t.Errorf("accepted or wrong: %v", err)
		}
	}
	if _, err := l.Fit(1); !errors.Is(err, hypergamma.ErrTooFew) {
		t.Errorf("fit of nothing: %v", err)
	}
	feed(t, l, benchJobs(300), 0, 300)
	good := must[[]byte](t)(l.MarshalBinary())
	codectest.Check(t, good, func() codec.Savable { return newLive(t, .5) })
	for name, bad := range map[string][]byte{ // the offsets are those of the fields
		"forget":  codectest.SetNumber(t, good, 0, codectest.Real(1)),
		"weight":  codectest.SetNumber(t, good, 1, codectest.Real(0)),
		"longest": codectest.SetNumber(t, good, 3, codectest.Real(-1)),
		"last":    codectest.SetNumber(t, good, 4, codectest.Real(1e13)),
		"sum":     codectest.SetNumber(t, good, 5, codectest.Real(1e101)),
		"slots":   codectest.SetNumber(t, good, 8, codectest.Real(-1)),
		"sizes":   codectest.SetNumber(t, good, 8+hypergamma.Slots+1, codectest.Signed(-1)),
		"size 0":  codectest.SetNumber(t, good, 8+hypergamma.Slots+1, codectest.Signed(0)),
	} {
		if err := l.UnmarshalBinary(bad); !errors.Is(err, codec.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if again := must[[]byte](t)(l.MarshalBinary()); !bytes.Equal(again, good) {
		t.Error("a refused decoding changed the model")
	}
}

// FuzzLiveUnmarshal proves that no bytes make decoding or fitting panic.
func FuzzLiveUnmarshal(f *testing.F) {
	l := newLive(f, .01)
	feed(f, l, benchJobs(200), 0, 200)
	data, fresh := must[[]byte](f)(l.MarshalBinary()), func() codec.Savable { return l.Empty() }
	codectest.Fuzz(f, data, fresh, func(t *testing.T, v codec.Savable) {
		l := v.(*hypergamma.Live)
		_ = l.Submitted(0)
		_ = l.Ended(4, 100)
		if m, err := l.Fit(0); err == nil && math.IsNaN(m.Runtime.Law.Mean()) {
			t.Fatal("not a number")
		}
		if _, err := l.MarshalBinary(); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkLive measures a job's submission and end, with a fit of everything every 500 jobs. All models of a queue
// together may take 20 us.
func BenchmarkLive(b *testing.B) {
	j := benchJobs(1 << 16)
	l := newLive(b, .0005)
	feed(b, l, j, 0, 1<<16)
	const week = 7 * 86400
	span := math.Ceil(j.Local[1<<16-1]/week) * week
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		k := i & (1<<16 - 1)
		j.Local[k] += span // the same jobs again, later
		feed(b, l, j, k, k+1)
		if i++; i%500 == 0 {
			if _, err := l.Fit(128); err != nil {
				b.Fatal(err)
			}
		}
	}
}
