package livemodels

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/workload/speedup"
)

// TestHistoryTellsRuns proves that Runs returns the newest mostRuns runs of one user's jobs with one name, in the order
// of their ends. Jobs that never ran, other users' jobs and jobs with other names are left out. The same holds after
// saving and restoring.
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

// TestProgramsOfAUser proves that Programs returns the runs of one user by program, the newest first, with their time
// limits. It also checks the number of programs with enough runs, and that runs without a name are left out.
func TestProgramsOfAUser(t *testing.T) {
	h := newHistory(5000)
	add := func(user, name string, limit time.Duration, runtime float64) {
		j := cluster.Job{Attributes: job.Attributes{Queue: "q", User: user, Name: name, Procs: 4, TimeLimit: limit},
			Order: time.Unix(1000, 0)}
		h.add(&j, time.Second, runtime)
	}
	for i := range 3 {
		add("me", "solver", time.Hour, 600*float64(i+1))
		add("me", "other", time.Hour, 60)
		add("you", "solver", time.Hour, 60)
	}
	add("me", "solver", time.Hour, 3590)
	add("me", "solver", 0, neverRan)
	add("me", "", time.Hour, 60)
	p := h.view().Programs("me")
	want := []Run{{4, time.Hour, 3590}, {4, time.Hour, 1800}, {4, time.Hour, 1200}, {4, time.Hour, 600}}
	got := p.Of("solver")
	if !slices.Equal(got, want) || !got[0].ReachedLimit() || got[1].ReachedLimit() {
		t.Errorf("runs %+v, want %+v, the first at its limit", got, want)
	}
	if unlimited := (Run{4, 0, 1e9}); unlimited.ReachedLimit() {
		t.Error("a run without a limit has reached it")
	}
	for _, c := range []struct {
		least, want int
		names       []string
	}{{3, 2, nil}, {4, 1, nil}, {3, 1, []string{"solver"}}, {3, 0, []string{"solver", "other"}},
		{4, 0, []string{"solver", "other"}}, {5, 0, nil}, {3, 2, []string{"unknown"}}} {
		if got := p.Others(c.least, c.names); got != c.want {
			t.Errorf("%d others with %d runs beside %q, want %d", got, c.least, c.names, c.want)
		}
	}
	for _, nobody := range []string{"", "them"} {
		if p := h.view().Programs(nobody); len(p.Of("solver")) != 0 || p.Others(1, nil) != 0 {
			t.Errorf("%q has runs", nobody)
		}
	}
}
