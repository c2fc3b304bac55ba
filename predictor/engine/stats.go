package engine

import (
	"math"
	"time"

	"github.com/waitcast/waitcast/predictor/engine/training"
)

// Stats counts an engine's work beside answering: what it learnt from, and the cost of its work in the background.
type Stats struct {
	// Learnt is how many waits were learnt, Rows how many of them trees can be trained on.
	Learnt, Rows int
	// Trainings is how often trees were trained and Failures how often that failed, since the engine was made or
	// restored; TrainingTook is what the newest training took.
	Trainings, Failures int
	TrainingTook        time.Duration
	// TreesAt is the event time, in seconds, at which the training of the trees in force began, and TreesBehind how
	// many waits have been learnt since then; NaN and 0 before the first.
	TreesAt     float64
	TreesBehind int
	// Simulations is how often tables of a large pool were made since the engine was made or restored, and
	// SimulationTook what the newest took.
	Simulations    int
	SimulationTook time.Duration
	// SimulationAge is how old the oldest table in force is, in seconds of event time; 0 where there is none: each
	// request is played itself.
	SimulationAge float64
}

// Stats returns what the engine does as it is.
func (e *Engine) Stats() Stats {
	l, b := e.learner, &e.learner.Record
	s := Stats{
		Learnt: e.learnt(), Rows: len(l.Rows), Trainings: b.Trainings, Failures: b.Failures, TrainingTook: b.Took,
		TreesAt: math.NaN(), Simulations: e.pools.Simulations, SimulationTook: e.pools.SimulationTook,
	}
	if l.Models != nil {
		s.TreesAt, s.TreesBehind = b.Trees, l.Seen-b.From
	}
	for _, t := range e.pools.Surfaces {
		s.SimulationAge = math.Max(s.SimulationAge, e.tracker.Clock-t.At)
	}
	return s
}

// Importance returns each feature's part of the gain of the newest trees of the level nearest the median, in falling
// order; nil before they are trained.
func (e *Engine) Importance() []training.Importance { return e.learner.Importance(e.features.names) }
