package head

import (
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/boost"
)

// Levels returns the levels of the quantiles that the methods forecast, in rising order.
func Levels() []float64 { return waittime.ScoredLevels() }

// These are the settings of the learner. They were chosen on the first halves of KTH-SP2, SDSC-SP2 and SDSC-Par-96.
const (
	firstTraining = 400    // number of rows before the first training
	retrainBy     = .5     // the trees are trained again when the rows have grown by this share
	retrainAfter  = 2000   // or by this number, whichever is less
	mostRows      = 20_000 // maximum number of rows in a training; the latest are used
	fade          = .995   // factor by which the weight of a loss falls with each later loss
	haste         = 4.     // learning rate of the weights, per unit of discounted loss
	step          = .02    // step of the calibration, in ln seconds per miss
)

// learner corrects the quantiles of the exact method by boosted trees, which are trained on the outcomes of earlier
// forecasts. It combines the exact and the corrected quantiles with weights by their recent losses, and calibrates the
// result.
type learner struct {
	levels  []float64
	columns [][]float64
	waits   []float64
	exact   [][]float64 // by level and row: quantiles of the exact method
	trained int         // the value of seen at the last training
	seen    int
	models  []*boost.Model
	losses  [][2]float64 // by level: discounted losses of the exact method and of the trees
	shift   []float64    // by level: correction of the calibration
	last    struct {
		own, trees, raw []float64 // on the logarithmic scale
		trained         bool
	}
	trees boost.Params
}

func newLearner() *learner {
	n := len(Levels())
	return &learner{
		levels: Levels(), exact: make([][]float64, n), losses: make([][2]float64, n), shift: make([]float64, n),
		trees: boost.Params{Trees: 100, Leaves: 12, Rate: .06, MinLeaf: 20, Bins: 64},
	}
}

// forecast returns the quantiles of a wait in seconds, at Levels. row has the features, and exact the quantiles of the
// exact method in seconds.
func (l *learner) forecast(row, exact []float64) []float64 {
	n := len(l.levels)
	own, trees, served, out := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for k := range l.levels {
		own[k] = logOf(exact[k])
		trees[k] = own[k]
		if l.models != nil {
			trees[k] += l.models[k].Predict(boost.NewRow(row))
		}
	}
	slices.Sort(trees)
	for k := range l.levels {
		w := l.weight(k)
		served[k] = (1-w)*own[k] + w*trees[k] + l.shift[k]
	}
	// Each level is calibrated by its own quantile, before the quantiles are sorted. After sorting, the misses of one
	// level would change the correction of another, and both corrections would diverge.
	l.last.own, l.last.trees, l.last.raw, l.last.trained = own, trees, served, l.models != nil
	for k, x := range slices.Sorted(slices.Values(served)) {
		out[k] = unlog(x)
	}
	return out
}

// weight returns the weight of the trees at the level with index k: an exponential weight by the discounted losses.
func (l *learner) weight(k int) float64 {
	if l.models == nil {
		return 0
	}
	return 1 / (1 + math.Exp(haste*(l.losses[k][1]-l.losses[k][0])))
}

// learn learns from the outcome of the last forecast: the wait in seconds. row and exact are those of the forecast. If
// enough outcomes are new, learn also trains the trees again.
func (l *learner) learn(row, exact []float64, wait float64) error {
	y := logOf(wait)
	for k, level := range l.levels {
		if l.last.trained {
			for e, x := range [2]float64{l.last.own[k], l.last.trees[k]} {
				l.losses[k][e] = fade*l.losses[k][e] + loss(level, y-x)
			}
		}
		if y > l.last.raw[k] {
			l.shift[k] += step * level
		} else {
			l.shift[k] -= step * (1 - level)
		}
	}
	l.keep(row, exact, wait)
	if l.seen < firstTraining || l.seen < l.trained+min(retrainAfter, int(retrainBy*float64(l.trained))) {
		return nil
	}
	return l.train()
}

func (l *learner) keep(row, exact []float64, wait float64) {
	if l.columns == nil {
		l.columns = make([][]float64, len(row))
	}
	l.seen++
	if len(l.waits) >= mostRows+retrainAfter {
		drop := len(l.waits) - mostRows
		l.waits = slices.Delete(l.waits, 0, drop)
		for i := range l.columns {
			l.columns[i] = slices.Delete(l.columns[i], 0, drop)
		}
		for k := range l.exact {
			l.exact[k] = slices.Delete(l.exact[k], 0, drop)
		}
	}
	l.waits = append(l.waits, wait)
	for i, v := range row {
		l.columns[i] = append(l.columns[i], v)
	}
	for k := range l.exact {
		l.exact[k] = append(l.exact[k], logOf(exact[k]))
	}
}

func (l *learner) train() error {
	target := make([]float64, len(l.waits))
	data, err := boost.NewData(l.columns, target, nil, l.trees.Bins)
	if err != nil {
		return fmt.Errorf("head: %w", err)
	}
	models := make([]*boost.Model, len(l.levels))
	var trainer boost.Trainer
	for k, level := range l.levels {
		for i, w := range l.waits {
			target[i] = logOf(w) - l.exact[k][i]
		}
		if data, err = data.With(target, nil); err != nil {
			return fmt.Errorf("head: %w", err)
		}
		if models[k], err = trainer.Train(data, level, l.trees); err != nil {
			return fmt.Errorf("head: %w", err)
		}
	}
	l.models, l.trained = models, l.seen
	return nil
}

// loss returns the pinball loss of a quantile, where d is the outcome minus the quantile.
func loss(level, d float64) float64 {
	if d > 0 {
		return level * d
	}
	return (level - 1) * d
}
