package daemon

import (
	"fmt"
	"os"
	"os/user"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/pipeline"
)

// openSnapshots makes ready to ask every scheduler that is to be asked.
func (d *Daemon) openSnapshots(metrics *pipeline.Metrics) error {
	pollMetrics := source.NewPollMetrics(d.registry)
	for _, c := range d.cfg.Clusters {
		for _, s := range c.Sources {
			if s.Format != config.FormatSqueue {
				continue
			}
			location, err := c.Location()
			if err != nil {
				return err
			}
			cfg := source.Config{
				Name: c.Name + "/" + s.Name, Format: slurm.Squeue(),
				Options: collector.Options{Cluster: c.Name, Location: location, MaxProcs: c.Procs},
			}
			snapshot, err := d.snapshot(c, cfg.Options)
			if err != nil {
				return err
			}
			poll := source.PollConfig{
				Command: slurm.SqueueCommand(s.Command), Env: slurm.SqueueEnv(), Interval: s.Interval, Timeout: s.Timeout,
			}
			d.add(cfg, source.NewPoller(cfg, poll, source.PollOptions{
				Read: snapshot.Read, Ready: func() bool { return d.logsRead(c.Name, cfg.Name) },
				Now: d.opts.Now, Metrics: pollMetrics, Log: d.opts.Log,
			}), metrics)
		}
	}
	return nil
}

// snapshot returns what compares a cluster's scheduler with its picture.
func (d *Daemon) snapshot(c config.Cluster, options collector.Options) (*slurm.Snapshot, error) {
	cfg := slurm.SnapshotConfig{
		Options: options, Alone: true,
		Picture: func() map[string]slurm.Live { return picture(d.pipeline.View(c.Name)) },
	}
	for _, s := range c.Sources {
		cfg.Alone = cfg.Alone && s.Format != slurm.LogName
	}
	if os.Geteuid() != 0 { // root sees every job
		me, err := user.Current()
		if err != nil {
			return nil, fmt.Errorf("cluster %s: who runs the daemon? %w", c.Name, err)
		}
		cfg.User = me.Username
	}
	return slurm.NewSnapshot(cfg), nil
}

// logsRead reports whether every other source of the cluster has been read to its end, or cannot be read: what a snapshot tells is newer than all
// that is in them.
func (d *Daemon) logsRead(clusterName, self string) bool {
	for _, s := range d.pipeline.View(clusterName).Sources {
		if s.Name != self && !s.CaughtUp && s.Problem == "" {
			return false
		}
	}
	return true
}

// picture returns the live jobs of a view.
func picture(v *pipeline.View) map[string]slurm.Live {
	jobs := make(map[string]slurm.Live, len(v.Running)+len(v.Queued))
	for _, list := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range list {
			jobs[j.ID] = slurm.Live{
				Attributes: j.Attributes, Submit: j.Submit, Eligible: j.Eligible, Start: j.Start, Held: j.Held,
			}
		}
	}
	return jobs
}
