package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/internal/panics"
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

// openReaders opens the sources of a configuration: first logs, then schedulers. On error it closes all of them.
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

// touchSources creates the counters of the sources with the value 0. It removes the counters of sources that are not
// read any more.
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

// read waits until the cluster's logs may be read, which its history can delay. Then it sends the deliveries of one
// source to the writer.
func (c *collectingCore) read(ctx context.Context, from *openReader) {
	if c.awaitHistory(ctx, from.config.Options.Cluster) != nil && ctx.Err() != nil {
		return
	}
	from.awaitOthers(ctx)
	log, r := newLineLogger(c.opts.Log), from.reader
	for {
		var delivery *source.Delivery
		var err error
		if caught := panics.Catch(func() { delivery, err = r.Next(ctx) }); caught != nil {
			c.pipeline.Stop(ctx.Done(), from.config.Options.Cluster, caught)
			return
		}
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
			from.took(delivery)
		case <-ctx.Done():
			return
		}
	}
}

// askFacts returns the function that polls a scheduler for the facts of a machine.
func (c *collectingCore) askFacts(machine config.Cluster, s config.Source, options collector.Options) source.Ask {
	return AskFacts(s, options, func() *job.Facts { return c.pipeline.View(machine.Name).Facts }, "")
}

// AskFacts returns a function that queries the facts of a source's machine. It uses the scheduler's commands or
// slurmrestd. The queries of one call run one after the other; each has the source's timeout. known returns the facts
// in the picture. as is the user whose rights count if the source's command is no wrapper that chooses the user; by
// default the user of this process.
func AskFacts(s config.Source, options collector.Options, known func() *job.Facts, as string) source.Ask {
	q := source.FactsQuestion{Cluster: options.Cluster, Known: known, Command: source.Command{Timeout: s.Timeout}}
	switch s.Format {
	case config.FormatPBSFacts:
		q.Command.Args, q.Read = pbs.FactsCommand(s.Command), pbs.ReadFacts
		return source.AskFacts(q)
	case config.FormatGridEngineFacts:
		q.Command.Args, q.Command.Env = sge.FactsCommand(s.Command), sge.FactsEnv()
		q.Read, q.None = sge.ReadFacts, sge.NoQuotas
		return source.AskFacts(q)
	}
	cfg := slurm.FactsConfig{Options: options, Known: known}
	if len(s.Command) == 0 {
		cfg.As = as
	}
	if s.Rest() {
		rest := RestConfig(s)
		cfg.Rest = &rest
	}
	cfg.Run = func(ctx context.Context, args []string) ([]byte, error) {
		command := source.Command{Args: slices.Concat(s.Command, args), Env: slurm.FactsEnv(), Timeout: s.Timeout}
		return source.Run(ctx, command)
	}
	return slurm.NewFacts(cfg).Ask
}

func (c *collectingCore) newUnknownLines() *unknownLines {
	u := &unknownLines{
		lines: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_slurm_unknown_lines_total",
			Help: "Lines of Slurm's logs that begin like those of a job's life but continue in a way that " +
				"no known version has, by Slurm's version.",
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
