package engine

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/boost"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/engine/training"
	"github.com/waitcast/waitcast/predictor/forward"
)

// Config has the settings of an Engine. The zero value of a field means its default.
type Config struct {
	// Capacity is the number of processors; 0: it is estimated from how many were in use for how long.
	Capacity int
	// Policy is by which jobs are started where PolicyKnown and no pool is told another, else it is learnt; Order is
	// the queues, the one preferred most first, for policies by priority where the jobs' priorities are not told.
	Policy      forward.Policy
	PolicyKnown bool
	Order       []string
	// Levels are the quantile levels that are forecast, in order.
	Levels []float64
	// Rows is how many of the newest waits the trees are trained on, 60,000 by default.
	Rows int
	// First is after how many waits the trees are trained first, 300 by default; Growth by what part of the rows they
	// must have grown to be trained again, .1 by default.
	First  int
	Growth float64
	// Every is the number of waits after which trees are trained again, for experiments; 0: by Growth, and sooner after
	// a change.
	Every int
	// HalfLife is after how many newer waits a row counts half; 0: never.
	HalfLife float64
	// Recent has the settings of the second set of trees, see training.Recent; 30,000 rows with a half-life of 8,000 by
	// default.
	Recent training.Recent
	// Resolution is that of the log's waits in seconds, 1 by default.
	Resolution float64
	// Steady learns at one pace: changes are counted as ever, see Drift, but nothing is forgotten faster after one.
	Steady bool
	// Rate is the step of the correction, see conformal.Config.
	Rate float64
	Cold float64
	// Downey asks Downey's predictors too: they cost a millisecond behind a hundred waiting jobs.
	Downey bool
	// Synchronous trains and simulates while the caller waits, with every core; else both are done in the background,
	// with all cores but one, and with that too while the caller has to wait for them. The forecasts are the same.
	Synchronous bool
	// Cores is how many processors there are for the engine and its caller, runtime.GOMAXPROCS by default. It changes
	// no forecast.
	Cores int
	// Prior is the simulation's errors elsewhere, which forecasts start from; by default those of all logs at hand.
	Prior *ensemble.Prior
	// Without names the groups of features that are unknown (NaN) in all rows, see FeatureGroups: for experiments.
	Without []string
	// WithoutExperts names the experts that forecasts are not combined from, see ensemble.Names: for experiments.
	WithoutExperts []string
	// Oracle returns the true runtime, in seconds, of a job that runs, by its id: features then show what it would gain
	// to know it. For research; no configuration of the product sets it, and it is not saved.
	Oracle func(id uint64) float64
	// Trees has the settings of their training.
	Trees boost.Params
}

func (c Config) withDefaults() Config {
	if len(c.Levels) == 0 {
		c.Levels = waittime.Levels()
	}
	if c.Rows == 0 {
		c.Rows = 60_000
	}
	if c.Recent.Rows == 0 {
		c.Recent = training.Recent{Rows: 30_000, HalfLife: 8000}
	}
	if c.First == 0 {
		c.First = 300
	}
	if c.Cores == 0 {
		c.Cores = runtime.GOMAXPROCS(0)
	}
	if c.Growth == 0 {
		c.Growth = .1
	}
	return c
}

func (c *Config) training() training.Config {
	return training.Config{
		Levels: c.Levels, Rows: c.Rows, First: c.First, Every: c.Every, Growth: c.Growth, HalfLife: c.HalfLife,
		Recent: c.Recent, Synchronous: c.Synchronous, Cores: c.Cores, Trees: c.Trees,
	}
}

// Engine follows one cluster. It is not safe for concurrent use; the views that it gives are. Close ends what it does
// in the background.
type Engine struct {
	cfg      Config
	features *features
	median   int // the level nearest .5
	events   uint64
	replay   replay
	// withoutRow is how many waits were learnt of jobs without a row of features.
	withoutRow int

	tracker *track.Tracker

	learner   *training.Learner
	pools     *pools.Machine
	heads     *headLaws // nil where they are not asked
	ensemble  *ensemble.Ensemble
	scratch   scratch
	scratches *sync.Pool // of *scratch, for views

	savedBytes int // the length of what was saved last
}

