package engine

import "github.com/waitcast/waitcast/predictor/residual"

// replicas is how many futures a forecast at a submission is drawn from.
const replicas = 24

// relearn is after how many starts the pools and policies are looked at anew.
const relearn = 250

// relook looks at the pools and policies anew.
func (e *Engine) relook() {
	if e.starts++; e.starts%relearn == 0 {
		e.pools.learnt = e.rules.old.learner.Pools()
		e.regroup()
	}
}

// kin is the job as the lifetime laws know it.
func (j *tracked) kin() residual.Job {
	return residual.Job{Queue: j.Queue, User: j.User, App: j.App, Procs: j.Procs, Limit: j.Limit}
}

// law asks for the law of a job's lifetime by what is known now.
func (e *Engine) law(j *tracked, now float64) {
	e.laws.LawInto(&e.sampled, j.kin(), now)
	j.law = sample(&e.sampled)
}

// quantile returns a quantile of sorted values.
func quantile(sorted []float64, level float64) float64 {
	return sorted[min(len(sorted)-1, int(level*float64(len(sorted))))]
}
