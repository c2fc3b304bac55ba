package sizestudy

import (
	"fmt"
	"math"
	"strconv"

	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/workload/moldable"
)

// Rule is a rule by which sizes are chosen.
type Rule uint8

// These are the rules.
const (
	Request   Rule = iota // the recorded size, which the user requested
	Efficient             // the size with the fewest processor-seconds
	Knee                  // the size with the highest ratio of efficiency to runtime
	Largest               // the largest size that still reduces the runtime
	AtSubmit              // waitcast's advice once, at submission
	// AtHead is waitcast's advice at the head of the queue. It is given again and again until the job starts, unless
	// Settings.Once is set. A job that is backfilled before it reaches the head keeps its request.
	AtHead
	AtBoth // AtSubmit, and later AtHead
)

// Rules returns all rules.
func Rules() []Rule { return []Rule{Request, Efficient, Knee, Largest, AtSubmit, AtHead, AtBoth} }

// String returns the name of the rule in tables.
func (r Rule) String() string {
	switch r {
	case Request:
		return "user's request"
	case Efficient:
		return "most efficient"
	case Knee:
		return "knee"
	case Largest:
		return "largest"
	case AtSubmit:
		return "waitcast at submission"
	case AtHead:
		return "waitcast at the head"
	case AtBoth:
		return "waitcast at both"
	}
	return fmt.Sprintf("rule %d", uint8(r))
}

// Advised reports whether the rule uses waitcast's advice.
func (r Rule) Advised() bool { return r >= AtSubmit }

// Settings define how jobs choose their sizes in a run.
type Settings struct {
	Rule  Rule
	Share float64 // share of the jobs that follow the rule, 0 to 1; the others keep their request
	Seed  uint64  // seed for the futures of the forecasts
	Once  bool    // at the head, advice is requested only once, when the job comes there

	// Objective is the objective that waitcast's advice minimizes; nil means Served.
	Objective func(Queue) advice.Objective
}

// Queue is the state of the queue on which the objective of a choice depends.
type Queue struct {
	Machine int     // in processors
	Waiting int     // number of other waiting jobs
	Mean    float64 // recent mean number of waiting jobs (see backlog)
}

// Served returns the objective with which the daemon gives advice.
func Served(q Queue) advice.Objective {
	return advice.Considerate(q.Waiting, q.Machine)
}

// Selfish returns an objective that minimizes only the expected finish of the job.
func Selfish(Queue) advice.Objective { return advice.Objective{Kind: advice.ExpectedFinish} }

// Schedule has the outcomes of a run, with slices by the IDs of jobs.
type Schedule struct {
	Turnaround []float64 // in seconds
	Wait       []float64
	Procs      []int
	Work       float64 // total processor-seconds
	// Busy is the number of processor-seconds that were used between the first and the last submission.
	Busy float64
}

// Play simulates a workload in which jobs choose their sizes by the settings. Equal input gives an equal schedule.
func (w *Workload) Play(s Settings) (*Schedule, error) {
	if s.Objective == nil {
		s.Objective = Served
	}
	c := &chooser{w: w, s: s}
	if s.Rule.Advised() {
		c.forecast = newForecaster(w, s.Seed)
	}
	out := &Schedule{Turnaround: make([]float64, len(w.Jobs)), Wait: make([]float64, len(w.Jobs)),
		Procs: make([]int, len(w.Jobs))}
	until := w.Jobs[len(w.Jobs)-1].Submit
	sim, err := simulator.New(c.config(simulator.FromSlice(w.Jobs)))
	if err != nil {
		return nil, err
	}
	if err := sim.Advance(math.Inf(1), func(e simulator.Event) {
		c.observe(e)
		if e.Kind == simulator.Started {
			j := e.Job
			out.Turnaround[j.ID], out.Wait[j.ID], out.Procs[j.ID] = j.End-j.Submit, j.Wait(), j.Procs
			out.Work += float64(j.Procs) * (j.End - j.Start)
			out.Busy += float64(j.Procs) * max(0, min(until, j.End)-min(until, j.Start))
		}
	}); err != nil {
		return nil, err
	}
	return out, c.failed
}

