package loadforecast

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/panics"
	"github.com/waitcast/waitcast/predictor/outlook"
)

const (
	// wakeAt is the number of waiting notifications at which the worker begins to process them even if no sample waits.
	wakeAt = 8192
	// loadShare is the maximum share of one processor that forecasts use while the daemon follows its logs. It applies
	// only if a forecast takes longer than cheap. A pause after each forecast enforces it.
	loadShare = 0.25
	cheap     = time.Second
	// saturationEvery is the minimum time between two tests of saturation, in event time.
	saturationEvery = 6 * time.Hour
	// saveEvery is the minimum time between two saved states. saveRate is the maximum number of bytes that are saved
	// per second, on average. Both are by the machine's clock.
	saveEvery = 5 * time.Minute
	saveRate  = 16 << 10
)

// worker learns and forecasts the load, in a goroutine that lives as long as notifications wait. What it learns depends
// only on the notifications and their order. The speed of the machine decides only from which samples forecasts are
// made. From the newest sample a forecast is made at the latest when the pause after the previous forecast has ended,
// even if no event follows.
type worker struct {
	log       *zap.Logger
	published *Published
	options   outlook.Options

	mu      sync.Mutex
	backlog backlog
	working chan struct{}      // closed when the goroutine ends; nil if there is none
	cancel  context.CancelFunc // cancels the goroutine's work
	closed  bool
	fresh   *Saved // the newest saved state, nil once takeSaved has returned it
	// fault is a panic of the goroutine; nil for none. The next notification panics in its place.
	fault *panics.Error
	// postponed is the sample from which a forecast is made when timer fires. Both are nil if there is none.
	postponed *sample
	timer     *time.Timer

	// Only the goroutine uses the fields below.
	model    *model
	seq      int64         // number of the newest event in the model
	next     Outlook       // those members of the next Outlook that are known already
	ended    time.Time     // when the newest forecast was made, by the machine's clock
	took     time.Duration // how long the newest forecast took
	savedAt  time.Time     // by the machine's clock
	size     int           // size in bytes of the newest saved state
	refused  bool          // a failure was logged
	notified bool          // the model has changed since the start
}

func newWorker(o outlook.Options, log *zap.Logger) (*worker, error) {
	m, err := newModel(o)
	if err != nil {
		return nil, err
	}
	return &worker{log: log, published: &Published{}, options: o, model: m}, nil
}

// notify appends a notification that is not a sample.
func (w *worker) notify(n notification) {
	w.mu.Lock()
	defer w.mu.Unlock()
	panics.Raise(w.fault)
	w.backlog.add(n)
	if n.kind == notifyState || len(w.backlog.list) >= wakeAt {
		w.wake()
	}
}

// addSample appends a sample, unless too many wait or nothing is to be done with it. seq is the number of the newest
// event that the sample includes.
func (w *worker) addSample(k *sample, seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	panics.Raise(w.fault)
	if (k.forecast || k.observe) && w.backlog.addSample(k, seq) {
		w.wake()
	}
}

// wake starts the goroutine, unless it runs or the worker is closed. mu must be locked.
func (w *worker) wake() {
	if w.working != nil || w.closed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.working = cancel, make(chan struct{})
	done := w.working
	go func() {
		defer close(done)
		if caught := panics.Catch(func() { w.work(ctx) }); caught != nil {
			w.fails(caught)
		}
	}()
}

// fails ends all work after a panic of the goroutine.
func (w *worker) fails(caught *panics.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel()
	w.dropPostponed()
	w.fault, w.closed, w.working, w.cancel = caught, true, nil, nil
}

// work is the goroutine. It processes notifications until none waits or ctx is cancelled.
func (w *worker) work(ctx context.Context) {
	for {
		w.mu.Lock()
		if len(w.backlog.list) == 0 || ctx.Err() != nil {
			w.cancel()
			w.working, w.cancel = nil, nil
			w.mu.Unlock()
			return
		}
		batch := w.backlog.take()
		w.mu.Unlock()
		for i := range batch {
			if ctx.Err() != nil {
				w.mu.Lock()
				w.backlog.giveBack(batch[i:])
				w.mu.Unlock()
				break
			}
			w.process(ctx, &batch[i])
			batch[i] = notification{} // free the memory of its job
		}
	}
}

