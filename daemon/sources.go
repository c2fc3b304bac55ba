package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/job"
)

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

// read sends the deliveries of one source to the writer, once the history of its cluster lets it.
func (c *collectingCore) read(ctx context.Context, from *openReader) {
	if c.awaitHistory(ctx, from.config.Options.Cluster) != nil && ctx.Err() != nil {
		return
	}
	log, r := newLineLogger(c.opts.Log), from.reader
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

// askFacts returns the function that asks a scheduler for the facts of a machine.
func (c *collectingCore) askFacts(machine config.Cluster, s config.Source, options collector.Options) source.Ask {
	return Facts(s, options, func() *job.Facts { return c.pipeline.View(machine.Name).Facts }).Ask
}

// Facts returns what asks the scheduler of a source for the facts of a machine, by its commands or by slurmrestd. The
// questions of one call follow one after the other, each with the source's timeout. known returns the facts that the
// picture has.
func Facts(s config.Source, options collector.Options, known func() *job.Facts) *slurm.Facts {
	cfg := slurm.FactsConfig{Options: options, Known: known}
	if s.Rest() {
		rest := RestConfig(s)
		cfg.Rest = &rest
	}
	cfg.Run = func(ctx context.Context, args []string) ([]byte, error) {
		command := source.Command{Args: slices.Concat(s.Command, args), Env: slurm.FactsEnv(), Timeout: s.Timeout}
		return source.Run(ctx, command)
	}
	return slurm.NewFacts(cfg)
}

func (c *collectingCore) newUnknownLines() *unknownLines {
	u := &unknownLines{
		lines: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_slurm_unknown_lines_total",
			Help: "Lines of Slurm's logs that begin like those of a job's life but say what no version known here " +
				"says, by Slurm's version.",
		}, []string{"cluster", "version"}),
		version: func(cluster string) string {
			if facts := c.pipeline.View(cluster).Facts; facts != nil {
				return facts.Version
			}
			return ""
		},
		versions: map[string]bool{},
	}
	c.registry.MustRegister(u.lines)
	return u
}
