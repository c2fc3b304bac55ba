package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/waitcast/waitcast/collector/source"
)

// reader is a source that is open: a log that is followed or a scheduler that is asked.
type reader interface {
	// Next waits for new records. It returns io.EOF when there will be no more.
	Next(ctx context.Context) (*source.Delivery, error)
	Close() error
}

// openReader is a reader with the configuration of its source.
type openReader struct {
	config source.Config
	reader reader
}

// readerSet holds open readers that are started and closed together.
type readerSet struct {
	all     []openReader
	stop    context.CancelFunc // ends the goroutines; nil before start
	running sync.WaitGroup
}

func (s *readerSet) add(cfg source.Config, r reader) { s.all = append(s.all, openReader{cfg, r}) }

// configs returns the sources that are read.
func (s *readerSet) configs() []source.Config {
	var all []source.Config
	for i := range s.all {
		all = append(all, s.all[i].config)
	}
	return all
}

// has reports whether a source with the name is among them.
func (s *readerSet) has(name string) bool {
	return slices.ContainsFunc(s.all, func(r openReader) bool { return r.config.Name == name })
}

// start begins to read: one goroutine for each source, until ctx ends or close is called.
func (s *readerSet) start(ctx context.Context, read func(context.Context, *openReader)) {
	ctx, s.stop = context.WithCancel(ctx)
	for i := range s.all {
		s.running.Go(func() { read(ctx, &s.all[i]) })
	}
}

// wait waits until nothing is read any more, once the context of start has ended.
func (s *readerSet) wait() { s.running.Wait() }

// close ends reading and closes all sources, whatever fails.
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
