// Package training keeps rows of features with known waits, and trains quantile trees on them in the background.
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

	"github.com/waitcast/waitcast/internal/panics"
	"github.com/waitcast/waitcast/predictor/boost"
	"github.com/waitcast/waitcast/predictor/engine/background"
)

// Learner keeps rows with known waits and the trees trained on them. A training begins after a fixed number of learnt
// waits, and its trees take effect after a fixed number of further ones. So the same starts give the same forecasts,
// independent of the duration of the training.
type Learner struct {
	cfg     Config
	Rows    Rows
	targets []float64
	Seen    int   // number of waits so far
	Trained int   // value of Seen when the last training began
	Changes []int // values of Seen when each change began, in order
	Trees
	Soon   bool // true if trees must be trained again as soon as there are a few more waits
	Next   *training
	shared *training // a training of another learner, which alone may cancel it
	closed atomic.Bool
	Record Record
	// Growth replaces Config.Growth if it is not 0. Changes of behaviour then do not cause earlier trainings. It is
	// not saved. With +Inf only TrainNow starts a training.
	Growth float64
}

// Config has the settings of the training of trees.
type Config struct {
	// Levels are the quantile levels. Each has one model.
	Levels []float64
	// Rows is the number of newest waits on which trees are trained; the actual number is up to a tenth larger. First
	// is the number of waits before the first training. Growth is the relative growth of the rows until the next
	// training. Every replaces Growth by a fixed number of waits; 0 means that Growth counts.
	Rows, First, Every int
	Growth             float64
	// HalfLife is the number of newer waits after which the weight of a row is halved; 0 means never.
	HalfLife float64
	// Recent has the settings of the second set of trees.
	Recent Recent
	// If Synchronous is true, the training runs while the caller waits. Cores is the number of processors for
	// training and caller.
	Synchronous bool
	Cores       int
	// Trees are the parameters of the trees. Zero fields are chosen by level, rows and features.
	Trees boost.Params
}

// Recent has the settings of the trees that are trained mostly on the newest rows, to follow changes of the waits
// faster. They are trained together with the others.
type Recent struct {
	// Rows is the number of newest waits on which these trees are trained, at most Config.Rows.
	Rows int
	// HalfLife is the number of newer waits after which the weight of a row is halved; 0 means never.
	HalfLife float64
}

// training is a running training.
type training struct {
	From, Due int // waits seen when the training began, and when its trees take effect
	Changes   []int
	job       *background.Task
	trees     Trees         // set when the training is done; empty if it failed
	took      time.Duration // set when the training is done
}

// Trees are the models of all levels: those trained on all rows, and those trained with Config.Recent. They are
// immutable. The zero value means that there are none.
type Trees struct {
	Models, Recent []*boost.Model
	bank           *boost.Bank // models of both sets
}

// NewTrees returns Trees from models of all levels and as many models trained with Config.Recent. It returns an error
// if they cannot predict for the same rows.
func NewTrees(models, recent []*boost.Model) (Trees, error) {
	if len(models) != len(recent) {
		return Trees{}, fmt.Errorf("training: %d models and %d of the newest waits: want as many", len(models),
			len(recent))
	}
	bank, err := boost.NewBank(slices.Concat(models, recent)...)
	return Trees{models, recent, bank}, err
}

// Predict returns the predictions for a row of features, by level: those of the models of all rows, and those of the
// models of the newest waits. ranks is scratch memory, which Predict returns for the next call. There must be trees.
func (t *Trees) Predict(row []float64, ranks []uint16) (all, recent []float64, again []uint16) {
	return t.predictBy(t.bank, row, ranks)
}

// predictBy is Predict by the bank of the trees, or by a boost.Similar of that bank.
func (t *Trees) predictBy(by interface {
	Predict(row, out []float64, ranks []uint16) []uint16
}, row []float64, ranks []uint16,
) (all, recent []float64, again []uint16) {
	n := len(t.Models)
	out := make([]float64, 2*n)
	again = by.Predict(row, out, ranks)
	return out[:n:n], out[n:], again
}

