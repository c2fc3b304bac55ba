package sizestudy

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/simulator"
)

// Regret compares one advice at the head of the queue with every other size that was considered, in hindsight.
// Turnarounds count from the instant of the advice, because the wait before it cannot be changed; only Whole includes
// that wait.
type Regret struct {
	ID     int64
	Chosen int // in processors
	Best   int // number of processors with the shortest turnaround in hindsight

	Turnaround float64 // turnaround with the chosen size, in seconds from the advice
	Least      float64 // turnaround with the best size, in seconds from the advice
	Whole      float64 // turnaround with the chosen size, in seconds from the submission

	// Cost and LeastCost are values of the objective in hindsight, in hours: of the chosen size, and of the size with
	// the lowest value.
	Cost, LeastCost float64
}

// Share returns the share of the turnaround, from the advice on, that the best size would have saved.
func (r *Regret) Share() float64 { return (r.Turnaround - r.Least) / r.Turnaround }

// CostShare returns the share of the cost that the size with the lowest cost would have saved.
func (r *Regret) CostShare() float64 { return (r.Cost - r.LeastCost) / r.Cost }

// Regrets simulates a workload in which all jobs that can have several sizes ask once, when they come to the head of
// the queue. For each advice it also simulates every other size that was considered, from the same instant until the
// job starts. Everything else, past and future, stays the same. Under EASY no other job comes to the head before the
// job starts.
func (w *Workload) Regrets(seed uint64, objective func(Queue) advice.Objective) ([]Regret, error) {
	if objective == nil {
		objective = Served
	}
	h := &hindsight{chooser: chooser{w: w,
		s: Settings{Rule: AtHead, Share: 1, Seed: seed, Once: true, Objective: objective}}, sizes: map[int64]int{}}
	h.forecast = newForecaster(w, seed)
	cfg := h.config(nil)
	cfg.Mold.Choose = h.choose
	var err error
	if h.live, err = simulator.New(cfg); err != nil {
		return nil, err
	}
	for next := 0; next < len(w.Jobs); {
		h.before(h.live)
		h.from, h.asked = next, h.asked[:0]
		next = h.submit(h.live, next)
		if err := h.live.Advance(h.until(next), h.observe); err != nil {
			return nil, err
		}
		for _, d := range h.asked {
			if err := h.judge(d); err != nil {
				return nil, err
			}
		}
	}
	return h.regrets, h.failed
}

// hindsight simulates a workload with the given advice, and the alternatives to each advice.
type hindsight struct {
	chooser
	live, past, other *simulator.Simulator

	from    int           // index of the first job that past has not received
	asked   []decision    // decisions after the state past
	sizes   map[int64]int // advised sizes, by job
	replay  bool          // true while an alternative is simulated
	trial   decision      // the decision with the size that an alternative tries
	regrets []Regret
}

// decision is an advice that was given.
type decision struct {
	id        int64
	at        float64
	procs     int
	objective advice.Objective
}

// before stores a copy of the machine s in h.past.
func (h *hindsight) before(s *simulator.Simulator) {
	if h.past == nil {
		h.past, h.other = s.Clone(), s.Clone()
	}
	h.past.CopyFrom(s)
}

// submit submits the job with the index next and all jobs of the same instant. It returns the index of the first job
// after them.
func (h *hindsight) submit(s *simulator.Simulator, next int) int {
	at := h.w.Jobs[next].Submit
	for ; next < len(h.w.Jobs) && h.w.Jobs[next].Submit == at; next++ {
		if err := s.Submit(h.w.Jobs[next]); err != nil {
			h.failed = err
		}
	}
	return next
}

// until returns the last instant before the job with the index next is submitted, +Inf if there is no such job.
func (h *hindsight) until(next int) float64 {
	if next == len(h.w.Jobs) {
		return math.Inf(1)
	}
	return math.Nextafter(h.w.Jobs[next].Submit, 0)
}

