package pipeline

import (
	"slices"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
)

// To the engine an array that waits as one record is two jobs: its first task, and the others together. The forecast of
// the second is that of the last task.

// rest returns the request of so many tasks of an array together: one job of their width, at most the whole pool. It
// starts when about as much is free as the last of them needs beside the others.
func rest(j *cluster.Job, tasks, pool int) engine.Request {
	r := engineRequest(j)
	if whole := max(1, tasks) * r.Procs; pool <= 0 || whole <= pool {
		r.Procs = whole
	} else {
		r.Procs = max(r.Procs, pool)
	}
	return r
}

// split takes in a task that gets a record of its own apart from its array. It returns false if there is no such array.
// The first task has the forecast that was, or will be, made for the array. When such a task starts, the engine sees
// two jobs: the array's first task starts and is dropped, and a job of its own runs. The last task takes the array's
// record over, unless it goes by the array's own id. Those between get rows without a forecast.
func (l *ledger) split(c *changes.Change, s *cluster.State) bool {
	j := c.After
	array := cluster.ArrayOf(j.ID)
	whole := l.open[array]
	switch {
	case array == "":
		return false
	case whole == nil:
		return l.uncounted(c)
	case cluster.TakesLast(j.ID, &whole.Job):
		l.rename(whole, j)
		return true
	}
	whole.Parts++
	if whole.Parts > 1 {
		l.between(j, whole.Live)
		return true
	}
	o := &openForecast{View: whole.View, Forecast: accuracy.Forecast{
		Job: *j, Live: whole.Live, Sized: whole.Sized, Part: true, Made: whole.Made, Entered: whole.Entered,
		Answers: whole.Answers,
	}}
	o.Job.Order, o.Job.Submit, o.Job.Seq = whole.Job.Order, whole.Job.Submit, whole.Job.Seq
	l.open[j.ID] = o
	switch {
	case o.Made:
		l.record.Follow(&o.Forecast)
		l.remain(whole, s)
	case o.View == nil: // of this instant
		l.pending = append(l.pending, o)
	default:
		at := slices.Index(l.late, whole)
		l.late = slices.Insert(l.late, at+1, o)
	}
	return true
}

// rename lets the record of an array continue as that of its last element. To the engine it stays the array until that
// starts.
func (l *ledger) rename(whole *openForecast, last *cluster.Job) {
	delete(l.open, whole.Job.ID)
	l.served.drop(&whole.Job)
	l.renamed = readmodel.EngineID(&whole.Job)
	whole.Renamed, whole.Job.ID, whole.Job.Attempt = true, last.ID, last.Attempt
	l.open[last.ID] = whole
}

// between takes in a task that is neither the first nor the last of its array: it has no forecast of its own, and gets
// its row all the same.
func (l *ledger) between(j *cluster.Job, live bool) {
	l.silent(j)
	l.open[j.ID] = &openForecast{Forecast: accuracy.Forecast{
		Job: *j, Live: live, Made: true, Entered: true,
		Answers: []accuracy.Answer{{Procs: j.Procs, Reason: accuracy.ReasonArrayTask}},
	}}
}

// uncounted takes in an element of an array that was used up by its first, because its log does not count elements.
func (l *ledger) uncounted(c *changes.Change) bool {
	if !cluster.Uncounted(c.After.ID) || c.Over {
		return false
	}
	l.between(c.After, c.Event.Live)
	return true
}

// remain passes the tasks of an array but the first to the engine, if it knows only one.
func (l *ledger) remain(whole *openForecast, s *cluster.State) {
	if whole.Rest {
		return
	}
	whole.Rest = true
	r := rest(&whole.Job, whole.WaitingTasks(), procsOf(s, whole.Job.Queue))
	l.feeder.feed(l.instant, engineCommand{Do: doSubmit, ID: restID(&whole.Job), Request: r})
}

// begun passes a start to the engine. The first task of an array leaves the picture with its start; the task itself is
// another job there. The last task goes by the array's own name.
func (l *ledger) begun(o *openForecast) {
	id, last := readmodel.EngineID(&o.Job), o.Parts > 0 && !o.Part
	if last {
		id = restID(&o.Job)
	}
	l.feeder.feed(l.instant, engineCommand{Do: doStart, ID: id, Learn: !last || o.Last != nil, At: o.Closed})
	switch {
	case o.Part, o.Renamed:
		l.feeder.feed(l.instant, engineCommand{Do: doLost, ID: id})
	case !last && o.Rest:
		l.feeder.feed(l.instant, engineCommand{Do: doLost, ID: id | 1})
	}
}
