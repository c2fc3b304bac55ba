package daemon

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/predictor/engine"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/journal"
	"github.com/waitcast/waitcast/collector/lsf"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/swflog"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/internal/memsize"
	"github.com/waitcast/waitcast/pipeline"
)

// formats returns the log formats by their names in the configuration.
func formats(now func() time.Time) map[string]collector.Format {
	all := map[string]collector.Format{}
	for _, f := range []collector.Format{
		pbs.Format(), swflog.Format(), slurm.Jobcomp(), slurm.Log(now), slurm.Sacct(), slurm.Squeue(),
		slurm.FactsFormat(), pbs.FactsFormat(), sge.FactsFormat(), sge.QstatFormat(),
		sge.Accounting(), sge.Reporting(), lsf.Events(), lsf.Acct(),
	} {
		all[f.Name] = f
	}
	return all
}

// Sources returns the configured logs, without polled schedulers. now returns the wall-clock time; it is needed
// because the times in some logs have no year.
func Sources(cfg *config.Config, now func() time.Time) ([]source.Config, error) {
	known := formats(now)
	others := slices.SortedFunc(maps.Values(known), func(a, b collector.Format) int {
		return cmp.Compare(a.Name,
			b.Name)
	})
	var out []source.Config
	for _, c := range cfg.Clusters {
		options, err := CollectorOptions(c)
		if err != nil {
			return nil, err
		}
		for _, s := range c.Sources {
			format, ok := known[s.Format]
			if s.IsPolled() {
				continue
			}
			if !ok {
				return nil, fmt.Errorf("cluster %s: source %s: unknown format %q", c.Name, s.Name, s.Format)
			}
			name := c.Name + "/" + s.Name
			files := tail.Config{
				Source: name, Path: s.Path, Rotated: s.Rotated, FromEnd: s.Start == "end",
				Poll: s.Poll, NoInotify: !s.Inotify,
			}
			if s.Pattern != "*" {
				files.Pattern = s.Pattern
			}
			offset, err := s.Offset()
			if err != nil {
				return nil, fmt.Errorf("cluster %s: source %s: clock_offset: %w", c.Name, s.Name, err)
			}
			of := source.Config{
				Name: name, Format: format, Files: files, Others: others, ClockOffset: offset, Options: options,
			}
			if len(s.Journal) > 0 {
				of.Journal = &journal.Config{Path: s.Path, Matches: s.Journal}
				of.Files.Path = cmp.Or(s.Path, "journal")
			}
			out = append(out, of)
		}
	}
	return out, nil
}

// CollectorOptions returns the options for the parsers of a cluster's records.
func CollectorOptions(c config.Cluster) (collector.Options, error) {
	location, err := c.Location()
	return collector.Options{Cluster: c.Name, Location: location, MaxProcs: c.Procs, Queues: queueNames(c)}, err
}

// PipelineConfig returns the configuration of a daemon's pipeline. Programs that replay a journal use it too.
func PipelineConfig(cfg *config.Config, forecasts bool) pipeline.Config {
	out := pipeline.Config{
		Models: livemodels.Config{
			WindowJobs: cfg.Models.WindowJobs, WindowAge: cfg.Models.WindowAge,
			MinSamples: cfg.Models.MinSamples, Forget: cfg.Models.MarkovForget, HistoryJobs: cfg.Models.HistoryJobs,
		},
		MaxQueues:      cfg.Models.MaxQueues,
		Engine:         engine.Config{Users: cfg.Models.MaxUsers, ForgetAfter: cfg.Models.ForgetAfter},
		StoreName:      databaseName(cfg),
		SnapshotEvents: int64(cfg.Store.SnapshotEvents), SnapshotInterval: cfg.Store.SnapshotInterval,
		Retention: cfg.Store.JournalRetention, LedgerRetention: cfg.Accuracy.Retention,
		HistoryRetention: cfg.HistoryRetention,
		Forecasts:        forecasts, Load: forecasts,
	}
	for _, c := range cfg.Clusters {
		pc := pipeline.ClusterConfig{Name: c.Name, Procs: c.Procs, Pools: pools(c.Pools), Policy: c.Policy}
		pc.Location, _ = c.Location() // cannot fail, because the configuration was validated; nil means UTC
		for _, q := range c.Queues {
			pc.Queues = append(pc.Queues, q.Name)
		}
		out.Clusters = append(out.Clusters, pc)
	}
	return out
}

// queueNames returns the queues that a cluster's configuration names.
func queueNames(c config.Cluster) []string {
	var out []string
	for _, q := range c.Queues {
		out = append(out, q.Name)
	}
	for _, p := range c.Pools {
		out = append(out, p.Queues...)
	}
	return out
}

// pools returns the pools of a validated configuration.
func pools(configured []config.Pool) []cluster.PoolConfig {
	var out []cluster.PoolConfig
	for _, p := range configured {
		pool := cluster.PoolConfig{Name: p.Name, Queues: p.Queues, Policy: p.Policy, Has: cluster.Vector{
			cluster.Procs: int64(p.Procs), cluster.Nodes: int64(p.Nodes), cluster.GPUs: int64(p.GPUs),
		}}
		pool.Has[cluster.Memory], _ = memsize.Parse(p.Memory) // an empty text gives 0
		if d, ok := cluster.ParseDimension(p.Binds); ok {
			pool.Binds = &d
		}
		out = append(out, pool)
	}
	return out
}

func send[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case to <- v:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
