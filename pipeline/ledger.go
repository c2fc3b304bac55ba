package pipeline

import (
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/ruletext"
)

// openForecast is the forecast of a job without a ledger row yet: the job still waits, or it started or left before its
// forecast was made.
type openForecast struct {
	accuracy.Forecast
	// View is the engine's view from which the forecast will be made later. It is nil if the forecast has been made, or
	// will be made at the end of the open instant.
	View *submissionView `json:"-"`
	// published is the forecast as the newest published view has it; nil if there is none. Later views share it until
	// the forecast changes.
	published *accuracy.Waiting
}

// ledger predicts every job at its submission and scores the forecast at the job's start.
//
// The forecast of a job uses all events before the instant of its submission. From that instant it uses the ends and
// the earlier submissions, but no starts. So it depends only on the events, not on how they were split into deliveries.
// The forecast is made at the end of the instant. If the job's size or queue, or a job on which it depends, is unknown
// then, the forecast is made when they are known, or once cluster.DetailsGrace has passed since the submission.
type ledger struct {
	cluster string
	rules   *cluster.Rules // of the newest state, see engineRequest
	feeder  *engineFeeder
	emit    func(modelstore.Row)
	levels  []float64
	instant time.Time
	pending []*openForecast // submissions of the open instant in their order, including jobs that have ended
	// late has the forecasts that could not be made at the end of the instant of submission, because the job's size or
	// queue is unknown, or because the engine does not have a job on which it depends (see awaits). They are in the
	// order of submission.
	late       []*openForecast
	open       map[string]*openForecast // forecasts of the waiting jobs, by id
	newestView *submissionView          // the newest view that was kept for late forecasts
	record     accuracy.Record
	served     servedForecasts
	ruleWriter ruletext.Writer
	preview    preview
	renamed    uint64 // the engine's id of the array whose record was taken over by its last task most recently
}

// newLedger returns a ledger without forecasts. emit is called with each completed row.
func newLedger(cluster string, f *engineFeeder, emit func(modelstore.Row)) *ledger {
	return &ledger{
		cluster: cluster, feeder: f, emit: emit, levels: waittime.Levels(),
		open: map[string]*openForecast{}, record: accuracy.NewRecord(),
	}
}

// closeInstant makes the forecasts of the open instant, or postpones them (see late), and passes all changes of that
// instant to the engine. Call closeInstant and then openInstant before an event that is later than the open instant.
func (l *ledger) closeInstant(s *cluster.State) {
	l.rules = s.Rules()
	l.feeder.pools(s)
	for _, o := range l.pending {
		o.Sized = o.Job.Procs > 0
		if o.DetailsKnown() && !l.awaits(o, s) {
			l.make(o, s)
		} else {
			o.View = l.current()
			l.late = append(l.late, o)
			l.show(o)
		}
	}
	clear(l.pending)
	l.pending = l.pending[:0]
	l.feeder.endInstant(l.instant)
	l.completeDependents(s)
}

// openInstant begins a later instant. It counts the outcomes of the quantiles that have passed (see
// accuracy.Decisions), and makes the forecasts of the jobs that have waited too long for their details.
func (l *ledger) openInstant(at time.Time, s *cluster.State) {
	l.rules = s.Rules()
	if l.newestView != nil && at.Sub(l.newestView.At) > viewAgeMax {
		l.newestView = nil
	}
	l.instant = at
	l.record.Decisions.Advance(at)
	l.expire(s)
}

// make makes the forecast of a job that was submitted at the open instant.
func (l *ledger) make(o *openForecast, s *cluster.State) {
	now := clock(l.instant)
	l.enter(o, s, func(id uint64, r engine.Request) engine.Forecast { return l.feeder.engine.Submit(now, id, r) })
	if o.Rest && o.Parts > 0 { // some tasks got records of their own at this instant
		r := l.rest(o.Job, o.WaitingTasks(), procsOf(s, o.Job.Queue))
		l.feeder.feed(l.instant, engineCommand{Do: doUpdate, ID: restID(o.Job), Request: r})
	}
	l.made(o)
}

