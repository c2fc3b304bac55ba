package simulator

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLaneFindsTheFirst compares the lane with a look at each job.
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
				list = append(list,
					minima{float64(rapid.IntRange(1, 99).Draw(t, "plan")),
						int32(rapid.IntRange(1, 99).Draw(t, "held"))})
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