func (w *worker) process(ctx context.Context, n *notification) {
	w.notified = true
	w.seq = max(w.seq, n.seq)
	switch n.kind {
	case notifySample:
		w.takeSample(ctx, n.sample)
		w.sampleDone(n.sample)
	case notifyState:
		w.model, w.size, w.savedAt = n.saved.model, n.saved.size, time.Now()
	case notifySubmitted:
		w.model.submitted(n.after, 0)
	case notifySplit:
		w.model.split(n.before, n.after)
	case notifyUpdated:
		w.model.updated(n.before, n.after)
	case notifyStarted:
		w.model.started(n.before, n.after)
	case notifyEnded:
		w.model.ended(n.before, n.at)
	case notifyGone:
		w.model.leftAll(n.before, w.model.forecaster.Gone)
	case notifyLost:
		w.model.leftAll(n.before, w.model.forecaster.Lost)
	}
}

func (w *worker) sampleDone(k *sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.backlog.done(k)
}

// takeSample reconciles the model with a sample, learns from it and makes or postpones a forecast from it, as the
// sample demands.
func (w *worker) takeSample(ctx context.Context, k *sample) {
	if k.reconcile {
		w.model.reconcile(k.view)
	}
	if k.view.Capacity < 1 { // no job has run yet, so the size of the machine is unknown
		return
	}
	s, leftOut := stateOf(k.view, k.at, w.model.name)
	w.next.LeftOut = leftOut
	replicas, err := w.model.resize(len(s.Running) + len(s.Waiting))
	if w.failed(err) {
		return
	}
	w.next.Replicas = replicas
	if k.observe {
		begun := time.Now()
		if w.failed(w.model.forecaster.Observe(ctx, &s)) {
			return
		}
		w.next.ObserveTook = time.Since(begun)
		w.keep(false)
	}
	if !k.forecast || !w.isLast() {
		return
	}
	if pause := w.pauseLeft(k); pause > 0 {
		w.postpone(k, pause)
		return
	}
	w.forecast(ctx, k, &s)
}

// isLast reports whether the sample that is being processed is the newest one.
func (w *worker) isLast() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.backlog.samples == 1
}

// pauseLeft returns how long to wait before a forecast may be made from a sample. It is at most 0 if the forecast may
// be made now.
func (w *worker) pauseLeft(k *sample) time.Duration {
	if !k.live || w.took <= cheap {
		return 0
	}
	return time.Duration(float64(w.took)/loadShare) - time.Since(w.ended)
}

// postpone lets the forecast from a sample be made after a pause. It replaces the sample that was postponed before.
// After the pause the model may have learnt later events, but the forecast uses the jobs of the sample.
func (w *worker) postpone(k *sample, pause time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropPostponed()
	if !w.closed {
		w.postponed = &sample{view: k.view, at: k.at, forecast: true, live: true}
		w.timer = time.AfterFunc(pause, w.resume)
	}
}

// dropPostponed forgets the postponed sample. mu must be locked.
func (w *worker) dropPostponed() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.postponed, w.timer = nil, nil
}

// resume is called after the pause. It appends the postponed sample, unless another sample waits or is being processed.
func (w *worker) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.postponed
	w.dropPostponed()
	if k != nil && w.backlog.samples == 0 && w.backlog.addSample(k, 0) {
		w.wake()
	}
}

