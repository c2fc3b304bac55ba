package main

import (
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// cannedNow returns the fake's answer, with invented numbers.
func cannedNow() wire.Now {
	return wire.Now{
		AsOf: time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC), AgeSeconds: 3,
		Queues: []wire.NowQueue{
			{Cluster: "main", Queue: "batch", Procs: 128, Free: 40, PlanAge: ptr(0.), Openings: []wire.Opening{
				{Procs: 40, TimeLimitSeconds: ptr(6600.), Probability: .82, LikelyProcs: 16},
				{Procs: 12, Probability: .97, LikelyProcs: 12},
			}},
			{Cluster: "main", Queue: "short", Procs: 32, Openings: []wire.Opening{},
				Reason: "nothing: no processor is free"},
		},
	}
}

const cannedNowText = `queue  free       up to procs  for up to       starts at once  likely (90 %)
batch  40 of 128  40           1 h 50 min      82 %            16
                  12           any time limit  97 %            12
short  0 of 32    -            -               -               -

short           nothing: no processor is free
As of           2026-03-02 13:00:00 +00:00, 3 s ago
`

// TestNowText checks the command's text and the exit codes.
func TestNowText(t *testing.T) {
	r := runWith(serve(t, 200, cannedNow()), "now")
	if r.stdout != cannedNowText || r.code != exitDone || r.stderr != "" {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, cannedNowText)
	}
	if raw := runWith(serve(t, 200, cannedNow()), "now", "--json"); raw.code != exitDone ||
		!strings.HasPrefix(raw.stdout, `{"queues":[`) {
		t.Errorf("exit %d: %s", raw.code, raw.stdout)
	}
	stale := cannedNow()
	stale.Stale = true
	if r := runWith(serve(t, 200, stale), "now", "-q", "batch"); r.code != exitStale {
		t.Errorf("stale: exit %d", r.code)
	}
	unknown := wire.Problem{Type: wire.ProblemNoForecast, Title: "No forecast possible", Status: 404,
		Detail: `cluster main has no queue "x"`, Reason: "unknown_queue"}
	if r := runWith(serve(t, 404, unknown), "now", "-q", "x"); r.code != exitNoForecast {
		t.Errorf("unknown queue: exit %d", r.code)
	}
	if r := runWith("http://127.0.0.1:1", "now", "--timeout", "0"); r.code != exitUsage {
		t.Errorf("no time: exit %d", r.code)
	}
}
