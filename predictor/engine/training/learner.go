// Package training keeps the rows of features whose waits are known, and trains quantile trees on them in the
// background.
package training

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/predictor/boost"
	"github.com/waitcast/waitcast/predictor/engine/background"
)

// Learner keeps the rows whose waits are known and the trees trained on them. A training begins when so many waits have
// been learnt, and its trees come into force when so many more have: the same starts give the same forecasts, however
// long it takes.
type Learner struct {
	cfg     Config
	Rows    [][]float32
	targets []float64
	Seen    int   // waits in all
	Trained int   // seen when the last training began
	Changes []int // how many waits had been seen when each change began, in order
	Trees
	Soon   bool // trees are to be trained again as soon as there are a few more waits
	Next   *training
	shared *training // of another learner, which ends it
	closed atomic.Bool
	Record Record
	// Growth replaces Config.Growth if it is not 0, and no change has trees trained sooner then; not saved. +Inf lets
	// no training begin but by TrainNow.
	Growth float64
}

// Config has the settings of the training of trees.
type Config struct {
	// Levels are the quantile levels, one model each.
	Levels []float64
	// Rows is the number of newest waits that trees are trained on. First is the number of waits before the first
	// training, Growth the part by which the rows grow until the next, Every a fixed number instead (0: by Growth).
	Rows, First, Every int
	Growth             float64
	// HalfLife is the number of newer waits after which a row counts half; 0: never.
	HalfLife float64
	// Recent has the settings of the second set of trees.
	Recent Recent
	// Synchronous trains while the caller waits. Cores is the number of processors for training and caller.
	Synchronous bool
	Cores       int
	// Trees are the parameters of the trees. What is 0 is chosen by level, rows and features.
	Trees boost.Params
}

// Recent has the settings of the trees that see little but the newest rows, so that they follow a cluster whose waits
// change sooner. They are trained together with the others.
type Recent struct {
	// Rows is the number of newest waits that they are trained on, at most Config.Rows.
	Rows int
	// HalfLife is the number of newer waits after which a row counts half; 0: never.
	HalfLife float64
}

// training is trees in the making.
type training struct {
	From, Due int // seen when it began, and when its trees come into force
	Changes   []int
	job       *background.Task
	trees     Trees         // once done; none where it failed
	took      time.Duration // once done
}

// Trees are the models of all levels: those trained on all rows, and those trained with Config.Recent beside them. They
// are immutable; the zero value is none.
type Trees struct {
	Models, Recent []*boost.Model
	bank           *boost.Bank // of both
}

// NewTrees returns models of all levels with those that were trained with Config.Recent, as many. The error says that
// they cannot predict for the same rows.
func NewTrees(models, recent []*boost.Model) (Trees, error) {
	if len(models) != len(recent) {
		return Trees{}, fmt.Errorf("training: %d models and %d of the newest waits: want as many", len(models),
			len(recent))
	}
	bank, err := boost.NewBank(slices.Concat(models, recent)...)
	return Trees{models, recent, bank}, err
}

// Predict returns what the models of each level predict for a row of features, and those of the newest waits. It works
// in ranks, and returns that to be given to it again. Without trees it must not be called.
func (t *Trees) Predict(row []float64, ranks []uint16) (all, recent []float64, again []uint16) {
	n := len(t.Models)
	out := make([]float64, 2*n)
	again = t.bank.Predict(row, out, ranks)
	return out[:n:n], out[n:], again
}

// NewLearner returns a learner without rows.
func NewLearner(cfg Config) *Learner { return &Learner{cfg: cfg} }

// leastLag and lagPart are after how many more waits trees come into force: a part of the rows, at least so many.
const (
	leastLag  = 20
	lagPart   = 100
	LeastMore = 200 // waits between two trainings
)

// oldRows is the weight of a row before a change beside one after it. It was set on the histories of TestRecovers,
// where forgetting more was not faster.
const oldRows = .5

// Learn learns from the logarithm of a wait.
func (l *Learner) Learn(row []float32, z float64) {
	l.Rows = append(l.Rows, row)
	l.targets = append(l.targets, z)
	l.Seen++
	if t := l.Next; t != nil && l.Seen >= t.Due {
		l.take(t)
	}
	if l.Next != nil { // its rows stay until it is done
		return
	}
	if extra := len(l.Rows) - l.cfg.Rows; extra > l.cfg.Rows/10 {
		l.Rows, l.targets = slices.Delete(l.Rows, 0, extra), slices.Delete(l.targets, 0, extra)
	}
	if l.Seen >= l.cfg.First && l.Seen-l.Trained >= l.More() {
		lag := max(leastLag, len(l.Rows)/lagPart)
		if l.Models == nil {
			lag = 0
		}
		l.beginNow(lag)
	}
}

