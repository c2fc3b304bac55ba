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

// openSnapshots makes ready to ask every scheduler that is to be asked, for its jobs or for what it tells of the machine.
func (d *core) openSnapshots(metrics *pipeline.Metrics) error {
	pollMetrics := source.NewPollMetrics(d.registry)
	for _, c := range d.cfg.Clusters {
		for _, s := range c.Sources {
			if !s.Asked() {
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
			opts := source.PollOptions{
				Ready: func() bool { return d.logsRead(c) },
				Now:   d.opts.Now, Metrics: pollMetrics, Log: d.opts.Log,
			}
			poll := source.PollConfig{Interval: s.Interval}
			switch s.Format {
			case config.FormatFacts:
				cfg.Format = slurm.FactsFormat()
				poll.Target, opts.Ask = "Slurm's commands", d.facts(c, s, cfg.Options)
			default:
				if poll.Target, opts.Ask, err = d.jobs(c, s, cfg.Options); err != nil {
					return err
				}
			}
			d.add(cfg, source.NewPoller(cfg, poll, opts), metrics)
		}
	}
	return nil
}

// jobs returns what asks a scheduler for its jobs, and its name: squeue, or slurmrestd.
func (d *core) jobs(c config.Cluster, s config.Source, options collector.Options) (target string, ask source.Ask, err error) {
	snapshot, err := d.snapshot(c, options)
	if err != nil {
		return "", nil, err
	}
	if s.Socket != "" {
		return s.Socket, slurm.NewRest(s.Socket, s.Timeout, snapshot).Ask, nil
	}
	command := source.Command{Args: slurm.SqueueCommand(s.Command), Env: slurm.SqueueEnv(), Timeout: s.Timeout}
	return command.Args[0], source.AskCommand(command, snapshot.Read), nil
}

// snapshot returns what compares a cluster's scheduler with its picture.
func (d *core) snapshot(c config.Cluster, options collector.Options) (*slurm.Snapshot, error) {
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

// logsRead reports whether every log of the cluster has been read to its end, or cannot be read: what a scheduler tells when it is asked is newer than all
// that is in them.
func (d *core) logsRead(c config.Cluster) bool {
	asked := map[string]bool{}
	for _, s := range c.Sources {
		asked[c.Name+"/"+s.Name] = s.Asked()
	}
	for _, s := range d.pipeline.View(c.Name).Sources {
		if !asked[s.Name] && !s.CaughtUp && s.Problem == "" {
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
				Suspended: !j.Suspended.IsZero(),
			}
		}
	}
	return jobs
}
