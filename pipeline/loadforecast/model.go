package loadforecast

import (
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/outlook"
)

// model is the learned model of the load. Only one goroutine may use it at a time.
//
// In the forecaster each task of an array is a job with its own name, a number. When a task gets its own record, its id
// in the cluster's state changes (see taskID), but in the forecaster it keeps its name.
type model struct {
	options    outlook.Options
	forecaster *outlook.Forecaster
	names      map[uint64]uint64 // by the id of a task (taskID), its name in the forecaster
}

func newModel(o outlook.Options) (*model, error) {
	f, err := outlook.New(o)
	if err != nil {
		return nil, err
	}
	return &model{options: o, forecaster: f, names: map[uint64]uint64{}}, nil
}

// name returns the name that a task has in the forecaster. The name of an unknown task is its id.
func (m *model) name(id uint64) uint64 {
	if name, ok := m.names[id]; ok {
		return name
	}
	return id
}

// submitted reports to the forecaster that tasks of a job were submitted, from the given task on. It does nothing for a
// job of unknown size, which is reported once its size is known.
func (m *model) submitted(j *cluster.Job, from int) {
	for task := from; task < tasks(j) && j.Procs > 0; task++ {
		id := taskID(j, task)
		if _, known := m.names[id]; !known {
			m.names[id] = id
			m.forecaster.Submitted(jobOf(id, j))
		}
	}
}

// split handles a task that gets its own record. The task takes over the name of the last task that the array still
// had. If that name is unknown, or the array had more than maxTasks tasks, the task is reported as submitted.
func (m *model) split(whole, task *cluster.Job) {
	last, id := taskID(whole, max(1, whole.Tasks)-1), taskID(task, 0)
	name, known := m.names[last]
	if !known || whole.Tasks > maxTasks {
		m.submitted(task, 0)
		return
	}
	delete(m.names, last)
	m.names[id] = name
}

// updated reports to the forecaster the new request of a job, and the tasks that were added to or removed from it.
func (m *model) updated(before, after *cluster.Job) {
	for task := tasks(after); task < tasks(before); task++ {
		m.left(taskID(before, task), m.forecaster.Gone)
	}
	if after.Running() {
		if name, known := m.names[taskID(after, 0)]; known {
			m.forecaster.Updated(jobOf(name, after))
		}
		return
	}
	if before.Procs > 0 && differ(before, after) {
		for task := range tasks(after) {
			if name, known := m.names[taskID(after, task)]; known {
				m.forecaster.Updated(jobOf(name, after))
			}
		}
	}
	from := tasks(before) // the tasks before it are known, or have left the array
	if before.Procs < 1 {
		from = 0
	}
	m.submitted(after, from)
}

// differ reports whether an attribute that the forecaster uses differs between two states of a job.
func differ(a, b *cluster.Job) bool {
	return a.Queue != b.Queue || a.User != b.User || a.Name != b.Name || a.Procs != b.Procs ||
		a.TimeLimit != b.TimeLimit
}

// started reports the start of a job to the forecaster. before and after are the job before and after its start, with
// which its size may have become known.
func (m *model) started(before, after *cluster.Job) {
	// An array may start as one record. Then the log has no records of its tasks, so they are given up.
	for task := 1; task < tasks(before); task++ {
		m.left(taskID(before, task), m.forecaster.Lost)
	}
	m.runs(after)
}

// runs reports to the forecaster that a job runs. If the job's submission was not reported yet, that is reported first.
func (m *model) runs(j *cluster.Job) {
	id := taskID(j, 0)
	if _, known := m.names[id]; !known {
		m.submitted(j, 0)
	}
	if name, known := m.names[id]; known {
		m.forecaster.Updated(jobOf(name, j))
		m.forecaster.Started(name, seconds(j.Start))
	}
}

// ended reports the end of a running job to the forecaster.
func (m *model) ended(j *cluster.Job, at time.Time) {
	m.left(taskID(j, 0), func(name uint64) { m.forecaster.Ended(name, seconds(at)) })
}

// left removes a task from the known ones, because it no longer waits or runs, and calls report with its name. It does
// nothing for an unknown task.
func (m *model) left(id uint64, report func(name uint64)) {
	if name, known := m.names[id]; known {
		report(name)
		delete(m.names, id)
	}
}

func (m *model) leftAll(j *cluster.Job, report func(name uint64)) {
	for task := range tasks(j) {
		m.left(taskID(j, task), report)
	}
}

// reconcile adapts the known jobs to those of the cluster. Jobs that the cluster lacks are reported to the forecaster
// as lost, and jobs that the model lacks as submitted, with their starts if they run. Jobs that wait in the model, but
// run in the cluster, are reported as started.
func (m *model) reconcile(v *cluster.View) {
	there := make(map[uint64]bool, len(v.Running)+len(v.Queued))
	for _, jobs := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range jobs {
			for task := range tasks(j) {
				there[taskID(j, task)] = true
			}
		}
	}
	for id, name := range m.names { // in any order, because the set of lost jobs does not depend on it
		if !there[id] {
			m.forecaster.Lost(name)
			delete(m.names, id)
		}
	}
	named := make(map[uint64]bool, len(m.names))
	for _, name := range m.names {
		named[name] = true
	}
	for _, name := range m.forecaster.Live() {
		if !named[name] {
			m.forecaster.Lost(name)
		}
	}
	for _, j := range v.Running {
		if name := m.name(taskID(j, 0)); !m.forecaster.Runs(name) {
			m.runs(j)
		}
	}
	for _, j := range v.Queued {
		m.submitted(j, 0)
	}
}

// These are the numbers of simulations (see the members Replicas, Lessons and Probes of outlook.Options). The cost of a
// forecast grows with the size of the cluster: its number of jobs plus a quarter of the arrivals of a week. With size
// fullSize the full numbers take about 4 s on one core (BenchmarkLoad). For larger clusters they are reduced in
// proportion, down to the minimum.
const (
	fullReplicas, fullLessons, fullProbes = 64, 24, 16
	minReplicas, minLessons, minProbes    = 16, 8, 2
	fullSize                              = 60_000
	sizePerArrival                        = 0.25
)

// resize sets the numbers of simulations for a cluster with the given number of running and waiting jobs. It returns
// the number of replicas.
func (m *model) resize(jobs int) (replicas int, err error) {
	part := min(1, fullSize/max(1, float64(jobs)+sizePerArrival*m.forecaster.PerWeek()))
	scaled := func(full, least int) int { return max(least, int(part*float64(full))) }
	replicas = scaled(fullReplicas, minReplicas)
	return replicas, m.forecaster.SetReplicas(replicas, scaled(fullLessons, minLessons), scaled(fullProbes, minProbes))
}
