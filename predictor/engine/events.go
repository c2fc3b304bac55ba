package engine

import (
	"math"
	"slices"
)

// farthest bounds instants, in seconds.
const farthest = 1e12

// tick takes in that something happens at an instant, and returns it: time never goes back, and what is no number is the last instant again.
func (e *Engine) tick(now float64) float64 {
	if now > e.clock { // false for NaN
		e.clock = math.Max(-farthest, math.Min(now, farthest))
	}
	if math.IsInf(e.clock, -1) {
		e.clock = 0
	}
	return e.clock
}

// done ends an event of a pool's: what comes into force after so many events does so now, before anything is asked.
func (e *Engine) done(p *pool) {
	e.events++
	e.lookAtCapacity(p)
	e.react()
	e.stir(p)
	e.settle()
	e.renew()
}

// Submit takes in a submission and returns its forecast. A job of that id that waits or runs is lost.
func (e *Engine) Submit(now float64, id uint64, r Request) Forecast {
	e.Lost(now, id)
	now = e.tick(now)
	r = r.clean()
	e.live.calibrator.Advance(now)
	v := e.lookFor(now, r.Queue)
	g := v.forecast(&r, &e.scratch, e.voices())
	e.enter(now, now, id, r, g)
	return g.Forecast
}

// SubmitAt takes in a submission that is told late, because the job's size or queue became known only at now: it is forecast from the view of its instant, which was kept, and is then
// as one that has waited since. It may have started meanwhile; Start tells that afterwards.
func (e *Engine) SubmitAt(v *View, submitted, now float64, id uint64, r Request) Forecast {
	if v == nil {
		return e.Submit(now, id, r)
	}
	e.Lost(now, id)
	now = e.tick(now)
	if !(submitted <= now) {
		submitted = now
	}
	r = r.clean()
	g := v.given(&r)
	e.enter(math.Max(submitted, -farthest), now, id, r, g)
	return g.Forecast
}

// enter takes in a job that waits since it was submitted.
func (e *Engine) enter(submitted, now float64, id uint64, r Request, g *given) {
	e.entered++
	j := &tracked{
		Request: r, id: id, seq: e.entered, submit: submitted, size: sizeClass(r.Procs), limit: limitClass(r.Limit), queue: e.queue(r.Queue), user: e.user(r.User),
	}
	j.queue.live++
	j.user.live++
	j.expected = expected(&j.Request, &j.queue.queueFacts, &j.user.userFacts)
	if g.Quantiles != nil {
		e.live.calibrator.Watch(int64(id), submitted, g.kinds, g.Combined, g.Quantiles)
	}
	j.given = &given{answers: g.answers, groups: g.groups, row: g.row, said: logAll(g.Quantiles)} // the rest is not needed any more
	e.jobs[id] = j
	j.user.waiting.add(j, 1)
	j.user.line.push(j)
	if u := j.user; !(submitted < u.lastSubmit) {
		u.lastSubmit, u.lastRequest = submitted, j.Request
	}
	if !(submitted < e.lastSubmit) {
		e.lastSubmit = submitted
	}
	e.rate.add(submitted)
	if len(g.Experts) > simulation && g.Experts[simulation] != nil {
		e.errors.ask(id, submitted, Log(g.Experts[simulation][e.median]))
	}
	e.law(j, now)
	e.compete(now, j)
	e.done(j.queue.pool)
}

// compete puts a job among those that compete.
func (e *Engine) compete(now float64, j *tracked) {
	j.state = waiting
	e.waiting.add(j, 1)
	j.queue.waiting.add(j, 1)
	e.line.push(j)
	j.queue.line.push(j)
	j.queue.of(j.size).waiting.push(j)
	e.ruleSubmit(now, j)
	e.touch(j)
}

// retire takes a job from those that compete.
func (e *Engine) retire(j *tracked, to state) {
	if j.state == waiting {
		e.waiting.add(j, -1)
		j.queue.waiting.add(j, -1)
	}
	j.state = to
	if to == held { // it may come back: the lines would know it twice
		e.line.remove(j)
		j.queue.line.remove(j)
		j.queue.of(j.size).waiting.remove(j)
	}
	e.touch(j)
}

