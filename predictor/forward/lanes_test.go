package forward

import (
	"testing"

	"pgregory.net/rapid"
)

// TestLanesFindTheFirst proves that after any additions and removals the lanes find the same first job that may start,
// and the same first waiting job, as a search through all jobs.
func TestLanesFindTheFirst(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var l layout
		var q lanes
		n := rapid.IntRange(1, 300).Draw(rt, "jobs")
		kinds := rapid.IntRange(1, 40).Draw(rt, "sizes")
		seed := rapid.Uint64().Draw(rt, "seed")
		draw := func(limit int) int {
			seed++
			return int(mix(seed) % uint64(limit))
		}
		for range n {
			l.procs, l.plan = append(l.procs, int32(1+draw(kinds))), append(l.plan, float64(1+draw(50)))
		}
		l.build()
		q.none(&l)
		waits := make([]bool, n)
		for range 400 {
			at := draw(n)
			if waits[at] {
				q.remove(&l, at)
			} else {
				q.add(&l, at)
			}
			waits[at] = !waits[at]
			most := draw(kinds + 1)
			stairs := []stair{{float64(draw(60)), most}, {1000, draw(most + 1)}}
			first, found := -1, -1
			for i := n - 1; i >= 0; i-- {
				if waits[i] {
					first = i
					if fits(stairs, l.procs[i], l.plan[i]) {
						found = i
					}
				}
			}
			if got := q.search(&l, stairs, n); got != found || q.first() != first {
				rt.Fatalf("first %d, first that may start %d; want %d and %d", q.first(), got, first, found)
			}
		}
	})
}