// choose sets the size of a job at the head of the queue, for all machines. While an alternative is simulated, that is
// the size of the trial or the size advised before. Otherwise it is a new advice, which is recorded.
func (h *hindsight) choose(p *simulator.Pool, j *simulator.Job) {
	if !h.w.Asks(j.ID, h.s.Share) {
		return
	}
	size, known := h.sizes[j.ID], false
	if h.replay {
		_, known = h.sizes[j.ID]
		if j.ID == h.trial.id {
			size = h.trial.procs
		}
	}
	if !known {
		if h.replay { // j comes to the head after the job of the trial, so its size does not matter
			return
		}
		r, err := h.advise(p, j)
		if err != nil {
			h.failed = fmt.Errorf("job %d: %w", j.ID, err)
			return
		}
		size = r.Best().Procs
		h.sizes[j.ID] = size
		h.asked = append(h.asked, decision{j.ID, p.Now(), size, r.Objective})
	}
	if err := resize(&h.w.Molds[j.ID], j, size); err != nil {
		h.failed = err
	}
}

// judge simulates all sizes that a decision considered, and records the regret.
func (h *hindsight) judge(d decision) error {
	g := Regret{ID: d.id, Chosen: d.procs, Least: math.Inf(1), LeastCost: math.Inf(1)}
	for _, n := range h.w.sizes[d.id] {
		end, err := h.end(d, n.procs)
		if err != nil {
			return err
		}
		turnaround := end - d.at
		cost := turnaround/3600*d.objective.Hour + float64(n.procs)*n.run/3600*d.objective.ProcHour
		if n.procs == d.procs {
			g.Turnaround, g.Whole, g.Cost = turnaround, end-h.w.Jobs[d.id].Submit, cost
		}
		if turnaround < g.Least {
			g.Least, g.Best = turnaround, n.procs
		}
		g.LeastCost = min(g.LeastCost, cost)
	}
	h.regrets = append(h.regrets, g)
	return nil
}

// end returns the instant at which the job of a decision ends if it gets the given size. It simulates the machine from
// h.past on.
func (h *hindsight) end(d decision, procs int) (float64, error) {
	h.replay, h.trial = true, d
	h.trial.procs = procs
	defer func() { h.replay = false }()
	s := h.other
	s.CopyFrom(h.past)
	for next := h.from; next < len(h.w.Jobs); {
		next = h.submit(s, next)
		for {
			e, ok, err := s.Next(h.until(next))
			if err != nil {
				return 0, err
			}
			if !ok {
				break
			}
			if e.Kind == simulator.Started && e.Job.ID == d.id {
				return e.Job.End, nil
			}
		}
	}
	return 0, fmt.Errorf("job %d never starts on %d processors", d.id, procs)
}

// Regretted has statistics of the regrets of many advices.
type Regretted struct {
	Advices                int
	Mean, Median, P90      float64 // statistics of Regret.Share
	WholeMedian, WholeMean float64 // statistics of (Regret.Turnaround - Least) / Whole
	Best                   float64 // share of the advices that were the best ones in hindsight
	CostMean, CostMedian   float64 // statistics of Regret.CostShare; 0 if the objective has no prices
}

// Summarize returns the statistics of regrets. Without regrets all fields are 0.
func Summarize(regrets []Regret) Regretted {
	var share, whole, cost []float64
	r := Regretted{Advices: len(regrets)}
	for i := range regrets {
		g := &regrets[i]
		share, whole, cost = append(share, g.Share()), append(whole, (g.Turnaround-g.Least)/g.Whole),
			append(cost, g.CostShare())
		if g.Turnaround <= g.Least {
			r.Best += 1 / float64(len(regrets))
		}
	}
	s, w, c := summary(share), summary(whole), summary(cost)
	r.Mean, r.Median, r.P90 = s.mean, s.median, s.p90
	r.WholeMedian, r.WholeMean = w.median, w.mean
	r.CostMean, r.CostMedian = c.mean, c.median
	return r
}

type moments struct{ mean, median, p90 float64 }

// summary sorts x and returns its mean, median and 0.9 quantile; zeros if x is empty or has NaN.
func summary(x []float64) moments {
	if len(x) == 0 || slices.ContainsFunc(x, math.IsNaN) {
		return moments{}
	}
	slices.Sort(x)
	quantile := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, x, nil) }
	return moments{stat.Mean(x, nil), quantile(.5), quantile(.9)}
}