// enter passes a job to the engine by calling submit, and keeps the forecasts that submit returns. The tasks of an
// array are two jobs in the engine: the first task, and the other tasks together. The first task to get a record of its
// own counts as the first.
func (l *ledger) enter(o *openForecast, s *cluster.State, submit func(id uint64, r engine.Request) engine.Forecast) {
	o.Entered = true
	if o.Part || o.Parts == 0 {
		f := submit(readmodel.EngineID(o.Job), l.withBegin(l.engineRequest(o.Job), o.Job))
		o.Light = f.Experts == nil && l.feeder.engine.Replaying()
		o.Answers = []accuracy.Answer{answerIn(s, &f, o.Job)}
	}
	if others := o.OtherTasks(); others > 0 {
		f := submit(restID(o.Job), l.withBegin(l.rest(o.Job, others, procsOf(s, o.Job.Queue)), o.Job))
		last := answerIn(s, &f, o.Job)
		o.Last, o.Rest = &last, true
	}
}

// withBegin returns the request r of a job with the begin time that is known at the open instant. The begin time stays
// 0 if the job has none.
func (l *ledger) withBegin(r engine.Request, j *cluster.Job) engine.Request {
	if from := readmodel.BeginTime(j, l.instant); !from.IsZero() {
		r.Begin = clock(from)
	}
	return r
}

// procsOf returns the number of processors of a queue's pool, 0 if unknown.
func procsOf(s *cluster.State, queue string) int { return s.Pool(queue).Capacity(cluster.Procs) }

func (l *ledger) made(o *openForecast) {
	o.Made, o.View, o.OnHold = true, nil, o.OnHold || l.submittedOnHold(o)
	o.Throttled = o.Job.Throttle > 0 && !o.Part && o.OtherTasks() >= o.Job.Throttle
	o.AddPlan()
	l.record.Follow(&o.Forecast)
	if !o.Closed.IsZero() {
		l.close(o)
	}
	l.show(o)
}

// completeForecast makes a postponed forecast if enough of its job is known now. Then it makes the forecasts that were
// postponed because their jobs depend on that job.
func (l *ledger) completeForecast(o *openForecast, s *cluster.State) {
	if !o.Made && o.View != nil && o.DetailsKnown() && !l.awaits(o, s) {
		l.complete(o, s)
		l.completeDependents(s)
	}
}

// complete makes the forecast of a job that was submitted at an earlier instant.
func (l *ledger) complete(o *openForecast, s *cluster.State) {
	o.After = !o.Closed.IsZero()
	l.late = slices.DeleteFunc(l.late, func(x *openForecast) bool { return x == o })
	l.catchUp(o, s)
	l.made(o)
}

// catchUp passes a job that was submitted at an earlier instant to the engine, with the changes of the job since then.
// The forecast uses the view that was kept at the submission. If the job has already ended, the engine learns its wait,
// but not its runtime.
func (l *ledger) catchUp(o *openForecast, s *cluster.State) {
	e, now, submitted := l.feeder.engine, clock(l.instant), clock(o.Job.Submit)
	o.KeptBeside = l.keptBeside(o, s)
	view := o.View.View
	// If the job has left, earlier jobs that still wait may be the ones that it passed, so they are not added.
	if o.Closed.IsZero() {
		view = e.WithEarlier(view, submitted, readmodel.EngineID(o.Job), o.Job.Queue)
	}
	l.enter(o, s, func(id uint64, r engine.Request) engine.Forecast {
		if id == readmodel.EngineID(o.Job) {
			return e.SubmitAt(view, submitted, now, id, r)
		}
		wide := l.rest(o.Job, o.OtherTasks()+1, procsOf(s, o.Job.Queue)) // the view does not contain the first task
		wide.Begin = r.Begin
		f := e.SubmitAt(view, submitted, now, id, wide)
		e.Update(now, id, l.rest(o.Job, o.WaitingTasks(), procsOf(s, o.Job.Queue)))
		return f
	})
	switch {
	case o.Started:
		l.begun(o)
		if o.Ended {
			l.feedBoth(doLost, o.Job)
		}
	case !o.Closed.IsZero():
		l.feedBoth(doGone, o.Job)
	case o.Job.Held:
		l.held(o.Job)
	}
}

