package engine

import (
	"math"
	"slices"
	"strconv"

	"github.com/waitcast/waitcast/predictor/blend"
	"github.com/waitcast/waitcast/predictor/conformal"
	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/linear"
	"github.com/waitcast/waitcast/predictor/qbets"
)

// The experts, by number.
const (
	trees = iota
	linearOnline
	simulation
	qbetsBound
	limits
	recentWaits
	userLast
	downeyCombined
	exact
	corrected
	experts
)

// Experts returns the names of the experts in the order of their numbers: the quantile trees, the linear online quantiles, the forward simulation, QBETS, the plan from
// the time limits, the quantiles of the newest waits of such jobs, the user's last wait, and Downey's combined predictor and the exact distribution that he
// thought not feasible, both extended to the jobs that wait ahead (strict first come, first served), and the simulation corrected by its newest errors.
func Experts() []string {
	return []string{"trees", "linear", "simulation", "qbets", "limits", "recent", "user_last", "downey_combined", "exact", "simulation_corrected"}
}

// priors are the experts' weights before anything is learnt: the trees, which give nothing before they are trained, are mostly the best by far.
func priors() []float64 { return []float64{20, .2, 2, 1, .2, 1, .2, .2, .2, 20} }

// hint is what some experts tell the features, on the logarithmic scale; NaN for unknown.
type hint struct {
	qbetsMedian, qbetsHigh, plan float64
	simulated                    [6]float64
}

// scratch is memory that forecasts share, one at a time.
type scratch struct {
	sim   forward.Sim
	state forward.State
	waits []float64
	heads heads
}

// voices are the experts that learn from every start, and those who combine and correct.
type voices struct {
	linear     *linear.Model
	blend      *blend.Blend
	calibrator *conformal.Calibrator
}

// forecast asks everybody. The first expert that can say most is what it rests on.
func (v *View) forecast(r *Request, c *scratch, w *voices) *given {
	j := v.asked(r)
	nan := math.NaN()
	g := &given{hint: hint{nan, nan, nan, [6]float64{nan, nan, nan, nan, nan, nan}}}
	g.Experts = make([][]float64, experts)
	v.askBounds(j, g)
	v.askRecent(j, g)
	v.askFuture(j, g, c)
	v.askCorrected(g)
	v.askHeads(j, g, c)
	g.row = v.row(j, &g.hint)
	row := wide(g.row)
	g.Experts[trees] = v.askTrees(row)
	if out := make([]float64, len(v.levels)); w.linear.Predict(row, out) {
		g.Experts[linearOnline] = unlogAll(out)
	}
	v.serve(j, g, w)
	g.Learnt = v.learnt
	if s := j.queue.sizes[j.size]; s != nil {
		g.Similar = s.learnt
	}
	if g.Quantiles != nil {
		g.Basis = g.basis()
	}
	return g
}

// basis names the expert that a forecast mostly rests on: the first that speaks, in the order of how far they see.
func (g *given) basis() string {
	order := [...]int{trees, corrected, linearOnline, simulation, recentWaits, limits}
	if g.Learnt < linearLeast {
		order = [...]int{trees, corrected, simulation, recentWaits, linearOnline, limits}
	}
	for _, k := range order {
		if g.Experts[k] != nil {
			return Experts()[k]
		}
	}
	if k := slices.IndexFunc(g.Experts, func(q []float64) bool { return q != nil }); k >= 0 {
		return Experts()[k]
	}
	return ""
}

// linearLeast is from how many waits on a forecast without trees is said to rest on the linear quantiles.
const linearLeast = 30

// askTrees asks the trees, nil before they are trained.
func (v *View) askTrees(row []float64) []float64 {
	if v.models == nil {
		return nil
	}
	out := make([]float64, len(v.models))
	for i, m := range v.models {
		out[i] = m.Predict(row)
	}
	slices.Sort(out)
	return unlogAll(out)
}

