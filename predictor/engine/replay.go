package engine

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// Replay is the plan of a fast replay of recorded jobs. Most forecasts of a long replay have no effect at its end.
// Trees trained on the newest waits and a sample of older ones are as good as trees trained on all. Weights and
// corrections remember only the newest jobs. So the place of a submission in the plan decides what is learned from
// its job:
//
//   - Everything is learned from the newest jobs.
//   - From a sample of the older jobs three more things than facts are learned: their row of features, for the trees
//     and the linear quantiles, the error of the simulation, and the order of starts.
//   - From the other jobs only facts are learned. Queues, users, lifetimes, policies, arrivals and the histories of
//     waits learn from all jobs alike.
//
// Only the newest jobs have forecasts. Trees are trained when the newest jobs begin, and when the rows have grown by
// a quarter.
type Replay struct {
	// Submissions is the number of submissions to come. If more come, the further ones count as newest, too. If fewer
	// come, fewer count as newest.
	Submissions int
	// Newest is the number of submissions at the end that are forecast, 6,000 by default. With at most this many
	// submissions the replay is exact.
	Newest int
	// Older is the approximate number of earlier submissions in the sample, 12,000 by default. They are drawn evenly,
	// by a hash of their places, from those of the last Config.Rows submissions that are not among the newest.
	Older int
}

// These values were chosen on the first halves of CTC, SDSC-SP2, LANL and KTH-SP2, see research/docs/choices.md.
const (
	newestSubmissions = 6_000
	olderSubmissions  = 12_000
	// replayGrowth is the relative growth of the rows, during the newest submissions, after which trees are trained
	// again.
	replayGrowth = .25
)

// Forecasts returns the number of submissions that are forecast. They are the last ones of the replay.
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

// active reports whether a plan is in force by which some jobs are not forecast.
func (r *replay) active() bool { return r.Submissions > r.Newest }

// early reports whether the next submission is not yet one of the newest.
func (r *replay) early() bool { return r.at < r.Submissions-r.Newest }

// next counts a submission, and returns how much is learnt from it. first is true for the first of the newest
// submissions.
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

// BeginReplay begins a plan, which replaces a current one. The plan is saved and restored with the engine.
func (e *Engine) BeginReplay(r Replay) {
	r = r.withDefaults()
	r = Replay{max(0, r.Submissions), max(0, r.Newest), max(0, r.Older)}
	e.replay = replay{Replay: r, sampled: max(0, r.Submissions-max(e.cfg.Rows, r.Newest))}
	e.setGrowth()
}

// EndReplay ends the plan, and trains trees on all rows before it returns. Without a plan, or after an exact replay, it
// trains nothing.
func (e *Engine) EndReplay() {
	active := e.replay.active()
	e.replay = replay{}
	e.setGrowth()
	if active {
		e.trainNow()
	}
}

// Replaying reports whether a plan is in force by which some submissions are not forecast: BeginReplay was called,
// and EndReplay was not.
func (e *Engine) Replaying() bool { return e.replay.active() }

// setGrowth sets, by the plan, how often trees are trained and whether priorities are fitted.
func (e *Engine) setGrowth() {
	e.pools.Priorities.Paused = e.replay.early()
	switch r := &e.replay; {
	case !r.active():
		e.learner.Growth = 0
	case r.early(): // the trees are not used now
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

// submitInPlan counts a submission in the plan. If the plan has no forecast for the job, it records the submission and
// returns true. Otherwise it returns false, and the caller must record the submission. At the first of the newest
// submissions it trains the trees. viewAt returns the view of the submission, for the row of the job.
func (e *Engine) submitInPlan(submitted, now float64, id uint64, r track.Request, viewAt func() *View) bool {
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
		v := viewAt()
		e.enter(submitted, now, id, r, v.rowOf(&r, &e.scratch))
		e.observe(v, id, &r)
	default:
		e.enter(submitted, now, id, r, nil)
	}
	return true
}
