package ask

import (
	"slices"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// Causes of waiting that a method may ignore. docs/api.md describes each.
const (
	ignoresBackfilling = "backfilling"
	ignoresPriorities  = "priorities"
	ignoresLimits      = "limits"
	ignoresArrivals    = "later_arrivals"
	ignoresQueue       = "queue"
	ignoresTimeLimit   = "time_limit"
	ignoresEarlyEnds   = "early_ends"
)

// ignored returns the causes of waits that a method ignores. ranked is true if the jobs ahead are ordered by the known
// rules of the scheduler. Without those rules, first come, first served ignores priorities too.
func ignored(method string, ranked bool) []string {
	experts := ensemble.Names()
	switch method {
	case headqueue.NameA, headqueue.NameB, headqueue.NameCombined, headqueue.NameExact, headqueue.NameFCFS:
		out := []string{ignoresBackfilling, ignoresLimits, ignoresArrivals, ignoresTimeLimit}
		if !ranked {
			out = append(out, ignoresPriorities)
		}
		return out
	case experts[ensemble.Simulation], experts[ensemble.Corrected]:
		return []string{ignoresLimits}
	case experts[ensemble.Limits]:
		return []string{ignoresLimits, ignoresArrivals, ignoresEarlyEnds}
	case experts[ensemble.QbetsBound], experts[ensemble.RecentWaits], experts[ensemble.UserLast]:
		return []string{ignoresQueue, ignoresPriorities, ignoresTimeLimit}
	}
	return nil
}

// withIgnored stores in each of the methods the causes that it ignores, and returns the methods.
func withIgnored(all []wire.Method, ranked bool) []wire.Method {
	for i := range all {
		all[i].Ignores = ignored(all[i].Name, ranked)
	}
	return slices.Clip(all)
}
