package ask

import (
	"testing"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job"
	enginepools "github.com/waitcast/waitcast/predictor/engine/pools"
)

// TestInUse checks the text for every kind of limit and of its owner, for a job of the account physics.
func TestInUse(t *testing.T) {
	kept := func(kind int, most, used, wants int64) *enginepools.Kept {
		return &enginepools.Kept{Kind: kind, Most: most, Used: used, Wants: wants}
	}
	for _, c := range []struct {
		limit *job.Limit
		kept  *enginepools.Kept
		want  string
	}{
		{&job.Limit{Account: "Physics"}, kept(joblimits.Procs, 256, 256, 8),
			"your account's 256 processors are in use"},
		{&job.Limit{Account: "science"}, kept(joblimits.Procs, 256, 250, 8),
			"250 of the 256 processors of account science are in use, and this job asks for 8"},
		{&job.Limit{Account: "physics", User: "ann"}, kept(joblimits.Jobs, 1, 1, 1),
			"your 1 job in account physics runs"},
		{&job.Limit{QOS: "normal", PerUser: true}, kept(joblimits.Jobs, 2, 2, 1), "your 2 jobs in QOS normal run"},
		{&job.Limit{QOS: "normal", PerAccount: true}, kept(joblimits.GPUs, 4, 1, 4),
			"1 of your account's 4 GPUs in QOS normal is in use, and this job asks for 4"},
		{&job.Limit{QOS: "normal"}, kept(joblimits.Nodes, 1, 1, 1), "the 1 node of QOS normal is in use"},
		{&job.Limit{QOS: "normal"}, kept(joblimits.Memory, 64<<30, 60<<30, 8<<30),
			"60 GiB of the 64 GiB of memory of QOS normal are in use, and this job asks for 8 GiB"},
		{&job.Limit{Scope: &job.Scope{Where: "queue workq", EachUser: true}}, kept(joblimits.Procs, 6, 6, 1),
			"your 6 processors in queue workq are in use"},
		{&job.Limit{Scope: &job.Scope{Where: "server", EachAccount: true}}, kept(joblimits.Jobs, 1, 1, 1),
			"your project's 1 job in server runs"},
		{&job.Limit{Scope: &job.Scope{Where: "server", EachGroup: true}}, kept(joblimits.GPUs, 2, 2, 1),
			"your group's 2 GPUs in server are in use"},
		{&job.Limit{Scope: &job.Scope{Where: "server", Groups: []string{"staff"}}}, kept(joblimits.Jobs, 9, 9, 1),
			"the 9 jobs of staff in server run"},
		{&job.Limit{Scope: &job.Scope{Where: "resource quota q"}}, kept(joblimits.Procs, 4, 4, 1),
			"the 4 processors of resource quota q are in use"},
		{nil, kept(joblimits.Jobs, 2, 2, 1), "the 2 jobs that the array may have at once run"},
	} {
		if got := inUse(c.limit, "physics", c.kept); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestComesFree checks the text about the part of a limit that becomes free. Times are rounded to about 1/20.
func TestComesFree(t *testing.T) {
	for _, c := range []struct {
		kind    int
		n       int64
		seconds float64
		want    string
	}{
		{joblimits.Procs, 64, 7263, "64 come free in about 2 h"},
		{joblimits.Procs, 1, 130, "1 comes free in about 2 min"},
		{joblimits.Jobs, 1, 3599, "1 ends in about 1 h"}, {joblimits.Jobs, 3, 12, "3 end within about a minute"},
		{joblimits.Memory, 3 << 30, 100_000, "3 GiB come free in about 1 d 04 h"},
		{joblimits.GPUs, 2, 1_000_000, "2 come free in about 11 d 12 h"},
	} {
		if got := comesFree(c.kind, c.n, c.seconds); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