// beginNow begins a training on all rows, whose trees come into force after so many more waits.
func (l *Learner) beginNow(lag int) {
	l.Trained, l.Soon, l.Record.begun = l.Seen, false, l.Record.Now
	l.Begin(l.Seen, l.Seen+lag, slices.Clone(l.Changes))
	if lag == 0 {
		l.take(l.Next)
	}
}

// TrainNow trains on all rows, if there are enough and new ones. The trees are in force when it returns.
func (l *Learner) TrainNow() {
	if l.Next != nil {
		l.take(l.Next)
	}
	if l.Seen >= l.cfg.First && l.Seen > l.Trained {
		l.beginNow(0)
	}
}

// More returns the number of waits between two trainings: a tenth of the rows. After a change it is 200 waits, then as
// many as have come since the change, if that is sooner.
func (l *Learner) More() int {
	if l.cfg.Every > 0 {
		return l.cfg.Every
	}
	if l.Growth > 0 {
		return max(LeastMore, int(min(math.MaxInt32, l.Growth*float64(len(l.Rows)))))
	}
	if l.Soon {
		return LeastMore
	}
	more := l.cfg.Growth * float64(len(l.Rows))
	if n := len(l.Changes); n > 0 {
		since := l.Trained - l.Changes[n-1]
		if since <= 0 {
			since = LeastMore - since
		}
		more = min(more, float64(since))
	}
	return max(LeastMore, int(more))
}

// Changed records that a change began the given number of waits ago: the rows before it count less, and trees are
// trained again soon.
func (l *Learner) Changed(ago int) {
	at := max(0, l.Seen-ago)
	if n := len(l.Changes); n > 0 {
		at = max(at, l.Changes[n-1])
	}
	l.Changes = append(l.Changes, at)
	first := l.Seen - len(l.Rows)
	l.Changes = slices.DeleteFunc(l.Changes, func(at int) bool { return at <= first }) // no row is older
}

// take waits for a training and brings its trees into force.
func (l *Learner) take(t *training) {
	t.job.Wait()
	l.Next = nil
	l.Record.finished(t)
	if t.trees.Models != nil {
		l.Trees = t.trees
	}
}

// Begin begins a training on the rows that there were when so many waits had been seen.
func (l *Learner) Begin(from, due int, changes []int) {
	n := len(l.Rows) - (l.Seen - from)
	rows, targets := slices.Clone(l.Rows[:n]), slices.Clone(l.targets[:n])
	newest := min(n, l.cfg.Recent.Rows)
	all, recent := Weights(n, from, l.cfg.HalfLife, changes), Weights(newest, from, l.cfg.Recent.HalfLife, changes)
	t := &training{From: from, Due: due, Changes: changes, job: background.New()}
	l.Next = t
	t.job.Run(l.cfg.Synchronous, func() {
		begun := time.Now()
		t.trees = l.train(rows, targets, all, recent, newest, t.job.Hurry)
		t.took = time.Since(begun)
	})
}

// Weights returns how much each of the newest n rows counts when so many waits have been seen, nil where all count
// alike. halfLife is the number of newer waits after which a row counts half, 0 for never.
func Weights(n, seen int, halfLife float64, changes []int) []float64 {
	if halfLife <= 0 && len(changes) == 0 {
		return nil
	}
	out := make([]float64, n)
	later, w := len(changes), 1.0
	for i := n - 1; i >= 0; i-- {
		for later > 0 && seen-n+i < changes[later-1] {
			later--
			w *= oldRows
		}
		out[i] = w
		if halfLife > 0 {
			out[i] *= math.Exp2(-float64(n-1-i) / halfLife)
		}
		out[i] = math.Max(1e-9, out[i])
	}
	return out
}

