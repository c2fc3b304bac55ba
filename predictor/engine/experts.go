package engine

import (
	"math"
	"slices"
	"strconv"

	"github.com/waitcast/waitcast/internal/panics"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/correction"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/qbets"
)

// expertFeatures has the outputs of experts from which features and parts of a forecast are computed. Waits are on the
// logarithmic scale, except in blocked. NaN means unknown.
type expertFeatures struct {
	qbetsMedian, qbetsHigh, plan float64
	simulated                    [6]float64
	orders                       []float64 // see pools.Facts.PlayOrders; nil if they were not simulated
	shares                       []float64 // see pools.Simulated.Shares
	blocked                      []float64 // see pools.Simulated.Blocked
}

// scratch is memory that consecutive forecasts reuse.
type scratch struct {
	pools.Scratch
	heads   heads
	row     []float32 // the features of the newest request
	wide    []float64 // the same features as float64
	ranks   []uint16  // scratch memory of training.Trees.Predict
	request resolvedRequest
	ranked  pools.RankedRequest
}

// forget drops the request, which refers to facts of its view.
func (c *scratch) forget() { c.request, c.ranked = resolvedRequest{}, pools.RankedRequest{} }

// forecastIn is forecast for a request to one queue. simulated replaces the simulation of the request, unless it is
// nil.
func (v *View) forecastIn(r *track.Request, simulated *pools.Simulated, c *scratch,
	w *ensemble.OnlineExperts) *pendingForecast {
	j, g := v.resolve(r, &c.request), unasked()
	defer c.forget()
	var downey panics.Group
	if c.Workers > 1 && v.laws != nil {
		downey.Go(func() { v.addDowney(j, g, c) })
	} else {
		v.addDowney(j, g, c)
	}
	v.addBounds(j, g)
	v.addRecent(j, g)
	v.addSimulation(j, simulated, g, c)
	v.addCorrected(g)
	downey.Wait()
	c.row = v.row(j, &g.features, c)
	c.wide = appendWide(c.wide[:0], c.row)
	row := c.wide
	v.addTrees(j.queue.Code, row, g, c)
	if out := make([]float64, len(v.Levels)); w.Linear.Predict(row[:v.features.linear], out) {
		g.Experts[ensemble.LinearOnline] = unlogAll(out)
	}
	v.serve(j, g, w)
	g.notBefore(g.features.blocked)
	g.split(v.Levels, g.features.shares)
	g.Learnt = v.learnt
	if s := j.queue.Sizes[j.size]; s != nil {
		g.Similar = s.Learnt
	}
	if g.Quantiles != nil {
		g.Basis = g.basis()
	}
	return g
}

// unasked returns a forecast without the answer of any expert.
func unasked() *pendingForecast {
	nan := math.NaN()
	return &pendingForecast{features: expertFeatures{qbetsMedian: nan, qbetsHigh: nan, plan: nan,
		simulated: [6]float64{nan, nan, nan, nan, nan, nan}},
		Forecast: Forecast{Experts: make([][]float64, ensemble.Count)}}
}

// rowReplicas is the number of futures that are simulated for the row of a job without a forecast. On the first halves
// of CTC, SDSC-SP2 and LANL, trees trained on data with two thirds of such rows were as good as trees trained on rows
// of 24 futures.
const rowReplicas = 8

// keepRow copies the row of features from the scratch memory into the forecast.
func (g *pendingForecast) keepRow(c *scratch) {
	g.Row = make([]float32, len(c.row)) // slices.Clone would reserve more memory, for tens of thousands of rows
	copy(g.Row, c.row)
}

// basis returns the name of the main expert behind a forecast: the first one with an answer, in a fixed order of
// preference. It is empty if no expert has an answer.
func (g *pendingForecast) basis() string {
	order := [...]int{ensemble.Trees, ensemble.Corrected, ensemble.LinearOnline, ensemble.Simulation,
		ensemble.RecentWaits, ensemble.Limits}
	if g.Learnt < linearLeast {
		order = [...]int{ensemble.Trees, ensemble.Corrected, ensemble.Simulation, ensemble.RecentWaits,
			ensemble.LinearOnline, ensemble.Limits}
	}
	for _, k := range order {
		if g.Experts[k] != nil {
			return ensemble.Names()[k]
		}
	}
	if k := slices.IndexFunc(g.Experts, func(q []float64) bool { return q != nil }); k >= 0 {
		return ensemble.Names()[k]
	}
	return ""
}

// linearLeast is the number of learnt waits from which on basis prefers the linear quantiles to the simulation and to
// the recent waits.
const linearLeast = 30

// addTrees adds the forecasts of both sets of trees for a row of features, if trees have been trained. queue is the
// code of the request's queue.
func (v *View) addTrees(queue int, row []float64, g *pendingForecast, c *scratch) {
	if v.trees.Models == nil {
		return
	}
	var all, recent []float64
	all, recent, c.ranks = v.similar.Predict(&v.trees, queue, row, c.ranks)
	slices.Sort(all)
	slices.Sort(recent)
	g.Experts[ensemble.Trees], g.Experts[ensemble.TreesRecent] = unlogAll(all), unlogAll(recent)
}

