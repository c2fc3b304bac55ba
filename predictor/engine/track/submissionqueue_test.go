package track

import "testing"

// TestFullQueueGrows proves that a queue with a full slice gets room for at least an eighth more jobs. Before a slice
// grows, all its jobs are visited, so it must not have to grow again after a few new jobs.
func TestFullQueueGrows(t *testing.T) {
	const waiting = 1000
	q := SubmissionQueue{jobs: make([]*Job, 0, waiting+1)}
	started := &Job{State: Running}
	q.jobs = append(q.jobs, started) // one that is skipped
	for i := range waiting {
		q.jobs = append(q.jobs, &Job{State: Waiting, Number: uint64(i)})
	}
	q.Push(&Job{State: Waiting, Number: waiting})
	if got := cap(q.jobs) - len(q.jobs); got < waiting/8 || len(q.jobs) != waiting+1 {
		t.Errorf("%d jobs wait, and there is room for %d more, need %d at least", len(q.jobs), got, waiting/8)
	}
	for i, j := range q.Waiting() {
		if j.Number != uint64(i) {
			t.Fatalf("job %d in place %d", j.Number, i)
		}
	}
}
