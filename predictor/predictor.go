// Package predictor forecasts how long a job would wait, from the live picture of a cluster and the lifetime models
// of its queues. It uses only its input: the running and waiting jobs at one instant, and models that were fitted by
// then.
package predictor

import (
	"fmt"
	"math"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// Law is a fitted law of lifetimes, with the queue and class of its data.
type Law struct {
	uniformlog.Fit
	// Queue is the queue whose jobs the law was fitted to; empty means all queues together.
	Queue string
	// Class is job.Sequential or job.Parallel.
	Class string
	// Name is the name of the law in forecasts (package lifetime); empty means Downey's law.
	Name string
	// Lifetime is the law itself. Fit is always the fit of Downey's law, even if Lifetime is another law.
	Lifetime headqueue.Lifetime
}

// NewLaw returns Downey's uniform-log law with the parameters of fit.
func NewLaw(fit uniformlog.Fit, queue, class string) Law {
	m := fit.Model
	return Law{Fit: fit, Queue: queue, Class: class, Lifetime: &survival{m.B0, m.B1, m.TMin(), m.TMax()}}
}

// survival is the uniform-log law with precomputed bounds. They are precomputed because a forecast evaluates the law
// thousands of times.
type survival struct{ b0, b1, tmin, tmax float64 }

// Survival implements headqueue.Lifetime. It is 1 - b0 - b1 ln t between tmin and tmax, 1 before, and 0 after (Downey
// 1996, eq. 3).
func (s *survival) Survival(seconds float64) float64 {
	switch {
	case seconds <= s.tmin:
		return 1
	case seconds >= s.tmax:
		return 0
	}
	return 1 - s.b0 - s.b1*math.Log(seconds)
}

// Models provides fitted laws of lifetimes. Law returns the law for a job in the given queue with the given number of
// processors; false means that too few lifetimes are known.
type Models interface {
	Law(queue string, procs int) (Law, bool)
}

// Forecast is the distribution of one request's wait, in seconds from the scene's instant.
type Forecast struct {
	headqueue.Result
	// Wait is the distribution of the wait. A quantile at which an outage of the pool would keep the request from
	// starting is moved to the end of the outage.
	Wait *waittime.Distribution
	// Law is the lifetime law of the request's own queue and class, the zero Law if there is none. A Forecaster does
	// not set it; its caller may.
	Law Law
	// Dimension is the binding dimension of the request. All sizes in the forecast are amounts of it.
	Dimension cluster.Dimension
	// Used is the sum of the sizes of the running jobs, without suspended ones. AheadJobs is the number of jobs ahead
	// that take anything of Dimension, where each task of an array counts (see maxTasks). AheadProcs is the sum of the
	// sizes of these jobs.
	Used, AheadJobs, AheadProcs int
	// Closed is true if a quantile was moved to the end of an outage.
	Closed bool
}

// Forecaster makes forecasts. It keeps scratch memory between calls and is not safe for concurrent use.
type Forecaster struct {
	calc   headqueue.Calc
	state  headqueue.State
	levels []float64
}

// NewForecaster returns a Forecaster.
func NewForecaster() *Forecaster {
	return &Forecaster{levels: waittime.Levels(), calc: headqueue.Calc{Replicas: askedReplicas}}
}

// askedReplicas is the number of simulated replicas of the queue for an answer to a request. It is four times the
// number for the forecast of each arriving job, which halves the sampling error.
const askedReplicas = 512

// Forecast forecasts the wait of the scene's request if it is submitted at the scene's instant. The error is a
// *headqueue.CannotSay, with the cause and what would help, or an error of Scene.Distribution.
func (f *Forecaster) Forecast(scene *Scene) (Forecast, error) {
	out := Forecast{Dimension: scene.Dimension}
	_, capacity := scene.closures()
	switch {
	case scene.Size < 1:
		return out, &headqueue.CannotSay{Method: "all", Reason: ReasonUnknownSize,
			Detail: "the job's number of processors is not known",
			Hint:   "give the number of processors"}
	case capacity < 1:
		return out, &headqueue.CannotSay{Method: "all", Reason: ReasonUnknownCapacity,
			Detail: fmt.Sprintf("no job of cluster %s has been seen to run, and its capacity is not configured",
				scene.Cluster),
			Hint: "set procs of the cluster in the configuration, or wait until jobs have run"}
	}
	f.state.Capacity = capacity
	if err := f.set(scene, &out); err != nil {
		free := capacity - out.Used
		if len(scene.Ahead) > 0 || scene.Size > free { // a job that fits now needs no model
			return out, err
		}
		f.state.Running = f.state.Running[:0]
	}
	var err error
	if out.Result, err = f.calc.Forecast(&f.state, scene.Size, f.levels, nil); err != nil {
		return out, err
	}
	return out, out.Serve(scene, out.Quantiles)
}

// Serve sets Wait, Quantiles and Closed from the given quantiles, which are at waittime.Levels. The new quantiles rise,
// and lie outside of the outages (see Scene.Distribution). After an error the forecast is unchanged.
func (f *Forecast) Serve(scene *Scene, quantiles []float64) error {
	d, err := scene.Distribution(quantiles)
	if err != nil {
		return err
	}
	f.Wait, f.Quantiles, f.Closed = d, d.Quantiles(), d.Moved()
	return nil
}

// These are reasons why there is no forecast. Package headqueue has more.
const (
	ReasonUnknownSize     headqueue.Reason = "unknown_size"
	ReasonUnknownCapacity headqueue.Reason = "unknown_capacity"
	ReasonUnknownQueue    headqueue.Reason = "unknown_queue"
)

// set fills f.state, and the counts of out, from the scene. The error is a *headqueue.CannotSay if a job has no law.
// Ages are computed at the last whole second, so that all answers within a second share the work on the jobs ahead.
func (f *Forecaster) set(scene *Scene, out *Forecast) error {
	now := scene.Now.Truncate(time.Second)
	f.state.Running, f.state.Ahead = f.state.Running[:0], f.state.Ahead[:0]
	var missing error
	for _, j := range scene.Running {
		size := scene.SizeOf(j)
		if size < 1 || !j.Holds() { // a suspended job holds nothing, and the time of its return is unknown
			continue
		}
		out.Used += size
		law, err := lawOf(scene, j)
		if err != nil {
			missing = err
			continue
		}
		f.state.Running = append(f.state.Running, headqueue.Holder{
			Procs: size, Age: j.Age(now).Seconds(), Limit: j.TimeLimit.Seconds(), Law: law,
		})
	}
	f.state.Free = max(0, f.state.Capacity-out.Used)
	for _, j := range scene.Ahead {
		size := scene.SizeOf(j)
		if size < 1 {
			continue
		}
		n := tasks(j)
		out.AheadJobs += n
		out.AheadProcs += n * size
		law, err := lawOf(scene, j)
		if err != nil {
			missing = err
			continue
		}
		for range n {
			f.state.Ahead = append(f.state.Ahead, headqueue.Ahead{Procs: size, Limit: j.TimeLimit.Seconds(), Law: law})
		}
	}
	return missing
}

func lawOf(scene *Scene, j *cluster.Job) (headqueue.Lifetime, error) {
	law, ok := scene.Models.Law(j.Queue, j.Procs)
	if !ok {
		return nil, &headqueue.CannotSay{Method: "all", Reason: headqueue.NotFitted,
			Detail: fmt.Sprintf("no lifetime model yet for jobs like %s (queue %s, %d processors)", j.ID,
				j.Queue, j.Procs),
			Hint: "let more jobs end, or read an older log; models.min_samples says how many are needed"}
	}
	return law.Lifetime, nil
}