// touch notes that what is known of a job's queue, pool and user changes.
func (e *Engine) touch(j *tracked) {
	e.frozen.waiting = nil
	q := j.queue
	q.frozen = nil
	q.of(j.size).frozen = nil
	e.touchUser(j.user)
	if q.pool != nil {
		q.pool.frozen = nil
	}
}

// Hold takes in that a waiting job does not compete for now: it is held, blocked or not eligible yet.
func (e *Engine) Hold(now float64, id uint64) {
	now = e.tick(now)
	if j := e.jobs[id]; j != nil && j.state == waiting {
		e.ruleOther(heardEnd, now, j)
		e.retire(j, held)
		e.done(j.queue.pool)
	}
}

// Release takes in that a held job competes again.
func (e *Engine) Release(now float64, id uint64) {
	now = e.tick(now)
	if j := e.jobs[id]; j != nil && j.state == held {
		e.compete(now, j)
		e.done(j.queue.pool)
	}
}

// Start takes in a start. Learn is false where the wait is not to be learnt from.
func (e *Engine) Start(now float64, id uint64, learn bool) {
	at := now
	now = e.tick(now)
	j := e.jobs[id]
	if j == nil || !j.waits() {
		return
	}
	if !(at <= now) {
		at = now
	}
	e.ruleOther(heardStart, now, j)
	e.retire(j, running)
	j.user.waiting.add(j, -1)
	j.start = math.Max(at, j.submit) // a start that is told late was when it was
	e.run(now, j)
	e.live.calibrator.Advance(now)
	if j.given == nil || !learn {
		if !learn {
			e.live.calibrator.Cancelled(int64(id), j.submit)
		}
	} else {
		e.live.calibrator.Started(int64(id), j.start)
		e.learn(j.start, j)
	}
	j.given = nil
	e.errors.gone(id)
	e.done(j.queue.pool)
}

// run puts a job among those that run.
func (e *Engine) run(now float64, j *tracked) {
	e.running.add(j, 1)
	j.queue.running.add(j, 1)
	j.user.running.add(j, 1)
	e.runningJobs = append(e.runningJobs, j)
	e.laws.Started(int64(j.id), j.kin(), j.start)
	e.law(j, now)
	if use := int(e.running.procs); e.cfg.Capacity == 0 && use > e.capacity {
		e.capacity = use
	}
	if p := j.queue.pool; p != nil && p.name != "" {
		in, _ := e.uses(p)
		if e.pools.highest[p.name] < int(in.procs) {
			e.pools.highest[p.name] = int(in.procs)
		}
	}
	e.relook()
	e.touch(j)
}

// learn takes in a wait.
func (e *Engine) learn(now float64, j *tracked) {
	wait := now - j.submit
	z := Log(wait)
	s := j.queue.of(j.size)
	s.similarFacts.recent.add(z)
	if !(now < s.lastStart) {
		s.lastStart, s.lastWait = now, z
	}
	if !(j.submit < s.newest.submit) {
		s.newest = newest{j.submit, z}
	}
	s.similarFacts.learnt++
	s.latest.add(z)
	s.lately = nil
	j.queue.recent.add(z)
	e.recent.add(z)
	if !(now < e.lastStart) {
		e.lastStart = now
	}
	j.user.recent.add(z)
	if !(now < j.user.lastStart.at) {
		j.user.lastStart = last{now, z}
	}
	j.user.started(j.queue.code, j.size, last{now, z})
	e.addBounds(j, wait)
	e.errors.started(j.id, z)
	e.learner.book.now = e.clock
	e.learner.learn(j.given.row, z)
	e.live.linear.Learn(wide(j.given.row), z)
	e.live.blend.Learn(j.given.groups, j.given.answers, z)
	e.watch.learnt(j.Queue, e.cfg.Levels, j.given.said, z)
	e.since++
	e.touch(j)
}

// stop takes a job from those that run.
func (e *Engine) stop(j *tracked, to state) {
	j.state = to
	e.running.add(j, -1)
	j.queue.running.add(j, -1)
	j.user.running.add(j, -1)
	i := slices.Index(e.runningJobs, j)
	e.runningJobs = slices.Delete(e.runningJobs, i, i+1)
	e.touch(j)
}

// forget drops a job that has left.
func (e *Engine) forget(j *tracked) {
	delete(e.jobs, j.id)
	j.queue.live--
	j.user.live--
	e.done(j.queue.pool)
}

