package simulator_test

import (
	"testing"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/policytest"
)

func TestPoliciesConform(t *testing.T) {
	for name, policy := range map[string]simulator.Policy{
		"FCFS": new(simulator.FCFS), "EASY": new(simulator.EASY), "Conservative": new(simulator.Conservative),
		"Priority/EASY": &simulator.Priority{WeightAge: 1, WeightSize: 1, Every: 7},
		"Priority/conservative": &simulator.Priority{WeightFairShare: 2, WeightQueue: 1, Every: -1,
			Backfill: simulator.BackfillConservative, MaxTest: 5, Window: 40},
		"Priority/none": &simulator.Priority{WeightSize: 1, FavorSmall: true, Backfill: simulator.BackfillNone},
	} {
		t.Run(name, func(t *testing.T) { policytest.Run(t, policy) })
	}
}