// expire makes the forecasts of jobs that were submitted more than cluster.DetailsGrace ago, and whose size, queue or
// dependency is still unknown. If the size or queue is unknown, it makes one forecast for each power of two that is
// smaller than the number of processors of the pool, and one for all processors of the pool. Then it passes the jobs to
// the engine.
func (l *ledger) expire(s *cluster.State) {
	n := 0
	for ; n < len(l.late) && l.instant.Sub(l.late[n].Job.Submit) > cluster.DetailsGrace; n++ {
		o := l.late[n]
		o.After = !o.Closed.IsZero()
		if o.DetailsKnown() { // only a job on which it depends is unknown
			l.catchUp(o, s)
			l.made(o)
			continue
		}
		request := l.engineRequest(o.Job)
		ask := func(procs int) {
			request.Procs = procs
			f := o.View.View.Forecast(&request)
			o.Answers = append(o.Answers, answerOf(&f, procs))
		}
		size := max(1, procsOf(s, o.Job.Queue))
		for procs := 1; procs < size; procs *= 2 {
			ask(procs)
		}
		ask(size)
		l.made(o)
		l.guess(o, s)
	}
	l.late = slices.Delete(l.late, 0, n)
}

// guess passes a job of unknown size or queue to the engine, so that the engine counts the job, unless the job is over
// or is in the engine already. Later updates correct its size.
func (l *ledger) guess(o *openForecast, s *cluster.State) {
	ownJob := (o.Part || o.Renamed) && o.Started // start has passed such a task to the engine
	if o.Ended || !o.Closed.IsZero() && !o.Started || ownJob {
		return
	}
	o.Entered = true
	id := readmodel.EngineID(o.Job)
	if o.Parts > 0 && !o.Part {
		id = restID(o.Job)
		l.remain(o, s)
	} else {
		l.silent(o.Job)
	}
	if o.Started {
		l.feeder.feed(l.instant, engineCommand{Do: doStart, ID: id, Queue: o.Job.Queue, At: o.Closed})
		l.placeLate(o, id)
	}
}

// take applies a change to forecasts and engine; s is the state after the change.
func (l *ledger) take(c *changes.Change, s *cluster.State) {
	l.rules = s.Rules()
	// Pools are usually passed to the engine when the instant ends. After an event of the machine they are passed at
	// once, because in a quiet cluster an instant may stay open for long.
	if c.Event.Kind == job.Machine {
		l.feeder.pools(s)
		return
	}
	switch c.Kind {
	case changes.Submitted, changes.Split:
		switch {
		case !c.Event.Derived:
			l.begin(c.After, c.Event.Live)
		case !l.split(c, s) && !c.Over:
			l.silent(c.After)
		}
	case changes.Requeued:
		l.over(c.Before)
		l.feedBoth(doLost, c.Before)
		l.begin(c.After, c.Event.Live)
	case changes.Updated, changes.Held, changes.Released:
		if c.Before.Held != c.After.Held || l.holdOf(c.Before) != l.holdOf(c.After) {
			l.held(c.After)
		}
		l.update(c, s)
	case changes.Started:
		l.start(c, s)
	case changes.UsedUp:
		if l.renamed != readmodel.EngineID(c.Before) { // a renamed array is not gone: its last task keeps its record
			l.gone(c, s)
		}
	case changes.Cancelled:
		l.gone(c, s)
	case changes.Ended:
		l.over(c.Before)
		l.feedBoth(doEnd, c.Before)
	case changes.Lost:
		l.over(c.Before)
		l.feedBoth(doLost, c.Before)
	case changes.Unseen:
		l.unseen(c.Before)
	}
}

