package pipeline

import (
	"slices"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
)

// In the engine, a waiting array with one record is two jobs: its first task, and all other tasks together. The
// forecast of the second job is the forecast of the last task.

// rest returns a request that stands for the given number of tasks of the array j. pool is the number of processors of
// the pool, 0 if unknown. The request is one job as large as all these tasks together, but at most as large as the pool
// or one task, whichever is larger. So it starts when there is room for the last task beside all the others. An array
// with a throttle is different: the request has the size of one task and the number of tasks, and the engine simulates
// the tasks one by one.
func (l *ledger) rest(j *cluster.Job, tasks, pool int) engine.Request {
	r := l.engineRequest(j)
	if r.Throttle > 0 {
		r.Tasks = max(1, tasks)
		return r
	}
	if whole := max(1, tasks) * r.Procs; pool <= 0 || whole <= pool {
		r.Procs = whole
	} else {
		r.Procs = max(r.Procs, pool)
	}
	return r
}

// split handles a task that gets its own record, separate from its array. It returns false if it has done nothing: the
// job is no such task, or its array has no open forecast and the task is not one that uncounted handles. The first task
// gets the forecast of the array. When it starts, the array's first task in the engine starts and is removed (see
// begun), and the task is passed to the engine as a separate job. The last task takes over the array's record, unless
// it has the array's own id. Other tasks get rows without a forecast.
func (l *ledger) split(c *changes.Change, s *cluster.State) bool {
	j := c.After
	array := cluster.ArrayOf(j.ID)
	whole := l.open[array]
	switch {
	case array == "":
		return false
	case whole == nil:
		return l.uncounted(c)
	case cluster.TakesLast(j.ID, whole.Job):
		l.rename(whole, j)
		return true
	}
	whole.Parts++
	if whole.Parts > 1 {
		l.between(j, whole.Live, whole.Blocking)
		return true
	}
	o := &openForecast{View: whole.View, Forecast: accuracy.Forecast{
		Job: partOf(j, whole.Job), Live: whole.Live, Sized: whole.Sized, Part: true, Made: whole.Made,
		Entered: whole.Entered,
		Answers: whole.Answers, Blocking: whole.Blocking, BehindUnknown: whole.BehindUnknown,
		OnHold: whole.OnHold,
	}}
	l.open[j.ID] = o
	switch {
	case o.Made:
		l.record.Follow(&o.Forecast)
		l.remain(whole, s)
	case o.View == nil: // the array was submitted at this instant
		l.pending = append(l.pending, o)
	default:
		at := slices.Index(l.late, whole)
		l.late = slices.Insert(l.late, at+1, o)
	}
	return true
}

// partOf returns a copy of the task j with the submit time, the order and the sequence number of its array.
func partOf(j, array *cluster.Job) *cluster.Job {
	task := *j
	task.Order, task.Submit, task.Seq = array.Order, array.Submit, array.Seq
	return &task
}

// rename makes the record of an array the record of the array's last element, which has got its own id. The engine
// keeps the id of the array until that element starts. rename also removes the array from the served forecasts.
func (l *ledger) rename(whole *openForecast, last *cluster.Job) {
	delete(l.open, whole.Job.ID)
	l.served.drop(whole.Job)
	l.renamed = readmodel.EngineID(whole.Job)
	renamed := *whole.Job
	renamed.ID, renamed.Attempt = last.ID, last.Attempt
	whole.Renamed, whole.Job = true, &renamed
	l.open[last.ID] = whole
}

// between handles a task that has no forecast of its own, but still gets a row: a task that is neither the first nor
// the last of its array, or a further element of an array whose elements the log does not count (see uncounted).
func (l *ledger) between(j *cluster.Job, live bool, blocking accuracy.Blocking) {
	l.silent(j)
	l.open[j.ID] = &openForecast{Forecast: accuracy.Forecast{
		Job: j, Live: live, Made: true, Entered: true,
		Answers:  []accuracy.Answer{{Procs: j.Procs, Reason: accuracy.ReasonArrayTask}},
		Blocking: blocking,
	}}
}

// uncounted handles a further element of an array whose log does not count elements. The array's record ended when its
// first element got a record. uncounted returns false if c is not about such an element, or if the job is over.
func (l *ledger) uncounted(c *changes.Change) bool {
	if !cluster.Uncounted(c.After.ID) || c.Over {
		return false
	}
	l.between(c.After, c.Event.Live, accuracy.Blocking{Eligible: c.After.Eligible})
	return true
}

// remain passes all tasks of an array but the first to the engine, as one job, unless the engine has that job already.
func (l *ledger) remain(whole *openForecast, s *cluster.State) {
	if whole.Rest {
		return
	}
	whole.Rest = true
	r := l.rest(whole.Job, whole.WaitingTasks(), procsOf(s, whole.Job.Queue))
	l.feeder.feed(l.instant, engineCommand{Do: doSubmit, ID: restID(whole.Job), Request: r})
}

// begun passes the start of a forecast's job to the engine. If tasks of an array already have records of their own, the
// array's forecast is that of its last task, which the engine has as restID. A task with a record of its own (Part or
// Renamed) was passed to the engine as a separate job when it started, so the job that stood for it while it waited is
// removed. If the last task starts under the array's id, nothing is removed. If an array starts as a whole, the job for
// its other tasks is removed.
func (l *ledger) begun(o *openForecast) {
	id, last := readmodel.EngineID(o.Job), o.Parts > 0 && !o.Part
	if last {
		id = restID(o.Job)
	}
	l.feeder.feed(l.instant, engineCommand{Do: doStart, ID: id, Queue: o.Job.Queue,
		Learn: !last || o.Last != nil, At: o.Closed})
	l.placeLate(o, id)
	switch {
	case o.Part, o.Renamed:
		l.feeder.feed(l.instant, engineCommand{Do: doLost, ID: id})
	case !last && o.Rest:
		l.feeder.feed(l.instant, engineCommand{Do: doLost, ID: id | 1})
	}
}