// SimilarRows predicts like Trees for many rows of features at one instant. It is faster for rows of a queue that has
// had several of them. The zero value is ready to use, and safe for concurrent use. It must not be copied.
type SimilarRows struct {
	queues sync.Map // a *boost.Similar by code of the queue
}

// Predict returns the result of t.Predict for a row of the queue with a code. All calls must pass the same t. s may be
// nil.
func (s *SimilarRows) Predict(t *Trees, queue int, row []float64, ranks []uint16) (all, recent []float64,
	again []uint16,
) {
	if s == nil {
		return t.Predict(row, ranks)
	}
	of, ok := s.queues.Load(queue)
	if !ok {
		of, _ = s.queues.LoadOrStore(queue, boost.NewSimilar(t.bank))
	}
	return t.predictBy(of.(*boost.Similar), row, ranks)
}

// NewLearner returns a learner without rows.
func NewLearner(cfg Config) *Learner { return &Learner{cfg: cfg} }

// leastLag and lagPart define the number of further waits after which trees take effect. It is the number of rows
// divided by lagPart, but at least leastLag. The first trees take effect at once.
const (
	leastLag  = 20
	lagPart   = 100
	LeastMore = 200 // minimum number of waits between two trainings
)

// oldRows is the weight of a row before a change relative to a row after the change. It was set on the histories of
// TestRecovers, where forgetting more was not faster.
const oldRows = .5

// Learn keeps a job's row of features, which must not change afterwards, and the logarithm z of its wait. It then puts
// trees into force if they are due, drops the oldest rows if there are too many, and begins a training if it is time.
func (l *Learner) Learn(row []float32, z float64) {
	l.Rows.Append(row)
	l.targets = append(l.targets, z)
	l.Seen++
	if t := l.Next; t != nil && l.Seen >= t.Due {
		l.take(t)
	}
	if l.Next != nil { // a running training needs the rows until it is done
		return
	}
	if extra := l.Rows.Len() - l.cfg.Rows; extra > l.cfg.Rows/10 {
		l.Rows.Drop(extra)
		l.targets = slices.Delete(l.targets, 0, extra)
	}
	if l.Seen >= l.cfg.First && l.Seen-l.Trained >= l.More() {
		lag := max(leastLag, l.Rows.Len()/lagPart)
		if l.Models == nil {
			lag = 0
		}
		l.beginNow(lag)
	}
}

// beginNow begins a training on all rows. Its trees take effect after lag further waits.
func (l *Learner) beginNow(lag int) {
	l.Trained, l.Soon, l.Record.begun = l.Seen, false, l.Record.Now
	l.Begin(l.Seen, l.Seen+lag, slices.Clone(l.Changes))
	if lag == 0 {
		l.take(l.Next)
	}
}

// TrainNow waits for a running training and puts its trees into force. It then trains on all rows, if there are enough
// and some are new. These trees, too, are in force when it returns.
func (l *Learner) TrainNow() {
	if l.Next != nil {
		l.take(l.Next)
	}
	if l.Seen >= l.cfg.First && l.Seen > l.Trained {
		l.beginNow(0)
	}
}

// More returns the number of waits between the last training and the next one: a configured part of the number of rows
// (Growth), or a fixed number (Config.Every). After a change it is smaller, unless Learner.Growth or Config.Every is
// set: the first training comes LeastMore waits after the change, and the next ones after as many waits as there were
// from the change to the last training. Without Config.Every it is at least LeastMore.
func (l *Learner) More() int {
	if l.cfg.Every > 0 {
		return l.cfg.Every
	}
	if l.Growth > 0 {
		return max(LeastMore, int(min(math.MaxInt32, l.Growth*float64(l.Rows.Len()))))
	}
	if l.Soon {
		return LeastMore
	}
	more := l.cfg.Growth * float64(l.Rows.Len())
	if n := len(l.Changes); n > 0 {
		since := l.Trained - l.Changes[n-1]
		if since <= 0 {
			since = LeastMore - since
		}
		more = min(more, float64(since))
	}
	return max(LeastMore, int(more))
}

