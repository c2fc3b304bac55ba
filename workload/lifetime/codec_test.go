package lifetime_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/workload/lifetime"
)

var small = lifetime.Options{Window: 300, Refit: 70, Forget: .01}

// A selector that goes through bytes again and again, at any moment, ends where one that never stopped does: same
// scores, same laws.
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
	for name, bad := range map[string][]byte{
		"nothing": nil, "cut": good[:len(good)/2],
		"version":  bytes.Replace(good, []byte(`"version":1`), []byte(`"version":2`), 1),
		"names":    bytes.Replace(good, []byte(lifetime.NameHyperGamma), []byte("other"), 1),
		"seen":     bytes.Replace(good, []byte(`"seen":500`), []byte(`"seen":9`), 1),
		"censored": bytes.Replace(good, []byte(`"censored":null`), []byte(`"censored":[-1]`), 1),
	} {
		if err := s.UnmarshalBinary(bad); !errors.Is(err, lifetime.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if other := lifetime.NewSelector(lifetime.Candidates(60), small); !errors.Is(other.UnmarshalBinary(good),
		lifetime.ErrCorrupt) {
		t.Error("other candidates are taken")
	}
	if again := must[[]byte](t)(s.MarshalBinary()); !bytes.Equal(again, good) {
		t.Error("a refused decoding changed the selector")
	}
}

// No bytes make decoding panic; a selector that is accepted can be used.
func FuzzUnmarshal(f *testing.F) {
	s := lifetime.NewSelector(lifetime.Candidates(0), lifetime.Options{Window: 80, Refit: 20})
	for _, o := range draw(kth, 5, 200) {
		observe(f, s, o)
	}
	b, err := s.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := lifetime.NewSelector(lifetime.Candidates(0), lifetime.Options{})
		if s.UnmarshalBinary(data) != nil {
			return
		}
		for i := range 50 {
			observe(t, s, lifetime.Observation{Seconds: float64(i)})
		}
		if _, err := s.MarshalBinary(); err != nil {
			t.Fatal(err)
		}
	})
}
