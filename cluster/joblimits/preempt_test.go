package joblimits_test

import (
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job"
)

// TestPreemptsByQOS follows https://slurm.schedmd.com/preempt.html: a QOS preempts those that it lists, in the mode of
// the victim's QOS or the cluster's, once the exempt time is over.
func TestPreemptsByQOS(t *testing.T) {
	set := joblimits.New(&job.Facts{
		Preemption: &job.Preemption{By: "qos", Modes: []string{"REQUEUE"}, Exempt: time.Minute},
		QOSRules: []job.QOSRules{
			{Name: "high", Preempts: []string{"Low", "lasting", "spared"}},
			{Name: "low", GraceTime: 30 * time.Second},
			{Name: "lasting", PreemptMode: "GANG"},
			{Name: "spared", PreemptMode: "CANCEL", PreemptExempt: time.Hour},
		},
		Associations: []job.Association{{Account: "a", DefaultQOS: "low"}}})
	high, normal := &job.Attributes{QOS: "HIGH"}, &job.Attributes{QOS: "normal"}
	if !set.MayPreempt(high) || set.MayPreempt(normal) {
		t.Error("high preempts, normal does not")
	}
	for _, c := range []struct {
		name   string
		by     *job.Attributes
		victim job.Attributes
		ran    time.Duration
		want   bool
	}{
		{"listed", high, job.Attributes{QOS: "low"}, time.Hour, true},
		{"by its association's own", high, job.Attributes{Account: "a"}, time.Hour, true},
		{"not long enough", high, job.Attributes{QOS: "low"}, time.Second, false},
		{"not listed", high, job.Attributes{QOS: "normal"}, time.Hour, false},
		{"its own kind", high, job.Attributes{QOS: "high"}, time.Hour, false},
		{"that takes turns", high, job.Attributes{QOS: "lasting"}, time.Hour, false},
		{"with an exempt time of its own", high, job.Attributes{QOS: "spared"}, 30 * time.Minute, false},
		{"after that", high, job.Attributes{QOS: "spared"}, time.Hour, true},
		{"by one that may not", normal, job.Attributes{QOS: "low"}, time.Hour, false},
	} {
		may, grace := set.Preempts(c.by, &c.victim, c.ran)
		if may != c.want || may && c.victim.QOS == "low" && grace != 30*time.Second {
			t.Errorf("%s: %v, %v left; want %v", c.name, may, grace, c.want)
		}
	}
}

// TestPreemptsByTier proves that a queue of a higher tier preempts those below, except those whose mode is off.
func TestPreemptsByTier(t *testing.T) {
	set := joblimits.New(&job.Facts{Preemption: &job.Preemption{By: "partition_prio", Modes: []string{"CANCEL"}},
		Queues: []job.QueueFacts{{Name: "fast", Tier: 9}, {Name: "slow", Tier: 1, GraceTime: time.Minute},
			{Name: "safe", Tier: 1, PreemptMode: "OFF"}}})
	for _, c := range []struct {
		by, victim string
		want       bool
	}{{"fast", "slow", true}, {"fast", "safe", false}, {"slow", "fast", false}, {"slow", "safe", false},
		{"x", "slow", false}} {
		may, grace := set.Preempts(&job.Attributes{Queue: c.by}, &job.Attributes{Queue: c.victim}, 0)
		if may != c.want || may && grace != time.Minute {
			t.Errorf("%s preempts %s: %v, %v left; want %v", c.by, c.victim, may, grace, c.want)
		}
	}
	if set.MayPreempt(&job.Attributes{Queue: "slow"}) {
		t.Error("the lowest tier preempts")
	}
	if none := joblimits.New(&job.Facts{Queues: []job.QueueFacts{{Name: "a", Tier: 2}, {Name: "b"}}}); none != nil ||
		none.MayPreempt(&job.Attributes{Queue: "a"}) {
		t.Error("tiers preempt where preemption is off")
	}
}
