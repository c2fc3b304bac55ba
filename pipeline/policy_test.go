package pipeline

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/forward"
)

// TestPolicyNames proves which policy each configured name means.
func TestPolicyNames(t *testing.T) {
	for name, want := range map[string]forward.Policy{"fcfs": forward.FCFS, "easy": forward.EASY,
		"priority": forward.PriorityEASY} {
		if got, known, err := policyOf(name); !known || got != want || err != nil {
			t.Errorf("%s: %v, %v, %v", name, got, known, err)
		}
	}
	for _, name := range []string{"", "auto"} {
		if _, known, err := policyOf(name); known || err != nil {
			t.Errorf("%q is fixed", name)
		}
	}
	configured := []cluster.PoolConfig{{Name: "a", Policy: "auto"},
		{Name: "b", Policy: "priority", Queues: []string{"x", "w"}}}
	pools, err := policies(configured)
	if err != nil || len(pools) != 1 || !slices.Equal(pools["b"].Order, []string{"x", "w"}) || !pools["b"].PolicyKnown {
		t.Errorf("pools %+v", pools)
	}
}