// forecast makes a forecast from a sample and publishes it. s is the state of the cluster in the sample. If arrivals
// are known and the last test of saturation is at least saturationEvery old, forecast also makes a new test. The
// postponed sample is dropped, because it is older.
func (w *worker) forecast(ctx context.Context, k *sample, s *outlook.State) {
	w.mu.Lock()
	w.dropPostponed()
	w.mu.Unlock()
	begun, f := time.Now(), w.model.forecaster
	forecast, futures, err := f.ForecastFutures(ctx, s)
	if w.failed(err) {
		return
	}
	if forecast.Arrivals != "" && (w.next.SaturationAt.IsZero() || k.at.Sub(w.next.SaturationAt) >= saturationEvery) {
		saturation, err := f.Saturation(ctx, s)
		if w.failed(err) {
			return
		}
		w.next.Saturation, w.next.SaturationAt = saturation, k.at
	}
	w.next.Number++
	w.next.At, w.next.Forecast, w.next.Scores, w.next.Outcomes = k.at, forecast, f.Scores(), f.Outcomes()
	w.next.Futures = futures
	losses, _ := f.ArrivalScores()
	w.next.ArrivalLosses = losses[:]
	w.next.ForecastTook = time.Since(begun)
	made := w.next
	w.published.publish(&made)
	w.ended, w.took = time.Now(), made.ForecastTook
}

// failed reports whether err is not nil. It counts errors other than a cancellation as failures, and logs the first
// failure.
func (w *worker) failed(err error) bool {
	failure := err != nil && !errors.Is(err, context.Canceled)
	if failure {
		w.published.failures.Add(1)
	}
	if failure && !w.refused {
		w.refused = true
		w.log.Warn("cannot forecast the load from the state of the cluster; it is tried again at every sample",
			zap.Error(err))
	}
	return err != nil
}

// keep saves the model in w.fresh if the pause since the last save is over, or in any case if atOnce is set.
func (w *worker) keep(atOnce bool) {
	pause := max(saveEvery, time.Duration(w.size)*time.Second/saveRate)
	if !atOnce && !w.savedAt.IsZero() && time.Since(w.savedAt) < pause {
		return
	}
	data, err := w.model.marshal()
	if err != nil {
		w.log.Warn("cannot save what was learned of the load; learning goes on, but would be lost with the process",
			zap.Error(err))
		return
	}
	w.savedAt, w.size = time.Now(), len(data)
	w.mu.Lock()
	w.fresh = &Saved{Seq: w.seq, Data: data}
	w.mu.Unlock()
}

// restored is a model from saved state. size is the size of the saved state in bytes.
type restored struct {
	model *model
	size  int
}

// restore passes the model saved in data to the goroutine. It returns false if the model cannot be used; then the load
// must be learned from the journal.
func (w *worker) restore(data []byte) bool {
	m, err := unmarshal(w.options, data)
	switch {
	case errors.Is(err, codec.ErrVersion) || errors.Is(err, codec.ErrConfig):
		w.log.Info("the saved state of the load forecast is not of this program: the load is learned from the journal",
			zap.Error(err))
		return false
	case err != nil:
		w.log.Warn("cannot use the saved state of the load forecast: the load is learned from the journal",
			zap.Error(err))
		return false
	}
	w.notify(notification{kind: notifyState, saved: &restored{m, len(data)}})
	return true
}

// takeSaved returns the newest saved state if it was not returned before, otherwise nil.
func (w *worker) takeSaved() *Saved {
	w.mu.Lock()
	defer w.mu.Unlock()
	saved := w.fresh
	w.fresh = nil
	return saved
}

// finish ends the work and, if the model has changed since the start, saves it. It processes the waiting notifications
// before; samples among them only reconcile the model.
func (w *worker) finish() {
	w.stop()
	w.mu.Lock()
	rest := w.backlog.takeAll()
	w.mu.Unlock()
	for i := range rest {
		k := rest[i].sample
		if k == nil {
			w.process(context.Background(), &rest[i])
			continue
		}
		if k.reconcile {
			w.model.reconcile(k.view)
			w.seq = max(w.seq, rest[i].seq)
		}
		w.sampleDone(k)
	}
	if w.notified {
		w.keep(true)
	}
}

// stop ends the work: it cancels the goroutine, waits for its end, and prevents another one. Waiting notifications are
// not processed.
func (w *worker) stop() {
	w.mu.Lock()
	w.closed = true
	w.dropPostponed()
	working, cancel := w.working, w.cancel
	w.mu.Unlock()
	if working != nil {
		cancel()
		<-working
	}
}

// wait returns once no goroutine runs.
func (w *worker) wait() {
	for {
		w.mu.Lock()
		working := w.working
		w.mu.Unlock()
		if working == nil {
			return
		}
		<-working
	}
}
