package joblimits_test

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
)

// facts returns two QOSs, one of them the queue's own, and accounts in two levels.
func facts() *job.Facts {
	return &job.Facts{
		Enforced: job.Enforced{Limits: true},
		Limits: []job.Limit{
			{QOS: "normal", GPUs: 8},                                   // 0: all together
			{QOS: "normal", PerUser: true, Procs: 16, Jobs: 4},         // 1: each user
			{QOS: "normal", PerAccount: true, Jobs: 10},                // 2: each account
			{QOS: "queue", PerUser: true, Procs: 8},                    // 3: takes precedence over 1 for processors
			{Account: "physics", Jobs: 20, GPUs: 2},                    // 4: all together
			{Account: "physics", PerUser: true, Jobs: 3},               // 5: each user, unless the QOS has this bound
			{Account: "physics", User: "ann", Jobs: 2},                 // 6: replaces 5
			{Account: "root", Procs: 100},                              // 7: of all below
			{Account: "root", PerUser: true, Jobs: 1},                  // 8: of root's own jobs only
			{Account: "physics", Queue: "long", Procs: 4},              // 9: of one queue
			{Account: "chemistry", RunMinutes: job.Amounts{Procs: 60}}, // 10
			{Account: "chemistry", GPUs: job.NoneAllowed},              // 11
			{QOS: "normal", GPUType: "a100", GPUs: 1},                  // 12
			{Account: "physics", MaxTime: 3600},                        // 13: bounds no number of jobs
		},
		Accounts: []job.Account{{Name: "chemistry", Parent: "root"}, {Name: "physics", Parent: "root"},
			{Name: "root"}},
		Queues:       []job.QueueFacts{{Name: "long"}, {Name: "short", QOS: "queue"}},
		QOSRules:     []job.QOSRules{{Name: "strong", Flags: []string{"OverPartQOS"}}},
		Associations: []job.Association{{Account: "physics", DefaultQOS: "normal"}},
	}
}

