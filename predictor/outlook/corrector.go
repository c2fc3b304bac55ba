package outlook

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/blend"
	"github.com/waitcast/waitcast/predictor/boost"
	"github.com/waitcast/waitcast/predictor/linear"
)

// corrector learns the quantiles of one series at one horizon, for the cluster or for all queues together. Its
// experts are
//
//   - the present value with the quantiles of its past changes,
//   - the replicas without correction,
//   - a linear quantile regression of the change on the features,
//   - boosted trees of the change from now to the horizon, and boosted trees of the difference from the replicas'
//     median (both only for series of the cluster that are no arrivals).
//
// Package blend combines them for each level. A quantile close to the present value is set to that value, if this was
// better in the past. The reason is that load often does not change at all for an hour.
type corrector struct {
	Dressed, Line *linear.Model
	Trees         [2][]*boost.Model // by kind (change, difference) and level; nil before the first training
	Blend         *blend.Blend
	Snap          [levels][snapCount]float64 // discounted loss with each candidate of snap
	Rows          []lesson                   // training data of the trees, in order of time; nil if there is none
	Added         int                        // number of rows added since the last training
	Trained       int                        // number of rows in the last training
}

// lesson is a row of features with its outcome.
type lesson struct {
	At float64
	X  []float32
	Y  float32
}

// These are the experts. The last two are trees.
const (
	expertDressed = iota
	expertReplicas
	expertLine
	expertTrees
	experts = expertTrees + 2
)

// snap returns candidate i for a share of the band's width. A quantile that is less than this share of the width away
// from the present value is set to the present value. The best candidate of each level is learnt. On KTH, CTC and
// SDSC-SP2, 0.05 was as good as any other share at an hour, and 0 was best at a day.
func snap(i int) float64 { return [snapCount]float64{0, .025, .05, .1}[i] }

const (
	snapCount  = 4
	snapMemory = 2000 // number of outcomes after which a loss in Snap counts 1/e
)

const (
	mostRows  = 6000 // maximum number of lessons of a corrector
	leastRows = 300  // minimum number of lessons for a training
)

func newCorrector() (*corrector, error) {
	dressed, err := linear.New(linear.Config{Levels: Levels(), Rate: .1})
	if err != nil {
		return nil, err
	}
	line, err := linear.New(linear.Config{Levels: Levels(), Features: featureCount, Rate: .03})
	if err != nil {
		return nil, err
	}
	b, err := blend.New(blend.Config{Levels: Levels(), Priors: []float64{1, 1, .3, 1, 1}})
	if err != nil {
		return nil, err
	}
	// Both linear models begin with no change from the present value. Otherwise they would begin with the first
	// observed change, which is misleading if the log begins with an empty machine.
	dressed.Learn(nil, 0)
	unknown := make([]float64, featureCount)
	for i := range unknown {
		unknown[i] = math.NaN()
	}
	line.Learn(unknown, 0)
	return &corrector{Dressed: dressed, Line: line, Blend: b}, nil
}

// predict writes the experts' quantiles to out and returns their combination. The quantile of expert k at level l is at
// l*experts+k. If the present value is unknown (NaN), only the replicas count, and the trees of the difference from
// their median. If the experts cannot be combined, predict returns the present value, or the replicas' quantiles if it
// is unknown.
func (c *corrector) predict(x []float64, groups []string, out []float64) [levels]float64 {
	now, mid := x[ownAt], x[ownAt+ownQuantiles+median]
	var q [levels]float64
	put := func(k int, base float64, known bool) {
		for l := range q {
			v := math.NaN()
			if known {
				v = max(0, base+q[l])
			}
			out[l*experts+k] = v
		}
	}
	known := !math.IsNaN(now)
	put(expertDressed, now, c.Dressed.Predict(nil, q[:]) && known)
	copy(q[:], x[ownAt+ownQuantiles:])
	put(expertReplicas, 0, !math.IsNaN(mid))
	put(expertLine, now, c.Line.Predict(x, q[:]) && known)
	row := boost.NewRow(x)
	for k, base := range [2]float64{now, mid} {
		for l, m := range c.Trees[k] {
			q[l] = m.Predict(row)
		}
		slices.Sort(q[:])
		put(expertTrees+k, base, c.Trees[k] != nil && !math.IsNaN(base))
	}
	var raw [levels]float64
	if !c.Blend.Combine(groups, out, raw[:]) {
		for l := range raw {
			raw[l] = now
		}
		if !known {
			copy(raw[:], x[ownAt+ownQuantiles:])
		}
	}
	return raw
}

// snapped returns the quantiles after those close to the present value are set to that value, see snap. They are
// sorted.
func (c *corrector) snapped(raw [levels]float64, now float64) [levels]float64 {
	width := raw[levels-1] - raw[0]
	for l := range raw {
		best := 0
		for i := range c.Snap[l] {
			if c.Snap[l][i] < c.Snap[l][best] {
				best = i
			}
		}
		if math.Abs(raw[l]-now) < snap(best)*width {
			raw[l] = now
		}
	}
	slices.Sort(raw[:]) // each level is snapped separately, so that levels may cross
	return raw
}

