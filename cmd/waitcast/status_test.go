package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/api/wire"
)

func cannedHealth() *wire.Health {
	at := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	return &wire.Health{
		Status: wire.Degraded, Version: "0.2.0",
		Conditions: []wire.Condition{{Name: "source_unreadable", Cluster: "main", Source: "main/jobcomp", Since: at,
			Text: "source_unreadable: source main/jobcomp: /var/log/slurm/jobcomp.log: permission denied"}},
		Clusters: []wire.ClusterStatus{{Cluster: "main", AsOf: at, AgeSeconds: 72}, {Cluster: "new"}},
		Sources: []wire.SourceStatus{
			{Source: "main/jobcomp", Cluster: "main", CaughtUp: true, LastLine: at, LineAgeSeconds: 125, LagBytes: 4096,
				ClockOffsetSeconds: -3600, SetAside: 2},
			{Source: "new/accounting", Cluster: "new"},
		},
	}
}

const cannedStatusText = `Status          degraded
Condition       source_unreadable: source main/jobcomp:
                /var/log/slurm/jobcomp.log: permission denied (since 2026-03-02
                13:00:00)
Daemon          waitcastd 0.2.0 at URL

cluster  newest record               age
main     2026-03-02 13:00:00 +00:00  1 min 12 s
new      none yet                    -

source          newest line           read to end  unread bytes  clock ahead  set aside
main/jobcomp    2 min 05 s ago        yes          4096          -1 h         2
new/accounting  none since the start  no           0             0 s          0
`

// statusShown runs waitcast status with an answer, and puts a word in place of the address of the fake daemon.
func statusShown(t *testing.T, health *wire.Health, args ...string) result {
	t.Helper()
	url := serveHealth(t, nil, health)
	r := runWith(url, append([]string{"status"}, args...)...)
	r.stdout = strings.ReplaceAll(r.stdout, url, "URL")
	return r
}

// TestStatus proves that waitcast status shows conditions, sources, freshness and version once, and that its exit code
// tells the states apart.
func TestStatus(t *testing.T) {
	r := statusShown(t, cannedHealth())
	if r.stdout != cannedStatusText || r.stderr != "waitcast: the daemon is degraded\n" || r.code != exitFailed {
		t.Errorf("exit %d, %q, -want +got:\n%s", r.code, r.stderr, cmp.Diff(cannedStatusText, r.stdout))
	}
	if r = statusShown(t, cannedHealth(), "--json"); r.code != exitFailed ||
		!strings.Contains(r.stdout, `"lag_bytes":4096`) {
		t.Errorf("JSON: exit %d, %s", r.code, r.stdout)
	}
	stale := []wire.StaleCluster{{Cluster: "main", Reason: "the newest record is 12 min old"}}
	for _, c := range []struct {
		health *wire.Health
		code   int
		stderr string
	}{
		{&wire.Health{Status: wire.Ready}, exitDone, ""},
		{&wire.Health{Status: wire.NotReady, Stale: stale}, exitNoForecast, "the daemon is not ready"},
		{&wire.Health{Status: wire.Degraded, Stale: stale}, exitStale, stale[0].Reason},
	} {
		r := statusShown(t, c.health)
		if r.code != c.code || !strings.Contains(r.stderr, c.stderr) || c.stderr == "" && r.stderr != "" {
			t.Errorf("%s: exit %d, %q", c.health.Status, r.code, r.stderr)
		}
	}
}
