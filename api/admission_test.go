package api_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
)

const gib = 1 << 30

// listed returns a scheduler's facts: eight nodes, two of them down, and rules about who may request what.
func listed() *job.Facts {
	return &job.Facts{
		Nodes: []job.NodeGroup{
			{Queues: []string{"work"}, Count: 6, Down: 2, Node: job.NodeResources{Procs: 8, Memory: 32 * gib}},
			{Queues: []string{"gpu", "work"}, Count: 2, Node: job.NodeResources{Procs: 8, Memory: 64 * gib, GPUs: 4}},
		},
		Queues: []job.QueueFacts{
			{Name: "gpu", Accounts: []string{"physics"}, QOS: "gpus"},
			{Name: "work", MaxTime: 24 * time.Hour, MaxNodes: 6, DeniedQOSs: []string{"urgent"}},
		},
		Accounts: []job.Account{{Name: "biology", Users: []string{"bo"}},
			{Name: "physics", Users: []string{"ann", "bo"}}},
		QOSs: []string{"cpu-only", "gpus", "none", "normal", "typed", "urgent", "wide"}, Limits: []job.Limit{
			{QOS: "cpu-only", PerUser: true, GPUs: job.NoneAllowed}, {QOS: "none", Submitted: job.NoneAllowed},
			{QOS: "typed", PerUser: true, GPUType: "a100", GPUs: 2}, {QOS: "typed", GPUType: "v100", JobGPUs: 1},
			{QOS: "gpus", GPUs: 6}, {QOS: "wide", Procs: 48},
			{Account: "physics", Procs: 40, MaxTime: 2 * time.Hour}, {Account: "biology", PerUser: true, Jobs: 2},
		},
		Enforced: job.Enforced{Associations: true, QOS: true, Limits: true},
	}
}

// admission serves a cluster without jobs. Only the given facts about the cluster are known.
func admission(t *testing.T, facts *job.Facts) *fixture {
	f := serve(t, main(0))
	f.feed("main",
		job.Event{Kind: job.Machine, Cluster: "main", ID: job.MachineID, Time: at(0), Facts: facts, Live: true})
	f.now = at(10)
	return f
}

