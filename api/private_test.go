package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
)

// slurmSays feeds the facts of a Slurm with a value of PrivateData.
func (f *fixture) slurmSays(cluster, private string) {
	f.Helper()
	f.feed(cluster, job.Event{Kind: job.Machine, Cluster: cluster, ID: job.MachineID, Time: f.now, Live: true,
		Facts: &job.Facts{Version: "22.05.8", Private: private}})
}

// serveAs replaces the server of the fixture by one with the rule access.others.
func (f *fixture) serveAs(change func(*access.Policy)) {
	f.Helper()
	o := access.Options{AdminToken: adminToken, Policy: access.Default(), Registry: prometheus.NewRegistry()}
	change(&o.Policy)
	g, err := access.New(o)
	if err != nil {
		f.Fatal(err)
	}
	f.server = api.New(f.pipeline, api.Options{Version: "test", StaleAfter: staleAfter, Now: f.clock, Guard: g,
		Registry: prometheus.NewRegistry(), Log: zap.NewNop()})
}

// TestPrivateJobs proves that access.others: auto follows what Slurm reports of PrivateData in each cluster, that a
// polled Slurm that has not reported it counts as private, and that the other values do not depend on Slurm.
func TestPrivateJobs(t *testing.T) {
	f := serve(t, main(10), pipeline.ClusterConfig{Name: "open", Procs: 10})
	for _, cluster := range []string{"main", "open"} {
		for _, o := range []one{{id: "1", queue: "work", procs: 10, limit: 3600e9, submit: 0, start: 5, end: -1},
			{id: "2", queue: "work", procs: 4, submit: 10, start: -1, end: -1}} {
			f.feed(cluster, o.events(cluster)...)
		}
	}
	f.now = at(100)
	paths := []string{"/v1/jobs?", "/v1/jobs/2?", "/v1/wait?procs=1&user=" + secret + "&", "/v1/now?account=a&"}
	want := func(when string, main, open int) {
		t.Helper()
		for _, path := range paths {
			for cluster, status := range map[string]int{"main": main, "open": open} {
				a := f.do(http.MethodGet, path+"cluster="+cluster, nil)
				if a.status != status {
					t.Errorf("%s: GET %scluster=%s: status %d, want %d: %s", when, path, cluster, a.status, status,
						a.body)
				}
				if reason := strings.Contains(string(a.body), "PrivateData=jobs"); reason != (status == 401) {
					t.Errorf("%s: GET %scluster=%s: the reason is told: %v: %s", when, path, cluster, reason, a.body)
				}
				admin := http.Header{"Authorization": {"Bearer " + adminToken}}
				if a := f.do(http.MethodGet, path+"cluster="+cluster, admin); a.status != 200 {
					t.Errorf("%s: an administrator: GET %scluster=%s: status %d", when, path, cluster, a.status)
				}
			}
		}
		for _, path := range []string{"/v1/wait?procs=1", "/v1/now?"} { // totals, and questions in nobody's name
			if a := f.do(http.MethodGet, path+"&cluster=main", nil); a.status != 200 {
				t.Errorf("%s: GET %s: status %d: %s", when, path, a.status, a.body)
			}
		}
	}
	f.serveAs(func(*access.Policy) {})
	want("no Slurm", 200, 200)
	pivots := func() (ids string) {
		for _, p := range f.wait("cluster=main&procs=4").WaitsFor {
			ids += fmt.Sprintf("%q", p.ID)
		}
		return ids
	}
	if ids := pivots(); ids != `"1"` {
		t.Fatalf("no Slurm: the wait depends on %s, want job 1", ids)
	}
	f.slurmSays("open", "none")
	f.slurmSays("main", "jobs,usage")
	want("PrivateData=jobs,usage and none", 401, 200)
	if ids := pivots(); ids != `""` {
		t.Errorf("PrivateData=jobs: the wait depends on %s, want a job without its id", ids)
	}
	f.slurmSays("main", "nodes,usage")
	want("PrivateData=nodes,usage", 200, 200)
	f.slurmSays("main", "") // as slurmrestd, or 0.1.0
	want("facts without PrivateData", 401, 200)
	f.serveAs(func(p *access.Policy) { p.OthersAuto, p.Others = false, access.Public })
	want("others: public", 200, 200)
	f.serveAs(func(*access.Policy) {})

	g := serve(t, main(10))
	g.feed("main", one{id: "1", queue: "work", procs: 10, submit: 0, start: -1, end: -1}.events("main")...)
	g.pipeline.AddSource(source.Config{Name: "main/slurm-squeue", Options: collector.Options{Cluster: "main"},
		Format: collector.Format{Name: "slurm-squeue", Private: true}})
	g.now = at(100)
	if p := g.problem("/v1/jobs"); p.Status != 401 {
		t.Errorf("Slurm is polled and has not answered: %+v", p)
	}
	g.slurmSays("main", "none")
	var all wire.Jobs
	g.get("/v1/jobs", &all)
	if all.Waiting != 1 {
		t.Errorf("PrivateData=none: %+v", all)
	}
}
