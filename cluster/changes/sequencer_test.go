package changes

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// event is a change of a job in the tests. place is its place in the log.
type event struct {
	id    uint64
	kind  Kind
	place int
}

func newSequencer() *Sequencer[uint64, event] {
	return NewSequencer(func(e event) (uint64, Kind) { return e.id, e.kind })
}

// TestOrderOfAnInstant proves the order of the changes of one instant by an example. Job 1 comes from before the
// instant. Job 2 is submitted, starts and ends at the instant. In the log, job 3 is submitted after all records of job
// 2.
func TestOrderOfAnInstant(t *testing.T) {
	q := newSequencer()
	var got []string
	apply := func(e event) { got = append(got, fmt.Sprint(e.kind, " ", e.id)) }
	log := []event{
		{id: 2, kind: Submitted}, {id: 2, kind: Started}, {id: 2, kind: Ended},
		{id: 1, kind: Ended}, {id: 3, kind: Submitted},
	}
	for _, e := range log {
		if q.Add(e) {
			apply(e)
		}
	}
	q.EndInstant(apply)
	want := []string{
		fmt.Sprint(Ended, " ", 1), fmt.Sprint(Submitted, " ", 2), fmt.Sprint(Submitted, " ", 3),
		fmt.Sprint(Started, " ", 2), fmt.Sprint(Ended, " ", 2),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if q.Len() != 0 || !q.Add(event{id: 2, kind: Ended}) {
		t.Error("the instant is not over")
	}
}

// TestSequencerLaws proves five laws for any log of an instant. Nothing is lost. Changes of earlier jobs come first.
// All submissions come before all starts. Each group keeps the order of the log. A restored Sequencer continues in the
// same way.
func TestSequencerLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "events")
		q, again := newSequencer(), newSequencer()
		var got, restored []event
		open := map[uint64]bool{}
		first := 0 // the number of changes that take effect at once
		for i := range n {
			kinds := []Kind{Submitted, Started, Updated, Ended}
			e := event{rapid.Uint64Range(1, 6).Draw(t, "job"), rapid.SampledFrom(kinds).Draw(t, "kind"), i}
			if rapid.IntRange(0, 9).Draw(t, "elsewhere") == 0 {
				q.Open(e.id)
				open[e.id] = true
			}
			now := q.Add(e)
			if waits := e.kind == Submitted || e.kind == Started || open[e.id]; waits == now {
				t.Fatalf("%+v takes effect now: %v, open %v", e, now, open)
			} else if waits {
				open[e.id] = true
			} else {
				got = append(got, e)
				first++
			}
		}
		deferred, jobs := q.State()
		again.Restore(slices.Clone(deferred), jobs)
		restored = slices.Clone(got)
		again.EndInstant(func(e event) { restored = append(restored, e) })
		seen := 0
		q.Each(func(event) { seen++ })
		q.EndInstant(func(e event) { got = append(got, e) })
		if seen != len(got)-first || len(got) != n || !slices.Equal(got, restored) {
			t.Fatalf("%d of %d changes, %d in a preview; restored %v, else %v", len(got), n, seen, restored, got)
		}
		rank := func(i int) int {
			switch {
			case i < first:
				return 0
			case got[i].kind == Submitted:
				return 1
			}
			return 2
		}
		for i := 1; i < n; i++ {
			a, b := rank(i-1), rank(i)
			if a > b || a == b && got[i-1].place > got[i].place {
				t.Fatalf("%+v before %+v", got[i-1], got[i])
			}
		}
	})
}