// TestImpossibleRequests proves that a request that can never start by the scheduler's facts is refused with the cause.
// A similar request that is allowed gets an answer.
func TestImpossibleRequests(t *testing.T) {
	f := admission(t, listed())
	for _, c := range []struct{ name, refused, reason, words, taken string }{
		{"processors", "queue=gpu&procs=17", "larger_than_machine", "queue gpu of cluster main has 16",
			"queue=gpu&procs=16"},
		{"nodes", "queue=gpu&nodes=3", "larger_than_machine", "has 2", "queue=gpu&nodes=2"},
		{"GPUs", "queue=gpu&procs=1&gpus=9", "larger_than_machine", "9 GPUs asked for", "queue=gpu&procs=1&gpus=6"},
		{"memory", "queue=gpu&procs=1&memory=129G", "larger_than_machine", "129 GiB of memory asked for",
			"queue=gpu&procs=1&memory=128G"},
		{"memory of a node", "queue=work&procs=1&nodes=1&memory=65G", "larger_than_machine",
			"a node of queue work has at most 64 GiB", "queue=work&procs=1&nodes=1&memory=64G"},
		{"processors of nodes", "queue=work&nodes=2&procs=17", "larger_than_machine", "at least 3 nodes",
			"queue=work&nodes=3&procs=17"},
		{"the queue's time limit", "queue=work&procs=1&time_limit=25h", "over_queue_limit", "at most 1 d",
			"queue=work&procs=1&time_limit=24h"},
		{"the queue's nodes", "queue=work&nodes=7", "over_queue_limit", "at most 6", "queue=work&nodes=6"},
		{"an account that is none", "queue=work&procs=1&account=chemistry", "not_allowed", "no account chemistry",
			"queue=work&procs=1&account=biology"},
		{"an account of others", "queue=work&procs=1&account=biology&user=ann", "not_allowed",
			"user ann may not use account biology", "queue=work&procs=1&account=Biology&user=bo"},
		{"an account that the queue does not take", "queue=gpu&procs=1&account=biology", "not_allowed",
			"queue gpu does not take account biology", "queue=gpu&procs=1&account=physics"},
		{"a QOS that is none", "queue=work&procs=1&qos=best", "not_allowed", "no QOS best",
			"queue=work&procs=1&qos=normal"},
		{"a QOS that the queue refuses", "queue=work&procs=1&qos=urgent", "not_allowed",
			"queue work refuses QOS urgent", "queue=gpu&procs=1&qos=urgent"},
		{"the limit of the queue's QOS", "queue=gpu&procs=1&gpus=7", "over_limit", "QOS gpus allows 6 GPUs",
			"queue=gpu&procs=1&gpus=6"},
		{"GPUs of a QOS that allows none", "queue=work&procs=1&gpus=1&qos=cpu-only", "over_limit",
			// A limit on GPUs of one type does not apply to GPUs of other types.
			"QOS cpu-only allows 0 GPUs", "queue=work&procs=1&gpus=3&qos=typed"},
		{"GPUs of a type of each user", "queue=gpu&procs=1&gpus=3&gpu_type=A100&qos=typed", "over_limit",
			"QOS typed allows 2 GPUs", "queue=gpu&procs=1&gpus=2&gpu_type=a100&qos=typed"},
		{"GPUs of a type of each job", "queue=gpu&procs=1&gpus=2&gpu_type=v100&qos=typed", "over_limit",
			"QOS typed allows 1 GPU", "queue=gpu&procs=1&gpus=1&gpu_type=v100&qos=typed"},
		{"a QOS that takes no jobs", "queue=work&procs=1&qos=none", "over_limit", "QOS none allows 0 jobs",
			"queue=work&procs=1&qos=normal"},
		{"the limit of an account", "queue=work&procs=41&account=physics", "over_limit",
			// The limit of a QOS takes precedence over the limit of an account.
			"account physics allows 40 processors", "queue=work&procs=41&account=physics&qos=wide"},
		{"the time limit of an account", "queue=work&procs=1&account=physics&time_limit=3h", "over_limit",
			"allows a time limit of 2 h", "queue=work&procs=1&account=physics&time_limit=2h"},
	} {
		p := f.problem("/v1/wait?" + c.refused)
		if p.Status != 422 || p.Reason != c.reason || !strings.Contains(p.Detail+" "+p.Hint, c.words) || p.Hint == "" {
			t.Errorf("%s: %+v, want 422, %s, %q and a hint", c.name, p, c.reason, c.words)
		}
		f.wait(c.taken)
	}
	if p := f.problem("/v1/wait?queue=work&procs=50"); p.Status != 503 ||
		!strings.Contains(p.Detail, "48 on nodes that are up") {
		t.Errorf("more than is up now: %+v, want 503, since nodes that are down come back", p)
	}
}

// TestWhatIsNotEnforced proves that no request is refused because of rules that the scheduler reports but does not
// enforce, or because of a list of accounts that is incomplete, as jobs of other accounts show.
func TestWhatIsNotEnforced(t *testing.T) {
	free := listed()
	free.Enforced = job.Enforced{}
	f := admission(t, free)
	for _, q := range []string{
		"account=chemistry", "account=biology&user=ann", "qos=best", "account=physics&time_limit=3h",
	} {
		f.wait("queue=work&procs=1&" + q)
	}
	alone := listed()
	alone.Accounts = []job.Account{{Name: "root", Users: []string{"waitcast"}}}
	f = admission(t, alone)
	f.wait("queue=work&procs=1&account=chemistry")
	f = admission(t, listed())
	f.feed("main", job.Event{
		Kind: job.Submit, Cluster: "main", ID: "1", Time: at(5), Live: true,
		Attributes: job.Attributes{Queue: "work", Procs: 1, User: "eve", Account: "geology"},
	})
	f.wait("queue=work&procs=1&account=chemistry")
}