// chooser sets the sizes of jobs in a run.
type chooser struct {
	w        *Workload
	s        Settings
	forecast *forecaster
	backlog  backlog
	waiting  int
	failed   error
}

func (c *chooser) config(jobs simulator.Source) simulator.Config {
	cfg := simulator.Config{Procs: c.w.Procs, Policy: new(simulator.EASY), Arrivals: jobs}
	switch c.s.Rule {
	case Request:
	case AtHead:
		cfg.Mold = &simulator.Mold{When: simulator.AtPass, Choose: c.choose}
		if c.s.Once {
			cfg.Mold.When = simulator.AtHead
		}
	case AtBoth:
		cfg.Mold = &simulator.Mold{When: simulator.AtBoth, Choose: c.choose}
	default:
		cfg.Mold = &simulator.Mold{When: simulator.AtSubmit, Choose: c.choose}
	}
	return cfg
}

func (c *chooser) observe(e simulator.Event) {
	if c.forecast == nil {
		return
	}
	c.forecast.observe(e)
	switch e.Kind {
	case simulator.Submitted:
		c.waiting++
	case simulator.Started:
		c.waiting--
	default:
		return
	}
	c.backlog.observe(e.Time, c.waiting)
}

// choose sets the size of a job by the rule, if the job is one of those that follow it.
func (c *chooser) choose(p *simulator.Pool, j *simulator.Job) {
	if !c.w.Asks(j.ID, c.s.Share) {
		return
	}
	m := &c.w.Molds[j.ID]
	var size int
	switch c.s.Rule {
	case Efficient:
		size = m.Thriftiest()
	case Knee:
		size = m.Knee()
	case Largest:
		size = m.Largest()
	default:
		r, err := c.advise(p, j)
		if err != nil {
			c.failed = fmt.Errorf("job %d: %w", j.ID, err)
			return
		}
		size = r.Best().Procs
	}
	if err := resize(m, j, size); err != nil {
		c.failed = err
	}
}

// believed returns the law of the runtime that a job's user believes in: a fixed time. run is the true runtime in
// seconds.
func (w *Workload) believed(id int64, run float64) advice.Law {
	return advice.Fixed(run * w.belief[id])
}

// resize gives a job another size, with the runtime and the time limit for that size.
func resize(m *moldable.Job, j *simulator.Job, size int) error {
	runtime, limit, err := m.At(size)
	if err != nil {
		return fmt.Errorf("job %d: %w", j.ID, err)
	}
	j.Procs, j.Runtime, j.Limit, j.Estimate = size, runtime, limit, max(limit, runtime)
	return nil
}

// advise returns waitcast's advice for a job.
func (c *chooser) advise(p *simulator.Pool, j *simulator.Job) (*advice.Result, error) {
	sizes, request := c.w.sizes[j.ID], advice.NoRequest
	candidates := make([]advice.Candidate, len(sizes))
	for i, n := range sizes {
		candidates[i] = advice.Candidate{Name: strconv.Itoa(n.procs), Procs: n.procs, Run: c.w.believed(j.ID, n.run)}
		if n.procs == c.w.Jobs[j.ID].Procs {
			request = i
		}
	}
	others, waits := p.Waiting(), [][]float64(nil)
	if p.Waiting() > 0 && p.Job(p.First()).ID == j.ID {
		others--
		waits = c.forecast.head(p, sizes)
	} else {
		waits = c.forecast.joining(p, sizes)
	}
	for i := range candidates {
		candidates[i].Wait = advice.Wait{Futures: waits[i]}
	}
	q := Queue{Machine: p.Procs(), Waiting: others, Mean: c.backlog.mean(p.Now())}
	return advice.Choose(candidates, request, c.s.Objective(q))
}
