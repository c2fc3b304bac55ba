package simulator_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/simulator"
)

// TestMoldedAtBoth covers a job that may choose its size at its submission and as the first of the queue. It proves
// when the job is asked: at its submission and at every pass in which it is the first, and not between them. A job
// that overtakes the first is asked once. An answer that changes nothing causes no pass of its own.
func TestMoldedAtBoth(t *testing.T) {
	var asked []string
	cfg := simulator.Config{Procs: 8, Policy: new(simulator.EASY), Mold: &simulator.Mold{
		When: simulator.AtBoth,
		Choose: func(p *simulator.Pool, j *simulator.Job) {
			asked = append(asked, fmt.Sprintf("%v: %d of %d", p.Now(), j.ID, j.Procs))
			if j.ID == 3 {
				j.Procs = max(3, j.Procs-1) // 4 at first, then 3 once it is the first
			}
		},
	}}
	// Job 2 waits for all processors. Jobs 3 and 5 are too long to overtake it, and job 4 is not.
	events := play(t, cfg, job(1, 0, 4, 100, 100), job(2, 1, 8, 10, 10), job(3, 2, 5, 120, 120), job(4, 3, 1, 5, 5),
		job(5, 4, 8, 5, 200))
	want(t, only(events, "start"), "0 start 1", "3 start 4", "100 start 2", "110 start 3", "230 start 5")
	if d := cmp.Diff([]string{
		"0: 1 of 4", "0: 1 of 4", // at the submission, and at once as the first
		"1: 2 of 8", "1: 2 of 8",
		// a submission, and the pass after it
		"2: 3 of 5", "2: 2 of 8", "3: 4 of 1", "3: 2 of 8", "4: 5 of 8", "4: 2 of 8",
		"8: 2 of 8", "100: 2 of 8", // the ends of jobs 4 and 1
		"100: 3 of 4", "100: 3 of 3", // now job 3 is the first, and changes its size
		"110: 3 of 3", "110: 5 of 8", "230: 5 of 8",
	}, asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
}
