package engine

import (
	"math"
	"time"
)

// Stats tells what an engine does beside answering: what it learnt from, and what its work in the background took.
type Stats struct {
	// Learnt is how many waits were learnt, Rows how many of them trees can be trained on.
	Learnt, Rows int
	// Trainings is how often trees were trained and Failures how often that failed, since the engine was made or restored; TrainingTook is what the newest training took.
	Trainings, Failures int
	TrainingTook        time.Duration
	// TreesAt is the event time, in seconds, at which the training of the trees in force began, and TreesBehind how many waits have been learnt since then; NaN and 0 before the first.
	TreesAt     float64
	TreesBehind int
	// Simulations is how often tables of a large pool were made since the engine was made or restored, and SimulationTook what the newest took.
	Simulations    int
	SimulationTook time.Duration
	// SimulationAge is how old the oldest table in force is, in seconds of event time; 0 where there is none: each request is played itself.
	SimulationAge float64
}

// book counts what is done in the background, and knows since when the trees are in force. The counts and durations are not saved.
type book struct {
	trainings, failures, simulations int
	trainingTook, simulationTook     time.Duration
	now                              float64 // event time
	begun                            float64 // that of the newest training
	trees                            float64 // and of that of the trees in force
	from                             int     // waits learnt by then
}

// trained notes what became of a training.
func (b *book) trained(t *training) {
	b.trainings++
	b.trainingTook = t.took
	if t.models == nil {
		b.failures++
		return
	}
	b.trees, b.from = b.begun, t.from
}

// simulated notes tables that come into force.
func (b *book) simulated(r *refresh) {
	b.simulations++
	b.simulationTook = r.took
}

func (s *stream) book(b *book) {
	s.clear(&b.begun, &b.trees)
	s.int(&b.from)
}

// Stats returns what the engine does as it is.
func (e *Engine) Stats() Stats {
	l, b := e.learner, &e.learner.book
	s := Stats{
		Learnt: l.seen, Rows: len(l.rows), Trainings: b.trainings, Failures: b.failures, TrainingTook: b.trainingTook, TreesAt: math.NaN(),
		Simulations: b.simulations, SimulationTook: b.simulationTook,
	}
	if l.models != nil {
		s.TreesAt, s.TreesBehind = b.trees, l.seen-b.from
	}
	for _, t := range e.tables {
		s.SimulationAge = math.Max(s.SimulationAge, e.clock-t.at)
	}
	return s
}
