package livemodels

import (
	"fmt"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/workload/speedup"
)

// The history tells the runs of one user's jobs of one name, in order of their ends, without those that never ran, of
// others, or of another name; and after it was saved and restored too.
func TestHistoryTellsRuns(t *testing.T) {
	h := newHistory(5000)
	add := func(user, name string, procs int, runtime float64) {
		j := cluster.Job{Attributes: job.Attributes{Queue: "q", User: user, Name: name, Procs: procs},
			Order: time.Unix(1000, 0)}
		h.add(&j, time.Second, runtime)
	}
	var want []speedup.Point
	for i := range 2500 { // more than one block
		seconds := 100 + float64(i)/8
		add("me", "solver", 1+i%8, seconds)
		add("me", "other", 3, 7)
		want = append(want, speedup.Point{Procs: 1 + i%8, Seconds: seconds})
	}
	add("you", "solver", 5, 9)
	add("me", "solver", 5, neverRan)
	add("", "solver", 5, 9)
	add("me", "", 5, 9)
	restored := newHistory(5000)
	if err := (*savableHistory)(restored).UnmarshalBinary(savedHistory(t, h)); err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]*history{"live": h, "restored": restored} {
		got := h.view().Runs("me", "solver")
		if len(got) != mostRuns || fmt.Sprint(got) != fmt.Sprint(want[len(want)-mostRuns:]) {
			t.Errorf("%s: %d runs, the newest %v; want the newest %d, to %v", name, len(got), got[len(got)-1], mostRuns,
				want[len(want)-1])
		}
		if got := h.view().Runs("you", "solver"); len(got) != 1 || got[0] != (speedup.Point{Procs: 5, Seconds: 9}) {
			t.Errorf("%s: your runs are %v", name, got)
		}
		for _, nobody := range [][2]string{{"", "solver"}, {"me", ""}, {"mes", "olver"}, {"nobody", "solver"}} {
			if got := h.view().Runs(nobody[0], nobody[1]); len(got) != 0 {
				t.Errorf("%s: runs of %q: %v", name, nobody, got)
			}
		}
	}
}
