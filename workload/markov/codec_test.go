package markov_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

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

// TestRestartChangesNothing proves that a model that is saved and restored again and again ends bit for bit like a
// model that was not.
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
	codectest.Check(t, good, func() codec.Savable { return newModel(t, 0.3) })
	// The node of a job that has not ended has two flags and its key. The node of an ended job has two flags and two
	// exponents.
	replace := func(from, to []byte) []byte {
		return codectest.Edit(t, good, func(fields []byte) []byte {
			if !bytes.Contains(fields, from) {
				t.Fatalf("%v is not in %v", from, fields)
			}
			return bytes.Replace(fields, from, to, 1)
		})
	}
	for what, bad := range map[string][]byte{
		"forget":         codectest.SetNumber(t, good, 0, codectest.Real(1.5)),
		"weight":         codectest.SetNumber(t, good, 1, codectest.Real(0)),
		"more pairs":     codectest.SetNumber(t, good, 2, func(c *codec.Codec) { c.Uint(new(uint64)) }),
		"key twice":      replace([]byte{0, 0, 1, '1'}, []byte{0, 0, 1, '0'}),
		"unknown flags":  replace([]byte{0, 0, 1, '1'}, []byte{7, 0, 1, '0'}),
		"joined, open":   replace([]byte{0, 0, 1, '1'}, []byte{0, 1, 1, '1'}),
		"joined to none": replace([]byte{0, 0, 1, '5'}, []byte{1, 1, 2, 2}),
		"joined to open": replace([]byte{1, 0, 4, 16, 0, 0, 1, '5'}, []byte{1, 1, 4, 16, 0, 0, 1, '5'}),
		"state too high": replace([]byte{0, 0, 1, '5'}, []byte{1, 0, 80, 2}),
	} {
		if err := m.UnmarshalBinary(bad); !errors.Is(err, codec.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !bytes.Equal(encode(t, m), good) {
		t.Errorf("a refused decoding changed the model")
	}
}

// FuzzUnmarshal proves that no bytes make decoding panic, and that an accepted model can be used and survives saving
// and restoring.
func FuzzUnmarshal(f *testing.F) {
	m := newModel(f, 0.01)
	rng := rand.New(rand.NewPCG(1, 1))
	var h history
	for range 30 {
		h.step(f, rng, m)
	}
	fresh := func() codec.Savable { return m.Empty() }
	codectest.Fuzz(f, encode(f, m), fresh, func(t *testing.T, v codec.Savable) {
		m := v.(*markov.Model)
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
