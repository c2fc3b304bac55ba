package lifetime_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"github.com/waitcast/waitcast/workload/lifetime"
)

var small = lifetime.Options{Window: 300, Refit: 70, Forget: .01}

// TestRestartChangesNothing proves that a selector that is saved and restored again and again, at any moment, ends with
// the same scores and laws as one that was not.
func TestRestartChangesNothing(t *testing.T) {
	stream := slices.Concat(draw(kth, 5, 1200), draw(limited, 6, 800))
	for i := range stream {
		stream[i].Censored = i%7 == 3
	}
	candidates := lifetime.Candidates(4 * 3600)
	whole, restarted := lifetime.NewSelector(candidates, small), lifetime.NewSelector(candidates, small)
	for i, o := range stream {
		observe(t, whole, o)
		observe(t, restarted, o)
		if i%37 == 0 {
			back := lifetime.NewSelector(candidates, lifetime.Options{})
			if err := back.UnmarshalBinary(must[[]byte](t)(restarted.MarshalBinary())); err != nil {
				t.Fatal(i, ": ", err)
			}
			restarted = back
		}
		a, aName, _ := whole.Best()
		b, bName, _ := restarted.Best()
		if aName != bName || !reflect.DeepEqual(a, b) || !slices.Equal(whole.Standings(), restarted.Standings()) {
			t.Fatalf("after %d: %s %+v, restarted %s %+v", i+1, aName, whole.Standings(), bName, restarted.Standings())
		}
	}
	if a, b := must[[]byte](t)(whole.MarshalBinary()), must[[]byte](t)(restarted.MarshalBinary()); !bytes.Equal(a, b) {
		t.Error("bytes differ")
	}
}

func TestUnmarshalRefusesDamage(t *testing.T) {
	s := lifetime.NewSelector(lifetime.Candidates(0), small)
	for _, o := range draw(kth, 5, 500) {
		observe(t, s, o)
	}
	good := must[[]byte](t)(s.MarshalBinary())
	codectest.Check(t, good, func() codec.Savable {
		return lifetime.NewSelector(lifetime.Candidates(0), lifetime.Options{})
	})
	replace := func(from, to []byte) []byte {
		return codectest.Edit(t, good, func(fields []byte) []byte {
			if !bytes.Contains(fields, from) {
				t.Fatalf("%v is not there", from)
			}
			return bytes.Replace(fields, from, to, 1)
		})
	}
	other := bytes.Repeat([]byte{'x'}, len(lifetime.NameHyperGamma))
	counts := func(scored, seen uint64) []byte {
		return codectest.Fields(func(c *codec.Codec) { c.Uint(&scored, &seen) })
	}
	for name, c := range map[string]struct {
		bad    []byte
		reason error
	}{
		"names":  {replace([]byte(lifetime.NameHyperGamma), other), codec.ErrConfig},
		"forget": {codectest.SetNumber(t, good, 2, codectest.Real(2)), codec.ErrDamaged},
		"window": {codectest.SetNumber(t, good, 0, func(c *codec.Codec) { c.Int(new(int)) }), codec.ErrDamaged},
		"seen":   {replace(counts(436, 500), counts(436, 9)), codec.ErrDamaged},
		"scored": {replace(counts(436, 500), counts(501, 500)), codec.ErrDamaged},
	} {
		if err := s.UnmarshalBinary(c.bad); !errors.Is(err, c.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if other := lifetime.NewSelector(lifetime.Candidates(60), small); !errors.Is(other.UnmarshalBinary(good),
		codec.ErrConfig) {
		t.Error("other candidates are taken")
	}
	if again := must[[]byte](t)(s.MarshalBinary()); !bytes.Equal(again, good) {
		t.Error("a refused decoding changed the selector")
	}
}

// FuzzUnmarshal proves that no bytes make decoding panic, and that an accepted selector can be used.
func FuzzUnmarshal(f *testing.F) {
	s := lifetime.NewSelector(lifetime.Candidates(0), lifetime.Options{Window: 80, Refit: 20})
	for _, o := range draw(kth, 5, 200) {
		observe(f, s, o)
	}
	b, err := s.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	fresh := func() codec.Savable { return lifetime.NewSelector(lifetime.Candidates(0), lifetime.Options{}) }
	codectest.Fuzz(f, b, fresh, func(t *testing.T, v codec.Savable) {
		s := v.(*lifetime.Selector)
		for i := range 50 {
			observe(t, s, lifetime.Observation{Seconds: float64(i)})
		}
		if _, err := s.MarshalBinary(); err != nil {
			t.Fatal(err)
		}
	})
}
