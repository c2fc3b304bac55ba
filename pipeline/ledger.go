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

// openForecast is the forecast of a job that has not started yet, or that started before enough was known of it.
type openForecast struct {
	accuracy.Forecast
	// View is the view from which the forecast will be made, if it is not made yet.
	View *submissionView `json:"-"`
}

// ledger predicts every job at its submission and scores it at its start.
//
// The forecast of a job uses what could be known at the instant of its submission: ends, submissions up to its own, no
// start. So it depends on the events alone, not on how they were cut into batches. It is made when that instant is
// over. For a job whose size or queue are not known by then it is made when they become known.
type ledger struct {
	cluster    string
	feeder     *engineFeeder
	emit       func(modelstore.Row)
	levels     []float64
	instant    time.Time
	pending    []*openForecast          // of the instant, in the order of submission, those that are closed already too
	late       []*openForecast          // not made yet although their instant is over, in the order of submission
	open       map[string]*openForecast // of the jobs that wait, by id
	newestView *submissionView          // the newest view that was kept
	record     accuracy.Record
	served     servedForecasts
	ruleWriter ruletext.Writer
	preview    preview
	renamed    uint64 // the array, to the engine, whose record was taken over last
}

// newLedger returns a ledger without forecasts. emit takes each row as it is closed.
func newLedger(cluster string, f *engineFeeder, emit func(modelstore.Row)) *ledger {
	return &ledger{
		cluster: cluster, feeder: f, emit: emit, levels: waittime.Levels(),
		open: map[string]*openForecast{}, record: accuracy.NewRecord(),
	}
}

