package daemon

import (
	"cmp"
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
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// openPollers opens the sources that poll a scheduler for its jobs or for the facts of the machine.
func (c *collectingCore) openPollers(set *readerSet, cfg *config.Config) error {
	for _, machine := range cfg.Clusters {
		options, err := CollectorOptions(machine)
		if err != nil {
			return err
		}
		for _, s := range machine.Sources {
			if !s.IsPolled() {
				continue
			}
			asked := source.Config{Name: machine.Name + "/" + s.Name, Format: slurm.Squeue(), Options: options}
			if s.IsPolledForFacts() {
				asked.Format = formats(c.opts.Now)[s.Format]
			}
			poller, err := c.newPoller(machine, s, asked)
			if err != nil {
				return err
			}
			set.add(asked, poller)
		}
	}
	return nil
}

// newPoller returns the reader of one source that polls a scheduler.
func (c *collectingCore) newPoller(
	machine config.Cluster, s config.Source, asked source.Config,
) (*source.Poller, error) {
	opts := source.PollOptions{
		Ready: func() bool { return c.logsRead(machine) },
		Now:   c.opts.Now, Metrics: c.pollMetrics, Log: c.opts.Log,
	}
	poll := source.PollConfig{Interval: s.Interval}
	if s.IsPolledForFacts() {
		poll.Target, opts.Ask = FactsTarget(s), c.askFacts(machine, s, asked.Options)
		return source.NewPoller(asked, poll, opts), nil
	}
	var err error
	if poll.Target, opts.Ask, err = c.askJobs(machine, s, asked.Options); err != nil {
		return nil, err
	}
	missing := &missingDetails{view: func() *readmodel.View { return c.pipeline.View(machine.Name) }}
	opts.Ask, opts.Wanted = missing.recordPolls(opts.Ask), missing.wanted
	return source.NewPoller(asked, poll, opts), nil
}

// askJobs returns the function that polls a scheduler for its jobs, and the program or the address that it polls:
// squeue, or slurmrestd's socket or URL.
func (c *collectingCore) askJobs(
	machine config.Cluster, s config.Source, options collector.Options,
) (target string, ask source.Ask, err error) {
	snapshot, err := c.snapshot(machine, options)
	if err != nil {
		return "", nil, err
	}
	if s.Rest() {
		return cmp.Or(s.Socket, s.URL), slurm.NewRest(RestConfig(s), snapshot).Ask, nil
	}
	target, ask = AskSqueue(s, snapshot)
	return target, ask, nil
}

// AskSqueue returns the program that a source calls for the jobs, and the function that calls it.
func AskSqueue(s config.Source, snapshot *slurm.Snapshot) (target string, ask source.Ask) {
	run := func(ctx context.Context, args []string) ([]byte, error) {
		return source.Run(ctx, source.Command{Args: args, Env: slurm.SqueueEnv(), Timeout: s.Timeout})
	}
	program := s.Command
	if len(program) == 0 {
		program = []string{"squeue"}
	}
	return program[0], slurm.NewSqueueCalls(program, run, snapshot).Ask
}

// RestConfig returns the address and the user of a source's requests to slurmrestd.
func RestConfig(s config.Source) slurm.RestConfig {
	return slurm.RestConfig{Socket: s.Socket, URL: s.URL, User: s.User, TokenFile: s.TokenFile, Timeout: s.Timeout}
}

// FactsTarget returns, for messages, what is polled for facts: programs, or slurmrestd's socket or URL.
func FactsTarget(s config.Source) string {
	switch s.Format {
	case config.FormatPBSFacts:
		return "qmgr"
	case config.FormatGridEngineFacts:
		return "qconf"
	}
	return cmp.Or(s.Socket, s.URL, "Slurm's commands")
}

// snapshot returns the parser of a scheduler's listings. The parser compares a listing with the live jobs of the
// cluster.
func (c *collectingCore) snapshot(machine config.Cluster, options collector.Options) (*slurm.Snapshot, error) {
	cfg := slurm.SnapshotConfig{
		Options: options, Alone: true,
		Picture: func() map[string]slurm.Live { return picture(c.pipeline.View(machine.Name)) },
	}
	for _, s := range machine.Sources {
		cfg.Alone = cfg.Alone && s.Format != slurm.LogName
	}
	if os.Geteuid() != 0 { // only root can certainly see every job
		me, err := user.Current()
		if err != nil {
			return nil, fmt.Errorf("cluster %s: who runs the daemon? %w", machine.Name, err)
		}
		cfg.User = me.Username
	}
	return slurm.NewSnapshot(cfg), nil
}

// logsRead reports whether every log of the cluster has been read to its end or cannot be read. Only then is an answer
// of the scheduler newer than all records of the logs.
func (c *collectingCore) logsRead(machine config.Cluster) bool {
	polled := map[string]bool{}
	for _, s := range machine.Sources {
		polled[machine.Name+"/"+s.Name] = s.IsPolled()
	}
	for _, s := range c.pipeline.View(machine.Name).Sources {
		if !polled[s.Name] && !s.Tried() {
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
				Attributes: j.Reported(), Submit: j.Submit, Eligible: j.Eligible, Start: j.Start, Held: j.Held,
				Suspended: !j.Suspended.IsZero(), Over: j.Over, Split: j.Split,
			}
		}
	}
	return jobs
}

// missingDetails finds jobs whose log gives no size or no queue, or no start although they have ended. The scheduler
// may report these. A job causes at most one early poll for each: if the scheduler's answer lacks the details too, the
// daemon may not be allowed to see them.
type missingDetails struct {
	view         func() *readmodel.View
	newestAtPoll uint64    // the number of the newest submission at the last poll
	overAtPoll   time.Time // the newest end without a start at the last poll
	seen         uint64    // the number of the view that was checked last
}

// recordPolls wraps ask. The returned function also records the newest submission at each poll.
func (m *missingDetails) recordPolls(ask source.Ask) source.Ask {
	return func(ctx context.Context, asked time.Time) source.Answer {
		m.newestAtPoll, m.overAtPoll, m.seen = m.newest(), m.newestOver(), 0
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

// newestOver returns the newest end of a job whose start is unknown.
func (m *missingDetails) newestOver() time.Time {
	newest := m.overAtPoll
	for _, j := range m.view().Queued {
		if j.Over.After(newest) {
			newest = j.Over
		}
	}
	return newest
}

// wanted reports whether a job without details has come, or a job without a start has ended, since the last poll. For
// details it checks only the newest jobs, because jobs are in the order of their submissions or starts.
func (m *missingDetails) wanted() bool {
	v := m.view()
	if uint64(v.Seq) == m.seen {
		return false
	}
	m.seen = uint64(v.Seq)
	if m.newestOver().After(m.overAtPoll) {
		return true
	}
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
