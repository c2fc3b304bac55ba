package engine

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// Replay is the plan of a fast replay of recorded jobs. Most forecasts of a long replay have no effect at its end:
// trees trained on the newest waits and a sample of older ones are as good, and weights and corrections remember only
// the newest jobs. So the index of a submission in the plan decides what is learned from its job:
//
//   - of the newest ones all, as ever;
//   - of a sample of the older ones their row of features, for the trees and the linear quantiles, and the error of the
//     simulation;
//   - of the others nothing but facts: queues, users, lifetimes, policies, arrivals and the histories of waits learn
//     from all jobs alike.
//
// Only the newest ones have forecasts. Trees are trained when they begin, and when the rows have grown by a quarter.
type Replay struct {
	// Submissions is the number of submissions to come. If more come, they count as newest too; if fewer come, fewer
	// count as newest.
	Submissions int
	// Newest is the number of last submissions that are forecast, 6,000 by default. With at most this many submissions
	// the replay is exact.
	Newest int
	// Older is about how many of the submissions before are in the sample, 12,000 by default, drawn evenly by a hash of
	// their places out of the last ones, as many as an exact replay trains trees on (Config.Rows).
	Older int
}

// These values were chosen on the first halves of CTC, SDSC-SP2, LANL and KTH-SP2, see docs/predictions.md.
const (
	newestSubmissions = 6_000
	olderSubmissions  = 12_000
	// replayGrowth is the relative growth of the rows, within the newest submissions, after which trees are trained
	// again.
	replayGrowth = .25
)

// Forecasts returns the number of last submissions with forecasts.
func (r Replay) Forecasts() int {
	r = r.withDefaults()
	return min(r.Submissions, r.Newest)
}

func (r Replay) withDefaults() Replay {
	if r.Newest == 0 {
		r.Newest = newestSubmissions
	}
	if r.Older == 0 {
		r.Older = olderSubmissions
	}
	return r
}

// replay is a plan with its progress. The zero value means no plan.
type replay struct {
	Replay
	sampled int // the place of the first submission that may be in the sample
	at      int // submissions so far
}

// fidelity is the level of detail at which a job is learned.
type fidelity uint8

const (
	full fidelity = iota
	rowOnly
	factsOnly
)

// active reports whether a plan is in force under which not all jobs are forecast.
func (r *replay) active() bool { return r.Submissions > r.Newest }

// early reports whether the next submission is not yet one of the newest.
func (r *replay) early() bool { return r.at < r.Submissions-r.Newest }

// next counts a submission, and returns what is learnt from it. first is true for the first of the newest submissions.
func (r *replay) next() (f fidelity, first bool) {
	if !r.active() {
		return full, false
	}
	at, newest := r.at, r.Submissions-r.Newest
	r.at++
	switch {
	case at >= newest:
		return full, at == newest
	case at >= r.sampled && scattered(uint64(at)) < float64(r.Older)/float64(newest-r.sampled):
		return rowOnly, false
	}
	return factsOnly, false
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
	s.Int(&r.Submissions, &r.Newest, &r.Older, &r.sampled, &r.at)
}

// BeginReplay begins a plan; it replaces a current one. The plan is saved and restored with the engine.
func (e *Engine) BeginReplay(r Replay) {
	r = r.withDefaults()
	r = Replay{max(0, r.Submissions), max(0, r.Newest), max(0, r.Older)}
	e.replay = replay{Replay: r, sampled: max(0, r.Submissions-max(e.cfg.Rows, r.Newest))}
	e.setGrowth()
}

// EndReplay ends the plan, and trains trees on all rows before it returns. Without a plan, and after one that was
// exact, it does nothing.
func (e *Engine) EndReplay() {
	active := e.replay.active()
	e.replay = replay{}
	e.setGrowth()
	if active {
		e.trainNow()
	}
}

// Replaying reports whether there is a plan by which not all submissions are forecast: BeginReplay was called, and
// EndReplay was not.
func (e *Engine) Replaying() bool { return e.replay.active() }

// setGrowth sets, by the plan, how often trees are trained.
func (e *Engine) setGrowth() {
	e.pools.Priorities.Paused = e.replay.early()
	switch r := &e.replay; {
	case !r.active():
		e.learner.Growth = 0
	case r.early(): // nobody uses the trees
		e.learner.Growth = math.Inf(1)
	default:
		e.learner.Growth = replayGrowth
	}
}

// trainNow trains trees on all rows. They are in force when it returns.
func (e *Engine) trainNow() {
	e.learner.Record.Now = e.tracker.Clock
	e.learner.TrainNow()
}

// submitInPlan records a submission without a forecast, or returns false if the job needs one. ask returns the row of
// the job.
func (e *Engine) submitInPlan(submitted, now float64, id uint64, r track.Request, ask func() *View) bool {
	what, first := e.replay.next()
	if first {
		e.setGrowth()
		e.trainNow()
	}
	switch what {
	case full:
		return false
	case rowOnly:
		e.pools.RefreshTables(e.pools.Of[r.Queue], e.events)
		v := ask()
		e.enter(submitted, now, id, r, v.rowOf(&r, &e.scratch))
		e.observe(v, id, &r)
	default:
		e.enter(submitted, now, id, r, nil)
	}
	return true
}
