package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"time"

	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
)

// cost is the cost of a cluster.
type cost struct {
	load time.Duration // CPU time per event for reading the history and the present, training and simulating
	// event is the CPU time of one event among many, including its forecast, its score and its share of the
	// simulations.
	event    time.Duration
	view     time.Duration // CPU time of a single event, including the view that contains it
	forecast time.Duration // CPU time of GET /v1/wait
	// first is the CPU time of the first GET /v1/wait on a view, which computes shared data; it includes the event and
	// the view.
	first time.Duration
	// refresh is the wall-clock time of the newest simulation of the pool for all requests; 0 if each request is
	// simulated separately.
	refresh  time.Duration
	train    time.Duration // wall-clock time of the newest training of trees
	save     time.Duration // CPU time of a snapshot of state and models
	snapshot int           // size of the snapshot in bytes
	journal  int           // bytes of the journal per event
	heap     uint64        // bytes in use after a garbage collection
}

// sink is a store that keeps only sizes.
type sink struct {
	modelstore.Store // nil: the writer of a new pipeline calls no other methods
	entries, bytes   int
	snapshot         int
}

// Commit implements modelstore.Store.
func (s *sink) Commit(_ context.Context, b modelstore.Batch) error {
	for i := range b.Entries {
		data, err := modelstore.EncodeEvent(&b.Entries[i].Event)
		if err != nil {
			return err
		}
		s.bytes += len(data)
		s.entries++
	}
	if b.Snapshot == nil {
		return nil
	}
	_, err := b.Snapshot.Write(func(_ string, piece []byte) error {
		s.snapshot += len(piece)
		return nil
	})
	return err
}

// Known implements modelstore.Store. It returns no events.
func (s *sink) Known(context.Context, string, string) ([]modelstore.Key, error) { return nil, nil }

// bed is a running pipeline with its inputs.
type bed struct {
	pipeline   *pipeline.Pipeline
	source     source.Config
	deliveries chan *source.Delivery
	done       chan error
	fed        int64
}

func start(ctx context.Context, w *world, store modelstore.Store, reg *prometheus.Registry) (*bed, error) {
	cfg := pipeline.Config{
		Clusters: []pipeline.ClusterConfig{{Name: clusterName, Procs: w.procs(), Policy: "easy"}},
		Models: livemodels.Config{
			WindowJobs: 20_000, WindowAge: 90 * 24 * time.Hour, MinSamples: 30, Forget: .0005, HistoryJobs: 100_000,
		},
		Forecasts: true,
	}
	cfg.Engine.Growth = 1 // one training is measured, whatever the number of trainings
	metrics := pipeline.NewMetrics(reg)
	p, err := pipeline.New(cfg, store, func() time.Time { return w.now }, zap.NewNop(), metrics)
	if err != nil {
		return nil, err
	}
	b := &bed{
		pipeline: p, deliveries: make(chan *source.Delivery), done: make(chan error, 1),
		source: source.Config{
			Name: "log", Format: collector.Format{Name: "scale"}, Options: collector.Options{Cluster: clusterName},
		},
	}
	b.pipeline.AddSource(b.source)
	metrics.Touch(b.source)
	go func() { b.done <- b.pipeline.Run(ctx, b.deliveries) }()
	return b, nil
}

// feed delivers events and waits until a view includes all of them.
func (b *bed) feed(ctx context.Context, events []job.Event) error {
	for chunk := range slices.Chunk(events, 1000) {
		select {
		case b.deliveries <- &source.Delivery{Source: &b.source, Events: chunk, Lines: len(chunk), CaughtUp: true}:
		case err := <-b.done:
			return errors.Join(errors.New("the pipeline has ended"), err)
		}
		b.fed += int64(len(chunk))
	}
	for {
		published := b.pipeline.Published()
		if b.pipeline.View(clusterName).Seq >= b.fed {
			return nil
		}
		select {
		case <-published:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// used returns the CPU time that the process uses for some work, divided by the number of parts. Other processes on the
// machine hardly affect it.
func used(parts int, work func() error) (time.Duration, error) {
	begun, err := processor()
	if err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	now, err := processor()
	return (now - begun) / time.Duration(max(1, parts)), err
}

// processor returns the CPU time of the process so far, getrusage(2).
func processor() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// These are the numbers of repetitions of each measurement.
const (
	bulk     = 300 // moves in one delivery
	moves    = 40  // moves whose events come one at a time
	requests = 300
)

// measure builds a cluster and measures its cost.
func measure(ctx context.Context, p point) (cost, error) {
	var c cost
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	store := &sink{}
	w, reg := newWorld(p), prometheus.NewRegistry()
	b, err := start(ctx, w, store, reg)
	if err != nil {
		return c, err
	}
	defer b.pipeline.Close()
	events := append(w.past(p.historical), w.fill()...)
	if c.load, err = used(len(events), func() error { return b.feed(ctx, events) }); err != nil {
		return c, err
	}
	events = nil
	if err := errors.Join(c.ofEvents(ctx, b, w), c.ofForecasts(ctx, b, w, reg)); err != nil {
		return c, err
	}
	learning := b.pipeline.View(clusterName).Learning
	c.refresh, c.train = learning.SimulationTook, learning.TrainingTook
	runtime.GC()
	runtime.ReadMemStats(&after)
	c.heap = max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc
	close(b.deliveries) // the pipeline saves its state at its end
	c.save, err = used(1, func() error { return <-b.done })
	c.snapshot, c.journal = store.snapshot, store.bytes/max(1, store.entries)
	runtime.KeepAlive(w)
	return c, err
}

// ofEvents measures events, first many at once and then one at a time.
func (c *cost) ofEvents(ctx context.Context, b *bed, w *world) error {
	var events []job.Event
	for range bulk {
		events = append(events, w.move()...)
	}
	var err error
	if c.event, err = used(len(events), func() error { return b.feed(ctx, events) }); err != nil {
		return err
	}
	events = nil
	for range moves {
		events = append(events, w.move()...)
	}
	c.view, err = used(len(events), func() error {
		for i := range events {
			if err := b.feed(ctx, events[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// ofForecasts measures requests through the whole handler, one after the other: first one request on the new view after
// each of some events, then many different requests to one view.
func (c *cost) ofForecasts(ctx context.Context, b *bed, w *world, reg *prometheus.Registry) error {
	handler := api.New(b.pipeline, api.Options{
		Version: "scale", StaleAfter: 24 * time.Hour, Now: func() time.Time { return w.now }, Registry: reg,
		Log: zap.NewNop(),
	}).Handler()
	ask := func(i int) error {
		path := fmt.Sprintf("/v1/wait?queue=%s&procs=%d&time_limit=%dm&user=u%d",
			[]string{"batch", "short", "long", "wide"}[i%4], 1+i%max(1, w.procs()/4), 10*(1+i%50), i%w.p.users)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, r); answer.Code != http.StatusOK {
			return fmt.Errorf("GET %s: %d: %s", path, answer.Code, answer.Body)
		}
		return nil
	}
	var events []job.Event
	for range moves / 4 {
		events = append(events, w.move()...)
	}
	var err error
	if c.first, err = used(len(events), func() error {
		for i := range events {
			if err := errors.Join(b.feed(ctx, events[i:i+1]), ask(i<<10)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	c.forecast, err = used(requests, func() error {
		for i := range requests {
			if err := ask(i); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
