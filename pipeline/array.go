package pipeline

import (
	"slices"
	"strings"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/engine"
)

// To the engine an array that waits as one record is two jobs: its first task, and the others together. The forecast of the second is that of the last task.

// rest returns what so many tasks of an array ask for together: one job of their width, at most the whole pool. It starts when about so much is free as the last of them
// needs to start beside the others.
func rest(j *cluster.Job, tasks, pool int) engine.Request {
	r := asked(j)
	if whole := max(1, tasks) * r.Procs; pool <= 0 || whole <= pool {
		r.Procs = whole
	} else {
		r.Procs = max(r.Procs, pool)
	}
	return r
}

// others returns the number of tasks of an array but the first; 0 for what is none.
func (l *ledger) others(o *open) int {
	switch {
	case o.Part:
		return 0
	case o.Parts > 0: // the first is told apart already
		return max(1, o.Job.Tasks)
	}
	return max(0, o.Job.Tasks-1)
}

// split takes in a task that is told apart from an array; false says that it is none. The first one has the forecast that was made for the array, or
// will be; for the engine it is the array's first task that starts with it, and the task itself is another job that runs.
func (l *ledger) split(j *cluster.Job, s *cluster.State) bool {
	whole := l.open[cluster.WholeOf(j.ID)]
	if whole == nil || !strings.Contains(j.ID, "_") {
		return false
	}
	whole.Parts++
	if whole.Parts > 1 {
		l.silent(j)
		return true
	}
	o := &open{
		Job: *j, Live: whole.Live, Sized: whole.Sized, Part: true, Made: whole.Made, Entered: whole.Entered, Answers: whole.Answers, Sight: whole.Sight,
	}
	o.Job.Order, o.Job.Submit, o.Job.Seq = whole.Job.Order, whole.Job.Submit, whole.Job.Seq
	l.open[j.ID] = o
	switch {
	case o.Made:
		l.remain(whole, s)
	case o.Sight == nil: // of this instant
		l.pending = append(l.pending, o)
	default:
		at := slices.Index(l.late, whole)
		l.late = slices.Insert(l.late, at+1, o)
	}
	return true
}

// remain tells the engine of the tasks of an array but the first, where it knows of one only.
func (l *ledger) remain(whole *open, s *cluster.State) {
	if whole.Rest {
		return
	}
	whole.Rest = true
	r := rest(&whole.Job, l.others(whole), procsOf(s, whole.Job.Queue))
	l.follower.tell(l.instant, step{Do: doSubmit, ID: restID(&whole.Job), Request: r})
}

// begun tells the engine that a job has started. The first task of an array leaves the picture with its start, the task itself is another job there. The last task goes by
// the array's own name.
func (l *ledger) begun(o *open) {
	id, last := engineID(&o.Job), o.Parts > 0 && !o.Part
	if last {
		id = restID(&o.Job)
	}
	l.follower.tell(l.instant, step{Do: doStart, ID: id, Learn: !last || o.Last != nil, At: o.Closed})
	switch {
	case o.Part:
		l.follower.tell(l.instant, step{Do: doLost, ID: id})
	case !last && o.Rest:
		l.follower.tell(l.instant, step{Do: doLost, ID: id | 1})
	}
}
