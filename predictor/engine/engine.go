package engine

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/waitcast/waitcast/cluster/fairshare"
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
	// Capacity is the number of processors; if it is 0, it is estimated from use.
	Capacity int
	// Policy is the scheduling policy of pools without a configured one. It is used only if PolicyKnown is set;
	// otherwise the policy is learnt. Order lists the queues, most preferred first. It counts for priority policies
	// if the jobs' own priorities are unknown.
	Policy      forward.Policy
	PolicyKnown bool
	Order       []string
	// Levels are the quantile levels of forecasts, in rising order.
	Levels []float64
	// Rows is the number of newest waits on which trees are trained, 60,000 by default. The actual number is up to a
	// tenth larger.
	Rows int
	// First is the number of waits after which trees are first trained, 300 by default. Growth is the relative growth
	// of the rows after which trees are trained again, 0.1 by default.
	First  int
	Growth float64
	// Every is the number of waits after which trees are trained again, for experiments. If it is 0, Growth decides,
	// and trees are trained sooner after a change.
	Every int
	// HalfLife is the number of newer waits after which the weight of a row is halved; 0 means never.
	HalfLife float64
	// Recent has the settings of the second set of trees, see training.Recent. Its default is 30,000 rows with a
	// half-life of 8,000.
	Recent training.Recent
	// If Steady is true, the engine learns at a constant rate. Changes are still counted (see Engine.Drifts), but have
	// no effect.
	Steady bool
	// Downey enables Downey's predictors, which take about 1 ms for each forecast with a hundred waiting jobs.
	Downey bool
	// If Synchronous is true, training and simulation run on all cores while the caller waits. Otherwise they run in
	// the background on all cores but one, and on that core too while the caller waits for them. The forecasts are
	// the same.
	Synchronous bool
	// Cores is the number of processors for the engine and its caller, runtime.GOMAXPROCS by default. It does not
	// change forecasts.
	Cores int
	// Prior has the errors of the simulation on other clusters, which the first forecasts use. By default it has the
	// errors of all measured logs, see ensemble.MeasuredPrior.
	Prior *ensemble.Prior
	// Without lists the groups of features that are unknown (NaN) in all rows, see FeatureGroups; for experiments.
	Without []string
	// WithoutExperts lists the experts that are left out of the combination, see ensemble.Names; for experiments.
	WithoutExperts []string
	// Oracle returns the true runtime, in seconds, of a running job by its id. It serves to measure the gain of
	// knowing runtimes. It is for research only: no configuration of the product sets it, and it is not saved.
	Oracle func(id uint64) float64
	// Users is the maximum number of users that are remembered, and of pairs of a user and a queue whose runs are
	// remembered; 8192 by default. Only users without a waiting or running job are forgotten, the least recently seen
	// first.
	Users int
	// ForgetAfter is how long a user without a job is remembered, in event time. The same holds for the runs of a user
	// in a queue. 0 means without end.
	ForgetAfter time.Duration
	// Trees has the settings of the training of trees.
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

func (c *Config) memory() track.Memory {
	return track.Memory{Users: c.Users, Age: c.ForgetAfter.Seconds()}
}

// Engine follows one cluster. It is not safe for concurrent use, but its views are. Close ends background work.
type Engine struct {
	cfg      Config
	features *features
	median   int // the index of the level nearest 0.5
	events   uint64
	replay   replay
	// withoutRow is the number of learnt waits of jobs without a row of features.
	withoutRow int

	tracker *track.Tracker

	learner   *training.Learner
	pools     *pools.Machine
	heads     *headLaws // laws for Downey's methods; nil if these are not used
	ensemble  *ensemble.Ensemble
	scratch   scratch
	scratches *sync.Pool // a pool of *scratch, for views

	savedBytes int // the length of the last saved state
}

// submitWorkers is the maximum number of cores that simulate the futures of one submission; with more, the overhead
// would exceed the gain.
const submitWorkers = 4

// New returns an engine without events. The error names the invalid part of the configuration.
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
		cfg:       cfg, features: features, tracker: track.NewTracker(cfg.Levels, cfg.Capacity, cfg.memory()),
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
		Levels: cfg.Levels, Features: features.linear, Steady: cfg.Steady,
	}); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return e, nil
}