// TestQueuesOfTheScheduler proves that requests for queues that the scheduler lists are answered before any of their
// jobs is seen.
func TestQueuesOfTheScheduler(t *testing.T) {
	f := admission(t, listed())
	if w := f.wait("queue=gpu&procs=1"); w.Queue != "gpu" {
		t.Errorf("queue %q, want gpu", w.Queue)
	}
	if p := f.problem("/v1/wait?queue=gpus&procs=1"); p.Status != 404 || !strings.Contains(p.Hint, "gpu, work") {
		t.Errorf("%+v, want 404 and the two queues", p)
	}
}

// TestLearnedBoundsWarn proves that a job larger than the highest observed use gets an answer with a warning. The
// answer lists requested resources that do not influence it. Impossible sizes are left out of the alternatives.
func TestLearnedBoundsWarn(t *testing.T) {
	f := serve(t, main(0))
	f.feed("main", one{id: "1", queue: "work", procs: 10, submit: 0, start: 1, end: -1}.events("main")...)
	f.now = at(10)
	w := f.wait("queue=work&procs=11&memory=" + url.QueryEscape("1 G"))
	if len(w.Warnings) != 1 || !strings.Contains(w.Warnings[0], "highest use of cluster main seen so far is 10") ||
		!strings.Contains(w.Reason, w.Warnings[0]) {
		t.Errorf("warnings %q, reason %q", w.Warnings, w.Reason)
	}
	if len(w.NotConsidered) != 1 || w.NotConsidered[0] != "memory" {
		t.Errorf("not considered %q, want memory", w.NotConsidered)
	}
	f.feed("main", job.Event{
		Kind: job.Start, Cluster: "main", ID: "2", Time: at(11), Live: true,
		Attributes: job.Attributes{Queue: "work", Procs: 1, GPUs: 2},
	})
	gpus := f.wait("queue=work&procs=1&gpus=3")
	if len(gpus.Warnings) != 1 || !strings.Contains(gpus.Warnings[0], "set gpus of its pool in the configuration") {
		t.Errorf("warnings %q, want the key for GPUs", gpus.Warnings)
	}
	spread := f.wait("queue=work&procs=2&nodes=3")
	if n := len(spread.Warnings); n == 0 ||
		!strings.Contains(spread.Warnings[n-1], "3 nodes asked for with 2 processors") {
		t.Errorf("warnings %q, want one about more nodes than processors", spread.Warnings)
	}
	if small := f.wait("queue=work&procs=10"); len(small.Warnings)+len(small.NotConsidered) > 0 {
		t.Errorf("of a job as large as one that ran: %q, %q", small.Warnings, small.NotConsidered)
	}
	g := admission(t, listed())
	if limited := g.wait("queue=work&procs=4&account=physics"); len(limited.NotConsidered) > 0 {
		t.Errorf("not considered %q, want none: processors that run at once are played", limited.NotConsidered)
	}
	spent := listed()
	spent.Limits = append(spent.Limits, job.Limit{Account: "physics", TotalMinutes: job.Amounts{Procs: 1000}})
	limited := admission(t, spent).wait("queue=work&procs=4&account=physics")
	if len(limited.NotConsidered) != 1 || limited.NotConsidered[0] != "limits" {
		t.Errorf("not considered %q, want limits: of what is used over time", limited.NotConsidered)
	}
	s := g.size(&wire.SizeRequest{
		Places: []wire.Place{{Queue: "gpu"}}, Sizes: []int{4, 17},
		Runtime: wire.Runtime{Amdahl: &wire.RuntimeAmdahl{Serial: .1, T1Seconds: 1000}},
	})
	if len(s.Candidates) != 1 || len(s.LeftOut) != 1 || s.LeftOut[0].Procs != 17 ||
		s.LeftOut[0].Reason != "larger_than_machine" {
		t.Errorf("%+v, want 4 processors, and 17 left out", s)
	}
}
