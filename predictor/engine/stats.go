package engine

import (
	"math"
	"time"

	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/engine/training"
)

// Stats has statistics of an engine: its training data, and the cost of its background work.
type Stats struct {
	// Learnt is the number of waits that were learnt. Rows is the number of those on which trees can be trained.
	Learnt, Rows int
	// Trainings and Failures are the numbers of trainings of trees, and of failed ones, since the engine was made or
	// restored. TrainingTook is the duration of the newest training.
	Trainings, Failures int
	TrainingTook        time.Duration
	// TreesAt is the event time, in seconds, at which the training of the trees in force began. TreesBehind is the
	// number of waits that have been learnt since then. Before the first training they are NaN and 0.
	TreesAt     float64
	TreesBehind int
	// Simulations is the number of times that tables of a large pool were made since the engine was made or restored.
	// SimulationTook is how long the newest tables took.
	Simulations    int
	SimulationTook time.Duration
	// SimulationAge is the age of the oldest table in force, in seconds of event time. It is 0 if there is no table,
	// because each request is then simulated by itself.
	SimulationAge float64
	// Users is the number of users that are remembered. Histories is the number of remembered histories, each of which
	// has the runs of one user in one queue.
	Users, Histories int
	// Forgotten counts the users and runs that were forgotten since the engine was made or restored.
	Forgotten track.Forgotten
}

// Stats returns the present figures of the engine.
func (e *Engine) Stats() Stats {
	l, b := e.learner, &e.learner.Record
	s := Stats{
		Learnt: e.learnt(), Rows: l.Rows.Len(), Trainings: b.Trainings, Failures: b.Failures, TrainingTook: b.Took,
		TreesAt: math.NaN(), Simulations: e.pools.Simulations, SimulationTook: e.pools.SimulationTook,
	}
	s.Users, s.Forgotten = len(e.tracker.Users), e.tracker.Forgotten()
	s.Histories, _ = e.tracker.Laws.Remembered()
	if l.Models != nil {
		s.TreesAt, s.TreesBehind = b.Trees, l.Seen-b.From
	}
	for _, t := range e.pools.Surfaces {
		s.SimulationAge = math.Max(s.SimulationAge, e.tracker.Clock-t.At)
	}
	return s
}

// Importance returns each feature's part of the gain of the newest trees for the level nearest 0.5, in falling order.
// It returns nil before trees are trained.
func (e *Engine) Importance() []training.Importance { return e.learner.Importance(e.features.names) }
