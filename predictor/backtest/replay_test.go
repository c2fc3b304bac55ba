package backtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/swf"
)

// recorder records the calls of its methods.
type recorder struct{ told []string }

func (r *recorder) note(what string, now float64, id uint64) {
	r.told = append(r.told, fmt.Sprintf("%s %d at %g", what, id, now))
}

func (r *recorder) Submit(now float64, id uint64, _ engine.Request) engine.Forecast {
	r.note("submit", now, id)
	return engine.Forecast{}
}

func (r *recorder) Start(now float64, id uint64, learn bool) {
	what := "start"
	if !learn {
		what = "start unlearnt"
	}
	r.note(what, now, id)
}
func (r *recorder) End(now float64, id uint64)                 { r.note("end", now, id) }
func (r *recorder) Lost(now float64, id uint64)                { r.note("lost", now, id) }
func (r *recorder) Gone(now float64, id uint64)                { r.note("gone", now, id) }
func (r *recorder) Hold(now float64, id uint64, _ engine.Hold) { r.note("hold", now, id) }
func (r *recorder) Release(now float64, id uint64) {
	r.note("release", now, id)
}
func (r *recorder) Update(now float64, id uint64, to engine.Request) {
	r.note(fmt.Sprintf("update to %d", to.Procs), now, id)
}

func read(t *testing.T, lines ...string) *Trace {
	t.Helper()
	trace, err := Read(swf.NewReader(strings.NewReader(strings.Join(lines, "\n")+"\n")), "test")
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// line returns a record with number, submit, wait, runtime, allocated, limit and status. The job is of user 7 and asks
// for 2 processors in queue 1.
func line(number, submit, wait, runtime, allocated, limit, status int) string {
	return fmt.Sprintf("%d %d %d %d %d -1 -1 2 %d -1 %d 7 1 -1 1 -1 -1 -1", number, submit, wait, runtime, allocated,
		limit, status)
}

// TestOrderOfAnInstant proves the order within an instant: first ends, then submissions in the order of the file, then
// starts. A job without a duration ends after its start.
func TestOrderOfAnInstant(t *testing.T) {
	trace := read(t,
		line(1, 0, 0, 100, 2, 600, 1),   // ends at 100
		line(2, 50, 50, 10, 2, 600, 1),  // starts at 100
		line(3, 100, 0, 0, 2, 600, 1),   // is submitted, starts and ends at 100
		line(4, 100, -1, 20, 2, 600, 1), // its wait is not in the log: it starts at its submission
		line(5, 60, 40, -1, -1, 600, 5), // cancelled at 100
		line(6, 100, -1, -1, 2, 600, 1), // without a recorded start
		line(7, 100, 0, -1, 2, 600, 1),  // without a recorded end
	)
	var r recorder
	trace.Replay(&r, func(int, engine.Forecast) {})
	// The trace is sorted by submission: the numbers 1, 2, 5, 3, 4, 6, 7 become 0 to 6.
	want := []string{
		"submit 0 at 0", "start 0 at 0", "submit 1 at 50", "submit 2 at 60",
		"end 0 at 100", "gone 2 at 100",
		"submit 3 at 100", "submit 4 at 100", "submit 5 at 100", "submit 6 at 100",
		"start 1 at 100", "start 3 at 100", "start unlearnt 4 at 100", "start 6 at 100",
		"end 3 at 100", "end 1 at 110", "end 4 at 120", "lost 6 at 87100",
	}
	if d := cmp.Diff(want, r.told); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestScoredJobs proves that three kinds of jobs are not scored: cancelled ones, those whose waits are not in the log,
// and a job that never ran although it has processors.
func TestScoredJobs(t *testing.T) {
	trace := read(t,
		line(1, 0, 5, 100, 2, 600, 1),
		line(2, 1, 5, -1, -1, 600, 5),
		line(3, 2, -1, 20, 2, 600, 1),
		line(4, 3, 5, -1, 2, 600, 5),
		line(5, 4, -1, -1, 2, 600, 1),
	)
	var got []bool
	for i := range trace.Jobs {
		got = append(got, trace.Jobs[i].Scored())
	}
	if d := cmp.Diff([]bool{true, false, false, false, false}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestQueues proves that the queues of a log are its queues, or, in a log with partitions only, its partitions, as in
// Slurm.
func TestQueues(t *testing.T) {
	record := "1 0 0 10 2 -1 -1 2 600 -1 1 7 1 -1 1 3 -1 -1"
	for header, want := range map[string][2]string{
		"; Queue: 1 normal":   {"normal", "3"},
		"; Partition: 3 gpu":  {"gpu", ""},
		"; Computer: unnamed": {"3", ""},
	} {
		j := read(t, header, record).Jobs[0]
		if got := [2]string{j.Queue, j.Partition}; got != want {
			t.Errorf("%s: queue and partition %q, want %q", header, got, want)
		}
	}
}

// TestNoJobs proves that a log without a job that can be replayed is an error that names the log.
func TestNoJobs(t *testing.T) {
	_, err := Read(swf.NewReader(strings.NewReader("1 0 0 10 -1 -1 -1 -1 600 -1 1 7 1 -1 1 3 -1 -1\n")), "log.swf")
	if err == nil || !strings.Contains(err.Error(), "log.swf") {
		t.Errorf("got %v, want an error that names the log", err)
	}
}