// End takes in the end of a job that ran.
func (e *Engine) End(now float64, id uint64) {
	now = e.tick(now)
	j := e.jobs[id]
	if j == nil || j.state != running {
		return
	}
	e.ruleOther(heardEnd, now, j)
	e.laws.Ended(int64(id), now)
	if e.heads != nil {
		e.heads.ended(j, now)
	}
	z := math.Log(math.Max(1, now-j.start))
	j.queue.runtimes.add(z, .98)
	j.user.ran(j.queue.code, z)
	e.stop(j, left)
	e.forget(j)
}

// Gone takes in that a waiting job was cancelled.
func (e *Engine) Gone(now float64, id uint64) {
	now = e.tick(now)
	if j := e.jobs[id]; j != nil && j.waits() {
		e.drop(now, j)
	}
}

// drop takes out a job that waits.
func (e *Engine) drop(now float64, j *tracked) {
	e.ruleOther(heardEnd, now, j)
	e.retire(j, left)
	e.errors.gone(j.id)
	j.user.waiting.add(j, -1)
	e.live.calibrator.Advance(now)
	e.live.calibrator.Cancelled(int64(j.id), now)
	e.forget(j)
}

// Lost takes in that a job is gone, waiting or running, and that its end tells nothing of its lifetime.
func (e *Engine) Lost(now float64, id uint64) {
	j := e.jobs[id]
	if j == nil {
		return
	}
	now = e.tick(now)
	if j.waits() {
		e.drop(now, j)
		return
	}
	e.ruleOther(heardEnd, now, j)
	e.laws.Lost(int64(id))
	e.stop(j, left)
	e.forget(j)
}

// Requeued takes in that a running job waits again. It waits since it was submitted first; its next start is not learnt from.
func (e *Engine) Requeued(now float64, id uint64) {
	now = e.tick(now)
	j := e.jobs[id]
	if j == nil || j.state != running {
		return
	}
	e.ruleOther(heardEnd, now, j)
	e.laws.Lost(int64(id))
	e.stop(j, held)
	for _, l := range [...]*line{&e.line, &j.queue.line, &j.queue.of(j.size).waiting, &j.user.line} {
		l.remove(j) // where it was not passed over yet
	}
	j.user.waiting.add(j, 1)
	j.user.line.push(j)
	e.law(j, now)
	e.compete(now, j)
	e.done(j.queue.pool)
}

// Update takes in that what a job asks for has changed. What was forecast at its submission stands.
func (e *Engine) Update(now float64, id uint64, r Request) {
	now = e.tick(now)
	j := e.jobs[id]
	r = r.clean()
	if j == nil || j.Request == r {
		return
	}
	if only := j.Request; r.Priority != only.Priority {
		if only.Priority = r.Priority; only == r { // schedulers change the priorities of all that wait, again and again
			j.Priority = r.Priority
			if p := j.queue.pool; p != nil {
				p.frozen = nil
			}
			e.done(j.queue.pool)
			return
		}
	}
	was := j.state
	ruled := r.Queue != j.Queue || r.Partition != j.Partition || r.Procs != j.Procs || r.Limit != j.Limit
	if ruled || was != running {
		e.ruleOther(heardEnd, now, j)
	}
	if was == running {
		e.stop(j, left)
		e.laws.Lost(int64(id))
	} else {
		e.retire(j, held)
		j.user.waiting.add(j, -1)
		j.user.line.remove(j)
		e.touchUser(j.user)
	}
	e.change(j, r)
	if was == running {
		j.state = running
		if ruled {
			e.ruleSubmit(now, j)
			e.ruleOther(heardStart, now, j)
		}
		e.starts-- // it is no new one
		e.run(now, j)
	} else {
		j.user.waiting.add(j, 1)
		j.user.line.push(j)
		e.law(j, now)
		if was == held {
			e.touch(j)
		} else {
			e.compete(now, j)
		}
	}
	e.done(j.queue.pool)
}

// change gives a job that is counted nowhere another request.
func (e *Engine) change(j *tracked, r Request) {
	j.queue.live--
	j.user.live--
	j.Request, j.size, j.limit = r, sizeClass(r.Procs), limitClass(r.Limit)
	j.queue, j.user = e.queue(r.Queue), e.user(r.User)
	j.queue.live++
	j.user.live++
	j.expected = expected(&j.Request, &j.queue.queueFacts, &j.user.userFacts)
}