// train trains on rows, and a second set of models on the newest of them, with as many workers as there are cores but
// one, and with one more once somebody is in a hurry. It returns none where that is not possible, or the learner is
// closed.
func (l *Learner) train(rows [][]float32, targets, weight, recentWeight []float64, newest int,
	hurry <-chan struct{}) Trees {
	column := func(f int, into []float64) {
		for i, r := range rows {
			into[i] = float64(r[f])
		}
	}
	data, err := boost.NewDataFrom(len(rows[0]), column, targets, weight, l.cfg.Trees.Bins)
	if err != nil {
		return Trees{}
	}
	late, err := data.Newest(newest, recentWeight)
	if err != nil {
		return Trees{}
	}
	levels := len(l.cfg.Levels)
	out := make([]*boost.Model, 2*levels)
	done := l.share(len(out), hurry, func(trainer *boost.Trainer, i int) (err error) {
		if i < levels {
			out[i], err = trainer.Train(data, l.cfg.Levels[i], l.params(l.cfg.Levels[i], len(rows)))
		} else {
			out[i], err = trainer.Train(late, l.cfg.Levels[i-levels], l.recentParams(l.cfg.Levels[i-levels], newest))
		}
		return err
	})
	if !done {
		return Trees{}
	}
	trees, err := NewTrees(out[:levels:levels], out[levels:])
	if err != nil {
		return Trees{}
	}
	return trees
}

// share has tasks done by workers, and reports whether all were: none failed, and the learner was not closed.
func (l *Learner) share(tasks int, hurry <-chan struct{}, do func(trainer *boost.Trainer, task int) error) bool {
	var failed atomic.Bool
	var next atomic.Int64
	work := func() {
		var trainer boost.Trainer // its memory is used for all models that the worker trains
		for i := int(next.Add(1)) - 1; i < tasks; i = int(next.Add(1)) - 1 {
			if failed.Load() || l.closed.Load() {
				failed.Store(true)
				return
			}
			runtime.Gosched()
			if err := do(&trainer, i); err != nil {
				failed.Store(true)
				return
			}
		}
	}
	var steady, late sync.WaitGroup
	done := make(chan struct{})
	workers := l.cfg.Cores
	if !l.cfg.Synchronous && workers > 1 {
		workers--
		late.Go(func() { // on the caller's own core
			select {
			case <-hurry:
				work()
			case <-done:
			}
		})
	}
	for range min(workers, tasks) {
		steady.Go(work)
	}
	steady.Wait()
	close(done)
	late.Wait()
	return !failed.Load()
}

// Close waits until nothing is trained any more. A training that it cuts short begins again where the learner is
// restored.
func (l *Learner) Close() {
	l.closed.Store(true)
	if l.Next != nil && l.Next != l.shared {
		<-l.Next.job.Done
	}
}

// Importance is a feature's part of what the trees gained.
type Importance struct {
	Feature string
	Gain    float64
}

// Importance returns the features' parts of what the newest trees of the level nearest the median gained, in falling
// order; nil before they are trained.
func (l *Learner) Importance(names []string) []Importance {
	var best *boost.Model
	for _, m := range l.Models {
		if best == nil || math.Abs(m.Level-.5) < math.Abs(best.Level-.5) {
			best = m
		}
	}
	if best == nil {
		return nil
	}
	var out []Importance
	for i, gain := range best.Importance() {
		out = append(out, Importance{names[i], gain})
	}
	slices.SortStableFunc(out, func(a, b Importance) int { return cmp.Compare(b.Gain, a.Gain) })
	return out
}

// Record counts trainings, and knows since when the trees are in force. Counts and durations are not saved.
type Record struct {
	Trainings, Failures int
	Took                time.Duration // of the newest training
	Now                 float64       // event time
	begun               float64       // event time of the newest training
	Trees               float64       // event time at which the training of the trees in force began
	From                int           // waits learned by then
}

// finished records the outcome of a training.
func (b *Record) finished(t *training) {
	b.Trainings++
	b.Took = t.took
	if t.trees.Models == nil {
		b.Failures++
		return
	}
	b.Trees, b.From = b.begun, t.From
}

// Share takes over what another learner knows. The rows themselves are never written to.
func (l *Learner) Share(of *Learner) {
	l.Rows, l.targets, l.Changes = slices.Clone(of.Rows), slices.Clone(of.targets), slices.Clone(of.Changes)
	l.Seen, l.Trained, l.Soon, l.Trees = of.Seen, of.Trained, of.Soon, of.Trees
	l.Next, l.shared = of.Next, of.Next
}
