package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/correction"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// tick advances the time to an instant, and with it the tracker and the pools. It returns the time, which is between
// -track.Farthest and track.Farthest. Time never goes back, and NaN leaves it unchanged. If there is no time before the
// first event (NaN or -Inf), it is 0.
func (e *Engine) tick(now float64) float64 {
	if before := e.tracker.Clock; now > before { // false for NaN
		e.tracker.Clock = math.Max(-track.Farthest, math.Min(now, track.Farthest))
		e.tracker.Expire(before)
		e.pools.Advance(e.tracker.Clock)
	}
	if math.IsInf(e.tracker.Clock, -1) {
		e.tracker.Clock = 0
	}
	return e.tracker.Clock
}

// done counts an event and finishes it: changes are noticed, and the pool p may get new tables in the background. p is
// nil if the pool is unknown. Tables that are due at this number of events take effect now, before any further
// forecast.
func (e *Engine) done(p *pools.Pool) {
	e.events++
	e.checkCapacity(p)
	e.react()
	e.pools.RecordEvent(p, e.events, !e.replay.early())
	e.pools.ApplyDueSurfaces(e.events)
	e.ensemble.RefreshTemplate(len(e.tracker.InOrder)+track.SizeClasses/2, e.tracker.Clock, e.events, e.learner.Seen)
}

// Submit records a submission and returns its forecast. An existing waiting or running job with this id counts as lost.
// The forecast is the zero Forecast if a replay plan has none for the submission, see Replay.
func (e *Engine) Submit(now float64, id uint64, r track.Request) Forecast {
	e.Lost(now, id)
	now = e.tick(now)
	r = r.Clean()
	if e.submitInPlan(now, now, id, r, func() *View { return e.requestView(now, &r) }) {
		return Forecast{}
	}
	e.ensemble.Advance(now)
	v := e.requestView(now, &r)
	g := v.forecast(&r, &e.scratch, e.ensemble.Current())
	g.keepRow(&e.scratch)
	e.enter(now, now, id, r, g)
	e.observe(v, id, &r)
	return g.delayed(r.Delay(now))
}

// SubmitAt records a late submission: the job's size or queue became known only at now. The job is forecast from v, the
// kept view of the instant at which it was submitted. It then counts as waiting since that instant. If v comes from
// WithEarlier, the engine learns from a forecast without the added jobs, and returns the forecast with them. If v is
// nil, the job counts as submitted at now. If it has started meanwhile, call Start afterwards.
func (e *Engine) SubmitAt(v *View, submitted, now float64, id uint64, r track.Request) Forecast {
	if v == nil {
		return e.Submit(now, id, r)
	}
	var earlier *View
	if v.plain != nil {
		v, earlier = v.plain, v
	}
	e.Lost(now, id)
	now = e.tick(now)
	if !(submitted <= now) {
		submitted = now
	}
	r = r.Clean()
	submitted = math.Max(submitted, -track.Farthest)
	if e.submitInPlan(submitted, now, id, r, func() *View { return v }) {
		return Forecast{}
	}
	g := v.withLinked(e.tracker, &r).newPendingForecast(&r, true)
	e.enter(submitted, now, id, r, g)
	e.observe(v, id, &r)
	if earlier != nil {
		g = earlier.withLinked(e.tracker, &r).newPendingForecast(&r, false)
	}
	return g.delayed(r.Delay(submitted))
}

// WithEarlier returns a view with further waiting jobs: those that were submitted by an instant but became known only
// after the view was made. Only jobs in the pool of the given queue are added, but no tasks of the job's own array;
// none are added to a large pool. If there are none, it returns v itself. The view is for the forecast of the job with
// this id and queue, which SubmitAt then submits.
func (e *Engine) WithEarlier(v *View, submitted float64, id uint64, queue string) *View {
	if v == nil || v.entered == e.tracker.Entered {
		return v
	}
	earlier := slices.DeleteFunc(e.tracker.EnteredAfter(v.entered), func(j *track.Job) bool {
		return j.Submit > submitted || j.ID|1 == id|1 || !v.SamePool(j.Queue, queue)
	})
	beside := v.poolOf(queue).Beside(earlier)
	if len(beside) == 0 {
		return v
	}
	w := *v
	w.plain, w.beside, w.memo, w.similar = v, beside, nil, nil
	return &w
}

// Has reports whether a job with this id waits or runs.
func (e *Engine) Has(id uint64) bool { return e.tracker.Jobs[id] != nil }

