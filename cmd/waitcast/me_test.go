package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// cannedMe returns the fake's answer, with invented numbers.
func cannedMe() wire.Me {
	at := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	return wire.Me{
		User: "alice", Cluster: "main", RunningJobs: 2, Waiting: 1, OtherNames: 2, AsOf: at, AgeSeconds: 3,
		Jobs: []wire.Job{{ID: "4711", Queue: "short", Procs: 16, WaitedSeconds: 300, AheadJobs: 3,
			Forecast: &wire.JobForecast{AtSubmit: wire.Quantiles{P50: ptr(2400.)},
				Now:   wire.Quantiles{P25: ptr(1200.), P50: ptr(2100.), P75: ptr(3600.)},
				Start: wire.Instants{P50: ptr(at.Add(35 * time.Minute))}}}},
		Habits: []wire.Habit{{Name: "relax", Runs: 40,
			Text: "90 % of your relax jobs end within 40 min of the 12 h that you ask; asking for 1 h would start " +
				"about 2 h sooner (probability 0.86)"}},
	}
}

const cannedMeText = `User            alice on cluster main, waiting: 1, running: 2

job   queue  procs  waited  forecast  still          most likely start  ahead
4711  short  16     5 min   40 min    20 min to 1 h  Mon 13:35          3

Habits          90 % of your relax jobs end within 40 min of the 12 h that you
                ask; asking for 1 h would start about 2 h sooner (probability
                0.86)
                2 more of your job names have a habit: --name NAME shows it
As of           2026-03-02 13:00:00 +00:00, 3 s ago
`

// TestMeText checks the command's text, the request to the daemon, and the exit codes.
func TestMeText(t *testing.T) {
	r := runWith(serve(t, 200, cannedMe()), "me")
	got := regexp.MustCompile(`(?m) +$`).ReplaceAllString(r.stdout, "")
	if got != cannedMeText || r.code != exitDone || r.stderr != "" {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", r.code, r.stderr, got, cannedMeText)
	}
	next := 1
	two := cannedMe()
	two.Waiting, two.NextOffset, two.Habits, two.OtherNames = 2, &next, nil, 0
	if r := runWith(serve(t, 200, two), "me"); !strings.Contains(r.stdout, "1 of 2 jobs are shown: --offset 1 shows") ||
		!strings.Contains(r.stdout, "none of your jobs that wait or run has a name") {
		t.Errorf("a page, without habits:\n%s", r.stdout)
	}
	nobody := wire.Problem{Title: "Unauthorized", Status: http.StatusUnauthorized, Detail: "this needs a credential",
		Hint: "ask over the daemon's Unix socket"}
	if r := runWith(serve(t, http.StatusUnauthorized, nobody), "me"); r.code == exitDone ||
		!strings.Contains(r.stderr, "Unix socket") {
		t.Errorf("nobody: exit %d %s", r.code, r.stderr)
	}
	for _, args := range [][]string{{"me", "--limit", "0"}, {"me", "--offset", "-1"}, {"jobs", "--offset", "-1"},
		{"me", "x"}} {
		if r := runWith("http://127.0.0.1:1", args...); r.code != exitUsage {
			t.Errorf("%q: exit %d", args, r.code)
		}
	}
}