// Changed records that a change began the given number of waits ago. The rows before the change get less weight, and
// trees are trained again soon.
func (l *Learner) Changed(ago int) {
	at := max(0, l.Seen-ago)
	if n := len(l.Changes); n > 0 {
		at = max(at, l.Changes[n-1])
	}
	l.Changes = append(l.Changes, at)
	first := l.Seen - l.Rows.Len()
	// Changes before the oldest row have no effect.
	l.Changes = slices.DeleteFunc(l.Changes, func(at int) bool { return at <= first })
}

// take waits for a training and puts its trees into force.
func (l *Learner) take(t *training) {
	t.job.Wait()
	l.Next = nil
	l.Record.finished(t)
	if t.trees.Models != nil {
		l.Trees = t.trees
	}
}

// Begin begins a training on the rows that existed when from waits had been seen. Its trees take effect when due waits
// have been seen.
func (l *Learner) Begin(from, due int, changes []int) {
	n := l.Rows.Len() - (l.Seen - from)
	rows, targets := l.Rows.Clone(), slices.Clone(l.targets[:n])
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

// Weights returns the weights of the newest n rows when the given number of waits have been seen; nil if all are equal.
// halfLife is the number of newer waits after which the weight of a row is halved, 0 for never. Each of the changes,
// given by the number of waits before it, multiplies the weights of the rows before it by oldRows.
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

// train trains models on rows, and a second set of models on the newest rows. In the background it uses one core fewer
// than configured until a caller waits for it. It returns no trees if training is impossible or the learner is closed.
func (l *Learner) train(rows Rows, targets, weight, recentWeight []float64, newest int,
	hurry <-chan struct{}) Trees {
	data, err := boost.NewDataFrom(rows.features(), rows.Column, targets, weight, l.cfg.Trees.Bins)
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
			out[i], err = trainer.Train(data, l.cfg.Levels[i], l.params(l.cfg.Levels[i], len(targets)))
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

// share distributes tasks to workers. It reports whether all of them succeeded and the learner was not closed.
func (l *Learner) share(tasks int, hurry <-chan struct{}, do func(trainer *boost.Trainer, task int) error) bool {
	var failed atomic.Bool
	var next atomic.Int64
	work := func() {
		var trainer boost.Trainer // reused for all models that the worker trains
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
	var steady, late panics.Group
	done := make(chan struct{})
	end := sync.OnceFunc(func() { close(done) })
	defer end() // also if a worker has panicked
	workers := l.cfg.Cores
	if !l.cfg.Synchronous && workers > 1 {
		workers--
		late.Go(func() { // this worker uses the caller's own core
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
	end()
	late.Wait()
	return !failed.Load()
}

// Close interrupts a running training and waits until it has ended. A shared training is left alone. An interrupted
// training starts again when the learner is restored.
func (l *Learner) Close() {
	l.closed.Store(true)
	if l.Next != nil && l.Next != l.shared {
		<-l.Next.job.Done
	}
}

// Importance is a feature's share of the gain of the trees.
type Importance struct {
	Feature string
	Gain    float64
}

// Importance returns the features' shares of the gain of the newest trees of the level nearest the median, in
// decreasing order; nil before they are trained.
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

// Record counts trainings, and has the event time at which the training of the trees in force began. Counts and
// durations are not saved.
type Record struct {
	Trainings, Failures int
	Took                time.Duration // duration of the newest training
	Now                 float64       // present event time
	begun               float64       // event time at which the newest training began
	Trees               float64       // event time at which the training of the trees in force began
	From                int           // number of waits learned before that training
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

// Share copies the state of another learner, and shares its running training. Rows are immutable.
func (l *Learner) Share(of *Learner) {
	l.Rows, l.targets, l.Changes = of.Rows.Clone(), slices.Clone(of.targets), slices.Clone(of.Changes)
	l.Seen, l.Trained, l.Soon, l.Trees = of.Seen, of.Trained, of.Soon, of.Trees
	l.Next, l.shared = of.Next, of.Next
}
