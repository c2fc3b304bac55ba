package main

import (
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// cannedWhen returns the fake's answer, with invented numbers.
func cannedWhen() wire.When {
	at := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	hour := func(n int, p25, p50, p75, p95 float64, best bool) wire.WhenHour {
		return wire.WhenHour{At: at.Add(time.Duration(n) * time.Hour), Best: best,
			WaitSeconds: wire.WaitsBand{P05: ptr(0.), P25: &p25, P50: &p50, P75: &p75, P95: &p95}}
	}
	return wire.When{Cluster: "main", Queue: "short", Procs: 16, TimeLimitSeconds: 7200, AsOf: at, AgeSeconds: 3,
		MadeFor: at, Note: "from 32 simulated futures", Hours: []wire.WhenHour{
			hour(1, 1800, 3600, 7200, 14400, false), hour(2, 60, 600, 1800, 3600, true),
			hour(3, 1800, 3300, 7200, 14400, false)}}
}

const cannedWhenText = `   submitted  median wait  half the cases   19 of 20 cases
   Mon 14:00  1 h          30 min to 2 h    at most 4 h
*  Mon 15:00  10 min       1 min to 30 min  at most 1 h
   Mon 16:00  55 min       30 min to 2 h    at most 4 h

Rests on        from 32 simulated futures
As of           2026-03-02 13:00:00 +00:00, 3 s ago
`

// TestWhenText checks the text for people, and proves that impossible requests are refused.
func TestWhenText(t *testing.T) {
	asked := []string{"when", "-q", "short", "-n", "16", "-t", "2h", "--hours", "3"}
	r := runWith(serve(t, 200, cannedWhen()), asked...)
	if r.stdout != cannedWhenText || r.code != exitDone || r.stderr != "" {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, cannedWhenText)
	}
	alike := cannedWhen()
	alike.Hours = alike.Hours[:1]
	if r := runWith(serve(t, 200, alike), asked...); !strings.Contains(r.stdout, "no hour is marked") {
		t.Errorf("without a best hour:\n%s", r.stdout)
	}
	for _, args := range [][]string{
		{"when", "-q", "short", "-n", "16"}, {"when", "-q", "short", "-n", "16", "-t", "120"},
		{"when", "-q", "short", "-n", "16", "-t", "1h,2h"}, {"when", "-q", "short", "-n", "0", "-t", "1h"},
		{"when", "-q", "short", "-n", "16", "-t", "2h", "--hours", "169"},
	} {
		if r := runWith("http://127.0.0.1:1", args...); r.code != exitUsage {
			t.Errorf("%q: exit %d, %s", args, r.code, r.stderr)
		}
	}
}
