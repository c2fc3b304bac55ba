package readmodel

import (
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// TestRefusedBy proves that a submission is refused if a limit on the number of running and waiting jobs is reached. A
// limit of a QOS replaces the same limit of an account, a limit per user counts only the jobs of that user, and each
// task of an array counts as one job. If the end of one running job is enough, the result names the job that ends
// first.
func TestRefusedBy(t *testing.T) {
	e, err := engine.New(engine.Config{Capacity: 90})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	started := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	member := func(seq uint64, user, qos string, tasks int) *cluster.Job {
		return &cluster.Job{Seq: seq, Attributes: job.Attributes{Queue: "q", Procs: 1, User: user, QOS: qos,
			Account: "lab", TimeLimit: time.Duration(seq) * 100 * time.Second, Tasks: tasks}}
	}
	running := []*cluster.Job{member(9, "ann", "each", 0), member(5, "ann", "each", 0), member(7, "bob", "all", 0)}
	for _, j := range running { // without history, the laws of their lifetimes end at their limits
		e.Submit(1000, EngineID(j), EngineRequest(&j.Attributes))
		e.Start(1000, EngineID(j), true)
	}
	v := New(View{Engine: e.View(1100), View: &cluster.View{At: started, Running: running,
		Queued: []*cluster.Job{member(11, "bob", "all", 3), member(12, "cy", "plain", 0)},
		Facts: &job.Facts{Enforced: job.Enforced{Limits: true}, Accounts: []job.Account{{Name: "lab"}},
			Limits: []job.Limit{
				{QOS: "each", PerUser: true, Submitted: 2}, {QOS: "all", Submitted: 4}, {QOS: "jobs", Jobs: 1},
				{Account: "lab", Submitted: 7}, {Account: "lab", PerUser: true, Submitted: 1},
			}}}})
	for _, c := range []struct {
		name, user, qos string
		want            *job.Limit
		id              uint64 // id of the job whose end is needed
	}{
		{"a user with as many as each may have", "ann", "each", &v.Facts.Limits[0], 5},
		{"a user without any", "cy", "each", &v.Facts.Limits[3], 5},
		{"all together, with tasks", "dan", "all", &v.Facts.Limits[1], 7},
		{"a limit of the account for each user", "cy", "plain", &v.Facts.Limits[4], 0},
	} {
		full := v.RefusedBy(&job.Attributes{Queue: "q", Procs: 1, User: c.user, QOS: c.qos, Account: "lab"})
		switch {
		case full == nil || full.Limit.QOS != c.want.QOS || full.Limit.PerUser != c.want.PerUser ||
			full.Most != int64(c.want.Submitted):
			t.Errorf("%s: %+v, want %+v", c.name, full, c.want)
		case (full.Freed == nil) != (c.id == 0):
			t.Errorf("%s: free is %+v, want by the end of job %d", c.name, full.Freed, c.id)
		case c.id != 0 && full.Freed.Job.Seq != c.id:
			t.Errorf("%s: job %d makes room, want %d", c.name, full.Freed.Job.Seq, c.id)
		}
	}
	for _, qos := range []string{"jobs", "none"} {
		if full := v.RefusedBy(&job.Attributes{Queue: "q", Procs: 1, User: "dan", QOS: qos}); full != nil {
			t.Errorf("QOS %s: refused by %+v", qos, full)
		}
	}
}
