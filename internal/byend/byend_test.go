package byend_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/internal/byend"
)

// model has the same jobs as a list in a plain slice, and examines them one by one.
type model []byend.Item

func (m model) when(need int) (at float64, freed int) {
	at = math.Inf(1)
	for _, it := range m.sorted() {
		if freed >= need && it.At > at {
			break
		}
		if freed += int(it.Held); freed >= need {
			at = it.At
		}
	}
	return at, freed
}

func (m model) by(at float64) (freed int) {
	for _, it := range m {
		if it.At <= at {
			freed += int(it.Held)
		}
	}
	return freed
}

func (m model) sorted() []byend.Item {
	out := slices.Clone(m)
	slices.SortFunc(out, func(a, b byend.Item) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	return out
}

// draw returns a random item with the given number. Instants often coincide, and some are +Inf.
func draw(t *rapid.T, id int) byend.Item {
	at := float64(rapid.IntRange(0, 50).Draw(t, "at"))
	if at == 50 {
		at = math.Inf(1)
	}
	return byend.Item{At: at, ID: int32(id), Held: int32(rapid.IntRange(1, 9).Draw(t, "held"))}
}

// same proves that a list has the model's items in order of time, and returns the same results as the model.
func same(t *rapid.T, l *byend.List, m model) {
	t.Helper()
	var got model
	for k := range l.Blocks() {
		if len(l.Block(k)) == 0 {
			t.Fatalf("block %d of %d is empty", k, l.Blocks())
		}
		got = append(got, l.Block(k)...)
	}
	if !slices.IsSortedFunc(got, func(a, b byend.Item) int { return cmp.Compare(a.At, b.At) }) ||
		!slices.Equal(got.sorted(), m.sorted()) {
		t.Fatalf("holds %v, want in order of time %v", got, m.sorted())
	}
	need := rapid.IntRange(1, 5000).Draw(t, "need")
	at, freed := m.when(need)
	if gotAt, gotFreed := l.When(need); gotAt != at || gotFreed != freed {
		t.Fatalf("%d processors at %v, %d in all; want %v, %d", need, gotAt, gotFreed, at, freed)
	}
	until := float64(rapid.IntRange(-1, 60).Draw(t, "until"))
	if got, want := l.By(until), m.by(until); got != want {
		t.Fatalf("%d processors by %v, want %d", got, until, want)
	}
}

// change adds the item with the given number, or removes any item.
func change(t *rapid.T, l *byend.List, m *model, id int) {
	if len(*m) > 0 && rapid.IntRange(0, 9).Draw(t, "what") < 3 {
		i := rapid.IntRange(0, len(*m)-1).Draw(t, "removed")
		l.Remove((*m)[i].At, (*m)[i].ID)
		*m = slices.Delete(*m, i, i+1)
		return
	}
	it := draw(t, id)
	l.Add(it)
	*m = append(*m, it)
}

// TestListIsASortedSlice compares a list with a plain slice after so many changes that there are many blocks, beginning
// with an empty or a filled list.
func TestListIsASortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l byend.List
		var m model
		l.Add(byend.Item{At: 7, Held: 1}) // Fill must forget this item
		for id := range rapid.IntRange(0, 300).Draw(t, "filled") {
			m = append(m, draw(t, id))
		}
		l.Fill(slices.Clone(m))
		same(t, &l, m)
		for id := range rapid.IntRange(0, 600).Draw(t, "changes") {
			change(t, &l, &m, 1000+id)
		}
		same(t, &l, m)
	})
}

// TestCopyIsApart proves that a list and a copy of it, made in memory that was used before, do not affect each other.
func TestCopyIsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lists [2]byend.List
		var models [2]model
		for side := range lists {
			for id := range rapid.IntRange(0, 200).Draw(t, "changes") {
				change(t, &lists[side], &models[side], id)
			}
		}
		if rapid.Bool().Draw(t, "emptied") { // then the original has spare blocks, and the copy has none
			for _, it := range models[1] {
				lists[1].Remove(it.At, it.ID)
			}
			same(t, &lists[1], nil)
		}
		lists[1].CopyFrom(&lists[0])
		models[1] = slices.Clone(models[0])
		for id := range rapid.IntRange(0, 200).Draw(t, "later changes") {
			side := rapid.IntRange(0, 1).Draw(t, "side")
			change(t, &lists[side], &models[side], 1000+id)
		}
		same(t, &lists[0], models[0])
		same(t, &lists[1], models[1])
		lists[0].Reset()
		same(t, &lists[0], nil)
	})
}

// TestRemoveKnowsItsItem proves that an item is removed only if both its number and its instant are given.
func TestRemoveKnowsItsItem(t *testing.T) {
	var l byend.List
	for id := range int32(200) {
		l.Add(byend.Item{At: float64(id / 100), ID: id, Held: 1})
	}
	l.Remove(0, 150)
	l.Remove(.5, 50)
	l.Remove(2, 150)
	if got := l.By(9); got != 200 {
		t.Fatalf("%d items, want all 200", got)
	}
	l.Remove(1, 150)
	if at0, all := l.By(0), l.By(1); at0 != 100 || all != 199 {
		t.Errorf("%d items at 0 and %d in all, want 100 and 199", at0, all)
	}
}

// TestSteadyStateAllocatesNothing proves that a list that no longer grows allocates nothing, because empty blocks are
// reused.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	var l byend.List
	for id := range int32(1000) {
		l.Add(byend.Item{At: float64(id), ID: id, Held: 1})
	}
	next := int32(1000)
	turns := func() {
		for range 20_000 {
			l.Remove(float64(next-1000), next-1000)
			l.Add(byend.Item{At: float64(next), ID: next, Held: 1})
			next++
		}
	}
	if n := testing.AllocsPerRun(1, turns); n != 0 { // the first 20,000 do not count
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkTurn measures the end of the first of 10,000 jobs, the start of another one, and the query when a large job
// could start.
func BenchmarkTurn(b *testing.B) {
	const jobs = 10_000
	var l byend.List
	all := make([]byend.Item, jobs)
	for id := range all {
		all[id] = byend.Item{At: float64(id * 7919 % jobs), ID: int32(id), Held: int32(1 + id%16)}
	}
	l.Fill(all)
	b.ReportAllocs()
	for b.Loop() {
		it := l.Block(0)[0]
		l.Remove(it.At, it.ID)
		it.At += jobs / 2
		l.Add(it)
		l.When(8 * jobs / 3)
	}
}
