package daemon

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/pipeline/readmodel"
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
				Options: collector.Options{Cluster: c.Name, Location: location, MaxProcs: c.Procs, Queues: queueNames(c)},
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
				missing := &missingDetails{view: func() *readmodel.View { return d.pipeline.View(c.Name) }}
				opts.Ask, opts.Wanted = missing.recordPolls(opts.Ask), missing.wanted
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
		if !asked[s.Name] && !s.Tried() {
			return false
		}
	}
	return true
}

// picture returns the live jobs of a view.
func picture(v *readmodel.View) map[string]slurm.Live {
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

// missingDetails notices that a log told of a job and of neither its size nor its queue, which the scheduler would tell. Every job is noticed
// once: what a scheduler did not tell when it was asked may be hidden from the daemon.
type missingDetails struct {
	view         func() *readmodel.View
	newestAtPoll uint64 // the newest submission that there was when the scheduler was asked
	seen         uint64 // the view that was looked at last
}

// recordPolls returns ask with a note of the newest submission at each poll.
func (m *missingDetails) recordPolls(ask source.Ask) source.Ask {
	return func(ctx context.Context, asked time.Time) source.Answer {
		m.newestAtPoll, m.seen = m.newest(), 0
		return ask(ctx, asked)
	}
}

func (m *missingDetails) newest() (seq uint64) {
	v := m.view()
	for _, list := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range list {
			seq = max(seq, j.Seq)
		}
	}
	return max(seq, m.newestAtPoll)
}

// wanted reports whether a job without details was told of since the scheduler was asked. Jobs are in the order of their submissions or
// starts: it looks at the newest.
func (m *missingDetails) wanted() bool {
	v := m.view()
	if uint64(v.Seq) == m.seen {
		return false
	}
	m.seen = uint64(v.Seq)
	for _, list := range [...][]*cluster.Job{v.Queued, v.Running} {
		for _, j := range slices.Backward(list) {
			if j.Seq <= m.newestAtPoll {
				break
			}
			if j.DetailsPending() {
				return true
			}
		}
	}
	return false
}
