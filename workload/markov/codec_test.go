package markov_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/markov"
)

func encode(t testing.TB, m *markov.Model) []byte {
	t.Helper()
	b, err := m.MarshalBinary()
	must(t, err)
	return b
}

func restart(t testing.TB, m *markov.Model) *markov.Model {
	t.Helper()
	back := newModel(t, 0.3)
	must(t, back.UnmarshalBinary(encode(t, m)))
	return back
}

// A model that goes through bytes again and again ends, bit by bit, where the one that never stopped does.
func TestRestartChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		forget := rapid.SampledFrom([]float64{0, 0.01, 0.7}).Draw(rt, "forget")
		m, restarted := newModel(t, forget), newModel(t, forget)
		var h history
		for range rapid.IntRange(0, 400).Draw(rt, "steps") {
			h.step(t, rng, m, restarted)
			if rng.IntN(20) == 0 {
				restarted = restart(t, restarted)
			}
		}
		if !bytes.Equal(encode(t, m), encode(t, restarted)) {
			rt.Fatalf("bytes differ")
		}
		if !reflect.DeepEqual(m.Chains(), restarted.Chains()) {
			rt.Fatalf("chains differ: %+v, restarted %+v", m.Chains(), restarted.Chains())
		}
	})
}

func TestUnmarshalRefusesDamage(t *testing.T) {
	m := newModel(t, 0.01)
	for i := range 6 {
		must(t, m.Submitted(strconv.Itoa(i)))
	}
	for _, i := range []int{4, 2, 3} {
		must(t, m.Ended(strconv.Itoa(i), i, float64(100*i)))
	}
	good := encode(t, m)
	damaged := map[string][]byte{
		"a byte too many": append(slices.Clone(good), 0),
		"another version": append([]byte{9}, good[1:]...),
		"forget":          append([]byte{1, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, good[9:]...),
		"key twice":       bytes.Replace(good, []byte{0, 1, '1'}, []byte{0, 1, '0'}, 1),
		"unknown flags":   bytes.Replace(good, []byte{0, 1, '1'}, []byte{7, 1, '0'}, 1),
		"joined to none":  slices.Concat(bytes.TrimSuffix(good, []byte{0, 1, '5'}), []byte{3, 1, 1}),
		"joined to open": slices.Concat(bytes.TrimSuffix(good, []byte{1, 2, 8, 0, 1, '5'}),
			[]byte{3, 1, 1, 0, 1, '5'}),
		"state too high": slices.Concat(bytes.TrimSuffix(good, []byte{0, 1, '5'}), []byte{1, 40, 1}),
	}
	for cut := range good {
		damaged["first "+strconv.Itoa(cut)+" bytes"] = good[:cut]
	}
	for what, bad := range damaged {
		if err := m.UnmarshalBinary(bad); !errors.Is(err, markov.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !bytes.Equal(encode(t, m), good) {
		t.Errorf("a refused decoding changed the model")
	}
}

// No bytes make decoding panic; a model that is accepted can be used and survives a round trip.
func FuzzUnmarshal(f *testing.F) {
	m := newModel(f, 0.01)
	rng := rand.New(rand.NewPCG(1, 1))
	var h history
	f.Add(encode(f, m))
	for range 30 {
		h.step(f, rng, m)
	}
	f.Add(encode(f, m))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := newModel(t, 0)
		if m.UnmarshalBinary(data) != nil {
			return
		}
		back := restart(t, m)
		for _, m := range []*markov.Model{m, back} {
			must(t, m.Append(3, 17))
			must(t, m.Append(4, 0))
		}
		if !bytes.Equal(encode(t, m), encode(t, back)) {
			t.Fatal("bytes differ after a round trip")
		}
		g, err := markov.NewGenerator(m.Chains(), rand.New(rand.NewPCG(1, 1)))
		must(t, err)
		for range 10 {
			if p, r := g.Next(); p < 1 || !(r >= 1) {
				t.Fatalf("drawn %d processors, %v s", p, r)
			}
		}
	})
}
