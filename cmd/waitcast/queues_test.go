package main

import (
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// cannedQueues returns the fake's answer, with invented numbers.
func cannedQueues() wire.Queues {
	return wire.Queues{
		AsOf: time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC), AgeSeconds: 3,
		Queues: []wire.Queue{
			{Cluster: "main", Name: "batch", QueuedJobs: 12, QueuedProcs: 96, HeldJobs: 1, RunningJobs: 5,
				RunningProcs: 88},
			{Cluster: "main", Name: "gpu", Pool: "gpus", RunningJobs: 2, RunningProcs: 32},
		},
		Pools: []wire.Pool{{Cluster: "main", Capacity: wire.Amounts{Procs: 128}, Used: wire.Amounts{Procs: 88}}},
	}
}

const cannedQueuesText = `queue  waiting  (procs)  held  running  (procs)  in use
batch  12       96       1     5        88       88 of 128 procs
gpu    0        0        0     2        32       -

As of           2026-03-02 13:00:00 +00:00, 3 s ago
`

// TestQueuesText checks the command's text and the exit codes.
func TestQueuesText(t *testing.T) {
	r := runWith(serve(t, 200, cannedQueues()), "queues")
	if r.stdout != cannedQueuesText || r.code != exitDone || r.stderr != "" {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, cannedQueuesText)
	}
	two := cannedQueues()
	two.Queues[1].Cluster = "other"
	if r := runWith(serve(t, 200, two), "queues"); !strings.Contains(r.stdout, "\nmain:batch ") ||
		!strings.Contains(r.stdout, "\nother:gpu ") {
		t.Errorf("of two clusters:\n%s", r.stdout)
	}
	two.Stale = true
	if r := runWith(serve(t, 200, two), "queues"); r.code != exitStale {
		t.Errorf("stale: exit %d", r.code)
	}
	two.AsOf = time.Time{}
	if r := runWith(serve(t, 200, two), "queues"); !strings.Contains(r.stdout,
		"As of           no record has been read yet\n") {
		t.Errorf("before anything is read:\n%s", r.stdout)
	}
	if r := runWith(serve(t, 200, cannedQueues()), "queues", "--json"); !strings.HasPrefix(r.stdout, `{"queues":[`) {
		t.Errorf("--json: %s", r.stdout)
	}
}
