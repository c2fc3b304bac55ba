// Package ablation measures what each part of the forecasting engine is worth: a log is replayed with nothing left out,
// then without one group of features, one rule or one expert at a time, and once by an engine that knows the true
// runtimes of the jobs that run, which nobody can. It also has what each expert loses alone, and its weight.
package ablation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

// Levels returns the levels whose losses are measured.
func Levels() []float64 { return []float64{.5, .9, .95} }

// warmup is the part of the jobs that is learnt from and not scored.
const warmup = .1

// Nothing, OracleRuntimes and expertPrefix are names of variants: with nothing left out, with an oracle, and the
// beginning of those without an expert.
const (
	Nothing        = "nothing"
	OracleRuntimes = "oracle runtimes"
	expertPrefix   = "expert "
)

// Groups returns the names of the variants that can be run, Nothing first: groups of features and rules, then experts,
// then oracles.
func Groups() []string {
	out := append([]string{Nothing}, engine.FeatureGroups()...)
	for _, name := range ensemble.Names() {
		out = append(out, expertPrefix+name)
	}
	return append(out, OracleRuntimes)
}

// Default returns the variants that a study runs if none are chosen: the parts that were added for the scheduler's
// rules, and the experts that matter.
func Default() []string {
	out := []string{Nothing}
	for _, name := range Groups() {
		switch name {
		case "vacancy", "fitting", "crowd", "newest", "alike", "history", "flow", "hazard", "clock", "orders", "gates",
			"priority", expertPrefix + "trees_recent", expertPrefix + "trees", expertPrefix + "linear", OracleRuntimes:
			out = append(out, name)
		}
	}
	return out
}

// Result is one run.
type Result struct {
	Trace   string `json:"trace"`
	Variant string `json:"variant"` // what was left out, or known
	Jobs    int    `json:"jobs"`    // replayed
	// Days are the losses of the served forecasts by the day of the submission, since the first of the log.
	Days map[int]*Loss `json:"days"`
	// Experts are the losses of each expert alone, of those jobs that it has a forecast for.
	Experts map[string]*Loss `json:"experts"`
	// Weights are the experts' mean weights, by level.
	Weights map[string][]float64 `json:"weights"`
	Took    time.Duration        `json:"took_ns"`
}

// Loss is the sum of the pinball losses of ln(wait + 60 s) of some jobs, by level.
type Loss struct {
	N   int       `json:"n"`
	Sum []float64 `json:"sum"`
}

func (l *Loss) add(quantiles []float64, wait float64) {
	if l.Sum == nil {
		l.Sum = make([]float64, len(Levels()))
	}
	l.N++
	all := waittime.ScoredLevels()
	for i, level := range Levels() {
		q := quantiles[slices.Index(all, level)]
		l.Sum[i] += waittime.Pinball(level, waittime.Log(q), waittime.Log(wait))
	}
}

// Mean returns the mean loss at a level, by its number; NaN without jobs.
func (l *Loss) Mean(level int) float64 {
	if l.N == 0 {
		return math.NaN()
	}
	return l.Sum[level] / float64(l.N)
}

// Total returns the loss of all days.
func (r *Result) Total() *Loss {
	out := &Loss{Sum: make([]float64, len(Levels()))}
	for _, d := range r.Days {
		out.N += d.N
		for i, x := range d.Sum {
			out.Sum[i] += x
		}
	}
	return out
}

// First returns the first jobs of a trace; 0 is its first half.
func First(t *backtest.Trace, jobs int) *backtest.Trace {
	if jobs <= 0 {
		jobs = len(t.Jobs) / 2
	}
	part := *t
	part.Jobs = t.Jobs[:min(jobs, len(t.Jobs))]
	return &part
}

// Run replays a trace by a variant.
func Run(t *backtest.Trace, variant string) (*Result, error) {
	cfg, err := config(t, variant)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(cfg)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	begun := time.Now()
	r := &run{engine: e, trace: t, from: int(warmup * float64(len(t.Jobs))), Result: Result{
		Trace: t.Name, Variant: variant, Jobs: len(t.Jobs), Days: map[int]*Loss{}, Experts: map[string]*Loss{},
		Weights: map[string][]float64{},
	}}
	t.Replay(e, r.take)
	r.finish()
	r.Took = time.Since(begun)
	return &r.Result, nil
}

// config returns the engine's configuration of a variant.
func config(t *backtest.Trace, variant string) (engine.Config, error) {
	cfg := engine.Config{Levels: waittime.ScoredLevels(), Resolution: t.Resolution()}
	var err error
	if cfg.Prior, err = ensemble.MeasuredPrior(t.Name); err != nil { // a log must not be forecast from its own errors
		return cfg, err
	}
	expert, isExpert := strings.CutPrefix(variant, expertPrefix)
	switch {
	case variant == Nothing:
	case variant == OracleRuntimes:
		cfg.Oracle = t.Runtime
	case isExpert:
		cfg.WithoutExperts = []string{expert}
	case slices.Contains(Groups(), variant):
		cfg.Without = []string{variant}
	default:
		return cfg, fmt.Errorf("nothing is named %q that can be left out; there are %s", variant,
			strings.Join(Groups(), ", "))
	}
	return cfg, nil
}

// run is a run under way.
type run struct {
	Result
	engine  *engine.Engine
	trace   *backtest.Trace
	from    int // the first job that is scored
	weighed int // how often weights were added
}

// between is after how many scored jobs the weights are taken again.
const between = 100

// take scores the forecasts of a submission.
func (r *run) take(job int, f engine.Forecast) {
	j := &r.trace.Jobs[job]
	if job < r.from {
		return
	}
	if (job-r.from)%between == 0 {
		r.weigh()
	}
	if !j.Scored() {
		return
	}
	if f.Quantiles != nil {
		day := int((j.Submit - r.trace.Jobs[0].Submit) / 86400)
		if r.Days[day] == nil {
			r.Days[day] = &Loss{}
		}
		r.Days[day].add(f.Quantiles, j.Wait())
	}
	for k, q := range f.Experts {
		if q == nil {
			continue
		}
		name := ensemble.Names()[k]
		if r.Experts[name] == nil {
			r.Experts[name] = &Loss{}
		}
		r.Experts[name].add(q, j.Wait())
	}
}

// weigh adds the present weights of the experts.
func (r *run) weigh() {
	r.weighed++
	levels := waittime.ScoredLevels()
	all := r.engine.ExpertWeights()
	for k, name := range ensemble.Names() {
		if r.Weights[name] == nil {
			r.Weights[name] = make([]float64, len(Levels()))
		}
		for i, level := range Levels() {
			r.Weights[name][i] += all[slices.Index(levels, level)][k]
		}
	}
}

// finish makes means of the weights.
func (r *run) finish() {
	for _, w := range r.Weights {
		for i := range w {
			w[i] /= float64(r.weighed)
		}
	}
}