// serve combines the experts' forecasts, mixes in the early forecast (ensemble.Mix), and corrects the result. It
// ignores experts that are left out (Config.WithoutExperts). Without any other forecast it sets only the answers and
// groups for learning.
func (v *View) serve(j *resolvedRequest, g *pendingForecast, w *ensemble.OnlineExperts) {
	levels := len(v.Levels)
	g.Answers = make([]float64, levels*ensemble.Count)
	for k, q := range g.Experts {
		silent := v.features.silent != nil && v.features.silent[k]
		for l := range levels {
			z := math.NaN()
			if q != nil && !silent {
				z = waittime.Log(q[l])
			}
			g.Answers[l*ensemble.Count+k] = z
		}
	}
	g.Groups = []string{ensemble.QueuePrefix + j.Queue, "size " + strconv.Itoa(j.size/2)}
	out := make([]float64, levels)
	if !w.Blend.Combine(g.Groups, g.Answers, out) {
		return
	}
	said := out[v.median]
	if q := g.Experts[ensemble.Simulation]; q != nil {
		said = waittime.Log(q[v.median])
	}
	ensemble.Mix(&v.early, said, v.Levels, out)
	g.Combined = unlogAll(out)
	served := make([]float64, levels)
	if w.Correction.Correct(correction.Job{Queue: j.Queue, User: j.User}, g.Combined, served) {
		g.Quantiles = served
	}
}

// addBounds adds QBETS's bound at each level. It is the first known one of three: for the request's queue and size
// class, for the queue, and for all jobs. If none is known at some level, QBETS has no forecast.
func (v *View) addBounds(j *resolvedRequest, g *pendingForecast) {
	out := make([]float64, len(v.Levels))
	for i, level := range v.Levels {
		q := math.NaN()
		for _, b := range [...][]float64{
			j.queue.Bounds[qbets.Size(j.Procs)], j.queue.Bounds[track.QbetsSizes], v.Bounds,
		} {
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
			g.features.qbetsMedian = waittime.Log(q)
		case .95:
			g.features.qbetsHigh = waittime.Log(q)
		}
	}
	g.Experts[ensemble.QbetsBound] = out
}

// addRecent adds the quantiles of the newest waits in the request's queue and size class, and the user's last wait.
func (v *View) addRecent(j *resolvedRequest, g *pendingForecast) {
	if s := j.queue.Sizes[j.size]; s != nil && len(s.Lately) > 0 {
		out := make([]float64, len(v.Levels))
		for i, level := range v.Levels {
			out[i] = waittime.Unlog(pools.QuantileOf(s.Lately, level))
		}
		g.Experts[ensemble.RecentWaits] = out
	}
	if z := j.user.LastStart.Wait; !math.IsNaN(z) {
		g.Experts[ensemble.UserLast] = slices.Repeat([]float64{waittime.Unlog(z)}, len(v.Levels))
	}
}

// addSimulation counts the jobs ahead and the free processors. It then simulates the pool, or looks up the simulation
// of a large one, and adds the quantiles and the other results, if there are any. s replaces the simulation unless it
// is nil.
func (v *View) addSimulation(j *resolvedRequest, s *pools.Simulated, g *pendingForecast, c *scratch) {
	f := v.poolOf(j.Queue)
	ranked := j.ranked(&c.ranked)
	room := f.Count(v.Instant, ranked)
	g.JobsAhead, g.ProcsAhead, g.Free, g.Needed = room.JobsAhead, room.ProcsAhead, room.Free, room.Needed
	own, age := f.Ask(v.Instant, v.Levels, ranked, v.memo, &c.Scratch)
	if g.SimulationAge = age; s == nil {
		s = own
	}
	if g.simulated = s; s == nil {
		return
	}
	g.Experts[ensemble.Simulation], g.features.simulated = slices.Clone(s.Quantiles), s.Features
	g.features.orders, g.features.shares, g.features.blocked = s.Orders, s.Shares, s.Blocked
	g.Blocked = slices.Clone(s.Blocked)
	g.keptSoon = s.KeptSoon
	g.waitsForOthers = f.WaitsForOthers(ranked)
	g.Kept, g.Nodes, g.NoRoom = s.Kept, s.Nodes, s.NoRoom
	if !math.IsNaN(s.Plan) {
		g.Experts[ensemble.Limits] = slices.Repeat([]float64{s.Plan}, len(v.Levels))
		g.features.plan = waittime.Log(s.Plan)
	}
}

// addDowney adds the forecasts of Downey's methods.
func (v *View) addDowney(j *resolvedRequest, g *pendingForecast, c *scratch) {
	if v.laws == nil {
		return
	}
	f := v.poolOf(j.Queue)
	h := pools.Ask(v.memo, pools.HeadQuestion(f, j.Procs), func() *headAnswer { return c.heads.forecast(v, f, j) })
	if h == nil {
		return
	}
	combined, quantiles := h.combined, slices.Clone(h.quantiles)
	for i, q := range quantiles {
		quantiles[i] = math.Min(q, waittime.Longest)
	}
	g.Experts[ensemble.Exact] = quantiles
	if !math.IsNaN(combined) {
		g.Experts[ensemble.DowneyCombined] = slices.Repeat([]float64{math.Min(combined, waittime.Longest)},
			len(v.Levels))
	}
}

func logAll(waits []float64) []float64 {
	if waits == nil {
		return nil
	}
	z := make([]float64, len(waits))
	for i, w := range waits {
		z[i] = waittime.Log(w)
	}
	return z
}

func unlogAll(z []float64) []float64 {
	for i := range z {
		z[i] = waittime.Unlog(z[i])
	}
	return z
}

func appendWide(out []float64, row []float32) []float64 {
	for _, v := range row {
		out = append(out, float64(v))
	}
	return out
}

// addCorrected adds, for each level, the simulation's median corrected by the quantile of the simulation's past errors
// at this level. The two are added on the logarithmic scale.
func (v *View) addCorrected(g *pendingForecast) {
	q := g.Experts[ensemble.Simulation]
	if q == nil || v.errors == nil {
		return
	}
	said := waittime.Log(q[v.median])
	out := make([]float64, len(v.Levels))
	for i, off := range v.errors {
		out[i] = math.Min(waittime.Unlog(said+off), waittime.Longest)
	}
	g.Experts[ensemble.Corrected] = out
}
