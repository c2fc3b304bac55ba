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

// rest returns a request that represents the given number of tasks of an array. It is one job as large as all of them
// together, but at most as large as the pool. So it starts when there is room for the last task beside all the others.
// Tasks of an array with a throttle are simulated one by one.
func rest(j *cluster.Job, tasks, pool int) engine.Request {
	r := engineRequest(j)
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

// split handles a task that gets its own record, separate from its array. It returns false if there is no such array.
// The first task gets the forecast of the array. When the first task starts, the engine receives two changes: the
// array's first task starts and is removed, and a separate job runs. The last task takes over the array's record,
// unless it has the array's own id. Other tasks get rows without a forecast.
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

// partOf returns a task with the submission of its array.
func partOf(j, array *cluster.Job) *cluster.Job {
	task := *j
	task.Order, task.Submit, task.Seq = array.Order, array.Submit, array.Seq
	return &task
}

// rename makes the record of an array the record of the array's last element, which has got its own id. The engine
// keeps the id of the array until that element starts.
func (l *ledger) rename(whole *openForecast, last *cluster.Job) {
	delete(l.open, whole.Job.ID)
	l.served.drop(whole.Job)
	l.renamed = readmodel.EngineID(whole.Job)
	renamed := *whole.Job
	renamed.ID, renamed.Attempt = last.ID, last.Attempt
	whole.Renamed, whole.Job = true, &renamed
	l.open[last.ID] = whole
}

// between handles a task that is neither the first nor the last of its array. Such a task has no forecast of its own,
// but still gets a row.
func (l *ledger) between(j *cluster.Job, live bool, blocking accuracy.Blocking) {
	l.silent(j)
	l.open[j.ID] = &openForecast{Forecast: accuracy.Forecast{
		Job: j, Live: live, Made: true, Entered: true,
		Answers:  []accuracy.Answer{{Procs: j.Procs, Reason: accuracy.ReasonArrayTask}},
		Blocking: blocking,
	}}
}

// uncounted handles an element of an array whose record ended with the first element. That happens if the log does
// not count elements.
func (l *ledger) uncounted(c *changes.Change) bool {
	if !cluster.Uncounted(c.After.ID) || c.Over {
		return false
	}
	l.between(c.After, c.Event.Live, accuracy.Blocking{Eligible: c.After.Eligible})
	return true
}

// remain passes the tasks of an array other than the first to the engine, if the engine has only the first task.
func (l *ledger) remain(whole *openForecast, s *cluster.State) {
	if whole.Rest {
		return
	}
	whole.Rest = true
	r := rest(whole.Job, whole.WaitingTasks(), procsOf(s, whole.Job.Queue))
	l.feeder.feed(l.instant, engineCommand{Do: doSubmit, ID: restID(whole.Job), Request: r})
}

// begun passes a start to the engine. If a first task has started, the array's first job is removed from the engine,
// because the started task is a separate job there. The last task keeps the id of the array.
func (l *ledger) begun(o *openForecast) {
	id, last := readmodel.EngineID(o.Job), o.Parts > 0 && !o.Part
	if last {
		id = restID(o.Job)
	}
	l.feeder.feed(l.instant, engineCommand{Do: doStart, ID: id, Learn: !last || o.Last != nil, At: o.Closed})
	l.placeLate(o, id)
	switch {
	case o.Part, o.Renamed:
		l.feeder.feed(l.instant, engineCommand{Do: doLost, ID: id})
	case !last && o.Rest:
		l.feeder.feed(l.instant, engineCommand{Do: doLost, ID: id | 1})
	}
}
