package sizestudy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/simulator"
)

// Level is the level of all confidence intervals.
const Level = .95

// warmUp is the share of the jobs, the first ones, that are simulated but not scored, while the machine fills and the
// laws learn.
const warmUp = .1

// Choice is a rule with the share of jobs that follow it. The other jobs keep their requests.
type Choice struct {
	Rule  Rule
	Share float64
	Alone bool // advice minimizes only the job's own finish
	Once  bool // see Settings
	// Objective is the objective that advice minimizes; nil means Served, or Selfish if Alone is set.
	Objective func(Queue) advice.Objective `json:"-"`
}

// Grid defines the runs of a study.
type Grid struct {
	Traces  []*Trace
	Part    Part
	Jobs    int // number of jobs in a stretch, 0 for the whole part
	Loads   []float64
	Choices []Choice
	Seeds   int
	Workers int // 0 for the number of cores
	Model   Model
}

// Outcome has the scores of a run. Some of them compare it with the run of the same workload in which all jobs keep
// their users' requests.
type Outcome struct {
	Mean, P95   float64 // turnaround in seconds
	Wait        float64 // mean
	Utilization float64 // of the machine, between the first and the last submission
	Work        float64 // processor-seconds, divided by those of the run with the requests

	// Change is the relative change of the mean turnaround of all jobs against the users' requests; -0.2 means 20 %
	// less. Askers and Others are the changes for the jobs that ask and for the other jobs. P95Change is the relative
	// change of the 95th percentile of the turnarounds of all jobs.
	Change, Askers, Others, P95Change float64
	// Worse is a share of the users with at least ten scored jobs: those whose mean turnaround is more than 1/20 longer
	// than with the requests.
	Worse float64
}

// Cell has the outcomes of a choice on a trace at a load, by seed.
type Cell struct {
	Trace    string
	Load     float64
	Choice   Choice
	Outcomes []Outcome
}

// Mean returns the mean of one value of the outcomes over the seeds, with its confidence interval by Student's t. The
// argument returns that value of an outcome. Without seeds the result is zero.
func (c *Cell) Mean(of func(*Outcome) float64) simulator.Interval {
	values := make([]float64, len(c.Outcomes))
	for i := range values {
		values[i] = of(&c.Outcomes[i])
	}
	interval, err := simulator.Confidence(values, Level)
	if err != nil { // without seeds
		return simulator.Interval{}
	}
	return interval
}

// Run simulates all cells of the grid, and returns them by trace, then load, then choice. For one trace, load and seed,
// the workload and the jobs that ask are the same for all choices. The same grid gives the same outcomes with any
// number of workers. The error comes from a run or from the context.
func (g *Grid) Run(ctx context.Context) ([]Cell, error) {
	places := len(g.Traces) * len(g.Loads)
	runs, err := simulator.Replicas(ctx, places*g.Seeds, g.Workers, 0, func() struct{} { return struct{}{} },
		func(_ struct{}, i int, _ *rand.Rand) ([]Outcome, error) {
			place := i / g.Seeds
			t, load := g.Traces[place/len(g.Loads)], g.Loads[place%len(g.Loads)]
			out, err := g.workload(t, load, uint64(i%g.Seeds))
			if err != nil {
				return nil, fmt.Errorf("%s at load %v, seed %d: %w", t.Name, load, i%g.Seeds, err)
			}
			return out, nil
		})
	if err != nil {
		return nil, err
	}
	var cells []Cell
	for place := range places {
		for k, choice := range g.Choices {
			c := Cell{Trace: g.Traces[place/len(g.Loads)].Name, Load: g.Loads[place%len(g.Loads)], Choice: choice}
			for _, outcomes := range runs[place*g.Seeds : (place+1)*g.Seeds] {
				c.Outcomes = append(c.Outcomes, outcomes[k])
			}
			cells = append(cells, c)
		}
	}
	return cells, nil
}

// workload makes one workload, simulates all choices on it, and returns their outcomes.
func (g *Grid) workload(t *Trace, load float64, seed uint64) ([]Outcome, error) {
	w, err := t.Make(g.Part, g.Jobs, load, seed, g.Model)
	if err != nil {
		return nil, err
	}
	request, err := w.Play(Settings{Rule: Request})
	if err != nil {
		return nil, err
	}
	out := make([]Outcome, len(g.Choices))
	for i, c := range g.Choices {
		s := request
		if c.Alone {
			c.Objective = Selfish
		}
		if c.Rule != Request {
			if s, err = w.Play(Settings{Rule: c.Rule, Share: c.Share, Seed: seed, Once: c.Once,
				Objective: c.Objective}); err != nil {
				return nil, fmt.Errorf("%v: %w", c.Rule, err)
			}
		}
		out[i] = w.score(s, request, c.Share)
	}
	return out, nil
}

// score returns the outcome of the schedule s, compared with the schedule request. share is the share of jobs that ask.
func (w *Workload) score(s, request *Schedule, share float64) Outcome {
	from := int(warmUp * float64(len(w.Jobs)))
	scored, base := s.Turnaround[from:], request.Turnaround[from:]
	sorted, sortedBase := slices.Sorted(slices.Values(scored)), slices.Sorted(slices.Values(base))
	p95 := func(sorted []float64) float64 { return stat.Quantile(.95, stat.Empirical, sorted, nil) }
	span := w.Jobs[len(w.Jobs)-1].Submit - w.Jobs[0].Submit
	o := Outcome{
		Mean: stat.Mean(scored, nil), P95: p95(sorted), Wait: stat.Mean(s.Wait[from:], nil),
		Utilization: s.Busy / span / float64(w.Procs), Work: s.Work / request.Work,
	}
	o.Change, o.P95Change = o.Mean/stat.Mean(base, nil)-1, o.P95/p95(sortedBase)-1
	var askers, others, users = newGroups(), newGroups(), newGroups()
	for i := range scored {
		id, side := int64(from+i), others
		if w.Asks(id, share) {
			side = askers
		}
		side.add(0, scored[i], base[i])
		users.add(w.Jobs[id].User, scored[i], base[i])
	}
	o.Askers, o.Others = askers.change(), others.change()
	o.Worse = users.worse(10, .05)
	return o
}

// groups has, by group of jobs, the sums of the turnarounds with a rule (here) and with the requests (base).
type groups map[int64]*sums

type sums struct {
	jobs       int
	here, base float64
}

func newGroups() groups { return groups{} }

func (g groups) add(key int64, here, base float64) {
	s := g[key]
	if s == nil {
		s = new(sums)
		g[key] = s
	}
	s.jobs, s.here, s.base = s.jobs+1, s.here+here, s.base+base
}

// change returns the relative change of the mean turnaround of the only group, 0 if there is none.
func (g groups) change() float64 {
	for _, s := range g {
		return s.here/s.base - 1
	}
	return 0
}

// worse returns a share of the groups that have at least the given number of jobs: those whose mean turnaround is more
// than (1 + by) times that with the requests.
func (g groups) worse(jobs int, by float64) float64 {
	n, worse := 0, 0
	for _, s := range g {
		if s.jobs < jobs {
			continue
		}
		n++
		if s.here > s.base*(1+by) {
			worse++
		}
	}
	return float64(worse) / float64(max(1, n))
}