// closeInstant makes the forecasts of the open instant; afterwards the engine knows all of it. It must be called ahead
// of every event that is later than the open instant, and openInstant after it.
func (l *ledger) closeInstant(s *cluster.State) {
	l.feeder.pools(s)
	for _, o := range l.pending {
		o.Sized = o.Job.Procs > 0
		if o.DetailsKnown() {
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
}

// openInstant begins a later instant. It makes the forecasts of the jobs that have waited too long for their details.
func (l *ledger) openInstant(at time.Time, s *cluster.State) {
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
	if o.Rest && o.Parts > 0 { // some were told apart at this very instant
		r := rest(&o.Job, o.WaitingTasks(), procsOf(s, o.Job.Queue))
		l.feeder.feed(l.instant, engineCommand{Do: doUpdate, ID: restID(&o.Job), Request: r})
	}
	l.made(o)
}

// enter passes a job to the engine by submit, and keeps its forecasts. The tasks of an array are two jobs there: the
// first, and the others together. If a task has got a record of its own, that task is the first.
func (l *ledger) enter(o *openForecast, s *cluster.State, submit func(id uint64, r engine.Request) engine.Forecast) {
	o.Entered = true
	if o.Part || o.Parts == 0 {
		f := submit(readmodel.EngineID(&o.Job), engineRequest(&o.Job))
		o.Light = f.Experts == nil && l.feeder.engine.Replaying()
		o.Answers = []accuracy.Answer{answerIn(s, &f, &o.Job)}
	}
	if others := o.OtherTasks(); others > 0 {
		f := submit(restID(&o.Job), rest(&o.Job, others, procsOf(s, o.Job.Queue)))
		last := answerIn(s, &f, &o.Job)
		o.Last, o.Rest = &last, true
	}
}

// procsOf returns the processors of a queue's pool, 0 where that is not known.
func procsOf(s *cluster.State, queue string) int { return s.Pool(queue).Capacity(cluster.Procs) }

func (l *ledger) made(o *openForecast) {
	o.Made, o.View = true, nil
	l.record.Follow(&o.Forecast)
	if !o.Closed.IsZero() {
		l.close(o)
	}
	l.show(o)
}

// completeForecast makes the forecast of a job if its size and queue are known now.
func (l *ledger) completeForecast(o *openForecast, s *cluster.State) {
	if o.Made || o.View == nil || !o.DetailsKnown() {
		return
	}
	o.After = !o.Closed.IsZero()
	l.late = slices.DeleteFunc(l.late, func(x *openForecast) bool { return x == o })
	l.catchUp(o, s)
	l.made(o)
}

// catchUp passes a job to the engine that was submitted a while ago, and what happened to it since. Its forecast uses
// what could be known at its submission. Its wait is learned; its runtime is not, if it has ended.
func (l *ledger) catchUp(o *openForecast, s *cluster.State) {
	e, now, submitted := l.feeder.engine, clock(l.instant), clock(o.Job.Submit)
	l.enter(o, s, func(id uint64, r engine.Request) engine.Forecast {
		if id == readmodel.EngineID(&o.Job) {
			return e.SubmitAt(o.View.View, submitted, now, id, r)
		}
		wide := rest(&o.Job, o.OtherTasks()+1, procsOf(s, o.Job.Queue)) // the view does not know the first task
		f := e.SubmitAt(o.View.View, submitted, now, id, wide)
		e.Update(now, id, rest(&o.Job, o.WaitingTasks(), procsOf(s, o.Job.Queue)))
		return f
	})
	switch {
	case o.Started:
		l.begun(o)
		if o.Ended {
			l.feedBoth(doLost, &o.Job)
		}
	case !o.Closed.IsZero():
		l.feedBoth(doGone, &o.Job)
	case o.Job.Held:
		l.held(&o.Job)
	}
}

// expire makes the forecasts of the jobs of which too little has been known for too long: one for each size.
func (l *ledger) expire(s *cluster.State) {
	n := 0
	for ; n < len(l.late) && l.instant.Sub(l.late[n].Job.Submit) > cluster.DetailsGrace; n++ {
		o := l.late[n]
		o.After = !o.Closed.IsZero()
		request := engineRequest(&o.Job)
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

// guess passes a job whose size is not known to the engine, so that the engine counts it. Updates correct it.
func (l *ledger) guess(o *openForecast, s *cluster.State) {
	ownJob := (o.Part || o.Renamed) && o.Started // a task that runs is a job of its own
	if o.Ended || !o.Closed.IsZero() && !o.Started || ownJob {
		return
	}
	o.Entered = true
	id := readmodel.EngineID(&o.Job)
	if o.Parts > 0 && !o.Part {
		id = restID(&o.Job)
		l.remain(o, s)
	} else {
		l.silent(&o.Job)
	}
	if o.Started {
		l.feeder.feed(l.instant, engineCommand{Do: doStart, ID: id, At: o.Closed})
	}
}

// take takes in a change; s is the state after it.
func (l *ledger) take(c *changes.Change, s *cluster.State) {
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
	case changes.Updated:
		l.update(c, s)
	case changes.Held, changes.Released:
		if c.Before.Held != c.After.Held {
			l.held(c.After)
		}
		l.update(c, s)
	case changes.Started:
		l.start(c, s)
	case changes.UsedUp:
		if l.renamed != readmodel.EngineID(c.Before) { // else its last task goes on with its record
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
	}
}

func (l *ledger) begin(j *cluster.Job, live bool) {
	o := &openForecast{Forecast: accuracy.Forecast{Job: *j, Live: live}}
	l.open[j.ID] = o
	l.pending = append(l.pending, o)
	l.show(o)
	l.feeder.order.Open(readmodel.EngineID(j))
	l.feeder.order.Open(restID(j))
}

// silent passes a job to the engine whose forecast is not scored: its submission became known afterwards.
func (l *ledger) silent(j *cluster.Job) {
	l.feeder.feed(l.instant, engineCommand{Do: doSubmit, ID: readmodel.EngineID(j), Request: engineRequest(j)})
}

// feedBoth feeds a command for both of a job's ids; the engine ignores an id that it does not know.
func (l *ledger) feedBoth(do commandKind, j *cluster.Job) {
	for _, id := range [...]uint64{readmodel.EngineID(j), restID(j)} {
		l.feeder.feed(l.instant, engineCommand{Do: do, ID: id, Hold: holdOf(j)})
	}
}

// holdOf returns what is known of why a job does not compete; nothing of one that does.
func holdOf(j *cluster.Job) (h engine.Hold) {
	if !j.Held {
		return h
	}
	h.Limit = job.CauseOf(j.Reason) == job.LimitReached
	if j.Eligible.After(j.Submit) && j.Reason == "BeginTime" {
		h.Until = clock(j.Eligible)
	}
	return h
}

// held passes to the engine that a job, or an array, competes no more, or again.
func (l *ledger) held(j *cluster.Job) {
	if j.Held {
		l.feedBoth(doHold, j)
	} else {
		l.feedBoth(doRelease, j)
	}
}

// learn takes over what is known of a job now.
func (l *ledger) learn(o *openForecast, j *cluster.Job) {
	o.Job.Attributes, o.Job.Unqueued, o.Job.Unsized, o.Job.Held = j.Attributes, j.Unqueued, j.Unsized, j.Held
	l.record.Decisions.Update(o.Followed, j.Queue, j.Procs)
}

// update takes in what became known of a job, also of one that has started or left.
func (l *ledger) update(c *changes.Change, s *cluster.State) {
	o := l.open[c.Event.ID]
	if o == nil || o.Job.Attempt != c.After.Attempt {
		o = l.lateOne(c.After)
	}
	if o != nil {
		l.learn(o, c.After)
		l.completeForecast(o, s)
	}
	if before, after := engineRequest(c.Before), engineRequest(c.After); before != after {
		l.feeder.feed(l.instant, engineCommand{Do: doUpdate, ID: readmodel.EngineID(c.After), Request: after})
	}
	if o != nil && o.Rest && !o.Part {
		r := rest(c.After, o.WaitingTasks(), procsOf(s, c.After.Queue))
		l.feeder.feed(l.instant, engineCommand{Do: doUpdate, ID: restID(c.After), Request: r})
	}
}

// lateOne returns the forecast of a job that is not made yet although the instant of its submission is over, nil if
// there is none.
func (l *ledger) lateOne(j *cluster.Job) *openForecast {
	i := slices.IndexFunc(l.late, func(o *openForecast) bool { return o.Job.ID == j.ID && o.Job.Attempt == j.Attempt })
	if i < 0 {
		return nil
	}
	return l.late[i]
}

// start takes in a start.
func (l *ledger) start(c *changes.Change, s *cluster.State) {
	o, id := l.open[c.Event.ID], readmodel.EngineID(c.After)
	if o == nil {
		if !c.Over {
			l.feeder.feed(l.instant, engineCommand{Do: doStart, ID: id, At: c.After.Start})
		}
		return
	}
	l.learn(o, c.After)
	entered := o.View == nil // or it will be at the end of this instant
	if o.Part || o.Renamed {
		l.silent(c.After)
		l.feeder.feed(l.instant, engineCommand{Do: doStart, ID: id, At: c.After.Start})
	}
	l.resolve(o, c.After.Start, true, s)
	if entered {
		l.begun(o)
	}
}

// gone takes in that a job left without a start.
func (l *ledger) gone(c *changes.Change, s *cluster.State) {
	o := l.open[c.Event.ID]
	if o == nil {
		l.feedBoth(doGone, c.Before)
		return
	}
	l.resolve(o, c.Event.Time, false, s)
	if o.Part { // the others wait on
		l.feeder.feed(l.instant, engineCommand{Do: doGone, ID: readmodel.EngineID(&o.Job)})
		return
	}
	l.feedBoth(doGone, &o.Job)
}

// over notes that a job runs no more whose forecast is not made yet.
func (l *ledger) over(j *cluster.Job) {
	if o := l.lateOne(j); o != nil {
		o.Ended = true
	}
}

// resolve ends the wait of a job. Its row is written once its forecast is made.
func (l *ledger) resolve(o *openForecast, at time.Time, started bool, s *cluster.State) {
	delete(l.open, o.Job.ID)
	if !o.Part {
		l.served.drop(&o.Job)
	}
	o.Closed, o.Started = at, started
	if o.Made {
		l.close(o)
		return
	}
	l.completeForecast(o, s)
}

// close writes the row of a job that started or left the queue.
func (l *ledger) close(o *openForecast) {
	if o.Light {
		return
	}
	row := o.Row(l.cluster, l.levels)
	l.record.Close(&o.Forecast, &row)
	l.emit(row)
}

// zoneOffset returns by how many seconds the clock of a zone is ahead of UTC at an instant.
func zoneOffset(zone *time.Location, at time.Time) float64 {
	_, offset := at.In(zone).Zone()
	return float64(offset)
}

// publish puts the published part of the forecasts into a view.
func (l *ledger) publish(v *readmodel.View, e *engine.View) {
	v.Open = len(l.open)
	v.Forecasts, v.Drifts = l.served.snapshot(), l.feeder.engine.Drifts()
	v.Engine, v.RuleTexts = e, l.ruleWriter.Write(e.AllStartRules(), zoneOffset(v.Models.Zone(), v.At))
	v.Learning = l.feeder.engine.Stats()
	v.Scores, v.Recent = l.record.Snapshot()
	v.Decided = l.record.Decisions.AsOf(l.instant)
	v.OpenForecasts = make([]accuracy.Waiting, 0, len(l.open))
	for _, o := range l.open {
		if w, ok := o.Waiting(); ok {
			v.OpenForecasts = append(v.OpenForecasts, w)
		}
	}
}
