package uniformlog_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/uniformlog"
)

func roundTrip(t rapid.TB, w *uniformlog.Window) *uniformlog.Window {
	back := uniformlog.NewWindow(1, 1)
	codectest.Transfer(t, w, back)
	return back
}

// TestBytesDoNotDependOnHistory proves that jobs give the same bytes and the same fit whether they are added at once,
// one by one with a fit in between, or in another order. There are enough of them to use all code paths: bulk, splits
// and merges of leaves, partial selection.
func TestBytesDoNotDependOnHistory(t *testing.T) {
	const n, keep = 30000, 20000
	rng := rand.New(rand.NewPCG(5, 5))
	jobs := make([]shadowJob, n)
	for i := range jobs {
		jobs[i] = shadowJob{epoch.Add(time.Duration(rng.IntN(86400)) * time.Second), math.Floor(paragon.Rand(rng))}
	}
	bulk := uniformlog.NewWindow(keep, 20*time.Hour)
	single := uniformlog.NewWindow(keep, 20*time.Hour)
	for i, j := range jobs {
		add(t, bulk, j.start, j.lifetime)
		back := jobs[n-1-i]
		add(t, single, back.start, back.lifetime)
		if single.N() > keep {
			t.Fatalf("%d jobs in a window of %d", single.N(), keep)
		}
	}
	now := epoch.Add(24 * time.Hour)
	bulk.Expire(now)
	single.Expire(now)
	a, errA := bulk.MarshalBinary()
	b, errB := single.MarshalBinary()
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("bytes differ (%v, %v)", errA, errB)
	}
	fa, errA := bulk.Fit(now)
	fb, errB := single.Fit(now)
	if errA != nil || errB != nil || fa != fb {
		t.Errorf("fits differ: %+v (%v), %+v (%v)", fa, errA, fb, errB)
	}
	if fc, err := roundTrip(t, single).Fit(now); err != nil || fc != fa {
		t.Errorf("fit after a round trip: %+v (%v), want %+v", fc, err, fa)
	}
}

// TestRestoredWindowGoesOn proves that a restored window continues like one that was not saved.
func TestRestoredWindowGoesOn(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	w := uniformlog.NewWindow(3000, 40*time.Minute)
	restored := roundTrip(t, w)
	for i := range 20000 {
		start := epoch.Add(time.Duration(i) * time.Second / 2)
		lifetime := paragon.Rand(rng)
		for _, w := range []*uniformlog.Window{w, restored} {
			add(t, w, start, lifetime)
			w.Expire(start)
		}
		if i%1000 == 0 {
			restored = roundTrip(t, restored)
		}
		if i%50 == 49 {
			a, errA := w.Fit(start)
			b, errB := restored.Fit(start)
			if errA != nil || errB != nil || a != b {
				t.Fatalf("job %d: %+v (%v), restored %+v (%v)", i, a, errA, b, errB)
			}
		}
	}
}

func TestUnmarshalRefusesDamage(t *testing.T) {
	w := uniformlog.NewWindow(5, time.Hour)
	for i := range 5 {
		add(t, w, epoch.Add(time.Duration(i)*time.Minute), float64(i*i))
	}
	good, err := w.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	codectest.Check(t, good, func() codec.Savable { return uniformlog.NewWindow(3, time.Minute) })
	// Each job has two numbers: the seconds since the one before, and its quantized lifetime.
	window := func(maxCount, cut int64, jobs ...int64) []byte {
		kind, version, _ := codectest.Split(t, good)
		return codectest.Seal(t, kind, version, codectest.Fields(func(c *codec.Codec) {
			age, n := int64(0), uint64(len(jobs)/2)
			c.Signed(&maxCount, &age, &cut)
			c.Uint(&n)
			for i := range jobs {
				c.Signed(&jobs[i])
			}
		}))
	}
	if err := w.UnmarshalBinary(window(2, 10, 10, 5, 0, 6)); err != nil {
		t.Errorf("two jobs: %v", err)
	}
	restore(t, w, good)
	for what, bad := range map[string][]byte{
		"start before limit":   window(0, 10, 9, 5),
		"shorter job second":   window(0, 0, 10, 5, 0, 4),
		"earlier job second":   window(0, 0, 10, 5, -1, 5),
		"more jobs than limit": window(1, 0, 10, 5, 0, 6),
		"lifetime too long":    window(0, 0, 10, math.MaxInt32),
		"negative lifetime":    window(0, 0, 10, -1),
		"negative limit":       window(-1, 0),
	} {
		if err := w.UnmarshalBinary(bad); !errors.Is(err, codec.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got, err := w.MarshalBinary(); err != nil || !bytes.Equal(got, good) {
		t.Errorf("a refused decoding changed the window (%v)", err)
	}
}

func restore(t *testing.T, w *uniformlog.Window, data []byte) {
	t.Helper()
	if err := w.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
}

// FuzzUnmarshal proves that no bytes make decoding panic, and that an accepted window survives saving and restoring.
func FuzzUnmarshal(f *testing.F) {
	w := uniformlog.NewWindow(20, time.Hour)
	for i := range 20 {
		add(f, w, epoch.Add(time.Duration(i)*time.Second), float64(i))
	}
	seed, err := w.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	fresh := func() codec.Savable { return uniformlog.NewWindow(0, 0) }
	codectest.Fuzz(f, seed, fresh, func(t *testing.T, v codec.Savable) {
		w := v.(*uniformlog.Window)
		_, errA := w.Fit(epoch)
		back := roundTrip(t, w)
		if _, errB := back.Fit(epoch); (errA == nil) != (errB == nil) {
			t.Fatalf("fit %v, after a round trip %v", errA, errB)
		}
	})
}
