package joblimits_test

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job"
)

// TestScopes proves which limits of PBS and Grid Engine apply, and which jobs count together. Of a set only the first
// limit that applies counts (sge_resource_quota(5)). In PBS a user's own limit replaces that of any user.
func TestScopes(t *testing.T) {
	set := joblimits.New(&job.Facts{Enforced: job.Enforced{Limits: true}, Limits: []job.Limit{
		{Jobs: 10, Scope: &job.Scope{Set: "run", Users: []string{"ann"}}},      // 0
		{Jobs: 5, Scope: &job.Scope{Set: "run", EachUser: true}},               // 1
		{Procs: 9, Scope: &job.Scope{Queues: []string{"short*", "!shortest"}}}, // 2
		{Procs: 8, Scope: &job.Scope{Set: "p", Accounts: []string{"!*"}}},      // 3
		{Procs: 7, Scope: &job.Scope{Set: "p", Accounts: []string{"*"}, EachAccount: true,
			EachUser: true}}, // 4
		{Memory: 1, Scope: &job.Scope{Set: "m", Users: []string{"bob"}}}, // 5
		{Procs: 6, Scope: &job.Scope{Set: "m", EachGroup: true}},         // 6
		{Submitted: 3, Scope: &job.Scope{}},                              // 7: no start
		{Nodes: 4, Scope: &job.Scope{Groups: []string{"staff"}}},         // 8
	}})
	for _, c := range []struct {
		name string
		job  job.Attributes
		want []joblimits.Key
	}{
		{"a user's own", job.Attributes{User: "ann"}, []joblimits.Key{{0, ""}, {3, ""}, {6, ""}}},
		{"any user's", job.Attributes{User: "cy"}, []joblimits.Key{{1, "cy"}, {3, ""}, {6, ""}}},
		{"of queues", job.Attributes{User: "cy", Queue: "shorter"},
			[]joblimits.Key{{1, "cy"}, {2, ""}, {3, ""}, {6, ""}}},
		{"of other queues", job.Attributes{User: "cy", Queue: "shortest"},
			[]joblimits.Key{{1, "cy"}, {3, ""}, {6, ""}}},
		{"of a project", job.Attributes{User: "cy", Account: "p"}, []joblimits.Key{{1, "cy"}, {4, "cy\x00p"}, {6, ""}}},
		{"the first of a set takes the place of the others, though it bounds nothing of the job",
			job.Attributes{User: "bob"}, []joblimits.Key{{1, "bob"}, {3, ""}}},
		{"of a group", job.Attributes{User: "cy", Group: "staff", Nodes: 2},
			[]joblimits.Key{{1, "cy"}, {3, ""}, {6, "staff"}, {8, ""}}},
	} {
		var got []joblimits.Key
		for _, b := range set.Of(&c.job) {
			got = append(got, b.Key)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	array := joblimits.OfArray("9", 3)
	if array.Most[joblimits.Jobs] != 3 || array.Has[joblimits.Jobs] != 1 || array.Most[joblimits.Procs] !=
		joblimits.Unbounded || set.Limit(array.Key) != nil {
		t.Errorf("of an array: %+v", array)
	}
}
