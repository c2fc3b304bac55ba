package ensemble

import (
	_ "embed" // for the table of errors
	"encoding/json"
	"fmt"
)

// Prior has the errors of simulations in the first days of other clusters, by class. The errors are quantiles, at
// even levels, of ln((wait + 60 s) / (simulation's median + 60 s)).
type Prior [EarlyClasses][]float64

// Priors are the errors measured in several logs.
type Priors struct {
	Origin string `json:"origin"`
	All    Prior  `json:"all"`
	// Without has, by the name of a log, the errors in all other logs. It is for backtests on that log.
	Without map[string]Prior `json:"without"`
}

//go:embed prior.json
var measured []byte //nolint:gochecknoglobals // what go:embed needs; nothing writes it

// MeasuredPrior returns the errors measured in all logs except the named one. An empty or unknown name leaves out none.
// The error is one of the embedded file: it is invalid, or has no errors of a class.
func MeasuredPrior(without string) (*Prior, error) {
	var all Priors
	if err := json.Unmarshal(measured, &all); err != nil {
		return nil, fmt.Errorf("predictor/engine/ensemble/prior.json: %w (make it anew with make prior)", err)
	}
	prior, known := all.Without[without]
	if !known {
		prior = all.All
	}
	for class, quantiles := range prior {
		if len(quantiles) == 0 {
			return nil, fmt.Errorf("predictor/engine/ensemble/prior.json: class %d is empty: run make prior", class)
		}
	}
	return &prior, nil
}

// observed returns the errors of a class, which together have the weight of priorJobs jobs.
func (p *Prior) observed(c EarlyClass) []observedError {
	out := make([]observedError, 0, len(p[c])+EarlyWaits)
	for _, off := range p[c] {
		out = append(out, observedError{off, priorJobs / float64(len(p[c])), true})
	}
	return out
}
