package pipeline

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/outlook"
	"github.com/waitcast/waitcast/workload/hypergamma"
)

const (
	// wakeAt is how many things wait before the learner begins without a sample.
	wakeAt = 8192
	// maxNotifications bounds the queue. Beyond, all is dropped, and the learner agrees with the picture at the next sample.
	maxNotifications = 1 << 18
	// maxSamples and maxSampledJobs bound the samples that wait, and the jobs in them. Beyond, samples are left out until half of them are done: learning needs
	// samples that follow each other. Those of which a forecast is wanted are taken all the same, up to twice as many.
	maxSamples     = 64
	maxSampledJobs = 400_000
	// loadShare is what part of a processor forecasts may take while the daemon follows its logs, where one takes longer than cheap.
	loadShare = .25
	cheap     = time.Second
	// saturationEvery is the event time between two tests of saturation.
	saturationEvery = 6 * time.Hour
)

type notificationKind uint8

const (
	notifySubmitted notificationKind = iota + 1
	notifySplit
	notifyUpdated
	notifyStarted
	notifyEnded
	notifyGone
	notifyLost
	notifySample
	notifyState
)

// loadNotification is one message from the writer to the learner.
type loadNotification struct {
	kind          notificationKind
	before, after *cluster.Job
	at            time.Time
	sample        *loadSample
	bytes         []byte
}

// loadSample is the picture at one instant.
type loadSample struct {
	view *cluster.View
	at   time.Time
	// agree says that what the loadLearner has may differ from the picture.
	agree bool
	// observe says that it is to be learnt from, forecast that a forecast is wanted; live that it is of now.
	observe, forecast, live bool
}

// loadLearner learns the load of one cluster and forecasts it, in a goroutine of its own that is there as long as there is something to do. What it does follows from
// the notifications, in their order; only the choice of samples depends on the time that they take.
type loadLearner struct {
	log     *zap.Logger
	options outlook.Options
	newest  atomic.Pointer[Outlook]
	counts  loadCounts

	mu          sync.Mutex
	queue       []loadNotification
	samples     int  // that wait or are in work
	sampledJobs int  // jobs in them
	full        bool // samples are left out
	dropped     bool // a notification was: the learner agrees with the picture at the next sample
	working     chan struct{}
	cancel      context.CancelFunc // of what works
	closed      bool
	ended       time.Time     // when the newest forecast was made, by the machine's clock
	took        time.Duration // what it took
	fresh       []byte        // saved, and not taken yet

	// What follows belongs to the goroutine.
	f        *outlook.Forecaster
	names    map[uint64]uint64 // the Forecaster's by the picture's
	made     Outlook           // what the next is made from
	savedAt  time.Time         // by the machine's clock
	size     int               // of what was saved last
	refused  bool              // a sample was, and it is logged
	notified bool              // there is something to save
}

func newLoadLearner(cfg ClusterConfig, log *zap.Logger) *loadLearner {
	zone := cfg.Location
	if zone == nil {
		zone = time.UTC
	}
	l := &loadLearner{log: log.With(zap.String("cluster", cfg.Name)), names: map[uint64]uint64{}}
	l.options = outlook.Options{Seed: 1, Every: observeEvery.Seconds(), Local: func(at float64) float64 {
		return hypergamma.LocalSeconds(time.Unix(int64(at), 0).In(zone))
	}}
	l.f, _ = outlook.New(l.options) // the options are our own; none can be refused
	return l
}

// notify appends a notification to the queue.
func (l *loadLearner) notify(t loadNotification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= maxNotifications {
		l.drop()
	}
	l.append(t)
}

// drop forgets what waits.
func (l *loadLearner) drop() {
	for i := range l.queue {
		if k := l.queue[i].sample; k != nil {
			l.done(k)
		}
	}
	clear(l.queue)
	l.queue, l.dropped = l.queue[:0], true
}

