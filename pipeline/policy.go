package pipeline

import (
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/forward"
)

// policyOf returns the policy of that name in the configuration; false for auto and the empty one, which is to be learnt.
func policyOf(name string) (forward.Policy, bool) {
	switch name {
	case "fcfs":
		return forward.FCFS, true
	case "easy":
		return forward.EASY, true
	case "priority":
		return forward.PriorityEASY, true
	}
	return forward.EASY, false
}

// played returns an engine's configuration with the policy of a cluster.
func (c *ClusterConfig) played(cfg engine.Config) engine.Config {
	cfg.Policy, cfg.PolicyKnown = policyOf(c.Policy)
	cfg.Order = c.Queues
	return cfg
}

// policies returns what is configured of the policies of pools, by name.
func policies(pools []cluster.PoolConfig) map[string]engine.PoolConfig {
	out := map[string]engine.PoolConfig{}
	for _, p := range pools {
		if policy, known := policyOf(p.Policy); known {
			out[p.Name] = engine.PoolConfig{Policy: policy, PolicyKnown: true, Order: p.Queues}
		}
	}
	return out
}

// Policy returns by which policy the forecasts play the pool of a queue, and where that is known from.
func (v *View) Policy(queue string) (forward.Policy, pools.PolicySource) {
	if v.Engine == nil {
		return forward.EASY, pools.PolicyAssumed
	}
	return v.Engine.Policy(queue)
}
