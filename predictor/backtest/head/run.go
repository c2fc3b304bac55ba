package head

import (
	"errors"
	"math"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/predictor/residual"
)

// These are the names of the methods.
const (
	DowneyA        = "downey_a"
	DowneyB        = "downey_b"
	DowneyCombined = "downey_combined"
	Exact          = "exact"
	Waitcast       = "waitcast"
)

// Methods returns the names of the methods, in the order of the scores in a Result.
func Methods() []string { return []string{DowneyA, DowneyB, DowneyCombined, Exact, Waitcast} }

// Options define how a trace is replayed.
type Options struct {
	// Skip is the number of first forecasts that are not scored; 0 means 500, a negative value means none.
	Skip int
	// Forecast, if set, is called with every forecast, including those that are not scored.
	Forecast func(Forecast)
}

// Run replays a trace and scores every method on the jobs that cannot start when they reach the head of the queue. It
// is an error if a job does not fit into the machine; the error names the job.
func Run(t *Trace, o Options) (*Result, error) {
	jobs, err := t.schedule()
	if err != nil {
		return nil, err
	}
	if o.Skip == 0 {
		o.Skip = 500
	}
	tallies := map[string]*methodForecasts{}
	for _, m := range Methods() {
		tallies[m] = &methodForecasts{}
	}
	f := newForecaster()
	f.forecast = func(fc Forecast) {
		if f.scene.passed >= o.Skip {
			tallies[fc.Method].add(fc.Wait, fc.Quantiles)
		}
		if o.Forecast != nil {
			o.Forecast(fc)
		}
	}
	if err := replay(jobs, t.Procs, f); err != nil {
		return nil, err
	}
	out := &Result{Jobs: len(jobs)}
	for _, m := range Methods() {
		out.Methods = append(out.Methods, tallies[m].score(m))
	}
	return out, nil
}

// Forecast is one method's forecast for one job.
type Forecast struct {
	Job    *Job
	Method string
	// At is the instant at which the job reached the head of the queue. Wait is the job's wait from then on. Both are
	// in seconds.
	At, Wait float64
	// Quantiles are the quantiles of the wait at Levels, in seconds. A quantile is NaN if the method does not forecast
	// it: Downey's A, B and combined forecast only a median.
	Quantiles []float64
}

// forecaster is a watcher that makes the forecasts of all methods and learns from the outcomes.
type forecaster struct {
	laws     *residual.Model
	downey   *downey
	scene    scene
	state    headqueue.State
	calc     headqueue.Calc
	result   headqueue.Result
	learner  *learner
	waiting  func() error // learns from the ask before this one, whose wait is now known
	forecast func(Forecast)
}

func newForecaster() *forecaster {
	return &forecaster{laws: residual.New(residual.Config{}), downey: newDowney(), learner: newLearner()}
}

func (f *forecaster) started(index int64, j *Job) { f.laws.Started(index, j.Job, j.Start) }

func (f *forecaster) ended(index int64, j *Job) {
	f.laws.Ended(index, j.End)
	f.downey.ended(j)
}

// longest is the maximum of a forecast wait in seconds, about 30 years.
const longest = 1e9

// exactLevels returns the levels at which the exact method forecasts with the residual laws. Levels are the last of
// them.
func exactLevels() []float64 { return waittime.Levels() }

func (f *forecaster) asked(a *ask) error {
	if f.waiting != nil {
		if err := f.waiting(); err != nil {
			return err
		}
	}
	s := &f.scene
	s.set(a, f.laws, f.downey)
	medians, classic, err := f.classic()
	if err != nil {
		return err
	}
	for i, method := range Methods()[:3] {
		nan := math.NaN()
		f.tell(method, []float64{medians[i], nan, nan, nan})
	}
	f.tell(Exact, classic)
	if err := f.convolve(func(h *holder) headqueue.Lifetime { return &h.law }, exactLevels()); err != nil {
		return err
	}
	var exact []float64
	for _, q := range f.result.Quantiles {
		exact = append(exact, min(q, longest))
	}
	row := s.features(nil, exact, medians)
	scored := exact[len(exact)-len(Levels()):]
	f.tell(Waitcast, f.learner.forecast(row, scored))
	wait := a.wait
	f.waiting = func() error { return f.learner.learn(row, scored, wait) }
	return nil
}

// classic makes the forecasts with Downey's laws. It returns the medians of his three methods and of the exact method,
// and all quantiles of the exact method, in seconds. A value that cannot be forecast is NaN. All are NaN if a running
// job has no law yet.
func (f *forecaster) classic() (medians, exact []float64, err error) {
	nan := math.NaN()
	medians, exact = []float64{nan, nan, nan, nan}, []float64{nan, nan, nan, nan}
	if !f.scene.known {
		return medians, exact, nil
	}
	err = f.convolve(func(h *holder) headqueue.Lifetime { return h.downey }, Levels())
	var cannot *headqueue.CannotSay
	if errors.As(err, &cannot) {
		return medians, exact, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for i, m := range f.result.Medians {
		if m.Cannot == nil && !math.IsInf(m.Seconds, 1) {
			medians[i] = m.Seconds
		}
	}
	for k, q := range f.result.Quantiles {
		if !math.IsInf(q, 1) {
			exact[k] = q
		}
	}
	return medians, exact, nil
}

// convolve computes the exact method's quantiles at levels, with the laws that the function law returns for the running
// jobs. The result is in f.result.
func (f *forecaster) convolve(law func(*holder) headqueue.Lifetime, levels []float64) error {
	s := &f.scene
	f.state = headqueue.State{Capacity: s.free + s.used(), Free: s.free, Running: f.state.Running[:0]}
	for i := range s.holders {
		h := &s.holders[i]
		f.state.Running = append(f.state.Running, headqueue.Holder{Procs: h.job.Procs, Age: h.age, Law: law(h)})
	}
	return f.calc.ForecastInto(&f.result, &f.state, s.job.Procs, levels, nil)
}

func (s *scene) used() int {
	used := 0
	for i := range s.holders {
		used += s.holders[i].job.Procs
	}
	return used
}

func (f *forecaster) tell(method string, quantiles []float64) {
	a := &f.scene.ask
	f.forecast(Forecast{Job: a.job, Method: method, At: a.at, Wait: a.wait, Quantiles: quantiles})
}