// submitWorkers is the most cores that play the futures of one submission: what more would take is small beside what
// handing it over costs.
const submitWorkers = 4

// New returns an engine that has seen nothing. The error names what is wrong with the configuration.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	features, err := newFeatures(cfg.Without, cfg.Oracle)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if features.silent, err = silentExperts(cfg.WithoutExperts); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	e := &Engine{
		scratches: &sync.Pool{},
		cfg:       cfg, features: features, tracker: track.NewTracker(cfg.Levels, cfg.Capacity),
		learner: training.NewLearner(cfg.training()),
	}
	e.scratch.Workers = min(cfg.Cores, submitWorkers)
	e.pools = pools.New(pools.Config{
		Policy: cfg.Policy, PolicyKnown: cfg.PolicyKnown, Order: cfg.Order, Levels: cfg.Levels,
		Synchronous: cfg.Synchronous, Cores: cfg.Cores,
		WithoutGates:    slices.Contains(cfg.Without, withoutGates),
		WithoutPriority: slices.Contains(cfg.Without, withoutPriority),
	}, e.tracker)
	for i, level := range cfg.Levels {
		if math.Abs(level-.5) < math.Abs(cfg.Levels[e.median]-.5) {
			e.median = i
		}
	}
	if cfg.Downey {
		e.heads = newHeadLaws()
	}
	if e.cfg.Prior == nil {
		if e.cfg.Prior, err = ensemble.MeasuredPrior(""); err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
	}
	if e.ensemble, err = ensemble.New(ensemble.Config{
		Levels: cfg.Levels, Features: features.linear, Resolution: cfg.Resolution, Rate: cfg.Rate,
		Steady: cfg.Steady,
	}); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return e, nil
}

// Forecast has the experts' forecasts of a wait, and the served one.
type Forecast struct {
	// Quantiles are the served ones in seconds, in the order of the levels: rising, at least 0; nil if no forecast is
	// possible yet.
	Quantiles []float64
	// Experts holds each expert's quantiles in seconds, by the number of the expert (ensemble.Names); nil for one that
	// has no forecast.
	Experts [][]float64
	// Combined are the quantiles before they are corrected.
	Combined []float64
	// Basis is the expert that the forecast mostly rests on: "trees", "linear", "simulation", "recent" or "limits", any
	// other only if these have none; empty if no forecast is possible.
	Basis string
	// Learnt is how many waits had been learnt, Similar how many of them of jobs of the same queue and size class.
	Learnt, Similar int
	// JobsAhead and ProcsAhead are the jobs that compete for the pool's processors and go before the request, and what
	// they ask for; Free is what the pool has free, and Needed how many more processors must become free for the
	// request and all ahead of it.
	JobsAhead, ProcsAhead, Free, Needed int
	// SimulationAge is how old the simulation is that was looked up, in seconds; 0 where the request was played itself,
	// NaN where there is none.
	SimulationAge float64
	// Blocked has the quantiles, in seconds, of the part of the simulated wait for which limits on what runs at once
	// keep the request from starting; nil where no limit holds for it. Kept is the limit that does so now, nil for
	// none.
	Blocked []float64
	Kept    *pools.Kept
}

// pendingForecast is the forecast made at a submission; answers, groups and the row are kept until the wait is known.
type pendingForecast struct {
	Forecast
	track.PendingForecast
	kinds    []string // the groups of the correction
	features expertFeatures
}

// Close waits for what is done in the background, and ends a training. The engine can still be saved, but not be used
// further.
func (e *Engine) Close() {
	e.learner.Close()
	e.pools.Close()
}

// SetPool sets the pool of a queue from now on; the zero PoolConfig lets it be learned.
func (e *Engine) SetPool(queue string, p pools.PoolConfig) { e.pools.SetPool(queue, p) }

// SetLimits sets the limits on what runs at once that hold from now on; nil for none.
func (e *Engine) SetLimits(s *joblimits.Set) {
	e.tracker.SetLimits(s)
	e.pools.TouchAll()
}

// SetOutages sets all outages of a pool, by the name in PoolConfig, in place of those set before. Impossible ones are
// left out.
func (e *Engine) SetOutages(name string, outages []pools.Outage) { e.pools.SetOutages(name, outages) }
