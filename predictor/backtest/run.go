package backtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

// Waitcast is the name of the served forecast among the methods.
const Waitcast = "waitcast"

// Uncorrected is the name, among the methods, of the combined experts before calibration.
const Uncorrected = "uncorrected"

// Options define how a trace is replayed. The zero value scores every job and learns the capacity.
type Options struct {
	// Warmup is the share of the jobs, at the beginning, that are only learnt from, in [0, 1).
	Warmup float64
	// Engine is the configuration of the engine. Run sets its Levels and Downey, and Prior if it is nil.
	Engine engine.Config
	// Fast, if not nil, is the plan of a fast replay. Only the last jobs are forecast and scored then, and the others
	// count as warm-up. Run sets the plan's number of submissions.
	Fast *engine.Replay
	// Predict is called with every forecast after the warm-up, even for jobs that never start. It receives the job, the
	// method's name, and the quantiles in seconds. Run returns its error.
	Predict func(j *Job, method string, quantiles []float64) error
	// Progress, if set, is called once per 1,000 jobs with the number of jobs replayed so far.
	Progress func(done int)
}

// Run replays a trace and scores every method.
func Run(t *Trace, o Options) (*TraceResult, error) {
	if !(o.Warmup >= 0 && o.Warmup < 1) {
		return nil, fmt.Errorf("warm-up %v: give a part of the jobs from 0 to below 1", o.Warmup)
	}
	begin := time.Now()
	o.Engine.Levels, o.Engine.Downey = waittime.ScoredLevels(), true
	resolution := t.Resolution()
	if o.Engine.Prior == nil {
		prior, err := ensemble.MeasuredPrior(t.Name) // a log must not be forecast with priors from its own errors
		if err != nil {
			return nil, err
		}
		o.Engine.Prior = prior
	}
	e, err := engine.New(o.Engine)
	if err != nil {
		return nil, err
	}
	r := &run{trace: t, options: o, from: int(o.Warmup * float64(len(t.Jobs))),
		methods: append([]string{Waitcast, Uncorrected}, ensemble.Names()...)}
	for _, name := range r.methods {
		s, err := newMethodScore(name, resolution)
		if err != nil {
			return nil, err
		}
		r.scores = append(r.scores, s)
	}
	if o.Fast != nil {
		r.begin(e, *o.Fast)
	}
	r.details = newCollector(t, r.from, resolution, r.methods)
	t.Replay(e, r.take)
	if r.err != nil {
		return nil, r.err
	}
	out := &TraceResult{Trace: t.Name, Jobs: len(t.Jobs), ForecastJobs: r.forecasts, BadRecords: t.Bad,
		Resolution: resolution, Constant: bestConstant(r.waits)}
	for _, s := range r.scores {
		out.Methods = append(out.Methods, s.result())
	}
	for _, f := range e.Importance() {
		out.Importance = append(out.Importance, Importance(f))
	}
	out.DetailResult = r.details.result(out.Constant)
	if r.forecasts > 0 {
		out.Learning = nil // a fast replay has no forecasts during the learning
	}
	out.Seconds = time.Since(begin).Seconds()
	return out, nil
}

// run is the state of one replay.
type run struct {
	trace   *Trace
	options Options
	from    int
	methods []string
	scores  []*methodScore
	details *collector
	waits   []float64
	err     error

	forecasts int // number of jobs that a fast replay forecasts
}

// begin begins a fast replay of the engine by a plan, and excludes from scoring the jobs that it does not forecast.
func (r *run) begin(e *engine.Engine, plan engine.Replay) {
	plan.Submissions = len(r.trace.Jobs)
	e.BeginReplay(plan)
	if n := plan.Forecasts(); n < plan.Submissions {
		r.forecasts, r.from = n, max(r.from, plan.Submissions-n)
	}
}

// take scores the forecasts of one submission. The trace already has their outcome, but the forecasts cannot use it.
func (r *run) take(job int, f engine.Forecast) {
	if r.options.Progress != nil && job%1000 == 0 {
		r.options.Progress(job)
	}
	answers := answersOf(&f)
	r.details.take(job, answers)
	if job < r.from || r.err != nil {
		return
	}
	j := &r.trace.Jobs[job]
	if j.Scored() {
		r.waits = append(r.waits, j.Wait())
	}
	for k, name := range r.methods {
		q := answers(k)
		if q == nil {
			continue
		}
		if r.options.Predict != nil {
			if r.err = r.options.Predict(j, name, q); r.err != nil {
				return
			}
		}
		switch {
		case j.Scored():
			r.err = r.scores[k].add(j.Submit-r.trace.Jobs[0].Submit, j.Wait(), q)
		case j.Cancelled && j.Recorded:
			r.scores[k].cancelled(j.Wait(), q)
		}
		if r.err != nil {
			return
		}
	}
}

// Resolution returns the unit of the log's waits in seconds. It is 60 if the first ten waits above 0 are whole
// minutes, otherwise 1. Only the first ten count, so that a truncated log gives the same result.
func (t *Trace) Resolution() float64 {
	seen := 0
	for i := range t.Jobs {
		j := &t.Jobs[i]
		if !j.Recorded || j.Wait() <= 0 {
			continue
		}
		if math.Mod(j.Wait(), 60) != 0 {
			return 1
		}
		if seen++; seen == 10 {
			return 60
		}
	}
	return 1
}

// bestConstant returns the constant forecast that is within a factor 2 of as many waits as possible, after 60 s are
// added to both. On the logarithmic scale it is the middle of the window of width 2 ln 2 that has the most waits.
func bestConstant(waits []float64) Constant {
	z := make([]float64, len(waits))
	for i, w := range waits {
		z[i] = waittime.Log(w)
	}
	slices.Sort(z)
	best, at, from := 0, 0.0, 0
	for to := range z {
		for z[to]-z[from] > 2*math.Ln2+rounding {
			from++
		}
		if n := to - from + 1; n > best {
			best, at = n, z[from]+math.Ln2
		}
	}
	if len(z) == 0 {
		return Constant{}
	}
	return Constant{Seconds: waittime.Unlog(at), Within2: float64(best) / float64(len(z))}
}
