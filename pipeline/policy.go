package pipeline

import (
	"fmt"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/forward"
)

// policyOf returns the policy for a name in the configuration: fcfs, easy or priority. For auto and the empty name
// known is false, because the policy is learnt. Any other name is an error.
func policyOf(name string) (policy forward.Policy, known bool, err error) {
	switch name {
	case "fcfs":
		return forward.FCFS, true, nil
	case "easy":
		return forward.EASY, true, nil
	case "priority":
		return forward.PriorityEASY, true, nil
	case "", "auto":
		return forward.EASY, false, nil
	}
	return 0, false, fmt.Errorf("policy: there is no policy %q; there are auto, fcfs, easy, priority", name)
}

// policies returns the policies that are configured for pools, by the pools' names. Pools without a configured policy
// are left out.
func policies(pools []cluster.PoolConfig) (map[string]engine.PoolConfig, error) {
	out := map[string]engine.PoolConfig{}
	for _, p := range pools {
		policy, known, err := policyOf(p.Policy)
		if err != nil {
			return nil, fmt.Errorf("pools: %s: %w", p.Name, err)
		}
		if known {
			out[p.Name] = engine.PoolConfig{Policy: policy, PolicyKnown: true, Order: p.Queues}
		}
	}
	return out, nil
}