// unseen handles a job that ran and ended, and whose start is unknown. Its wait is known only to be at least the time
// for which the job was seen to wait, so it gets no row.
func (l *ledger) unseen(j *cluster.Job) {
	if o := l.open[j.ID]; o != nil {
		delete(l.open, j.ID)
		l.late = slices.DeleteFunc(l.late, func(x *openForecast) bool { return x == o })
		l.pending = slices.DeleteFunc(l.pending, func(x *openForecast) bool { return x == o })
		l.served.drop(o.Job)
		l.record.Decisions.Forget(o.Followed)
	}
	for _, id := range [...]uint64{readmodel.EngineID(j), restID(j)} {
		l.feeder.feed(l.instant, engineCommand{Do: doUnseen, ID: id, At: j.Waited()})
	}
}

func (l *ledger) begin(j *cluster.Job, live bool) {
	o := &openForecast{Forecast: accuracy.Forecast{Job: j, Live: live}}
	o.Blocking.Eligible, o.BehindUnknown = j.Eligible, l.unknownJobs()
	l.open[j.ID] = o
	l.pending = append(l.pending, o)
	l.show(o)
	l.feeder.order.Open(readmodel.EngineID(j))
	l.feeder.order.Open(restID(j))
}

// submittedOnHold reports whether a job did not compete at its submission. Reasons in listings do not count, because
// the listings came later, with one exception: a dependency that is unfulfilled later was unfulfilled at the submission
// too.
func (l *ledger) submittedOnHold(o *openForecast) bool {
	b := &o.Blocking
	held := b.ByLog && b.Since.Equal(o.Job.Submit)
	depends := o.Job.After == job.UnknownAfter || o.Job.After != "" && o.Job.Held && o.Job.Reason == reasonDependency
	return held || b.Eligible.After(l.instant) || depends
}

// mostUnknown is the maximum number of unknown jobs that are remembered for a submission (see unknownJobs).
const mostUnknown = 64

// unknownJobs returns the ids of the waiting jobs that are not held and whose size or queue is unknown: at most
// mostUnknown of them, the newest.
func (l *ledger) unknownJobs() (ids []string) {
	for _, list := range [...][]*openForecast{l.late, l.pending} {
		for _, o := range list {
			if o.Closed.IsZero() && !o.Job.Held && !o.DetailsKnown() {
				ids = append(ids, o.Job.ID)
			}
		}
	}
	return slices.Clone(ids[max(0, len(ids)-mostUnknown):])
}

// keptBeside reports whether a limit would keep the job of a forecast from starting while two groups of jobs run: the
// jobs that ran when it was submitted, and those of BehindUnknown whose size and queue are known now. A user who
// submits many jobs at once may reach a limit this way.
func (l *ledger) keptBeside(o *openForecast, s *cluster.State) bool {
	if len(o.BehindUnknown) == 0 || o.View == nil {
		return false
	}
	var ahead []engine.Request
	for _, id := range o.BehindUnknown {
		if j := s.Job(id); j != nil && !j.Guessed() && j.Procs > 0 {
			ahead = append(ahead, l.engineRequest(j))
		}
	}
	own := l.engineRequest(o.Job)
	return o.View.View.KeptBeside(&own, ahead)
}

// silent passes a job to the engine without a forecast that is scored.
func (l *ledger) silent(j *cluster.Job) {
	l.feeder.feed(l.instant, engineCommand{Do: doSubmit, ID: readmodel.EngineID(j), Request: l.engineRequest(j)})
}

// feedBoth feeds a command for both ids that a job may have in the engine. The engine ignores unknown ids.
func (l *ledger) feedBoth(do commandKind, j *cluster.Job) {
	for _, id := range [...]uint64{readmodel.EngineID(j), restID(j)} {
		l.feeder.feed(l.instant, engineCommand{Do: do, ID: id, Hold: l.holdOf(j)})
	}
}

