package residual

import (
	"bytes"
	"math"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"pgregory.net/rapid"
)

// TestRestoredModelGoesOnTheSame proves that a restored model has the same bytes, gives the same laws and learns the
// same as the saved one.
func TestRestoredModelGoesOnTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, j, now := anyModel(t)
		data, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		back := New(Config{Runs: 1})
		if err := back.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		again, _ := back.MarshalBinary()
		if !bytes.Equal(data, again) {
			t.Fatal("bytes change in a round trip")
		}
		for i := range 40 {
			if *m.Law(j, now) != *back.Law(j, now) {
				t.Fatalf("laws differ after %d more events", i)
			}
			now += 500
			for _, each := range []*Model{m, back} {
				each.Started(int64(1000+i), j, now)
				each.Ended(int64(i%61), now)
				each.Observe(Job{Queue: "short", User: "a", Procs: i % 3}, now, float64(i*i))
			}
		}
	})
}

// TestCopiedModelGoesOnTheSame proves that a copy in memory continues like its original, and that what one of them
// learns does not change the other.
func TestCopiedModelGoesOnTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, j, now := anyModel(t)
		var copied, witness Model
		before, _ := m.MarshalBinary()
		if err := witness.UnmarshalBinary(before); err != nil {
			t.Fatal(err)
		}
		if err := codec.Copy(m.Code, copied.Code); err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			for _, each := range []*Model{&copied, &witness} {
				each.Started(int64(i), j, now+float64(i))
				each.Ended(int64(i), now+500)
				each.Observe(Job{Queue: "short", User: "a", Procs: i % 3}, now, float64(i*i))
			}
		}
		if *copied.Law(j, now) != *witness.Law(j, now) {
			t.Fatal("the copy has learnt something else than a restored model")
		}
		got, _ := copied.MarshalBinary()
		want, _ := witness.MarshalBinary()
		if !bytes.Equal(got, want) {
			t.Fatal("the copy is saved in other bytes than a restored model")
		}
		if after, _ := m.MarshalBinary(); !bytes.Equal(before, after) {
			t.Fatal("the copy has changed its original")
		}
	})
}

// TestDeterministic proves that the same history gives the same bytes and, however many of a user's jobs run, the same
// law each time.
func TestDeterministic(t *testing.T) {
	m := benchModel()
	j := Job{Queue: "q", User: "7", Procs: 5, Limit: 5000}
	for i := range 100 {
		m.Started(int64(i), Job{Queue: "q", User: "7", Procs: 1 + i%9, Limit: float64(1000 + 77*i)}, 9e5+float64(i*i))
	}
	first := *m.Law(j, 1e6)
	for range 50 {
		if *m.Law(j, 1e6) != first {
			t.Fatal("two laws of one model differ")
		}
	}
	a, _ := benchModel().MarshalBinary()
	b, _ := benchModel().MarshalBinary()
	if !bytes.Equal(a, b) {
		t.Error("two models of one history differ")
	}
}

// TestEnvelope proves that damaged saved state, and that of another version, is refused and leaves the model unchanged.
func TestEnvelope(t *testing.T) {
	data, _ := benchModel().MarshalBinary()
	codectest.Check(t, data, func() codec.Savable { return New(Config{Runs: 7}) })
}

// FuzzUnmarshal proves that for any accepted bytes the model gives laws within bounds and continues to learn.
func FuzzUnmarshal(f *testing.F) {
	m := New(Config{Runs: 2, Users: 2})
	m.Observe(Job{Queue: "q", User: "u", App: "a", Procs: 3, Limit: 600}, 50, 600)
	m.Observe(Job{Queue: "q", User: "v", Procs: 1}, 60, 20)
	m.Started(4, Job{Queue: "q", User: "u", Procs: 3, Limit: 600}, 70)
	data, _ := m.MarshalBinary()
	codectest.Fuzz(f, data, func() codec.Savable { return New(Config{}) }, func(t *testing.T, v codec.Savable) {
		m := v.(*Model)
		j := Job{Queue: "q", User: "u", App: "a", Procs: 3, Limit: 600}
		for i := range 40 {
			m.Started(int64(i), j, 100)
			m.Ended(int64(i), 200)
			m.Observe(j, 300, 10)
		}
		for _, j := range []Job{j, {}} {
			l := m.Law(j, 1000)
			for _, age := range []float64{0, 10, 599, 601, 1e9} {
				if r := l.Residual(age, .5); !(r >= 0) || math.IsInf(r, 1) {
					t.Fatalf("%v remain at %v", r, age)
				}
				if s := l.Survival(age); !(s >= 0 && s <= 1) {
					t.Fatalf("survival %v", s)
				}
			}
		}
	})
}