// Knows reports whether each of the job names listed in after (see Request.After) belongs to a job that waits, runs or
// has ended recently.
func (e *Engine) Knows(after string) bool { return e.tracker.Knows(after) }

// observe records the state of the pool before a submission, to learn the order of starts.
func (e *Engine) observe(v *View, id uint64, r *track.Request) {
	e.pools.Submitted(v.Instant, id, v.poolOf(r.Queue), v.resolve(r, nil).ranked(nil))
}

// enter adds a job that has been waiting since its submission. g is its forecast or only its row of features. If g is
// nil, only facts are learnt from its start. Nothing is learnt from the wait of a job with a begin time after its
// submission, because such a job does not wait for processors.
func (e *Engine) enter(submitted, now float64, id uint64, r track.Request, g *pendingForecast) {
	later := r.Delay(submitted) > 0
	r.Begin = 0
	j := e.tracker.Enter(id, submitted, r, e.queue(r.Queue))
	if j.FactsOnly = g == nil && !later; g != nil && !later {
		e.follow(j, g)
	}
	e.tracker.Wait(j)
	e.tracker.Law(j, now)
	e.tracker.Past.Record(j)
	e.compete(now, j)
	e.done(e.pools.At(j.QueueState))
}

// follow keeps a forecast until its outcome is known.
func (e *Engine) follow(j *track.Job, g *pendingForecast) {
	if g.Quantiles != nil {
		e.ensemble.Served(j.ID, j.Submit, correction.Job{Queue: cmp.Or(g.Queue, j.Queue), User: j.User},
			g.Combined, g.learnt)
	}
	g.Said = logAll(g.learnt)
	pending := g.PendingForecast // a copy, so that the rest of the forecast is freed
	j.Pending = &pending
	if len(g.Experts) > ensemble.Simulation && g.Experts[ensemble.Simulation] != nil {
		said := waittime.Log(g.Experts[ensemble.Simulation][e.median])
		e.ensemble.Errors.Add(j.ID, j.Submit, said)
		e.ensemble.Early.Add(j.ID, j.Submit, said)
	}
}

// queue returns the queue with a name, and creates it if necessary. Others may then be forgotten. After the first
// training of trees, new queues are reported to the monitor of changes.
func (e *Engine) queue(name string) *track.Queue {
	q, fresh, forgotten := e.tracker.Queue(name)
	for _, name := range forgotten {
		e.ensemble.ForgetQueue(name)
	}
	if fresh {
		q.Pool = e.pools.NumberOf(name)
		if e.learner.Models != nil { // before the first training, all queues are new
			e.ensemble.QueueAppeared(name)
		}
	}
	return q
}

// compete adds a job to the competing ones.
func (e *Engine) compete(now float64, j *track.Job) {
	e.tracker.Compete(j)
	e.pools.LearnSubmit(now, j)
	e.pools.Touch(j.QueueState)
}

// retire removes a job from the competing ones, and sets its new state.
func (e *Engine) retire(j *track.Job, to track.JobState) {
	e.tracker.Retire(j, to)
	e.pools.Touch(j.QueueState)
}

// Hold records that a waiting job does not compete for now: it is held, blocked or not eligible yet. For a job that is
// held already it updates the reason.
func (e *Engine) Hold(now float64, id uint64, h track.Hold) {
	now = e.tick(now)
	if h.Until = math.Min(h.Until, track.Farthest); !(h.Until > 0) {
		h.Until = 0
	}
	j := e.tracker.Jobs[id]
	if j == nil || j.State != track.Waiting && (j.State != track.Held || j.Hold == h) {
		return
	}
	if j.State == track.Waiting {
		e.pools.LearnEvent(pools.EndEvent, now, j)
	}
	e.retire(j, track.Held)
	e.tracker.SetHold(j, h)
	e.done(e.pools.At(j.QueueState))
}

// Release records that a held job competes again.
func (e *Engine) Release(now float64, id uint64) {
	now = e.tick(now)
	if j := e.tracker.Jobs[id]; j != nil && j.State == track.Held {
		e.compete(now, j)
		e.done(e.pools.At(j.QueueState))
	}
}

// StartsIn records the queue in which a waiting job is about to start, if it requested several.
func (e *Engine) StartsIn(now float64, id uint64, queue string) {
	if j := e.tracker.Jobs[id]; j != nil && j.Waits() && j.Queues != "" {
		r := j.Request
		r.Queue, r.Queues = queue, ""
		e.Update(now, id, r)
	}
}

