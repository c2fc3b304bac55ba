package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/readmodel"

	"go.uber.org/zap"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/pipeline"
)

// OneShot reads the configured logs to their end without a database and without forecasts, and returns the results by
// cluster. It logs that polled schedulers are left out. It returns an error if no log is configured.
func OneShot(ctx context.Context, cfg *config.Config, log *zap.Logger) ([]Report, error) {
	if log == nil {
		log = zap.NewNop()
	}
	sources, err := Sources(cfg, time.Now)
	if err != nil {
		return nil, err
	}
	if polled := skipPolled(cfg, log); polled != "" && len(sources) == 0 {
		return nil, fmt.Errorf("--one-shot reads logs, but source %s asks the scheduler and there is no other; "+
			"give it a log with path and format", polled)
	}
	pcfg := PipelineConfig(cfg, false)
	var out []Report
	for _, c := range pcfg.Clusters {
		one := oneShot{cluster: c, log: log, lines: newLineLogger(log)}
		for _, s := range sources {
			if s.Options.Cluster == c.Name {
				s.Files.OneShot = true
				one.sources = append(one.sources, s)
			}
		}
		view, err := one.read(ctx, pcfg)
		if err != nil {
			return nil, err
		}
		r := report(view)
		r.Lines, r.BadLines = one.count, one.bad
		if err := one.fruitless(r.Jobs); err != nil {
			return nil, fmt.Errorf("cluster %s: %w", c.Name, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// skipPolled logs the sources that --one-shot leaves out because they poll a scheduler. It returns the last of them.
func skipPolled(cfg *config.Config, log *zap.Logger) (polled string) {
	for _, c := range cfg.Clusters {
		for _, s := range c.Sources {
			if s.IsPolled() {
				polled = c.Name + "/" + s.Name
				log.Warn("this source asks the scheduler and is left out: --one-shot reads logs only",
					zap.String("source", polled), zap.String("format", s.Format))
			}
		}
	}
	return polled
}

// oneShot reads the logs of one cluster one after the other, in the order of the arguments or of the configuration.
type oneShot struct {
	cluster    pipeline.ClusterConfig
	sources    []source.Config
	log        *zap.Logger
	lines      *lineLogger
	count, bad int64
	wrong      string // the first sign that a source has another format than the configured one
}

// fruitless returns an error if the daemon learnt nothing because the configured format is wrong.
func (o *oneShot) fruitless(jobs int64) error {
	if jobs == 0 && o.wrong != "" {
		return errors.New(o.wrong)
	}
	if o.count > 0 && o.bad == o.count {
		return fmt.Errorf("none of the lines (%d) could be read in format %s; if it is another one, give it by "+
			"--format: %s", o.count, o.sources[0].Format.Name, strings.Join(history.Names(logFormats()), ", "))
	}
	return nil
}

// read reads the logs in one of two ways. It reads whole jobs in bulk if every source reports whole jobs and nothing is
// forgotten; then the order in which jobs end does not matter. Otherwise it folds events.
func (o *oneShot) read(ctx context.Context, cfg pipeline.Config) (*readmodel.View, error) {
	bulk := cfg.Models.Forget == 0
	for _, s := range o.sources {
		_, whole := s.Format.New(s.Options).(collector.WholeParser)
		bulk = bulk && whole
	}
	if bulk {
		return o.readBulk(ctx, cfg.Models, cfg.MaxQueues)
	}
	cfg.Clusters = []pipeline.ClusterConfig{o.cluster}
	cfg.Models.Plain, cfg.Models.HistoryJobs = true, 0
	return o.fold(ctx, cfg)
}

// foldLines is the maximum number of lines in one delivery if events are folded. The events of a job need a kilobyte,
// and the channel can hold as many deliveries as the constant queued.
const foldLines = 1024

// fold passes every event through the pipeline.
func (o *oneShot) fold(ctx context.Context, cfg pipeline.Config) (*readmodel.View, error) {
	p, err := pipeline.New(cfg, nil, time.Now, o.log, pipeline.NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		return nil, err
	}
	for i := range o.sources {
		o.sources[i].Files.BatchLines = foldLines
		p.AddSource(o.sources[i])
	}
	deliveries := make(chan *source.Delivery, queued)
	failed := make(chan error, 1)
	go func() {
		defer close(deliveries)
		failed <- o.each(func(r *source.Reader) error {
			d, err := r.Next(ctx)
			if err == nil {
				err = o.note(d)
			}
			if err != nil {
				return err
			}
			return send(ctx, deliveries, d)
		})
	}()
	if err := p.Run(ctx, deliveries); err != nil {
		return nil, err
	}
	if err := <-failed; err != nil {
		return nil, err
	}
	p.Flush()
	return p.View(o.cluster.Name), nil
}

// readBulk parses in one goroutine and learns in another.
func (o *oneShot) readBulk(ctx context.Context, cfg livemodels.Config, maxQueues int) (*readmodel.View, error) {
	bulk, err := pipeline.NewBulk(o.cluster, cfg, maxQueues)
	if err != nil {
		return nil, err
	}
	blocks := make(chan []collector.Whole, queued)
	spare := make(chan []collector.Whole, queued)
	failed := make(chan error, 1)
	go func() {
		defer close(blocks)
		failed <- o.each(func(r *source.Reader) error {
			var block []collector.Whole
			select {
			case block = <-spare:
			default:
			}
			block, d, err := r.NextWhole(ctx, block[:0])
			if err == nil {
				err = o.note(d)
			}
			if err != nil {
				return err
			}
			return send(ctx, blocks, block)
		})
	}()
	for block := range blocks {
		if err := bulk.Add(block); err != nil {
			o.log.Warn("a model refused a job", zap.Error(err))
		}
		select {
		case spare <- block:
		default:
		}
	}
	return bulk.View(), <-failed
}

// each opens the sources in turn, and calls the function step with each until step returns io.EOF. Any other error ends
// the reading.
func (o *oneShot) each(step func(*source.Reader) error) error {
	for _, s := range o.sources {
		r, err := source.Open(s, nil, time.Now, tail.Options{Log: o.log})
		if err != nil {
			return err
		}
		for err == nil {
			err = step(r)
		}
		if cerr := r.Close(); errors.Is(err, io.EOF) {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("source %s: %w", s.Name, err)
		}
	}
	return nil
}

// note counts and logs the problems of a delivery. It returns an error if a log cannot be read, because a single run
// does not wait for the log to appear.
func (o *oneShot) note(d *source.Delivery) error {
	o.lines.report(d)
	o.count += int64(d.Lines)
	o.bad += int64(len(d.Bad))
	for _, p := range d.Problems {
		switch {
		case p.Reason == tail.WrongFormat: // an error only if no job was found, which fruitless decides at the end
			o.wrong = cmp.Or(o.wrong, fmt.Sprintf("source %s: %v", d.Source.Name, p))
		case p.Reason.Standing():
			return p
		}
	}
	return nil
}
