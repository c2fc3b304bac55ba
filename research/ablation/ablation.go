// Package ablation measures the contribution of each part of the forecasting engine. It replays a log with the whole
// engine, and then without one group of features, one rule or one expert at a time. It also replays the log with an
// oracle, an engine that knows the true runtimes of running jobs. For each expert it measures the loss of the expert
// alone, and its weight in the ensemble.
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

// warmup is the share of the jobs that are not scored: the first ones, from which the engine only learns.
const warmup = .1

// Nothing is the name of the variant in which nothing is left out. OracleRuntimes is the name of the variant with an
// oracle. The name of a variant without an expert is expertPrefix and the name of the expert.
const (
	Nothing        = "nothing"
	OracleRuntimes = "oracle runtimes"
	expertPrefix   = "expert "
)

// Groups returns the names of all variants, Nothing first: then groups of features and rules, then experts, then
// oracles.
func Groups() []string {
	out := append([]string{Nothing}, engine.FeatureGroups()...)
	for _, name := range ensemble.Names() {
		out = append(out, expertPrefix+name)
	}
	return append(out, OracleRuntimes)
}

// Default returns the names of the variants that a study has by default. Besides Nothing and the oracle they leave out
// parts that were added for the rules of schedulers, and the most important experts.
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

// Result is the result of one replay of a trace with a variant.
type Result struct {
	Trace   string `json:"trace"`
	Variant string `json:"variant"` // name of the variant
	Jobs    int    `json:"jobs"`    // number of replayed jobs
	// Days has the losses of the served forecasts, by the number of days from the first submission of the log to the
	// job's submission.
	Days map[int]*Loss `json:"days"`
	// Experts has the loss of each expert alone, on the jobs for which it has a forecast.
	Experts map[string]*Loss `json:"experts"`
	// Weights has, by expert, the mean weights at Levels.
	Weights map[string][]float64 `json:"weights"`
	Took    time.Duration        `json:"took_ns"`
}

// Loss has, for each of Levels, the sum of the pinball losses on the scale ln(wait + 60 s) over N jobs.
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

// Mean returns the mean loss at the level with the given index. It returns NaN if there are no jobs.
func (l *Loss) Mean(level int) float64 {
	if l.N == 0 {
		return math.NaN()
	}
	return l.Sum[level] / float64(l.N)
}

// Total returns the loss over all days.
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

// First returns a trace with only the first jobs of t. If jobs is 0, these are the first half.
func First(t *backtest.Trace, jobs int) *backtest.Trace {
	if jobs <= 0 {
		jobs = len(t.Jobs) / 2
	}
	part := *t
	part.Jobs = t.Jobs[:min(jobs, len(t.Jobs))]
	return &part
}

// Run replays a trace with a variant.
func Run(t *backtest.Trace, variant string) (*Result, error) {
	cfg, err := config(t, variant)
	if err != nil {
		return nil, err
	}
	return replay(t, variant, cfg)
}

// replay replays a trace with an engine of the given configuration and returns the result for the variant.
func replay(t *backtest.Trace, variant string, cfg engine.Config) (*Result, error) {
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

// config returns the engine's configuration for a variant.
func config(t *backtest.Trace, variant string) (engine.Config, error) {
	cfg := engine.Config{Levels: waittime.ScoredLevels()}
	var err error
	if cfg.Prior, err = ensemble.MeasuredPrior(t.Name); err != nil { // measured on other logs than this one
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

// run is the state of one replay.
type run struct {
	Result
	engine  *engine.Engine
	trace   *backtest.Trace
	from    int // index of the first job that is scored
	weighed int // how often weights were added
}

// between is the number of jobs from one addition of the experts' weights to the next.
const between = 100

// take scores the forecast f of the job with the given index, unless the job belongs to the first ones that are not
// scored. Once in 100 jobs (see between) it also adds the weights of the experts.
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

// weigh adds the present weights of the experts to r.Weights.
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

// finish turns the sums in r.Weights into means.
func (r *run) finish() {
	for _, w := range r.Weights {
		for i := range w {
			w[i] /= float64(r.weighed)
		}
	}
}