// Start records a start. If learn is false, nothing is learnt from the wait.
func (e *Engine) Start(now float64, id uint64, learn bool) {
	at := now
	now = e.tick(now)
	j := e.tracker.Jobs[id]
	if j == nil || !j.Waits() {
		return
	}
	if !(at <= now) {
		at = now
	}
	e.pools.LearnEvent(pools.StartEvent, now, j)
	e.retire(j, track.Running)
	j.UserState.Waiting.Add(j, -1)
	j.Start = math.Max(at, j.Submit) // at may be before now, because a start may be reported late
	e.pools.LearnStart(now, j)
	e.run(now, j)
	e.ensemble.Advance(now)
	switch {
	case !learn:
		e.ensemble.Cancelled(id, j.Submit)
	case j.FactsOnly:
		e.withoutRow++
		e.learnFacts(j.Start, j)
	case j.Pending != nil:
		e.ensemble.Started(id, j.Start)
		e.learn(j.Start, j)
	}
	j.Pending, j.FactsOnly = nil, false
	e.pools.Priorities.Gone(id)
	e.ensemble.Errors.Gone(id)
	e.ensemble.Early.Gone(id)
	e.done(e.pools.At(j.QueueState))
}

// run adds a job to the running ones.
func (e *Engine) run(now float64, j *track.Job) {
	e.tracker.Run(now, j)
	e.pools.TouchLimited(j)
	e.pools.Started(j.QueueState)
}

// learnFacts adds a wait to the statistics and to the histories of QBETS, which need no forecast of the wait. It
// returns ln(wait + 60 s).
func (e *Engine) learnFacts(now float64, j *track.Job) float64 {
	wait := now - j.Submit
	z := waittime.Log(wait)
	e.tracker.Learn(now, j, z)
	e.tracker.AddBounds(j, wait, e.learnt()%1000 == 0)
	e.pools.Touch(j.QueueState)
	return z
}

// learnt returns the number of waits that have been learnt from.
func (e *Engine) learnt() int { return e.learner.Seen + e.withoutRow }

// learn learns from the wait of a job whose row of features was kept. The wait goes to the statistics, the rules of
// starts, the errors of the simulation, the trees and the online experts.
func (e *Engine) learn(now float64, j *track.Job) {
	z := e.learnFacts(now, j)
	e.pools.LearnWait(j.ID, z)
	e.ensemble.Errors.Started(j.ID, z)
	e.ensemble.Early.Started(j.ID, z)
	e.learner.Record.Now = e.tracker.Clock
	e.learner.Learn(j.Pending.Row, z)
	row := appendWide(e.scratch.wide[:0], j.Pending.Row[:e.features.linear])
	e.scratch.wide = row
	if len(j.Pending.Answers) == 0 {
		e.ensemble.LearnRow(row, z)
		return
	}
	e.ensemble.Learn(j.Queue, j.Pending, row, z)
}

// stop removes a job from the running ones, and sets its new state.
func (e *Engine) stop(j *track.Job, to track.JobState) {
	e.tracker.Stop(j, to)
	e.pools.TouchLimited(j)
	e.pools.Touch(j.QueueState)
}

// forget drops a job that has left.
func (e *Engine) forget(j *track.Job) {
	e.tracker.Forget(j)
	e.pools.Priorities.Gone(j.ID)
	e.done(e.pools.At(j.QueueState))
}

// End records the end of a job that ran.
func (e *Engine) End(now float64, id uint64) {
	now = e.tick(now)
	j := e.tracker.Jobs[id]
	if j == nil || j.State != track.Running {
		return
	}
	e.pools.LearnEvent(pools.EndEvent, now, j)
	e.tracker.Laws.Ended(int64(id), now)
	if e.heads != nil {
		e.heads.ended(j, now)
	}
	e.tracker.Ended(now, j)
	j.UserState.Used(now, j)
	e.pools.TouchUser(j)
	e.pools.Used(now, j)
	e.stop(j, track.Left)
	e.forget(j)
}

// Gone records that a waiting job was cancelled.
func (e *Engine) Gone(now float64, id uint64) {
	now = e.tick(now)
	if j := e.tracker.Jobs[id]; j != nil && j.Waits() {
		e.drop(now, j, now)
	}
}

// Unseen records that a waiting job has started and ended meanwhile, and that its start is unknown. The job is known to
// have waited until the instant `waited`.
func (e *Engine) Unseen(now float64, id uint64, waited float64) {
	now = e.tick(now)
	if j := e.tracker.Jobs[id]; j != nil && j.Waits() {
		e.drop(now, j, math.Min(now, waited))
	}
}