// TestOf follows Slurm's hierarchy (https://slurm.schedmd.com/resource_limits.html).
func TestOf(t *testing.T) {
	set := joblimits.New(facts())
	for _, c := range []struct {
		name string
		job  job.Attributes
		want []int
	}{
		{"of the QOS and the accounts",
			job.Attributes{User: "bob", Account: "physics", QOS: "normal", Procs: 2}, []int{1, 2, 4, 7}},
		{"of the association's default QOS",
			job.Attributes{User: "bob", Account: "Physics", Procs: 2}, []int{1, 2, 4, 7}},
		{"with GPUs",
			job.Attributes{User: "bob", Account: "physics", QOS: "NORMAL", Procs: 2, GPUs: 1}, []int{0, 1, 2, 4, 7}},
		{"of a type",
			job.Attributes{User: "bob", QOS: "normal", Procs: 2, GPUs: 1, GPUType: "a100"}, []int{0, 1, 2, 12}},
		{"the queue's QOS goes before",
			job.Attributes{User: "bob", Account: "x", QOS: "normal", Queue: "short", Procs: 2}, []int{3, 1, 2}},
		{"a user's own",
			job.Attributes{User: "ann", Account: "physics", QOS: "other", Procs: 2}, []int{4, 6, 7}},
		{"each user of the account",
			job.Attributes{User: "bob", Account: "physics", QOS: "other", Procs: 2}, []int{4, 5, 7}},
		{"of one queue",
			job.Attributes{User: "ann", Account: "physics", QOS: "other", Queue: "long", Procs: 2}, []int{4, 6, 9, 7}},
		{"of work",
			job.Attributes{User: "cy", Account: "chemistry", QOS: "other", Procs: 2}, []int{10, 7}},
		{"none allowed",
			job.Attributes{User: "cy", Account: "chemistry", QOS: "other", Procs: 2, GPUs: 1}, []int{10, 11, 7}},
		{"of nobody", job.Attributes{User: "dan", Procs: 2}, nil},
	} {
		var got []int
		for _, b := range set.Of(&c.job) {
			if b.Has != (joblimits.Amounts{}) { // otherwise it counts in the limit only
				got = append(got, b.Limit)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: limits %v, want %v", c.name, got, c.want)
		}
	}
}

// TestBounds proves which jobs count together, what is allowed and what a job has. The QOS of the queue replaces only
// the bound on processors of the QOS normal.
func TestBounds(t *testing.T) {
	set := joblimits.New(facts())
	got := set.Of(&job.Attributes{User: "bob", Account: "physics", QOS: "normal", Queue: "short", Procs: 6, GPUs: 1})
	index := slices.IndexFunc(got, func(b joblimits.Bound) bool { return b.Limit == 1 })
	if index < 0 {
		t.Fatalf("no bound of limit 1 among %+v", got)
	}
	b := got[index]
	if b.Of != "bob" || b.Most[joblimits.Procs] != 16 || b.Most[joblimits.Jobs] != 4 ||
		b.Most[joblimits.GPUs] != joblimits.Unbounded {
		t.Errorf("bound %+v, want 16 processors and 4 jobs of bob", b)
	}
	if b.Has[joblimits.Procs] != 0 || b.Has[joblimits.Jobs] != 1 {
		t.Errorf("the job has %v of it, want 1 job and no processors, which the queue's QOS bounds", b.Has)
	}
	if b.Counts[joblimits.Procs] != 6 || b.Counts[joblimits.Jobs] != 1 || !b.Exempt()[joblimits.Procs] ||
		b.Exempt()[joblimits.Jobs] {
		t.Errorf("%v of the job count, exempt are %v; want 6 processors, which do not keep it, and 1 job", b.Counts,
			b.Exempt())
	}
	work := set.Of(&job.Attributes{User: "cy", Account: "chemistry", QOS: "x", Procs: 3})[0]
	if work.Most[joblimits.Work] != 3600 || work.Has[joblimits.Work] != 3 {
		t.Errorf("bound on work %+v, want 3,600 processor-seconds and 3 processors", work)
	}
}

// TestNodesAlone proves that nodes count in limits only if a job has them alone: because it gets whole nodes by its
// queue or its request, or because it fills them.
func TestNodesAlone(t *testing.T) {
	f := facts()
	f.Limits = []job.Limit{{QOS: "normal", Nodes: 4}}
	f.Queues = append(f.Queues, job.QueueFacts{Name: "whole", Whole: true})
	f.Nodes = []job.NodeGroup{{Queues: []string{"long", "whole"}, Count: 9, Node: job.NodeResources{Procs: 8}},
		{Queues: []string{"long"}, Count: 9, Node: job.NodeResources{Procs: 16}}}
	set := joblimits.New(f)
	for _, c := range []struct {
		name string
		job  job.Attributes
		want bool
	}{
		{"of its queue", job.Attributes{Queue: "whole", Nodes: 2, Procs: 2}, true},
		{"of its request", job.Attributes{Queue: "long", Nodes: 2, Procs: 2, Whole: true}, true},
		{"full ones", job.Attributes{Queue: "long", Nodes: 2, Procs: 32}, true},
		{"full ones of the smaller kind, or parts of larger ones", job.Attributes{Queue: "long", Nodes: 2, Procs: 31},
			false},
		{"of an unknown queue", job.Attributes{Queue: "x", Nodes: 1, Procs: 64}, false},
		{"of an unknown number", job.Attributes{Queue: "long", Procs: 64}, false},
	} {
		c.job.QOS = "normal"
		bounds := set.Of(&c.job)
		if got := set.HasNodesAlone(&c.job); got != c.want || len(bounds) > 0 != c.want ||
			c.want && bounds[0].Has[joblimits.Nodes] != int64(c.job.Nodes) {
			t.Errorf("%s: %v, want %v; limits %+v", c.name, got, c.want, bounds)
		}
	}
}

// TestCounts proves that a job belongs to the groups of the limits that apply to it, and to the groups of its accounts
// even if a limit of its QOS takes precedence. It does not belong to the groups of other users, accounts and queues.
func TestCounts(t *testing.T) {
	f := facts()
	set := joblimits.New(f)
	a := &job.Attributes{User: "ann", Account: "Physics", QOS: "Normal", Queue: "long", Procs: 2, GPUs: 1}
	for _, b := range set.Of(a) {
		if !set.Counts(b.Key, a) {
			t.Errorf("limit %+v does not count the job that it holds for", b.Key)
		}
	}
	for _, c := range []struct {
		key  joblimits.Key
		want bool
	}{
		{joblimits.Key{Limit: 4}, true}, {joblimits.Key{Limit: 7}, true}, {joblimits.Key{Limit: 9}, true},
		{joblimits.Key{Limit: 1, Of: "ann"}, true}, {joblimits.Key{Limit: 1, Of: "bob"}, false},
		{joblimits.Key{Limit: 2, Of: "physics"}, true}, {joblimits.Key{Limit: 2, Of: "chemistry"}, false},
		{joblimits.Key{Limit: 3, Of: "ann"}, false}, {joblimits.Key{Limit: 8, Of: "ann"}, false},
		{joblimits.Key{Limit: 10}, false}, {joblimits.Key{Limit: joblimits.Array, Of: "9"}, false},
	} {
		if got := set.Counts(c.key, a); got != c.want {
			t.Errorf("limit %+v: %v, want %v", c.key, got, c.want)
		}
	}
	f.Limits = []job.Limit{{Jobs: 1, Scope: &job.Scope{Queues: []string{"lo*"}, EachUser: true}}}
	if set = joblimits.New(f); !set.Counts(joblimits.Key{Of: "ann"}, a) || set.Counts(joblimits.Key{Of: "bob"}, a) {
		t.Error("a scope counts the jobs of others, or not its own")
	}
}

// TestNotEnforced proves that limits that the scheduler does not enforce bound nothing.
func TestNotEnforced(t *testing.T) {
	f := facts()
	f.Enforced.Limits = false
	if s := joblimits.New(f); s != nil || s.Of(&job.Attributes{User: "bob", QOS: "normal"}) != nil {
		t.Errorf("got %v, want none", s)
	}
}

// TestCircleOfAccounts proves that accounts that are above each other cause no endless loop.
func TestCircleOfAccounts(t *testing.T) {
	f := facts()
	f.Accounts = []job.Account{{Name: "a", Parent: "b"}, {Name: "b", Parent: "a"}, {Name: "physics", Parent: "root"},
		{Name: "root", Parent: "physics"}}
	if got := joblimits.New(f).Of(&job.Attributes{User: "bob", Account: "a", QOS: "x", Procs: 1}); got != nil {
		t.Errorf("limits %+v of accounts without any", got)
	}
	physicist := &job.Attributes{User: "bob", Account: "physics", QOS: "x", Procs: 1}
	if got := joblimits.New(f).Of(physicist); len(got) > 100 {
		t.Errorf("%d limits", len(got))
	}
}

// TestSaved proves that a saved and restored set gives the same answers.
func TestSaved(t *testing.T) {
	set := joblimits.New(facts())
	data, err := codec.Save("limits", 1, 0, func(c *codec.Codec) { joblimits.Code(c, &set) })
	if err != nil {
		t.Fatal(err)
	}
	var again *joblimits.Set
	if err := codec.Load("limits", 1, data, func(c *codec.Codec) { joblimits.Code(c, &again) }); err != nil {
		t.Fatal(err)
	}
	a := &job.Attributes{User: "ann", Account: "physics", QOS: "normal", Queue: "long", Procs: 2, GPUs: 1}
	if want, got := set.Of(a), again.Of(a); !slices.Equal(want, got) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
