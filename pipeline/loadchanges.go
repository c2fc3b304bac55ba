package pipeline

import (
	"github.com/waitcast/waitcast/cluster"
)

// name returns the Forecaster's name of a task.
func (l *loadLearner) name(id uint64) uint64 {
	if name, ok := l.names[id]; ok {
		return name
	}
	return id
}

// learn takes in a change of a job.
func (l *loadLearner) learn(t *loadNotification) {
	switch t.kind {
	case notifySubmitted:
		l.submitted(t.after, 0)
	case notifySplit:
		l.split(t.before, t.after)
	case notifyUpdated:
		l.updated(t.before, t.after)
	case notifyStarted:
		for task := 1; task < tasks(t.before); task++ { // an array that starts as one record: nobody tells what became of the others
			l.left(taskID(t.before, task), l.f.Lost)
		}
		l.started(t.after)
	case notifyEnded:
		at := clock(t.at)
		l.left(taskID(t.before, 0), func(id uint64) { l.f.Ended(id, at) })
	case notifyGone:
		l.leftAll(t.before, l.f.Gone)
	case notifyLost:
		l.leftAll(t.before, l.f.Lost)
	}
}

// submitted tells of the tasks of a job from one on. Of a job whose size is not told yet nothing is, until it is.
func (l *loadLearner) submitted(j *cluster.Job, from int) {
	for task := from; task < tasks(j) && j.Procs > 0; task++ {
		id := taskID(j, task)
		if _, known := l.names[id]; !known {
			l.names[id] = id
			l.f.Submitted(loadJob(id, j))
		}
	}
}

// split tells that a task has a record of its own now: it goes on as the last of those that the array still has.
func (l *loadLearner) split(whole, task *cluster.Job) {
	last, id := taskID(whole, max(1, whole.Tasks)-1), taskID(task, 0)
	name, known := l.names[last]
	if !known || whole.Tasks > mostTasks {
		l.submitted(task, 0)
		return
	}
	delete(l.names, last)
	l.names[id] = name
}

// updated tells what a job asks for now, and of tasks that came or went.
func (l *loadLearner) updated(before, after *cluster.Job) {
	for task := tasks(after); task < tasks(before); task++ {
		l.left(taskID(before, task), l.f.Gone)
	}
	if after.Running() {
		if name, known := l.names[taskID(after, 0)]; known {
			l.f.Updated(loadJob(name, after))
		}
		return
	}
	if before.Procs > 0 && changed(before, after) {
		for task := range tasks(after) {
			if name, known := l.names[taskID(after, task)]; known {
				l.f.Updated(loadJob(name, after))
			}
		}
	}
	from := tasks(before) // those before are known, or have left the array
	if before.Procs < 1 {
		from = 0
	}
	l.submitted(after, from)
}

// changed reports whether something that counts is another.
func changed(a, b *cluster.Job) bool {
	return a.Queue != b.Queue || a.User != b.User || a.Name != b.Name || a.Procs != b.Procs || a.TimeLimit != b.TimeLimit
}

// started tells of a start; what the job asks for may be told with it.
func (l *loadLearner) started(j *cluster.Job) {
	id := taskID(j, 0)
	if _, known := l.names[id]; !known {
		l.submitted(j, 0)
	}
	if name, known := l.names[id]; known {
		l.f.Updated(loadJob(name, j))
		l.f.Started(name, clock(j.Start))
	}
}

// left tells that a task is live no more.
func (l *loadLearner) left(id uint64, tell func(uint64)) {
	if name, known := l.names[id]; known {
		tell(name)
		delete(l.names, id)
	}
}

func (l *loadLearner) leftAll(j *cluster.Job, tell func(uint64)) {
	for task := range tasks(j) {
		l.left(taskID(j, task), tell)
	}
}

// agree makes what is known agree with a picture: jobs that are not in it are lost, those that are only there are told of.
func (l *loadLearner) agree(v *cluster.View) {
	there := make(map[uint64]bool, len(v.Running)+len(v.Queued))
	for _, jobs := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range jobs {
			for task := range tasks(j) {
				there[taskID(j, task)] = true
			}
		}
	}
	for id, name := range l.names { // the order makes no difference to what is lost
		if !there[id] {
			l.f.Lost(name)
			delete(l.names, id)
		}
	}
	named := make(map[uint64]bool, len(l.names))
	for _, name := range l.names {
		named[name] = true
	}
	for _, name := range l.f.Live() {
		if !named[name] {
			l.f.Lost(name)
		}
	}
	for _, j := range v.Running {
		if name := l.name(taskID(j, 0)); !l.f.Runs(name) {
			l.started(j)
		}
	}
	for _, j := range v.Queued {
		l.submitted(j, 0)
	}
}