// holdOf returns why a job does not compete, as far as that is known. For a job that competes it returns the zero Hold.
func (l *ledger) holdOf(j *cluster.Job) (h engine.Hold) {
	if !j.Held {
		return h
	}
	h.Limit = job.CauseOf(j.Reason) == job.LimitReached
	if j.Reason == reasonDependency && j.After != job.UnknownAfter {
		h.After = j.After
	}
	if from := readmodel.BeginTime(j, l.instant); !from.IsZero() {
		h.Until = clock(from)
	}
	return h
}

// held reports to the engine that a job, or an array, no longer competes, or competes again.
func (l *ledger) held(j *cluster.Job) {
	if j.Held {
		l.feedBoth(doHold, j)
	} else {
		l.feedBoth(doRelease, j)
	}
}

// learn updates what a forecast knows of its job after a change of the job.
func (l *ledger) learn(o *openForecast, c *changes.Change) {
	j := c.After
	o.Blocking.Observe(&c.Event, c.Before, j, o.Job.Submit)
	o.Job = submittedAs(j, o.Job)
	if o.Made {
		o.AddPlan()
	}
	l.record.Decisions.Update(o.Followed, j.Queue, j.Procs)
}

// submittedAs returns a copy of the job j with the id and the submission of the job in its forecast, which may be those
// of an array. If j has them already, submittedAs returns j itself.
func submittedAs(j, forecast *cluster.Job) *cluster.Job {
	known := *j
	known.ID, known.Attempt, known.Seq = forecast.ID, forecast.Attempt, forecast.Seq
	known.Order, known.Submit = forecast.Order, forecast.Submit
	if known == *j {
		return j
	}
	return &known
}

// share replaces the jobs in a restored ledger by equal jobs of the picture, so that both use the same memory.
func (l *ledger) share(s *cluster.State) {
	l.rules = s.Rules()
	for id, o := range l.open {
		if j := s.Job(id); j != nil && *j == *o.Job {
			o.Job = j
		}
	}
}

// update applies new attributes of a job, even if the job has started or left.
func (l *ledger) update(c *changes.Change, s *cluster.State) {
	o := l.open[c.Event.ID]
	if o == nil || o.Job.Attempt != c.After.Attempt {
		o = l.lateOne(c.After)
	}
	if o != nil {
		l.learn(o, c)
		l.completeForecast(o, s)
	}
	if before, after := l.engineRequest(c.Before), l.engineRequest(c.After); before != after {
		l.feeder.feed(l.instant, engineCommand{Do: doUpdate, ID: readmodel.EngineID(c.After), Request: after})
	}
	l.place(c)
	if o != nil && o.Rest && !o.Part {
		r := l.rest(c.After, o.WaitingTasks(), procsOf(s, c.After.Queue))
		l.feeder.feed(l.instant, engineCommand{Do: doUpdate, ID: restID(c.After), Request: r})
	}
}

// lateOne returns the postponed forecast of a job, which is in l.late; nil if there is none.
func (l *ledger) lateOne(j *cluster.Job) *openForecast {
	i := slices.IndexFunc(l.late, func(o *openForecast) bool { return o.Job.ID == j.ID && o.Job.Attempt == j.Attempt })
	if i < 0 {
		return nil
	}
	return l.late[i]
}

// place passes the nodes of a running job to the engine, if a record names them.
func (l *ledger) place(c *changes.Change) {
	if j := c.After; c.Event.NodeNames != "" && j.Running() {
		l.feeder.feed(l.instant, engineCommand{Do: doPlace, ID: readmodel.EngineID(j), Nodes: j.NodeNames})
	}
}

// placeLate passes the nodes of a job to the engine, where the job has the given id. It is needed for a job that
// started before the engine knew it, because no later record names the nodes again.
func (l *ledger) placeLate(o *openForecast, id uint64) {
	if nodes := o.Job.NodeNames; nodes != "" && !o.Ended {
		l.feeder.feed(l.instant, engineCommand{Do: doPlace, ID: id, Nodes: nodes})
	}
}

