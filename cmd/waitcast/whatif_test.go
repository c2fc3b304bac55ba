package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// cannedWaits returns the fake's answer, with invented numbers.
func cannedWaits() wire.Waits {
	at := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	candidate := func(queue string, procs int, limit, wait float64) wire.WaitCandidate {
		return wire.WaitCandidate{
			Cluster: "main", Queue: queue, Procs: procs, TimeLimitSeconds: limit,
			WaitSeconds: wire.Quantiles{P10: ptr(wait / 2), P50: &wait, P90: ptr(2 * wait)},
			Start:       wire.Instants{P50: ptr(at.Add(fromSeconds(wait)))},
			StartWithin: wire.StartWithin{TenMinutes: .5}, Best: .7,
		}
	}
	return wire.Waits{
		RankedBy: "start", AsOf: at, AgeSeconds: 3,
		Advice:     []string{"ask for 3 h instead of 7 d and start about 14 h sooner"},
		Candidates: []wire.WaitCandidate{candidate("a,b", 8, 10_800, 1800), candidate("a,b", 8, 604_800, 52_200)},
	}
}

const cannedWaitsText = `Advice          ask for 3 h instead of 7 d and start about 14 h sooner

procs  queue  limit  wait         8 of 10 cases           in 10 min  start      best
8      a,b    3 h    30 min       15 min to 1 h        50 %       Mon 13:30  70 %
8      a,b    7 d    14 h 30 min  7 h 15 min to 1 d 05 h  50 %       Tue 03:30  70 %

As of           2026-03-02 13:00:00 +00:00, 3 s ago
`

// TestWaitCompares proves that one request covers several sizes or limits, that several queues of one cluster are one
// job, and those of several clusters are compared. It checks the text for people.
func TestWaitCompares(t *testing.T) {
	var asked wire.WaitsRequest
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/wait" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		body, _ := io.ReadAll(r.Body)
		asked = wire.WaitsRequest{}
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		content, _ := json.Marshal(cannedWaits())
		_, _ = w.Write(content)
	}))
	defer server.Close()
	r := runWith(server.URL, "wait", "-q", "a,b", "-n", "4..16", "-t", "3h,7d", "-u", "me", "--mem", "4G")
	if squeeze(r.stdout) != squeeze(cannedWaitsText) || r.code != exitDone || r.stderr != "" {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, cannedWaitsText)
	}
	if !slices.Equal(asked.Procs, []int{4, 8, 16}) || !slices.Equal(asked.TimeLimits, []string{"3h", "7d"}) ||
		asked.User != "me" || asked.Memory == "" ||
		!slices.Equal(asked.Places, []wire.Place{{Queue: "a,b"}}) || asked.Runtime != nil {
		t.Errorf("asked %+v", asked)
	}
	if r := runWith(server.URL, "wait", "-q", "x:a,y:b", "-n", "4", "-t", "3h"); r.code != exitDone ||
		!slices.Equal(asked.Places, []wire.Place{{Cluster: "x", Queue: "a"}, {Cluster: "y", Queue: "b"}}) {
		t.Errorf("exit %d, %s; asked %+v", r.code, r.stderr, asked)
	}
	if r := runWith(server.URL, "wait", "-q", "a", "-n", "4", "-t", "3h", "--amdahl", "0,1h",
		"--json"); r.code != exitDone || asked.Runtime == nil || !strings.HasPrefix(r.stdout, `{"ranked_by"`) {
		t.Errorf("exit %d, %s; asked %+v", r.code, r.stdout, asked)
	}
	for want, args := range map[string][]string{
		"--procs must be 1 or more":  {"-q", "a", "-n", "4,0", "-t", "1h"},
		"--time must be more than 0": {"-q", "a", "-n", "4", "-t", "1h,0"},
		`duration "soon"`:            {"-q", "a", "-n", "4", "-t", "1h,soon"},
		"--runtime":                  {"-q", "a", "-n", "4", "-t", "1h", "--runtime", "x"},
		"--queue":                    {"-q", "a,", "-n", "4", "-t", "1h"},
	} {
		if r := runWith(server.URL, append([]string{"wait"}, args...)...); r.code != exitUsage ||
			!strings.Contains(r.stderr, want) {
			t.Errorf("%q: exit %d, %s; want %q", args, r.code, r.stderr, want)
		}
	}
}
