package headtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/boost"
)

// Levels are the levels of every method's quantiles, in order.
func Levels() []float64 { return waittime.ScoredLevels() }

// The learner's settings, chosen on the first halves of KTH-SP2, SDSC-SP2 and SDSC-Par-96.
const (
	firstTraining = 400    // rows before the first training
	retrainBy     = .5     // a training when the rows have grown by this part,
	retrainAfter  = 2000   // or by so many
	mostRows      = 20_000 // the latest are trained on
	fade          = .995   // by how much each loss counts less than the one after it
	haste         = 4.     // of the weights: per unit of mean loss and a hundred losses
	step          = .02    // of the calibration, in ln seconds per miss
)

// learner corrects the exact method's quantiles by boosted trees on what was seen of earlier asks, weighs both by their
// late losses, and keeps the coverage.
type learner struct {
	levels  []float64
	columns [][]float64
	waits   []float64
	exact   [][]float64 // by level: the exact method's, of each row
	trained int         // rows seen when last trained
	seen    int
	models  []*boost.Model
	losses  [][2]float64 // by level: of the exact method and the trees, faded
	shift   []float64    // by level: the calibration's
	last    struct {
		own, trees, raw []float64 // logs
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

// forecast returns the quantiles in seconds for a row, given the exact method's.
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
	// Each level's calibration looks at its own quantile, before these are put in order: with those after it, one
	// level's shift would answer for another's misses, and both run away.
	l.last.own, l.last.trees, l.last.raw, l.last.trained = own, trees, served, l.models != nil
	for k, x := range slices.Sorted(slices.Values(served)) {
		out[k] = unlog(x)
	}
	return out
}

// weight returns the trees' part of a level: exponential weights on the faded losses.
func (l *learner) weight(k int) float64 {
	if l.models == nil {
		return 0
	}
	return 1 / (1 + math.Exp(haste*(l.losses[k][1]-l.losses[k][0])))
}

// learn takes in what became of the row last forecast.
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
		return fmt.Errorf("headtest: %w", err)
	}
	models := make([]*boost.Model, len(l.levels))
	var trainer boost.Trainer
	for k, level := range l.levels {
		for i, w := range l.waits {
			target[i] = logOf(w) - l.exact[k][i]
		}
		if data, err = data.With(target, nil); err != nil {
			return fmt.Errorf("headtest: %w", err)
		}
		if models[k], err = trainer.Train(data, level, l.trees); err != nil {
			return fmt.Errorf("headtest: %w", err)
		}
	}
	l.models, l.trained = models, l.seen
	return nil
}

// loss is the pinball loss of a quantile that was missed by d.
func loss(level, d float64) float64 {
	if d > 0 {
		return level * d
	}
	return (level - 1) * d
}