// Forecast has the served forecast of a wait, and the forecasts of the experts.
type Forecast struct {
	// Quantiles are the served quantiles in seconds, in the order of the levels. They rise from at least 0. They are
	// nil if no forecast is possible yet.
	Quantiles []float64
	// Experts has each expert's quantiles in seconds, by the number of the expert (ensemble.Names). An expert without
	// a forecast has nil.
	Experts [][]float64
	// Combined are the quantiles that the experts give together, before the calibration corrects them.
	Combined []float64
	// Basis is the name of the main expert behind the forecast: "trees", "simulation_corrected", "linear",
	// "simulation", "recent" or "limits". It is another expert only if none of these has a forecast. It is empty if
	// no forecast is possible.
	Basis string
	// Learnt is the number of waits learnt before. Similar is the number of those from jobs of the same queue and
	// size class.
	Learnt, Similar int
	// JobsAhead is the number of competing jobs that go before the request. ProcsAhead is the sum of their requested
	// processors. Free is the number of free processors of the pool. Needed is the number of further processors that
	// must become free for the request and all jobs ahead of it.
	JobsAhead, ProcsAhead, Free, Needed int
	// SimulationAge is the age of the looked-up simulation in seconds. It is 0 if the request itself was simulated,
	// and NaN without a simulation.
	SimulationAge float64
	// Blocked has the quantiles, in seconds, of the part of the wait for which limits on running jobs, jobs in
	// Request.After or a begin time keep the request from competing. Eligible has the quantiles of the rest. Both are
	// nil if none of these applies. Each quantile is at most the served wait. Kept is the limit that keeps the request
	// from starting now, nil for none.
	Blocked, Eligible []float64
	Kept              *pools.Kept
	// These are further inputs of Cause. begins: the request may not start before a future instant. waitsForOthers: it
	// waits for other jobs to end. keptSoon: see pools.Simulated.KeptSoon. mostlyBlocked: in at least half of the
	// futures, limits or other jobs keep it from competing for at least half of the wait.
	begins, waitsForOthers, keptSoon, mostlyBlocked bool
	// Nodes is true if the nodes of the pool are known. The simulation places jobs on them if a resource other than
	// processors may run short. NoRoom is true if two things hold: the simulation places jobs on nodes, and the request
	// would not start at once if all jobs ran to their time limits.
	Nodes, NoRoom bool
	// Queue is the queue in which a request to several queues starts soonest, by the medians; empty if it is to one.
	Queue string
}

// pendingForecast is the forecast made at a submission. Only its track.PendingForecast is kept until the wait is known.
type pendingForecast struct {
	Forecast
	track.PendingForecast
	learnt   []float64 // quantiles for learning, which may be lower than the served ones, see notBefore
	features expertFeatures
	// simulated is the simulation; nil if there is none.
	simulated *pools.Simulated
}

// Close waits for background work, and ends a training. Afterwards the engine can only be saved.
func (e *Engine) Close() {
	e.learner.Close()
	e.pools.Close()
}

// SetPool sets the pool of a queue from now on. With the zero PoolConfig the pool is learned.
func (e *Engine) SetPool(queue string, p pools.PoolConfig) { e.pools.SetPool(queue, p) }

// SetLimits sets the limits on running jobs from now on; nil for none.
func (e *Engine) SetLimits(s *joblimits.Set) {
	e.tracker.SetLimits(s)
	e.pools.TouchAll()
}

// SetPriorities sets, at an instant, the rules by which priorities of waiting jobs change from now on; nil for none. An
// instant before the last event counts as that of the event.
func (e *Engine) SetPriorities(now float64, p *fairshare.Priorities) {
	earliest := math.Max(e.tracker.Clock, -track.Farthest)
	if now = math.Min(now, track.Farthest); !(now >= earliest) { // also not a number
		now = earliest
	}
	e.pools.SetPriorities(now, p)
}

// SetOutages sets all outages of a pool, by the name in PoolConfig. They replace the earlier ones. Impossible outages
// are left out. Of the others only the 64 that begin first are kept.
func (e *Engine) SetOutages(name string, outages []pools.Outage) { e.pools.SetOutages(name, outages) }

// SetNodes sets the nodes of a pool, by the name in PoolConfig; nil if they are unknown. Simulations place jobs on
// nodes if a resource other than processors may run short.
func (e *Engine) SetNodes(name string, n *pools.Nodes) { e.pools.SetNodes(name, n) }
