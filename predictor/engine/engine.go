package engine

import (
	"fmt"
	"math"
	"runtime"

	"github.com/waitcast/waitcast/predictor/blend"
	"github.com/waitcast/waitcast/predictor/boost"
	"github.com/waitcast/waitcast/predictor/conformal"
	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/linear"
	"github.com/waitcast/waitcast/predictor/residual"
)

// Config says how an Engine works. The zero value of a field means its default.
type Config struct {
	// Capacity is the number of processors; 0: the highest use seen.
	Capacity int
	// Policy is by which jobs are started where PolicyKnown and no pool is told another, else it is learnt; Order is the queues, the one preferred most first, for policies by
	// priority where the jobs' priorities are not told.
	Policy      forward.Policy
	PolicyKnown bool
	Order       []string
	// Levels are the quantile levels that are forecast, in order.
	Levels []float64
	// Rows is how many of the newest waits the trees are trained on, 60,000 by default.
	Rows int
	// First is after how many waits the trees are trained first, 300 by default; Growth by what part of the rows they must have grown to be trained again, .1 by default.
	First  int
	Growth float64
	// Every is after how many waits trees are trained again whatever the rows, for experiments; 0: by Growth, and sooner after a change.
	Every int
	// HalfLife is after how many newer waits a row counts half; 0: never.
	HalfLife float64
	// Resolution is that of the log's waits in seconds, 1 by default.
	Resolution float64
	// Steady learns at one pace: changes are counted as ever, see Drift, but nothing is forgotten faster after one.
	Steady bool
	// Rate is the step of the correction, see conformal.Config.
	Rate float64
	Cold float64
	// Downey asks Downey's predictors too: they cost a millisecond behind a hundred waiting jobs.
	Downey bool
	// Synchronous trains and simulates while the caller waits, with every core; else both are done in the background, with all cores but one, and with
	// that too while the caller has to wait for them. The forecasts are the same.
	Synchronous bool
	// Cores is how many processors there are for the engine and its caller, runtime.GOMAXPROCS by default. It changes no forecast.
	Cores int
	// Trees says how they are trained.
	Trees boost.Params
}

func (c Config) withDefaults() Config {
	if len(c.Levels) == 0 {
		c.Levels = []float64{.10, .25, .50, .75, .90, .95}
	}
	if c.Rows == 0 {
		c.Rows = 60_000
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
	// Chosen on the first halves of KTH-SP2 and SDSC-SP2: trees that see half of the rows and features each, with leaves large enough for a .95 quantile.
	if c.Trees.RowShare == 0 {
		c.Trees.RowShare = .5
	}
	if c.Trees.FeatureShare == 0 {
		c.Trees.FeatureShare = .5
	}
	if c.Trees.MinLeaf == 0 {
		c.Trees.MinLeaf = 50
	}
	return c
}

// Engine follows one cluster. It is not safe for concurrent use; the views that it gives are. Close ends what it does in the background.
type Engine struct {
	cfg      Config
	names    []string
	median   int // the level nearest .5
	capacity int
	clock    float64
	events   uint64
	seen     uint64 // queues and users looked at
	entered  uint64 // jobs taken in
	codes    int    // queues in all
	numbers  uint64 // users in all
	starts   int

	jobs        map[uint64]*tracked
	runningJobs []*tracked
	queues      map[string]*queue
	inOrder     []*queue // of their first appearance
	users       map[string]*user
	waiting     tally
	running     amount
	line        line
	recent      recent
	lastStart   float64
	lastSubmit  float64
	rate        rate
	bounds      *bounds // QBETS's history of all queues
	frozen      frozen

	learner *learner
	laws    *residual.Model
	sampled residual.Law // scratch
	rules   rules
	pools   pools
	tables  map[string]*table // of large pools, by queue; never changed
	refresh *refresh
	heads   *headLaws // nil where they are not asked
	live    voices
	kept    *council // what the live ones said some starts ago, where there is too much to copy
	mine    *bench   // a copy of it
	since   int      // starts since
	errors  simulationErrors
	watch   *watch
	scratch scratch

	savedBytes int // the length of what was saved last
}

// frozen is what views share as long as it does not change.
type frozen struct {
	waiting *tally
	queues  []*queueFacts
	index   map[string]int // of the queues
	users   *userTable
	changed []*user
	council *council
	stamp   uint64 // of the events when the council was copied
	learnt  int    // waits by then
}

// New returns an engine that has seen nothing. The error names what is wrong with the configuration.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	nan := math.NaN()
	e := &Engine{
		cfg: cfg, names: names(), capacity: cfg.Capacity, clock: math.Inf(-1), lastStart: nan, lastSubmit: nan,
		jobs: map[uint64]*tracked{}, queues: map[string]*queue{}, users: map[string]*user{}, bounds: newBounds(cfg.Levels),
		learner: newLearner(cfg), laws: residual.New(residual.Config{}), rules: rules{old: newHeard()},
		pools: pools{told: map[string]Pool{}, outages: map[string][]Outage{}, highest: map[string]int{}, of: map[string]*pool{}},
	}
	for i, level := range cfg.Levels {
		if math.Abs(level-.5) < math.Abs(cfg.Levels[e.median]-.5) {
			e.median = i
		}
	}
	if cfg.Downey {
		e.heads = newHeadLaws()
	}
	var err error
	if e.live.linear, err = linear.New(linear.Config{Levels: cfg.Levels, Features: len(e.names)}); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if e.live.blend, err = blend.New(blend.Config{Levels: cfg.Levels, Priors: priors()}); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if e.live.calibrator, err = conformal.New(conformal.Config{Levels: cfg.Levels, Resolution: cfg.Resolution, Rate: cfg.Rate}); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	e.watch = newWatch(len(cfg.Levels))
	e.live.calibrator.Observe(e.watch.score)
	return e, nil
}