// drop removes a waiting job. Its wait was at least that until the instant `waited`.
func (e *Engine) drop(now float64, j *track.Job, waited float64) {
	e.pools.LearnEvent(pools.EndEvent, now, j)
	e.retire(j, track.Left)
	e.ensemble.Errors.Gone(j.ID)
	e.ensemble.Early.Gone(j.ID)
	j.UserState.Waiting.Add(j, -1)
	e.ensemble.Advance(now)
	e.ensemble.Cancelled(j.ID, waited)
	e.forget(j)
}

// Lost records that a waiting or running job is gone. The lifetime of a running job is then unknown.
func (e *Engine) Lost(now float64, id uint64) {
	j := e.tracker.Jobs[id]
	if j == nil {
		return
	}
	now = e.tick(now)
	if j.Waits() {
		e.drop(now, j, now)
		return
	}
	e.pools.LearnEvent(pools.EndEvent, now, j)
	e.tracker.Laws.Lost(int64(id))
	e.pools.Used(now, j)
	e.stop(j, track.Left)
	e.forget(j)
}

// Requeued records that a running job waits again. The wait counts from the first submission. Nothing is learnt from
// the next start.
func (e *Engine) Requeued(now float64, id uint64) {
	now = e.tick(now)
	j := e.tracker.Jobs[id]
	if j == nil || j.State != track.Running {
		return
	}
	e.pools.LearnEvent(pools.EndEvent, now, j)
	e.tracker.Laws.Lost(int64(id))
	j.NodeNames = ""
	e.pools.Used(now, j)
	e.stop(j, track.Held)
	for _, l := range [...]*track.SubmissionQueue{
		&e.tracker.Line, &j.QueueState.Line, &j.QueueState.Of(j.SizeClass).Waiting, &j.UserState.Line,
	} {
		l.Remove(j) // the list may have dropped the job already
	}
	j.UserState.Waiting.Add(j, 1)
	j.UserState.Line.Push(j)
	e.tracker.Law(j, now)
	e.compete(now, j)
	e.done(e.pools.At(j.QueueState))
}

// Place records the nodes on which a job runs, by their names separated by commas.
func (e *Engine) Place(now float64, id uint64, nodes string) {
	e.tick(now)
	if j := e.tracker.Jobs[id]; j != nil && j.NodeNames != nodes {
		j.NodeNames = nodes
		e.pools.Touch(j.QueueState)
		e.done(e.pools.At(j.QueueState))
	}
}

// Update changes the request of a job. The forecast of its submission is kept.
func (e *Engine) Update(now float64, id uint64, r track.Request) {
	now = e.tick(now)
	j := e.tracker.Jobs[id]
	r = r.Clean()
	if j == nil || j.Request == r {
		return
	}
	if r.Priority > 0 && j.Priority > 0 && r.Priority != j.Priority && j.Waits() {
		e.pools.Reprioritized(now)
	}
	if only := j.Request; r.Priority != only.Priority {
		// A common case: schedulers change the priorities of all waiting jobs repeatedly.
		if only.Priority = r.Priority; only == r {
			j.Priority, j.Prioritized = r.Priority, now
			e.tracker.Prioritize(j)
			e.pools.Touch(j.QueueState)
			e.done(e.pools.At(j.QueueState))
			return
		}
	}
	was := j.State
	ruled := r.Queue != j.Queue || r.Partition != j.Partition || r.Procs != j.Procs || r.Limit != j.Limit
	if ruled || was != track.Running {
		e.pools.LearnEvent(pools.EndEvent, now, j)
	}
	if was == track.Running {
		e.stop(j, track.Left)
		e.tracker.Laws.Lost(int64(id))
	} else {
		e.retire(j, track.Held)
		j.UserState.Waiting.Add(j, -1)
		j.UserState.Line.Remove(j)
		e.tracker.TouchUser(j.UserState)
	}
	e.tracker.Release(j)
	e.tracker.Assign(j, r, e.queue(r.Queue))
	if was == track.Running {
		j.State = track.Running
		if ruled {
			e.pools.LearnSubmit(now, j)
			e.pools.LearnEvent(pools.StartEvent, now, j)
		}
		e.pools.Starts-- // run counts a start again
		e.run(now, j)
	} else {
		j.UserState.Waiting.Add(j, 1)
		j.UserState.Line.Push(j)
		e.tracker.Law(j, now)
		if was == track.Held {
			e.tracker.SetHold(j, j.Hold)
			e.tracker.Touch(j)
			e.pools.Touch(j.QueueState)
		} else {
			e.compete(now, j)
		}
	}
	e.done(e.pools.At(j.QueueState))
}
