package simulator

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestEndsAreASortedList compares with a list that is sorted after every change, long enough for many blocks.
func TestEndsAreASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e, clone ends
		var list []endItem
		for seq := range int64(rapid.IntRange(0, 600).Draw(t, "changes")) {
			if len(list) > 0 && rapid.IntRange(0, 9).Draw(t, "what") < 3 {
				i := rapid.IntRange(0, len(list)-1).Draw(t, "removed")
				e.remove(list[i].at, list[i].seq)
				list = slices.Delete(list, i, i+1)
			} else {
				it := endItem{float64(rapid.IntRange(0, 50).Draw(t, "at")), seq, int32(rapid.IntRange(1, 9).Draw(t, "held")), Ref(seq)}
				e.add(it)
				list = append(list, it)
			}
			if seq == 300 {
				clone.copyFrom(&e)
				e = clone
			}
		}
		slices.SortFunc(list, func(a, b endItem) int { return cmp.Compare(a.at, b.at) })
		need := rapid.IntRange(1, 5000).Draw(t, "need")
		at, sum := math.Inf(1), 0
		for _, it := range list {
			if sum >= need && it.at > at {
				break
			}
			if sum += int(it.held); sum >= need {
				at = it.at
			}
		}
		if gotAt, got := e.when(need); gotAt != at || got != sum {
			t.Fatalf("%d processors at %v, %d in all; want %v, %d", need, gotAt, got, at, sum)
		}
	})
}

// TestLaneFindsTheFirst compares with looking at each.
func TestLaneFindsTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lane
		var list []minima
		for range rapid.IntRange(1, 600).Draw(t, "changes") {
			if len(list) > 0 && rapid.IntRange(0, 9).Draw(t, "what") < 4 {
				i := rapid.IntRange(0, len(list)-1).Draw(t, "cleared")
				list[i] = vacant()
				l.clear(i)
			} else {
				list = append(list, minima{float64(rapid.IntRange(1, 99).Draw(t, "plan")), int32(rapid.IntRange(1, 99).Draw(t, "held"))})
				l.refs = append(l.refs, 0)
				l.set(len(list)-1, list[len(list)-1])
			}
		}
		if len(list) == 0 {
			return
		}
		all := vacant()
		for _, m := range list {
			all.add(m)
		}
		if l.all != all {
			t.Fatalf("least of all %+v, want %+v", l.all, all)
		}
		w := wanted{
			small: int32(rapid.IntRange(0, 3).Draw(t, "small")), large: int32(rapid.IntRange(0, 40).Draw(t, "large")),
			short: float64(rapid.IntRange(0, 40).Draw(t, "short")),
		}
		from := rapid.IntRange(0, len(list)-1).Draw(t, "from")
		want := slices.IndexFunc(list[from:], func(m minima) bool { return w.matches(&m) })
		if want >= 0 {
			want += from
		}
		if got := l.first(from, &w); got != want {
			t.Fatalf("first from %d that matches %+v: %d, want %d", from, w, got, want)
		}
	})
}

// TestHeapSorts proves both ways of filling a heap.
func TestHeapSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pushed, built heap
		for i, x := range rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "times") {
			pushed.push(item{float64(x), int64(i), Ref(i)})
			built = append(built, item{float64(x), int64(i), Ref(i)})
		}
		want := slices.Clone([]item(built))
		slices.SortFunc(want, func(a, b item) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.seq, b.seq)) })
		built.build()
		for i := range want {
			if p, b := pushed.pop(), built.pop(); p != want[i] || b != want[i] {
				t.Fatalf("item %d: pushed %+v, built %+v, want %+v", i, p, b, want[i])
			}
		}
	})
}