// learn learns from the outcome y of a prediction that was made at an instant for the features x. said and raw are the
// results of predict. If rows is true, x and y are kept for the training of trees, at most once an hour. If the present
// value is unknown, only Blend learns.
func (c *corrector) learn(at float64, x, said []float64, raw [levels]float64, groups []string, y float64, rows bool) {
	now := x[ownAt]
	c.Blend.Learn(groups, said, y)
	if math.IsNaN(now) { // the change is unknown
		return
	}
	c.Dressed.Learn(nil, y-now)
	c.Line.Learn(x, y-now)
	width := raw[levels-1] - raw[0]
	for l, p := range Levels() {
		for i := range c.Snap[l] {
			q := raw[l]
			if math.Abs(q-now) < snap(i)*width {
				q = now
			}
			c.Snap[l][i] = c.Snap[l][i]*(1-1./snapMemory) + waittime.Pinball(p, q, y)
		}
	}
	const between = hour - 1 // rows that are closer in time add little information
	if !rows || len(c.Rows) > 0 && at < c.Rows[len(c.Rows)-1].At+between {
		return
	}
	if len(c.Rows) == mostRows {
		c.Rows = slices.Delete(c.Rows, 0, mostRows/10)
	}
	row := lesson{At: at, X: make([]float32, len(x)), Y: float32(y)}
	for i, v := range x {
		row.X[i] = float32(v)
	}
	c.Rows = append(c.Rows, row)
	c.Added++
}

// overdue returns the growth of the rows since the last training, divided by the growth that makes a training
// worthwhile. From 1 on a training is due.
func (c *corrector) overdue() float64 {
	if len(c.Rows) < leastRows {
		return 0
	}
	return float64(c.Added) / min(max(leastRows/2, float64(c.Trained)/3), 1000)
}

// train trains both kinds of trees on Rows, for each level.
func (c *corrector) train(seed uint64) error {
	var target [2][]float64
	for i := range c.Rows {
		r := &c.Rows[i]
		target[0] = append(target[0], float64(r.Y-r.X[ownAt]))
		target[1] = append(target[1], float64(r.Y-r.X[ownAt+ownQuantiles+median]))
	}
	column := func(f int, into []float64) {
		for i := range c.Rows {
			into[i] = float64(c.Rows[i].X[f])
		}
	}
	// The trees are small and use few bins. The rows of one log are correlated, so they contain much less information
	// than their number suggests.
	params := boost.Params{Trees: 80, Leaves: 8, Rate: .07, MinLeaf: 40, Bins: 64, RowShare: .5,
		FeatureShare: .5, Seed: seed}
	data, err := boost.NewDataFrom(featureCount, column, target[0], nil, params.Bins)
	if err != nil {
		return err
	}
	var trainer boost.Trainer
	for k := range target {
		if data, err = data.With(target[k], nil); err != nil {
			return err
		}
		trees := make([]*boost.Model, levels)
		for l, p := range Levels() {
			if trees[l], err = trainer.Train(data, p, params); err != nil {
				return err
			}
		}
		c.Trees[k] = trees
	}
	c.Trained, c.Added = len(c.Rows), 0
	return nil
}

// shift moves the outer levels of one scope's series at one horizon, so that the band covers the promised share of
// outcomes. Its unit is the width of the band.
type shift struct {
	Low, High float64 // distances by which the ends move down and up, before the saturation at shiftMost
	N         float64 // number of outcomes learnt
}

const (
	// shiftRate is the step for an outcome in the long run. A step of 0.01, on all five levels, followed errors that
	// last for days, and increased the loss at a day by 7 % on KTH-SP2. The first step is five times shiftRate. The
	// excess over shiftRate is halved after shiftFirst outcomes.
	shiftRate  = .003
	shiftFirst = 100
	// shiftMost is the maximum by which a level is moved, in widths of the band (a saturation as in Angelopoulos,
	// Candes and Tibshirani, NeurIPS 2023, section 2.2).
	shiftMost = .5
	leastWide = .01 // is added to the width, so that a band without width can be moved, too
)

// apply returns the quantiles to be served: the outer two are moved. None is negative, and none is less than the one
// before it.
func (s *shift) apply(q [levels]float64) [levels]float64 {
	width := q[levels-1] - q[0] + leastWide
	q[0] -= shiftMost * math.Tanh(s.Low/shiftMost) * width
	q[levels-1] += shiftMost * math.Tanh(s.High/shiftMost) * width
	for l := range q {
		q[l] = max(0, q[l])
	}
	q[0] = min(q[0], q[1])
	q[levels-1] = max(q[levels-1], q[levels-2])
	return q
}

// learn learns from the outcome of served quantiles. An outcome that equals an end of the band is covered.
func (s *shift) learn(served [levels]float64, y float64) {
	p := Levels()
	rate := shiftRate * (1 + 4/(1+s.N/shiftFirst))
	s.N++
	below, above := outside(served, y)
	s.Low += rate * (below - p[0])
	s.High += rate * (above - (1 - p[levels-1]))
}

// outside returns (1, 0) for an outcome below the band, (0, 1) for one above it, and (0, 0) otherwise.
func outside(q [levels]float64, y float64) (below, above float64) {
	if y < q[0] {
		below = 1
	}
	if y > q[levels-1] {
		above = 1
	}
	return below, above
}