func (l *loadLearner) append(t loadNotification) {
	l.queue = append(l.queue, t)
	if l.working != nil || l.closed || t.sample == nil && t.kind != notifyState && len(l.queue) < wakeAt {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel, l.working = cancel, make(chan struct{})
	go l.work(ctx, l.working)
}

// addSample appends a sample, unless there are too many or the last forecast was expensive.
func (l *loadLearner) addSample(k *loadSample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.live && k.forecast && l.took > cheap && float64(time.Since(l.ended))*loadShare < float64(l.took) {
		k.forecast = false
	}
	if !k.forecast && !k.observe {
		return
	}
	l.full = l.full && (l.samples > maxSamples/2 || l.sampledJobs > maxSampledJobs/2)
	if l.full && !k.agree && !k.forecast || l.samples >= 2*maxSamples {
		l.dropped = l.dropped || k.agree
		return
	}
	k.agree = k.agree || l.dropped
	l.dropped = false
	l.samples++
	l.sampledJobs += len(k.view.Running) + len(k.view.Queued)
	l.full = l.samples >= maxSamples || l.sampledJobs >= maxSampledJobs
	l.append(loadNotification{kind: notifySample, sample: k})
}

// done counts a sample that waits no more.
func (l *loadLearner) done(k *loadSample) {
	l.samples--
	l.sampledJobs -= len(k.view.Running) + len(k.view.Queued)
}

// work does what waits, and ends when nothing does.
func (l *loadLearner) work(ctx context.Context, done chan struct{}) {
	defer close(done)
	for {
		l.mu.Lock()
		batch := l.queue
		if len(batch) == 0 || ctx.Err() != nil {
			l.cancel()
			l.working, l.cancel = nil, nil
			l.mu.Unlock()
			return
		}
		l.queue = nil
		l.mu.Unlock()
		for i := range batch {
			if ctx.Err() != nil {
				l.giveBack(batch[i:])
				break
			}
			l.do(ctx, &batch[i])
		}
	}
}

// giveBack puts what was not done ahead of what came since.
func (l *loadLearner) giveBack(rest []loadNotification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(rest, l.queue...)
}

func (l *loadLearner) do(ctx context.Context, t *loadNotification) {
	l.notified = true
	switch t.kind {
	case notifySample:
		l.see(ctx, t.sample)
		l.mu.Lock()
		l.done(t.sample)
		l.mu.Unlock()
	case notifyState:
		l.load(t.bytes)
	default:
		l.learn(t)
	}
}

// see takes in a sample of the cluster.
func (l *loadLearner) see(ctx context.Context, k *loadSample) {
	if k.agree {
		l.agree(k.view)
	}
	if k.view.Capacity < 1 { // nothing has run yet, and nobody told how large it is
		return
	}
	s, leftOut := loadState(k.view, k.at, l.name)
	l.made.LeftOut = leftOut
	l.made.Replicas = l.resize(len(s.Running) + len(s.Waiting))
	if k.observe {
		begun := time.Now()
		if l.failed(l.f.Observe(ctx, &s)) {
			return
		}
		l.made.ObserveTook = time.Since(begun)
		l.keep(false)
	}
	if k.forecast && l.last() {
		l.forecast(ctx, k, &s)
	}
}

// last reports whether no newer sample waits.
func (l *loadLearner) last() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.samples == 1
}

// forecast makes and publishes a forecast.
func (l *loadLearner) forecast(ctx context.Context, k *loadSample, s *outlook.State) {
	begun := time.Now()
	f, err := l.f.Forecast(ctx, s)
	if l.failed(err) {
		return
	}
	if f.Arrivals != "" && (l.made.SaturationAt.IsZero() || k.at.Sub(l.made.SaturationAt) >= saturationEvery) {
		saturation, err := l.f.Saturation(ctx, s)
		if l.failed(err) {
			return
		}
		l.made.Saturation, l.made.SaturationAt = saturation, k.at
	}
	l.made.Number++
	l.made.At, l.made.Forecast, l.made.Scores, l.made.Outcomes = k.at, f, l.f.Scores(), l.f.Outcomes()
	losses, _ := l.f.ArrivalScores()
	l.made.ArrivalLosses = losses[:]
	l.made.ForecastTook = time.Since(begun)
	made := l.made
	l.newest.Store(&made)
	l.counts.made.Add(1)
	l.mu.Lock()
	l.ended, l.took = time.Now(), made.ForecastTook
	l.mu.Unlock()
}

// failed reports whether there is an error, and logs the first.
func (l *loadLearner) failed(err error) bool {
	wrong := err != nil && !errors.Is(err, context.Canceled)
	if wrong {
		l.counts.failures.Add(1)
	}
	if wrong && !l.refused {
		l.refused = true
		l.log.Warn("the load cannot be forecast from what is known of the cluster; it is tried again at every look", zap.Error(err))
	}
	return err != nil
}

// The replicas by size: what a forecast takes grows with the jobs that are there, and a quarter as much with each that comes in a week. At fullSize the full number takes some
// 4 s of one core (BenchmarkLoad); beyond, there are so many fewer.
const (
	fullReplicas, fullLessons, fullProbes    = 64, 24, 16
	leastReplicas, leastLessons, leastProbes = 16, 8, 2
	fullSize                                 = 60_000
	sizePerArrival                           = .25
)

// resize sets the number of replicas for a cluster of so many jobs, and returns it.
func (l *loadLearner) resize(jobs int) int {
	part := min(1, fullSize/max(1, float64(jobs)+sizePerArrival*l.f.PerWeek()))
	of := func(full, least int) int { return max(least, int(part*float64(full))) }
	replicas := of(fullReplicas, leastReplicas)
	_ = l.f.SetReplicas(replicas, of(fullLessons, leastLessons), of(fullProbes, leastProbes)) // in range
	return replicas
}

// stop ends what works, for good; what waits is left.
func (l *loadLearner) stop() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.pause()
}

// pause ends the work under way, which goes on with the next sample.
func (l *loadLearner) pause() {
	l.mu.Lock()
	working, cancel := l.working, l.cancel
	l.mu.Unlock()
	if working != nil {
		cancel()
		<-working
	}
}
