package engine

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/predictor/boost"
)

// learner keeps the rows whose waits are known and the trees trained on them. A training begins when so many waits have been learnt, and its trees come into force when
// so many more have: the same starts give the same forecasts, however long it takes.
type learner struct {
	cfg     Config
	rows    [][]float32
	targets []float64
	seen    int   // waits in all
	trained int   // seen when the last training began
	changes []int // how many waits had been seen when each change began, in order
	models  []*boost.Model
	soon    bool // trees are to be trained again as soon as there are a few more waits
	next    *training
	lent    *training // of another learner, which ends it
	closed  atomic.Bool
	book    book
}

// training is trees in the making.
type training struct {
	from, due int // seen when it began, and when its trees come into force
	changes   []int
	job       *background
	models    []*boost.Model // once done; nil where it failed
	took      time.Duration  // once done
}

func newLearner(cfg Config) *learner { return &learner{cfg: cfg} }

// leastLag and lagPart are after how many more waits trees come into force: a part of the rows, at least so many.
const (
	leastLag  = 20
	lagPart   = 100
	leastMore = 200 // waits between two trainings
)

// learn takes in the logarithm of a wait.
func (l *learner) learn(row []float32, z float64) {
	l.rows = append(l.rows, row)
	l.targets = append(l.targets, z)
	l.seen++
	if t := l.next; t != nil && l.seen >= t.due {
		l.take(t)
	}
	if l.next != nil { // its rows stay until it is done
		return
	}
	if extra := len(l.rows) - l.cfg.Rows; extra > l.cfg.Rows/10 {
		l.rows, l.targets = slices.Delete(l.rows, 0, extra), slices.Delete(l.targets, 0, extra)
	}
	if l.seen >= l.cfg.First && l.seen-l.trained >= l.more() {
		lag := max(leastLag, len(l.rows)/lagPart)
		if l.models == nil {
			lag = 0
		}
		l.trained, l.soon, l.book.begun = l.seen, false, l.book.now
		l.begin(l.seen, l.seen+lag, slices.Clone(l.changes))
		if lag == 0 {
			l.take(l.next)
		}
	}
}

// more returns how many waits there are between two trainings: a part of the rows, but after a change, where that is sooner, as many as make a few rows since then, or double those that there were.
func (l *learner) more() int {
	if l.cfg.Every > 0 {
		return l.cfg.Every
	}
	if l.soon {
		return leastMore
	}
	more := l.cfg.Growth * float64(len(l.rows))
	if n := len(l.changes); n > 0 {
		since := l.trained - l.changes[n-1]
		if since <= 0 {
			since = leastMore - since
		}
		more = min(more, float64(since))
	}
	return max(leastMore, int(more))
}

// changed takes in that a change began so many waits ago: the rows before it count less, and trees are trained anew soon.
func (l *learner) changed(ago int) {
	at := max(0, l.seen-ago)
	if n := len(l.changes); n > 0 {
		at = max(at, l.changes[n-1])
	}
	l.changes = append(l.changes, at)
	first := l.seen - len(l.rows)
	l.changes = slices.DeleteFunc(l.changes, func(at int) bool { return at <= first }) // no row is older
}

// take waits for a training and brings its trees into force.
func (l *learner) take(t *training) {
	t.job.wait()
	l.next = nil
	l.book.trained(t)
	if t.models != nil {
		l.models = t.models
	}
}

// begin begins a training on the rows that there were when so many waits had been seen.
func (l *learner) begin(from, due int, changes []int) {
	n := len(l.rows) - (l.seen - from)
	rows, targets := slices.Clone(l.rows[:n]), slices.Clone(l.targets[:n])
	t := &training{from: from, due: due, changes: changes, job: newBackground()}
	l.next = t
	t.job.run(l.cfg.Synchronous, func() {
		begun := time.Now()
		t.models = l.train(rows, targets, l.weights(n, from, changes), t.job.hurry)
		t.took = time.Since(begun)
	})
}

// weights returns how much each of the newest n rows counts, nil where all count alike.
func (l *learner) weights(n, seen int, changes []int) []float64 {
	if l.cfg.HalfLife <= 0 && len(changes) == 0 {
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
		if l.cfg.HalfLife > 0 {
			out[i] *= math.Exp2(-float64(n-1-i) / l.cfg.HalfLife)
		}
		out[i] = math.Max(1e-9, out[i])
	}
	return out
}

// train trains on rows with as many workers as there are cores but one, and with one more once somebody is in a hurry. It is nil where that is not possible, or the learner is closed.
func (l *learner) train(rows [][]float32, targets, weight []float64, hurry <-chan struct{}) []*boost.Model {
	column := func(f int, into []float64) {
		for i, r := range rows {
			into[i] = float64(r[f])
		}
	}
	data, err := boost.NewDataFrom(len(rows[0]), column, targets, weight, l.cfg.Trees.Bins)
	if err != nil {
		return nil
	}
	models := make([]*boost.Model, len(l.cfg.Levels))
	var failed atomic.Bool
	var next atomic.Int64
	work := func() {
		var trainer boost.Trainer // its memory is used for all levels that the worker trains
		for i := int(next.Add(1)) - 1; i < len(models); i = int(next.Add(1)) - 1 {
			if failed.Load() || l.closed.Load() {
				failed.Store(true)
				return
			}
			runtime.Gosched()
			m, err := trainer.Train(data, l.cfg.Levels[i], l.cfg.Trees)
			if err != nil {
				failed.Store(true)
				return
			}
			models[i] = m
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
	for range min(workers, len(models)) {
		steady.Go(work)
	}
	steady.Wait()
	close(done)
	late.Wait()
	if failed.Load() {
		return nil
	}
	return models
}

// close waits until nothing is trained any more. A training that it cuts short begins again where the learner is restored.
func (l *learner) close() {
	l.closed.Store(true)
	if l.next != nil && l.next != l.lent {
		<-l.next.job.done
	}
}

// Importance is a feature's part of what the trees gained.
type Importance struct {
	Feature string
	Gain    float64
}

// Importance returns the features' parts of what the newest trees of the level nearest the median gained, in falling order; nil before they are trained.
func (e *Engine) Importance() []Importance {
	var best *boost.Model
	for _, m := range e.learner.models {
		if best == nil || math.Abs(m.Level-.5) < math.Abs(best.Level-.5) {
			best = m
		}
	}
	if best == nil {
		return nil
	}
	var out []Importance
	for i, gain := range best.Importance() {
		out = append(out, Importance{e.names[i], gain})
	}
	slices.SortStableFunc(out, func(a, b Importance) int { return cmp.Compare(b.Gain, a.Gain) })
	return out
}
