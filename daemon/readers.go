package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/collector/source"
)

// reader is an open source: a log that is followed, or a scheduler that is polled.
type reader interface {
	// Next waits for new records. It returns io.EOF if no record will ever follow.
	Next(ctx context.Context) (*source.Delivery, error)
	Close() error
}

// openReader is a reader with the configuration of its source.
type openReader struct {
	config source.Config
	reader reader
	// caughtUp is closed by setCaughtUp when the source has been read to its end for the first time. delivered is the
	// number of deliveries of the source. after has the readers for which this one waits before it begins
	// (awaitOthers).
	caughtUp    chan struct{}
	setCaughtUp func()
	delivered   *atomic.Int64
	after       []openReader
}

// took records that the writer has taken a delivery.
func (r *openReader) took(d *source.Delivery) {
	r.delivered.Add(1)
	if d.CaughtUp {
		r.setCaughtUp()
	}
}

// stalled is a time without a delivery. After it, no other source waits for this source any more, because perhaps the
// source cannot be read.
const stalled = time.Minute

// awaitOthers waits until each source in r.after has caught up, or has delivered nothing for the time `stalled`.
func (r *openReader) awaitOthers(ctx context.Context) {
	tick := time.NewTicker(stalled)
	defer tick.Stop()
	for _, o := range r.after {
		for before, waits := o.delivered.Load(), true; waits; {
			select {
			case <-o.caughtUp:
				waits = false
			case <-ctx.Done():
				return
			case <-tick.C:
				now := o.delivered.Load()
				waits, before = now > before, now
			}
		}
	}
}

// arrange orders the logs of each cluster. Some logs describe a job only when it has ended. Others record a job's
// submission and start as they happen; these are read first, because the first record of an event counts. If a job
// were first seen in a record of its end, it would have no forecast, and nothing would be learnt from its wait.
func (s *readerSet) arrange() {
	for i := range s.all {
		r := &s.all[i]
		if !r.config.Format.AtEnd {
			continue
		}
		for _, o := range s.all {
			if f := o.config.Format; f.New != nil && !f.AtEnd && o.config.Options.Cluster == r.config.Options.Cluster {
				r.after = append(r.after, o)
			}
		}
	}
}

// readerSet holds open readers that are started and closed together.
type readerSet struct {
	all     []openReader
	stop    context.CancelFunc // ends the goroutines; nil before start
	running sync.WaitGroup
}

func (s *readerSet) add(cfg source.Config, r reader) {
	caughtUp := make(chan struct{})
	s.all = append(s.all, openReader{config: cfg, reader: r, caughtUp: caughtUp,
		setCaughtUp: sync.OnceFunc(func() { close(caughtUp) }), delivered: &atomic.Int64{}})
}

// configs returns the sources that are read.
func (s *readerSet) configs() []source.Config {
	var all []source.Config
	for i := range s.all {
		all = append(all, s.all[i].config)
	}
	return all
}

// has reports whether the set contains a source with the name.
func (s *readerSet) has(name string) bool {
	return slices.ContainsFunc(s.all, func(r openReader) bool { return r.config.Name == name })
}

// start starts one goroutine for each source, which reads the source. Reading continues until ctx ends or close is
// called.
func (s *readerSet) start(ctx context.Context, read func(context.Context, *openReader)) {
	s.arrange()
	ctx, s.stop = context.WithCancel(ctx)
	for i := range s.all {
		s.running.Go(func() { read(ctx, &s.all[i]) })
	}
}

// wait waits until all reading has stopped, after the context of start has ended.
func (s *readerSet) wait() { s.running.Wait() }

// close stops reading and closes all sources, even if some fail to close.
func (s *readerSet) close() error {
	if s.stop != nil {
		s.stop()
	}
	s.running.Wait()
	var errs error
	for _, r := range slices.Backward(s.all) {
		errs = errors.Join(errs, r.reader.Close())
	}
	return errs
}
