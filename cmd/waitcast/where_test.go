package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// site starts a fake daemon of one cluster. waits has the median wait of each queue in minutes; a queue with a negative
// number does not accept the job. asked receives the newest request.
func site(t *testing.T, cluster string, waits map[string]float64, asked *wire.WaitsRequest) string {
	t.Helper()
	at := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	var queues wire.Queues
	var answer wire.Waits
	for _, name := range []string{"a", "b"} {
		minutes, ok := waits[name]
		if !ok {
			continue
		}
		queues.Queues = append(queues.Queues, wire.Queue{Cluster: cluster, Name: name})
		if minutes < 0 {
			answer.LeftOut = append(answer.LeftOut,
				wire.SizeLeftOut{Cluster: cluster, Queue: name, Detail: "too large"})
			continue
		}
		answer.Candidates = append(answer.Candidates, wire.WaitCandidate{Cluster: cluster, Queue: name,
			WaitSeconds: wire.Quantiles{P10: ptr(0.), P50: ptr(60 * minutes), P90: ptr(120 * minutes)},
			Start:       wire.Instants{P50: ptr(at.Add(time.Duration(minutes) * time.Minute))},
			StartWithin: wire.StartWithin{TenMinutes: .5}})
	}
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := any(queues)
		if r.Method == http.MethodPost {
			body = answer
			if err := json.NewDecoder(r.Body).Decode(asked); err != nil {
				t.Error(err)
			}
		}
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestWhere proves that the command compares the queues of several daemons for one job, the soonest start first. It
// names a daemon that does not answer, and a queue that does not accept the job.
func TestWhere(t *testing.T) {
	var north, south wire.WaitsRequest
	first := site(t, "north", map[string]float64{"a": 30, "b": -1}, &north)
	second := site(t, "south", map[string]float64{"a": 10, "b": 300}, &south)
	r := runWith("http://127.0.0.1:1", "where", "-n", "16", "-t", "2h", "--at", first, "--at", second, "--at",
		"http://127.0.0.1:1", "-u", "alice")
	flat := strings.Join(strings.Fields(r.stdout), " ")
	for _, want := range []string{
		"Advice queue a of cluster south: median wait 10 min",
		"south a 10 min 0 s to 20 min 50 % Mon 13:10 north a 30 min 0 s to 1 h 50 % Mon 13:30 south b 5 h",
		"Left out north:b: too large", "http://127.0.0.1:1",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("%q is missing:\n%s", want, r.stdout)
		}
	}
	if r.code != exitDone || len(south.Places) != 2 || south.Procs[0] != 16 || south.TimeLimits[0] != "2h" ||
		south.User != "alice" || north.Places[1] != (wire.Place{Cluster: "north", Queue: "b"}) {
		t.Errorf("exit %d %s, asked %+v and %+v", r.code, r.stderr, north, south)
	}
	raw := runWith(first, "where", "-n", "16", "-t", "2h", "-q", "a", "--json")
	var answer struct {
		Candidates []struct{ Daemon, Cluster, Queue string }
		LeftOut    []struct{ Detail string } `json:"left_out"`
	}
	if err := json.Unmarshal([]byte(raw.stdout), &answer); err != nil || raw.code != exitDone ||
		len(answer.Candidates) != 1 || answer.Candidates[0].Daemon != first || len(north.Places) != 1 {
		t.Errorf("--json: exit %d, %v: %s", raw.code, err, raw.stdout)
	}
	if r := runWith("http://127.0.0.1:1", "where", "-n", "16", "-t", "2h"); r.code != exitFailed || r.stdout != "" {
		t.Errorf("nobody answers: exit %d\n%s", r.code, r.stdout)
	}
	for _, args := range [][]string{{"where", "-n", "16"}, {"where", "-n", "0", "-t", "1h"},
		{"where", "-n", "1", "-t", "1h,2h"}, {"where", "-n", "1", "-t", "1h", "-N", "-1"}} {
		if r := runWith("http://127.0.0.1:1", args...); r.code != exitUsage {
			t.Errorf("%q: exit %d", args, r.code)
		}
	}
}
