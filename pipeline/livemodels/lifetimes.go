package livemodels

import (
	"errors"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/workload/lifetime"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// lifetimes has one class's window with its newest fit, and the competition of the laws.
type lifetimes struct {
	window    *uniformlog.Window
	selection *lifetimeSelection
	fitted    bool // fit or err is for the present content of the window
	law       predictor.Law
	err       error
	sample    *uniformlog.Sample
	queue     string
	class     string
}

func newLifetimes(cfg Config, queue, class string) *lifetimes {
	return &lifetimes{
		window: uniformlog.NewWindow(cfg.WindowJobs, cfg.WindowAge), selection: newLifetimeSelection(cfg),
		queue: queue, class: class,
	}
}

// add puts a lifetime into the window.
func (l *lifetimes) add(start time.Time, seconds float64) error {
	l.fitted = false
	return l.window.Add(start, seconds)
}

// expire drops lifetimes that are too old at an instant.
func (l *lifetimes) expire(now time.Time) {
	before := l.window.N()
	l.window.Expire(now)
	if l.window.N() != before {
		l.fitted = false
	}
}

// refit updates one class's chosen law, and Downey's fit in addition.
func (l *lifetimes) refit(now time.Time) {
	if l.expire(now); l.fitted {
		return
	}
	fit, err := l.window.Fit(now)
	l.law, l.err = predictor.NewLaw(fit, l.queue, l.class), err
	l.law.Name = lifetime.NameUniformLog
	if c := l.selection; c.law != nil {
		l.law.Name, l.law.Lifetime, l.law.N = c.name, c.law, l.window.N()
	}
	l.fitted, l.sample = true, nil
}

// usable reports whether forecasts may use the newest law.
func (l *lifetimes) usable(least int) bool {
	return (l.err == nil || l.selection.law != nil) && l.law.N >= least
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// selectionWindow is the maximum number of lifetimes to which a competing law is fitted. A law is fitted again after
// window/selectionRefits new lifetimes.
const (
	selectionWindow = 4000
	selectionRefits = 4
)

// lifetimeSelection selects the law of lifetimes for one class of jobs of a queue. Each law is scored on every
// lifetime before it learns that lifetime. At every refit the law with the best score so far is chosen.
type lifetimeSelection struct {
	selector *lifetime.Selector
	longest  float64 // longest time limit so far, seconds
	limit    float64 // the value of longest at the newest refit

	name string // name of the chosen law; empty before the first refit
	law  *piecewiseSurvival

	published *SelectionView // nil if a lifetime was observed since it was made
}

var errNoLimit = errors.New("no job has told a time limit")

func newLifetimeSelection(cfg Config) *lifetimeSelection {
	c := new(lifetimeSelection)
	// The limit 1 has no effect, because the law at the limit gets another Fit below.
	candidates := lifetime.Candidates(1)
	for i := range candidates {
		if candidates[i].Name == lifetime.NameAtLimit {
			candidates[i].Fit = c.fitAtLimit
		}
	}
	window := selectionWindow
	if cfg.WindowJobs > 0 {
		window = min(window, cfg.WindowJobs)
	}
	c.selector = lifetime.NewSelector(candidates, lifetime.Options{
		Window: window, Refit: max(1, window/selectionRefits), Forget: cfg.Forget,
	})
	return c
}

func (c *lifetimeSelection) fitAtLimit(jobs []lifetime.Observation) (lifetime.Law, error) {
	if c.limit <= 0 {
		return nil, errNoLimit
	}
	law, err := lifetime.FitAtLimit(jobs, c.limit)
	if err != nil {
		return nil, err
	}
	return law, nil
}

// observe scores the laws on a lifetime and learns it. start is in Unix seconds.
func (c *lifetimeSelection) observe(start, seconds, limit float64, running func(since float64) []float64) error {
	c.published, c.longest = nil, max(c.longest, limit)
	refit := false
	err := c.selector.ObserveAt(lifetime.Observation{Seconds: seconds}, start, func(since float64) []float64 {
		c.limit, refit = c.longest, true
		return running(since)
	})
	if refit && c.selector.Seen() >= FirstChoice {
		var law lifetime.Law
		law, c.name, _ = c.selector.Best()
		c.law = piecewise(law)
	}
	return err
}

// SelectionView holds the scores of the competing laws of one class.
type SelectionView struct {
	// Standings are the laws with their scores, best first.
	Standings []lifetime.Standing
	// Chosen is the name of the law that forecasts have used since the newest refit. It is empty before the first
	// choice; forecasts then use Downey's fit of the window.
	Chosen string
	// Law is the chosen law, nil before the first choice.
	Law lifetime.Law
	// Seen is the number of lifetimes observed.
	Seen int
}

// FirstChoice is the number of lifetimes of a class from which on the best law is chosen. The laws are fitted and
// scored from 64 lifetimes on, so each has 192 scores by then. With fewer scores the choice would be random. The laws
// would also be out of date, because they are fitted again only when the number of lifetimes has doubled.
const FirstChoice = 256

func (c *lifetimeSelection) view() *SelectionView {
	if c.published == nil {
		c.published = &SelectionView{
			Standings: c.selector.Standings(), Chosen: c.name, Law: c.selector.Law(c.name), Seen: c.selector.Seen(),
		}
	}
	return c.published
}

// code reads or writes the scores and the chosen law.
func (c *lifetimeSelection) code(s *codec.Codec) {
	s.Real(&c.longest, &c.limit)
	s.Text(&c.name)
	if c.selector.Code(s); !s.Reading || s.Bad {
		return
	}
	law := c.selector.Law(c.name)
	s.Check(c.name == "" || law != nil, "the chosen law, %q, is not among them", c.name)
	c.law, c.published = piecewise(law), nil
}

// ages returns the ages of the running jobs of a queue and class that started since an instant (Unix seconds).
func (m *Models) ages(queue string, class int) func(since float64) []float64 {
	return func(since float64) []float64 {
		if m.site.Running == nil {
			return nil
		}
		var out []float64
		for _, j := range m.site.Running() {
			if (queue == AllQueues || j.Queue == queue) && j.Procs > 0 && ClassIndex(j.Procs) == class &&
				!j.Guessed() &&
				unixSeconds(j.Start) >= since {
				out = append(out, max(0, age(j, m.now)))
			}
		}
		return out
	}
}

func age(j *cluster.Job, now time.Time) float64 { return j.Age(now).Seconds() }