// serve combines what the experts say and corrects it.
func (v *View) serve(j *asked, g *given, w *voices) {
	levels := len(v.levels)
	g.answers = make([]float64, levels*experts)
	for k, q := range g.Experts {
		for l := range levels {
			z := math.NaN()
			if q != nil {
				z = Log(q[l])
			}
			g.answers[l*experts+k] = z
		}
	}
	g.groups = []string{queuePrefix + j.Queue, "size " + strconv.Itoa(j.size/2)}
	out := make([]float64, levels)
	if !w.blend.Combine(g.groups, g.answers, out) {
		return
	}
	g.Combined = unlogAll(out)
	g.kinds = []string{"short", g.groups[0]}
	if g.Combined[v.median] > 60 {
		g.kinds[0] = "long"
	}
	served := make([]float64, levels)
	if w.calibrator.Correct(g.kinds, g.Combined, served) {
		g.Quantiles = served
	}
}

// askBounds asks QBETS.
func (v *View) askBounds(j *asked, g *given) {
	out := make([]float64, len(v.levels))
	for i, level := range v.levels {
		q := math.NaN()
		for _, b := range [...][]float64{j.queue.bounds[qbets.Size(j.Procs)], j.queue.bounds[qbetsSizes], v.bounds} {
			if math.IsNaN(q) && b != nil {
				q = b[i]
			}
		}
		if math.IsNaN(q) {
			return
		}
		out[i] = q
		switch level {
		case .5:
			g.hint.qbetsMedian = Log(q)
		case .95:
			g.hint.qbetsHigh = Log(q)
		}
	}
	g.Experts[qbetsBound] = out
}

// askRecent asks what the newest waits of such jobs were, and the user's last.
func (v *View) askRecent(j *asked, g *given) {
	if s := j.queue.sizes[j.size]; s != nil && len(s.lately) > 0 {
		out := make([]float64, len(v.levels))
		for i, level := range v.levels {
			out[i] = Unlog(quantile(s.lately, level))
		}
		g.Experts[recentWaits] = out
	}
	if z := j.user.lastStart.wait; !math.IsNaN(z) {
		g.Experts[userLast] = slices.Repeat([]float64{Unlog(z)}, len(v.levels))
	}
}

// askFuture plays the pool forward, or looks up what was played of a large one.
func (v *View) askFuture(j *asked, g *given, c *scratch) {
	f := v.poolOf(j.Queue)
	f.count(v.at, &j.Request, &g.Forecast)
	g.SimulationAge = math.NaN()
	var s *simulated
	if f.large {
		t := f.tables[j.Queue]
		if s = t.find(&j.Request); s != nil {
			g.SimulationAge = v.at - t.at
		}
	} else {
		q := question{f, j.Procs, f.rankOf(&j.Request), j.Limit}
		if s = ask(v.memo, q, func() *simulated { return f.simulate(v, &j.Request, c) }); s != nil {
			g.SimulationAge = 0
		}
	}
	if s == nil {
		return
	}
	g.Experts[simulation], g.hint.simulated = slices.Clone(s.quantiles), s.hint
	if !math.IsNaN(s.plan) {
		g.Experts[limits] = slices.Repeat([]float64{s.plan}, len(v.levels))
		g.hint.plan = Log(s.plan)
	}
}

// longest bounds a forecast, in seconds: some experts say never.
const longest = 10 * 365.25 * 86400

// askHeads asks Downey's methods.
func (v *View) askHeads(j *asked, g *given, c *scratch) {
	if v.laws == nil {
		return
	}
	f := v.poolOf(j.Queue)
	h := ask(v.memo, question{f, j.Procs, 0, -1}, func() *headAnswer { return c.heads.ask(v, f, j) })
	if h == nil {
		return
	}
	combined, quantiles := h.combined, slices.Clone(h.quantiles)
	for i, q := range quantiles {
		quantiles[i] = math.Min(q, longest)
	}
	g.Experts[exact] = quantiles
	if !math.IsNaN(combined) {
		g.Experts[downeyCombined] = slices.Repeat([]float64{math.Min(combined, longest)}, len(v.levels))
	}
}

func logAll(waits []float64) []float64 {
	if waits == nil {
		return nil
	}
	z := make([]float64, len(waits))
	for i, w := range waits {
		z[i] = Log(w)
	}
	return z
}

func unlogAll(z []float64) []float64 {
	for i := range z {
		z[i] = Unlog(z[i])
	}
	return z
}

func wide(row []float32) []float64 {
	out := make([]float64, len(row))
	for i, v := range row {
		out[i] = float64(v)
	}
	return out
}
