package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/config"
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
func (s *readerSet) start(ctx context.Context, read func(context.Context, reader)) {
	ctx, s.stop = context.WithCancel(ctx)
	for i := range s.all {
		s.running.Go(func() { read(ctx, s.all[i].reader) })
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

// openSources opens every source at its checkpoint.
func (c *collectingCore) openSources(ctx context.Context) error {
	checkpoints, err := c.store.Checkpoints(ctx)
	if err != nil {
		return fmt.Errorf("reading the checkpoints: %w", err)
	}
	if c.readers, err = c.openReaders(c.cfg, checkpoints); err != nil {
		return err
	}
	for _, s := range c.readers.configs() {
		c.pipeline.AddSource(s)
	}
	c.touchSources(&readerSet{})
	return nil
}

func (c *collectingCore) closeSources() error { return c.readers.close() }

// openReaders opens the sources of a configuration: logs, then schedulers. After an error none is open.
func (c *collectingCore) openReaders(cfg *config.Config, checkpoints map[string][]byte) (*readerSet, error) {
	set := &readerSet{}
	err := c.openLogs(set, cfg, checkpoints)
	if err == nil {
		err = c.openPollers(set, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, set.close())
	}
	return set, nil
}

func (c *collectingCore) openLogs(set *readerSet, cfg *config.Config, checkpoints map[string][]byte) error {
	sources, err := Sources(cfg, c.opts.Now)
	if err != nil {
		return err
	}
	for _, s := range sources {
		s.Files.BatchLines = batchLines
		options := tail.Options{Log: c.opts.Log, Metrics: c.tailMetrics}
		r, err := source.Open(s, checkpoints[s.Name], c.opts.Now, options)
		if err != nil {
			return err
		}
		set.add(s, r)
	}
	return nil
}

// touchSources makes the counters of the sources appear at zero, and removes those of sources that were read before and
// are not read any more.
func (c *collectingCore) touchSources(before *readerSet) {
	for _, s := range c.readers.configs() {
		c.metrics.Touch(s)
	}
	for _, s := range before.configs() {
		if !c.readers.has(s.Name) {
			c.tailMetrics.Forget(s.Name)
			c.pollMetrics.Forget(s.Name)
		}
	}
}

// read sends the deliveries of one source to the writer.
func (c *collectingCore) read(ctx context.Context, r reader) {
	log := newLineLogger(c.opts.Log)
	for {
		delivery, err := r.Next(ctx)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, io.EOF) {
				c.fail(err)
			}
			return
		}
		log.report(delivery)
		c.unknown.count(delivery)
		select {
		case c.deliveries <- delivery:
		case <-ctx.Done():
			return
		}
	}
}
