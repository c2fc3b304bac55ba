package daemon_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
)

// configure adds lines to the cluster of a site's configuration.
func (s *site) configure(t *testing.T, lines string) {
	t.Helper()
	text, err := os.ReadFile(s.config)
	must(t, err)
	write(t, s.config, strings.Replace(string(text), "    time_zone: UTC\n", "    time_zone: UTC\n"+lines, 1))
}

// TestConfiguredPolicy proves that answers name the policy that is configured for a cluster or a pool, even after a
// restart with another one, and that a forecast names the running job whose end it waits for, but not that job's user.
func TestConfiguredPolicy(t *testing.T) {
	s := newSite(t, "accounting", "")
	a, b, c := life{"1.t", machine - 16, 0, 1, 0}, life{"2.t", 32, 2, 0, 0}, life{"3.t", 1, 3, 4, 5}
	s.add(t, a.q()+a.s()+b.q()+c.q()+c.s()+c.e())
	plain, err := os.ReadFile(s.config)
	must(t, err)
	for _, lines := range []struct{ text, policy, source string }{
		{"", "easy", "assumed"},
		{"    policy: fcfs\n", "fcfs", "configured"},
		{"    policy: fcfs\n    pools: [{name: all, queues: [work], procs: 64, policy: priority}]\n", "priority_easy",
			"configured"},
	} {
		write(t, s.config, string(plain))
		s.configure(t, lines.text)
		d := s.start(t)
		d.caughtUp()
		var queues wire.Queues
		status, body := d.get("/v1/queues")
		if err := json.Unmarshal([]byte(body), &queues); err != nil || status != http.StatusOK ||
			len(queues.Queues) != 1 {
			t.Fatalf("%q: %d %v %s", lines.text, status, err, body)
		}
		if q := queues.Queues[0]; q.Policy != lines.policy || q.PolicySource != lines.source {
			t.Errorf("%q: %s, %s, want %s, %s", lines.text, q.Policy, q.PolicySource, lines.policy, lines.source)
		}
		var wait wire.Wait
		if _, body = d.get("/v1/wait?queue=work&procs=33&time_limit=1:00:00"); json.Unmarshal([]byte(body),
			&wait) != nil ||
			len(wait.WaitsFor) != 1 || wait.WaitsFor[0].ID != "1.t" {
			t.Errorf("%q: %s", lines.text, body)
		}
		if strings.Contains(body, "secretuser") {
			t.Errorf("%q names the user: %s", lines.text, body)
		}
		d.wantMetric(`waitcast_engine_trainings_total{cluster="main"}`, "0")
		d.stop()
	}
}
