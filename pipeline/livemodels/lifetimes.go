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

// lifetimes has the lifetimes of one class of a queue's jobs: the window with its newest fit, and the selection among
// the laws.
type lifetimes struct {
	window    *uniformlog.Window
	selection *lifetimeSelection
	fitted    bool // law and err are up to date with the window
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

// add puts the lifetime of a job into the window.
func (l *lifetimes) add(start time.Time, seconds float64) error {
	l.fitted = false
	return l.window.Add(start, seconds)
}

// expire removes from the window the lifetimes that are too old at the instant now.
func (l *lifetimes) expire(now time.Time) {
	before := l.window.N()
	l.window.Expire(now)
	if l.window.N() != before {
		l.fitted = false
	}
}

// refit brings law and err up to date: Downey's fit of the window, and the law that was selected, if there is one.
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

// usable reports whether forecasts may use the newest law. least is the minimum number of lifetimes.
func (l *lifetimes) usable(least int) bool {
	return (l.err == nil || l.selection.law != nil) && l.law.N >= least
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// selectionWindow is the maximum number of lifetimes to which a competing law is fitted. The laws are fitted again
// whenever a share 1/selectionRefits of that number is new.
const (
	selectionWindow = 4000
	selectionRefits = 4
)

// lifetimeSelection selects the law of lifetimes for one class of a queue's jobs. The competing laws are scored on
// every lifetime, and learn it only after that. At every refit, from FirstChoice lifetimes on, the law with the best
// score so far is chosen.
type lifetimeSelection struct {
	selector *lifetime.Selector
	longest  float64 // longest time limit so far, seconds
	limit    float64 // the value of longest at the newest refit, seconds

	name string // name of the chosen law; empty before the first choice
	law  *piecewiseSurvival

	published *SelectionView // the newest view; nil if a lifetime was observed since
}

var errNoLimit = errors.New("no job has told a time limit")

func newLifetimeSelection(cfg Config) *lifetimeSelection {
	c := new(lifetimeSelection)
	// The limit 1 has no effect, because the law NameAtLimit gets another Fit below.
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

// observe scores the laws on a lifetime and learns it. If this fits the laws again, and at least FirstChoice lifetimes
// are known, it chooses the best law. start is in Unix seconds; seconds is the lifetime; limit is the time limit in
// seconds, 0 for none. running returns the ages of the jobs that run and started at since or later.
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

// SelectionView has the scores of the competing laws of one class of jobs.
type SelectionView struct {
	// Standings are the laws with their scores, the best first.
	Standings []lifetime.Standing
	// Chosen is the name of the law that forecasts have used since the newest refit. It is empty before the first
	// choice; forecasts then use Downey's fit of the window.
	Chosen string
	// Law is the chosen law, nil before the first choice.
	Law lifetime.Law
	// Seen is the number of lifetimes observed.
	Seen int
}

// FirstChoice is the minimum number of lifetimes of a class for choosing the best law. The laws are fitted and scored
// from 64 lifetimes on, so each has 192 scores at the first choice. With fewer scores the choice would be random. The
// laws would also be out of date, because at first they are fitted again only when the number of lifetimes has doubled.
const FirstChoice = 256

func (c *lifetimeSelection) view() *SelectionView {
	if c.published == nil {
		c.published = &SelectionView{
			Standings: c.selector.Standings(), Chosen: c.name, Law: c.selector.Law(c.name), Seen: c.selector.Seen(),
		}
	}
	return c.published
}

// code reads or writes the state of the selection: the time limits, the scores, and the name of the chosen law.
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

// ages returns a function for the running jobs of a queue and class. The function returns the ages, in seconds, of
// those that started at since (Unix seconds) or later. Jobs whose size or queue is only guessed are left out.
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
