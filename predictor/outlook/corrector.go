package outlook

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/blend"
	"github.com/waitcast/waitcast/predictor/boost"
	"github.com/waitcast/waitcast/predictor/linear"
)

// corrector learns the quantiles of one series at one horizon, for the cluster or for all queues together. Its experts
// are
//
//   - the present value with the quantiles of how it changed before,
//   - the replicas as they are,
//   - a linear quantile regression of the change on the features,
//   - boosted trees of the change since now, and of the difference from the replicas' median (for the cluster's stocks
//     alone),
//
// and are combined for each level by package blend. What comes close to the present value is set to it, where that was
// better: load often does not move at all for an hour.
type corrector struct {
	Dressed, Line *linear.Model
	Trees         [2][]*boost.Model // by level; nil before the first training
	Blend         *blend.Blend
	Snap          [levels][snapCount]float64 // discounted loss of each snap
	Rows          []lesson                   // to train trees on, in order of time; nil where there are none
	Added         int                        // since the last training
	Trained       int                        // rows of it
}

// lesson is a row of features with its outcome.
type lesson struct {
	At float64
	X  []float32
	Y  float32
}

// The experts; the last two are the trees.
const (
	expertDressed = iota
	expertReplicas
	expertLine
	expertTrees
	experts = expertTrees + 2
)

// snap returns by what part of the width of the band a quantile may differ from the present value to be set to it.
// Which is best is learnt: on KTH, CTC and SDSC-SP2 .05 was as good as any at an hour, and none at a day.
func snap(i int) float64 { return [snapCount]float64{0, .025, .05, .1}[i] }

const (
	snapCount  = 4
	snapMemory = 2000 // outcomes
)

const (
	mostRows  = 6000
	leastRows = 300
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
	// Both begin with no change from the present, not with the first change seen, which may be that of a log that
	// begins with an empty machine.
	dressed.Learn(nil, 0)
	unknown := make([]float64, featureCount)
	for i := range unknown {
		unknown[i] = math.NaN()
	}
	line.Learn(unknown, 0)
	return &corrector{Dressed: dressed, Line: line, Blend: b}, nil
}

// predict writes the experts' quantiles, expert k's of level l at l*experts+k, and returns their combination.
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
	put(expertDressed, now, c.Dressed.Predict(nil, q[:]))
	copy(q[:], x[ownAt+ownQuantiles:])
	put(expertReplicas, 0, !math.IsNaN(mid))
	put(expertLine, now, c.Line.Predict(x, q[:]))
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
	}
	return raw
}

// snapped sets what comes close to the present value to it.
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
	slices.Sort(raw[:]) // levels snap apart
	return raw
}

// learn learns from the outcome y of the prediction from x.
func (c *corrector) learn(at float64, x, said []float64, raw [levels]float64, groups []string, y float64, rows bool) {
	now := x[ownAt]
	c.Dressed.Learn(nil, y-now)
	c.Line.Learn(x, y-now)
	c.Blend.Learn(groups, said, y)
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
	const between = hour - 1 // rows that are closer tell little more
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

// overdue returns by how much more the rows have grown than makes a training worth its while; 1 or more: it is.
func (c *corrector) overdue() float64 {
	if len(c.Rows) < leastRows {
		return 0
	}
	return float64(c.Added) / min(max(leastRows/2, float64(c.Trained)/3), 1000)
}

// train trains the trees again.
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
	// Small trees on few bins: rows of one log go together, so that there are far fewer of them than it seems.
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

// shift moves the outer levels of one scope's series at one horizon so that the band covers the share that it promises;
// in units of the band's width.
type shift struct {
	Low, High float64 // the band's ends are moved down and up by so much, before it is bounded
	N         float64 // outcomes learnt
}

const (
	// shiftRate is the step of an outcome in the long run: .01, on all five levels, chased errors that last for days,
	// and cost 7 % of the loss at a day on KTH-SP2. The first steps are five times that, and half of what is over after
	// shiftFirst outcomes.
	shiftRate  = .003
	shiftFirst = 100
	// shiftMost is the most that a level is moved by (a saturation as in Angelopoulos, Candes and Tibshirani, NeurIPS
	// 2023, sec. 2.2).
	shiftMost = .5
	leastWide = .01
)

// apply returns the quantiles as they are served: from 0, rising.
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

// learn learns from the outcome of quantiles that were served. An outcome at an end of the band is covered.
func (s *shift) learn(served [levels]float64, y float64) {
	p := Levels()
	rate := shiftRate * (1 + 4/(1+s.N/shiftFirst))
	s.N++
	below, above := outside(served, y)
	s.Low += rate * (below - p[0])
	s.High += rate * (above - (1 - p[levels-1]))
}

// outside returns 1 and 0 for an outcome below the band, 0 and 1 for one above it, else 0 and 0.
func outside(q [levels]float64, y float64) (below, above float64) {
	if y < q[0] {
		below = 1
	}
	if y > q[levels-1] {
		above = 1
	}
	return below, above
}