// expected returns the runtime to expect: what this user's jobs in this queue took, else what the queue's did, at most the limit; in units of 1/64 s.
func expected(r *Request, q *queueFacts, u *userFacts) float64 {
	v := q.runtimes.value()
	if m := u.runtimesIn(q.code); m != nil {
		v = m.value()
	}
	seconds := 3600.0
	if !math.IsNaN(v) {
		seconds = math.Exp(v)
	} else if r.Limit > 0 {
		seconds = r.Limit / 2
	}
	if r.Limit > 0 {
		seconds = math.Min(seconds, r.Limit)
	}
	return math.Round(math.Min(seconds, longest)*64) / 64
}

// Forecast is what the experts say of a wait, and what is served.
type Forecast struct {
	// Quantiles are the served ones in seconds, in the order of the levels: rising, at least 0; nil where nothing can be said yet.
	Quantiles []float64
	// Experts holds each expert's quantiles in seconds, by the number of the expert (see Experts); nil for one that cannot say.
	Experts [][]float64
	// Combined are the quantiles before they are corrected.
	Combined []float64
	// Basis is the expert that the forecast mostly rests on: "trees", "linear", "simulation", "recent" or "limits", any other only where these are silent; empty where
	// nothing can be said.
	Basis string
	// Learnt is how many waits had been learnt, Similar how many of them of jobs of the same queue and size class.
	Learnt, Similar int
	// JobsAhead and ProcsAhead are the jobs that compete for the pool's processors and go before the request, and what they ask for; Free is what the pool has
	// free, and Needed how many more processors must become free for the request and all ahead of it.
	JobsAhead, ProcsAhead, Free, Needed int
	// SimulationAge is how old the simulation is that was looked up, in seconds; 0 where the request was played itself, NaN where there is none.
	SimulationAge float64
}

// given is what was said at a submission; answers, groups and the row are kept until the wait is known.
type given struct {
	Forecast
	answers []float64 // of the experts as blend takes them
	groups  []string  // that the job belongs to, for its experts' weights
	kinds   []string  // and for the correction
	row     []float32
	said    []float64 // the logarithms of what was served; nil where nothing was
	hint    hint
}

// Close waits for what is done in the background, and ends a training. The engine can still be saved, but not be used further.
func (e *Engine) Close() {
	e.learner.close()
	if e.refresh != nil {
		<-e.refresh.job.done
	}
}
