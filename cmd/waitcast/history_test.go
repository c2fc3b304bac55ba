package main

import (
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// cannedHistory returns the fixed answer of the fake server, with invented numbers.
func cannedHistory() wire.History {
	at := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	return wire.History{Cluster: "main", Since: at.AddDate(0, 0, -1), TimeZone: "UTC", Total: 3, NextOffset: ptr(2),
		AsOf: at, AgeSeconds: 3, Days: []wire.HistoryDay{
			{Day: "2026-03-02", Queue: "batch", Started: 120, Median: 300, P90: 7200},
			{Day: "2026-03-02", Queue: "gpu", Started: 4, Median: 0, P90: 45},
		}}
}

const cannedHistoryText = `day         queue  started  median wait  9 of 10 waited at most
2026-03-02  batch  120      5 min        2 h
2026-03-02  gpu    4        0 s          45 s

More            2 of 3 rows: --offset 2
As of           2026-03-02 13:00:00 +00:00, 3 s ago
`

// TestHistoryText checks the command's text, the text shown in the docs, and the exit codes.
func TestHistoryText(t *testing.T) {
	r := runWith(serve(t, 200, cannedHistory()), "history", "--since", "1d", "--limit", "2")
	if r.stdout != cannedHistoryText || r.code != exitDone || r.stderr != "" {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, cannedHistoryText)
	}
	none := cannedHistory()
	none.Days, none.NextOffset = nil, nil
	if r := runWith(serve(t, 200, none), "history"); !strings.Contains(r.stdout, "No job has started in this time.") {
		t.Errorf("without days:\n%s", r.stdout)
	}
	none.Stale = true
	if r := runWith(serve(t, 200, none), "history"); r.code != exitStale {
		t.Errorf("stale: exit %d", r.code)
	}
	if r := runWith("http://127.0.0.1:1", "history", "batch"); r.code != exitUsage {
		t.Errorf("an argument: exit %d", r.code)
	}
}
