package daemon

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/job"
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
			if s.IsPolledForFacts() || s.Format == config.FormatQstat {
				asked.Format = formats(c.opts.Now)[s.Format]
			}
			set.add(asked, c.newPoller(machine, s, asked))
		}
	}
	return nil
}

// newPoller returns the reader of one source that polls a scheduler.
func (c *collectingCore) newPoller(
	machine config.Cluster, s config.Source, asked source.Config,
) *source.Poller {
	opts := source.PollOptions{
		Ready: func() bool { return c.logsRead(machine) },
		Alive: func() time.Time { return newestLine(machine, c.pipeline.View(machine.Name)) },
		Now:   c.opts.Now, Metrics: c.pollMetrics, Log: c.opts.Log,
	}
	poll := source.PollConfig{Interval: s.Interval}
	if s.IsPolledForFacts() {
		poll.Target, opts.Ask = FactsTarget(s), c.askFacts(machine, s, asked.Options)
		return source.NewPoller(asked, poll, opts)
	}
	poll.Target, opts.Ask = c.askJobs(machine, s, asked.Options)
	missing := &missingDetails{view: func() *readmodel.View { return c.pipeline.View(machine.Name) }}
	opts.Ask, opts.Wanted = missing.recordPolls(opts.Ask), missing.wanted
	return source.NewPoller(asked, poll, opts)
}

// askJobs returns the function that polls a scheduler for its jobs, and the program or the address that it polls:
// squeue, or slurmrestd's socket or URL.
func (c *collectingCore) askJobs(
	machine config.Cluster, s config.Source, options collector.Options,
) (string, source.Ask) {
	if s.Format == config.FormatQstat {
		return AskQstat(s, c.listing(machine, options))
	}
	snapshot := c.snapshot(machine, options)
	if s.Rest() {
		snapshot.As(s.User)
		return cmp.Or(s.Socket, s.URL), slurm.NewRest(RestConfig(s), snapshot).Ask
	}
	target, list := AskSqueue(s, snapshot)
	rights := AskRights(machine, s, options, func() *job.Facts { return c.pipeline.View(machine.Name).Facts }, "")
	if rights != nil {
		list = WithRights(list, rights)
	}
	var known time.Time
	return target, func(ctx context.Context, asked time.Time) source.Answer {
		if known.IsZero() || asked.Sub(known) >= userEvery {
			snapshot.As(slurmUser(ctx, s))
			known = asked
		}
		return list(ctx, asked)
	}
}

// AskQstat returns the program that a source calls for the jobs of Grid Engine, and the function that calls it.
func AskQstat(s config.Source, cfg sge.ListingConfig) (target string, ask source.Ask) {
	cfg.Run = func(ctx context.Context, args []string) ([]byte, error) {
		return source.Run(ctx, source.Command{Args: slices.Concat(s.Command, args), Timeout: s.Timeout})
	}
	return "qstat", sge.NewListing(cfg).Ask
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

// AskRights returns a function that queries what Slurm hides from a source of squeue. It returns nil if another source
// of the cluster reports this, or if Slurm's other commands cannot be run as squeue is. known and as have the same
// meaning as in AskFacts.
func AskRights(
	machine config.Cluster, s config.Source, options collector.Options, known func() *job.Facts, as string,
) source.Ask {
	prefix, dir, ok := besideSqueue(s)
	if !ok || slices.ContainsFunc(machine.Sources, func(o config.Source) bool { return o.Format == slurm.FactsName }) {
		return nil
	}
	if len(prefix) > 0 {
		as = ""
	}
	return slurm.NewFacts(slurm.FactsConfig{Options: options, Known: known, Rights: true, As: as,
		Run: func(ctx context.Context, args []string) ([]byte, error) {
			if args[0] != "id" {
				args = slices.Concat([]string{filepath.Join(dir, args[0])}, args[1:])
			}
			return source.Run(ctx, source.Command{Args: slices.Concat(prefix, args), Timeout: s.Timeout})
		},
	}).Ask
}

// WithRights returns a function that lists jobs, and adds the answer of AskRights. Errors of the latter become notes.
func WithRights(list, rights source.Ask) source.Ask {
	return func(ctx context.Context, asked time.Time) source.Answer {
		answer := list(ctx, asked)
		if answer.Err != nil {
			return answer
		}
		of := rights(ctx, asked)
		answer.Notes = append(answer.Notes, of.Notes...)
		if of.Err != nil {
			answer.Notes = append(answer.Notes, of.Err)
		}
		for _, ev := range of.Events {
			if _, known := ev.Facts.PrivateJobs(); known {
				answer.Events = append(answer.Events, ev)
			}
		}
		if answer.Gap == nil {
			answer.Gap = of.Gap
		}
		return answer
	}
}

// besideSqueue returns the words before squeue in the command of a source, and the folder of squeue, "" if squeue is
// found by the PATH. ok is false if the command does not end with squeue.
func besideSqueue(s config.Source) (prefix []string, dir string, ok bool) {
	if len(s.Command) == 0 {
		return nil, "", !s.Rest()
	}
	last := len(s.Command) - 1
	dir, name := filepath.Split(s.Command[last])
	return s.Command[:last], dir, name == "squeue"
}

// userEvery is the minimum time between two calls of slurmUser.
const userEvery = 10 * time.Minute

// slurmUser returns the name of the user as whom a source runs squeue, "" if it is unknown. If the source's command is
// a wrapper such as [sudo, -u, slurm, squeue], the wrapper runs id in place of squeue.
func slurmUser(ctx context.Context, s config.Source) string {
	prefix, _, ok := besideSqueue(s)
	if !ok {
		return ""
	}
	name, err := source.Run(ctx, source.Command{Args: slices.Concat(prefix, []string{"id", "-un"}), Timeout: s.Timeout})
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
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
func (c *collectingCore) snapshot(machine config.Cluster, options collector.Options) *slurm.Snapshot {
	cfg := slurm.SnapshotConfig{
		Options: options, Alone: true,
		Picture: func() map[string]source.Live { return picture(c.pipeline.View(machine.Name)) },
		Facts:   func() *job.Facts { return c.pipeline.View(machine.Name).Facts },
	}
	for _, s := range machine.Sources {
		cfg.Alone = cfg.Alone && s.Format != slurm.LogName
	}
	return slurm.NewSnapshot(cfg)
}

// listing returns the configuration of a listing of Grid Engine's jobs.
func (c *collectingCore) listing(machine config.Cluster, options collector.Options) sge.ListingConfig {
	reports := func(s config.Source) bool { return s.Format == sge.ReportingName }
	return sge.ListingConfig{
		Options: options, Alone: !slices.ContainsFunc(machine.Sources, reports),
		Picture: func() map[string]source.Live { return picture(c.pipeline.View(machine.Name)) },
	}
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

// newestLine returns the time of the newest line of the logs of a cluster.
func newestLine(machine config.Cluster, v *readmodel.View) (at time.Time) {
	for _, s := range machine.Sources {
		for i := range v.Sources {
			if line := v.Sources[i].LastLine; !s.IsPolled() && v.Sources[i].Name == machine.Name+"/"+s.Name &&
				line.After(at) {
				at = line
			}
		}
	}
	return at
}

// picture returns the live jobs of a view.
func picture(v *readmodel.View) map[string]source.Live {
	jobs := make(map[string]source.Live, len(v.Running)+len(v.Queued))
	for _, list := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range list {
			jobs[j.ID] = source.Live{
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
	over := m.view().Over
	if len(over) == 0 || !over[len(over)-1].Over.After(m.overAtPoll) {
		return m.overAtPoll
	}
	return over[len(over)-1].Over
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
