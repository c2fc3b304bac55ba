package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
)

// This file is for research only. It adds features that need the true runtimes of running jobs, leaves out experts, and
// reports the experts' weights.

// oracleGroup returns the group of features that need an oracle.
func oracleGroup() featureGroup {
	g := featureGroup{name: "oracle", write: (*featureRow).oracleFeatures,
		features: []string{"oracle_fits_in", "oracle_free_in_1h", "oracle_free_in_4h"}}
	for _, name := range orderNames() {
		g.features = append(g.features, "oracle_"+name)
	}
	return g
}

func (r *featureRow) oracleFeatures() {
	known := r.pool.WithRuntimes(r.features.oracle, r.Instant)
	v := known.Vacancy(r.Instant, &r.Request, &r.scratch.Scratch).ByExpected
	r.add(logOf(v.Seconds), v.InAnHour, v.InFourHours)
	r.add(known.PlayOrders(r.Instant, r.resolvedRequest.ranked(nil), &r.scratch.Scratch)[:pools.OrderCount()]...)
}

// silentExperts returns, by expert, whether it is left out; nil if none is. The error names an unknown expert.
func silentExperts(without []string) ([]bool, error) {
	if len(without) == 0 {
		return nil, nil
	}
	out, names := make([]bool, ensemble.Count), ensemble.Names()
	for _, name := range without {
		k := slices.Index(names, name)
		if k < 0 {
			return nil, fmt.Errorf("no expert is named %q; they are %s", name, strings.Join(names, ", "))
		}
		out[k] = true
	}
	return out, nil
}

// ExpertWeights returns the weights of the experts in the combination for all jobs together, by level and expert.
func (e *Engine) ExpertWeights() [][]float64 {
	out := make([][]float64, len(e.cfg.Levels))
	for l := range out {
		out[l] = make([]float64, ensemble.Count)
		e.ensemble.Weights(l, out[l])
	}
	return out
}