// start passes the start of a job to the engine, and ends the wait of its forecast. If the engine does not have the job
// yet, it gets the start together with the job later (see catchUp and guess).
func (l *ledger) start(c *changes.Change, s *cluster.State) {
	defer l.place(c)
	o, id := l.open[c.Event.ID], readmodel.EngineID(c.After)
	if o == nil {
		if !c.Over {
			l.feeder.feed(l.instant, engineCommand{Do: doStart, ID: id, Queue: c.After.Queue, At: c.After.Start})
		}
		return
	}
	l.learn(o, c)
	entered := o.View == nil // if View is set, the engine gets the job later
	if o.Part || o.Renamed {
		l.silent(c.After)
		l.feeder.feed(l.instant, engineCommand{Do: doStart, ID: id, Queue: c.After.Queue, At: c.After.Start})
	}
	l.resolve(o, c.After.Start, true, s)
	if entered {
		l.begun(o)
	}
}

// gone handles a job that left without a start.
func (l *ledger) gone(c *changes.Change, s *cluster.State) {
	o := l.open[c.Event.ID]
	if o == nil {
		l.feedBoth(doGone, c.Before)
		return
	}
	l.resolve(o, c.Event.Time, false, s)
	if o.Part { // the other tasks keep waiting
		l.feeder.feed(l.instant, engineCommand{Do: doGone, ID: readmodel.EngineID(o.Job)})
		return
	}
	l.feedBoth(doGone, o.Job)
}

// over records that a job has ended, if its forecast is not made yet.
func (l *ledger) over(j *cluster.Job) {
	if o := l.lateOne(j); o != nil {
		o.Ended = true
	}
}

// resolve ends the wait of a job, which started or left at the given time. The job's row is written once its forecast
// is made.
func (l *ledger) resolve(o *openForecast, at time.Time, started bool, s *cluster.State) {
	delete(l.open, o.Job.ID)
	if !o.Part {
		l.served.drop(o.Job)
	}
	o.Closed, o.Started = at, started
	if o.Made {
		l.close(o)
		return
	}
	l.completeForecast(o, s)
}

// close writes the row of a job that started or left the queue. A job that the fast replay did not forecast gets no
// row.
func (l *ledger) close(o *openForecast) {
	if o.Light {
		return
	}
	row := o.Row(l.cluster, l.levels)
	l.record.Close(&o.Forecast, &row)
	l.emit(row)
}

// zoneOffset returns the offset of a zone from UTC at an instant, in seconds east.
func zoneOffset(zone *time.Location, at time.Time) float64 {
	_, offset := at.In(zone).Zone()
	return float64(offset)
}

// publish sets the fields of a view that come from the ledger and from the engine.
func (l *ledger) publish(v *readmodel.View, e *engine.View) {
	v.Open = len(l.open)
	v.Forecasts, v.Drifts = l.served.snapshot(), l.feeder.engine.Drifts()
	v.Engine, v.RuleTexts = e, l.ruleWriter.Write(e.AllStartRules(), zoneOffset(v.Models.Zone(), v.At))
	v.Learning = l.feeder.engine.Stats()
	v.Scores, v.Recent = l.record.Snapshot()
	v.Decided = l.record.Decisions.AsOf(l.instant)
	v.OpenForecasts = make([]*accuracy.Waiting, 0, len(l.open))
	for _, o := range l.open {
		if w, ok := o.Waiting(); ok {
			v.OpenForecasts = append(v.OpenForecasts, o.publish(&w))
		}
	}
}

// publish returns an immutable copy of w. If w equals the copy in the newest published view, publish returns that copy.
func (o *openForecast) publish(w *accuracy.Waiting) *accuracy.Waiting {
	if o.published == nil || !o.published.Same(w) {
		made := *w
		o.published = &made
	}
	return o.published
}
