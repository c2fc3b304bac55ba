package quadheap_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/internal/quadheap"
)

type item = quadheap.Item

// TestHeapSorts proves the order of items for both ways of filling a heap, the order at equal instants, and that an
// item keeps its data.
func TestHeapSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pushed, built quadheap.Heap
		times := rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "times")
		keys := rapid.Permutation(seq(len(times))).Draw(t, "keys")
		for i, x := range times {
			it := item{At: float64(x), Seq: keys[i], ID: int32(i)}
			pushed.Push(it)
			built = append(built, it)
		}
		want := sorted(built)
		built.Build()
		for i := range want {
			if p, b := pushed.Pop(), built.Pop(); p != want[i] || b != want[i] {
				t.Fatalf("item %d: pushed %+v, built %+v, want %+v", i, p, b, want[i])
			}
		}
	})
}

// TestTurns proves that while items are added and removed, First, Due and Pop give the same results as a sorted slice.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h quadheap.Heap
		var model []item
		for i := range rapid.IntRange(1, 200).Draw(t, "turns") {
			first := math.Inf(1)
			if len(model) > 0 {
				first = model[0].At
			}
			if h.First() != first || h.Due(10) != (first <= 10) || len(h) != len(model) {
				t.Fatalf("first of %d items %v, due at 10: %v; want %v of %d", len(h), h.First(), h.Due(10),
					first, len(model))
			}
			if len(model) > 0 && rapid.IntRange(0, 9).Draw(t, "what") < 4 {
				if got := h.Pop(); got != model[0] {
					t.Fatalf("turn %d: %+v, want %+v", i, got, model[0])
				}
				model = model[1:]
				continue
			}
			it := item{At: float64(rapid.IntRange(0, 20).Draw(t, "at")), Seq: int64(i)}
			h.Push(it)
			model = sorted(append(model, it))
		}
	})
}

func seq(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

func sorted(items []item) []item {
	out := slices.Clone(items)
	slices.SortFunc(out, func(a, b item) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Seq, b.Seq)) })
	return out
}

// BenchmarkTurn removes the first of 10,000 items and adds it again with a later instant.
func BenchmarkTurn(b *testing.B) {
	const items = 10_000
	var h quadheap.Heap
	for i := range items {
		h = append(h, item{At: float64(i * 7919 % items), Seq: int64(i)})
	}
	h.Build()
	b.ReportAllocs()
	for b.Loop() {
		it := h.Pop()
		it.At += items * (1 + float64(it.Seq%7)/7)
		h.Push(it)
	}
}
