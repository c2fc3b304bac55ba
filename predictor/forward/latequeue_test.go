package forward

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLateQueueIsAList proves that, after any jobs have joined and left, a late queue finds the same jobs as a plain
// list that is searched job by job.
func TestLateQueueIsAList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var q lateQueue
		var list []late // the waiting ones
		seed := rapid.Uint64().Draw(rt, "seed")
		sizes := rapid.IntRange(1, 40).Draw(rt, "sizes")
		joins := rapid.IntRange(1, 9).Draw(rt, "joins of ten")
		draw := func(limit int) int {
			seed++
			return int(mix(seed) % uint64(limit))
		}
		place := func(id int32) int { // its place in the queue
			return slices.IndexFunc(q.jobs, func(l late) bool { return l.id == id })
		}
		for id := range int32(600) {
			if len(list) == 0 || draw(10) < joins {
				q.compact(draw(50) == 0)
				i, at := draw(len(list)+1), len(q.jobs)
				if draw(2) == 0 {
					i = len(list) // where most arrivals go
				} else if i < len(list) {
					at = place(list[i].id)
				}
				l := late{id: id, procs: int32(1 + draw(sizes)), plan: float64(1 + draw(50))}
				list = slices.Insert(list, i, l)
				q.insert(at, l)
			} else {
				i := draw(len(list))
				q.remove(place(list[i].id))
				list = slices.Delete(list, i, i+1)
			}
			most := draw(sizes + 1)
			stairs := []stair{{float64(draw(60)), most}, {1000, draw(most + 1)}}
			var want, got []int32
			for i := range list {
				if fits(stairs, list[i].procs, list[i].plan) {
					want = append(want, list[i].id)
				}
			}
			for i := q.fitting(0, stairs); i < len(q.jobs); i = q.fitting(i+1, stairs) {
				got = append(got, q.jobs[i].id)
			}
			if !slices.Equal(got, want) || q.waits != len(list) {
				rt.Fatalf("%d of %d fit: %v; want %d of %d: %v", len(got), q.waits, got, len(want), len(list), want)
			}
			if i := q.first(); len(list) > 0 && q.jobs[i].id != list[0].id || len(list) == 0 && i < len(q.jobs) {
				rt.Fatalf("first at %d of %d, want job %v", i, len(q.jobs), list)
			}
		}
	})
}
