package engine

import (
	"github.com/waitcast/waitcast/predictor/codec"
	"github.com/waitcast/waitcast/predictor/engine/training"
)

// Replay is the plan of a replay of recorded jobs. Most forecasts of a long replay would be worth nothing at its end:
// trees are trained on rows of the newest waits and a sample of older ones as well as on all of them, and weights and
// corrections remember the newest jobs only. So within a plan a submission has a fidelity, which its place among the
// submissions decides alone: it is followed in full, or lightly. Queues, users, lifetimes, policies, arrivals and the
// histories of waits learn from all jobs alike. A job that is followed lightly has no forecast, so that neither trees
// nor weights nor corrections learn from it.
type Replay struct {
	// Submissions is how many submissions are to come. If more come, they are followed in full; if fewer do, fewer of
	// the newest ones are.
	Submissions int
	// Newest is how many of the last submissions are followed in full, 10,000 by default. A plan of no more submissions
	// changes nothing: the replay is exact.
	Newest int
	// Older is about how many of the submissions before are followed in full, 10,000 by default, drawn evenly by a hash
	// of their places.
	Older int
}

const (
	newestSubmissions = 10_000
	olderSubmissions  = 10_000
	// replayGrowth and replayLag are the pace of the trainings within a plan, see training.Pace.
	replayGrowth = 1
	replayLag    = .1
)

func (r Replay) withDefaults() Replay {
	if r.Newest == 0 {
		r.Newest = newestSubmissions
	}
	if r.Older == 0 {
		r.Older = olderSubmissions
	}
	return r
}

// replay is a plan and how far it has come. The zero value is no plan.
type replay struct {
	Replay
	at int // submissions so far
}

// active reports whether there is a plan by which submissions are followed lightly.
func (r *replay) active() bool { return r.Submissions > r.Newest }

// early reports whether the next submission is not one of the newest.
func (r *replay) early() bool { return r.at < r.Submissions-r.Newest }

// next counts a submission, and reports whether it is followed in full.
func (r *replay) next() bool {
	if !r.active() {
		return true
	}
	at, early := r.at, r.early()
	r.at++
	return !early || scattered(uint64(at)) < float64(r.Older)/float64(r.Submissions-r.Newest)
}

// scattered returns a number in [0, 1) that looks random, by the finalizer of SplitMix64 (G. Steele, D. Lea and
// C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
func scattered(n uint64) float64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	n ^= n >> 31
	return float64(n>>11) / (1 << 53)
}

func (r *replay) code(s *codec.Codec) {
	s.Int(&r.Submissions, &r.Newest, &r.Older, &r.at)
}

// BeginReplay begins a plan, in place of one that is under way. It is saved with the engine and goes on where that is
// restored.
func (e *Engine) BeginReplay(r Replay) {
	r = r.withDefaults()
	e.replay = replay{Replay: Replay{max(0, r.Submissions), max(0, r.Newest), max(0, r.Older)}}
	e.setPace()
}

// EndReplay ends the plan, and trains trees on all rows before it returns. Without a plan, and after one that was
// exact, it does nothing.
func (e *Engine) EndReplay() {
	active := e.replay.active()
	e.replay = replay{}
	e.setPace()
	if active {
		e.learner.Record.Now = e.tracker.Clock
		e.learner.TrainNow()
	}
}

// Replaying reports whether there is a plan by which submissions are followed lightly: BeginReplay was called, and
// EndReplay was not.
func (e *Engine) Replaying() bool { return e.replay.active() }

// setPace sets the pace of the trainings by the plan.
func (e *Engine) setPace() {
	e.learner.Pace = training.Pace{}
	if e.replay.active() {
		e.learner.Pace = training.Pace{Growth: replayGrowth, Lag: replayLag}
	}
}
