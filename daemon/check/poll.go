package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/job"
)

// slow is the share of a source's timeout above which an answer counts as slow. The value is a free choice.
const slow = .5

// poll polls a scheduler once, as the daemon would.
func (c *checker) poll(ctx context.Context, configured *config.Cluster, s *config.Source, of *clusterReadings) {
	name := configured.Name + "/" + s.Name
	about := "source " + name
	location, err := configured.Location()
	if err != nil {
		return // the error was reported for the cluster already
	}
	options := collector.Options{Cluster: configured.Name, Location: location, MaxProcs: configured.Procs}
	target, ask := c.target(configured, s, options)
	began := time.Now()
	answer := ask(ctx, c.now)
	took := time.Since(began)
	if answer.Err != nil {
		c.add("scheduler.answers", Failed, about, schedulerHint(s), "%v", answer.Err)
		return
	}
	t := newTrial(name, configured.Name, s.Format, c.now)
	t.Lines, t.Seconds, t.Whole = answer.Lines, took.Seconds(), true
	for i := range answer.Bad {
		t.refuse(&answer.Bad[i])
	}
	text := ""
	for i := range answer.Events {
		t.event(&answer.Events[i])
		if f := answer.Events[i].Facts; f != nil {
			text = facts(f, t)
			of.private = f.Private
			if s.Format == config.FormatFacts {
				of.slurm = cmp.Or(f.Version, of.slurm)
			}
		}
	}
	t.Running = t.kinds[job.Start]
	t.Waiting = t.kinds[job.Submit]
	if s.Format == config.FormatSqueue {
		c.listed(t, of, about)
	}
	c.finish(t, of)
	if s.Format == config.FormatSqueue || s.Format == config.FormatQstat {
		text = fmt.Sprintf("%s running, %s waiting or held", plural(t.Running, "job"), plural(t.Waiting, "job"))
	}
	if text == "" {
		text = "nothing of the machine"
	}
	if c.as != nil && c.as.name != c.User {
		text += fmt.Sprintf("; asked as %s, not as %s (sudo -u %s waitcastd check asks as the daemon does)", c.User,
			c.as.name, c.as.name)
	}
	status, hint := OK, ""
	if took > time.Duration(slow*float64(s.Timeout)) {
		status, hint = Warning, "raise the source's timeout, or is the scheduler overloaded?"
	}
	c.add("scheduler.answers", status, about, hint, "%s answered in %.1f s (timeout %s): %s", target, took.Seconds(),
		s.Timeout, text)
	if answer.Gap != nil {
		reason, command, _ := strings.Cut(answer.Gap.Reason, ": ")
		c.add("scheduler.rights", Failed, about, command, "%s", reason)
	}
	for _, note := range answer.Notes {
		c.add("scheduler.part", Warning, about, "forecasts do without; see docs/formats/slurm.md", "%v", note)
	}
	if t.BadLines > 0 {
		c.add("scheduler.lines", Warning, about, "", "%s of its answer cannot be read", plural(t.BadLines, "line"))
	}
}

func schedulerHint(s *config.Source) string {
	if s.Socket != "" {
		return "is slurmrestd running, and may this user open its socket?"
	}
	if s.URL != "" {
		return "is slurmrestd running there, and is the token in token_file valid?"
	}
	return "run it by hand as the daemon's user; set the source's command if it is not in the PATH"
}

// target returns the program or the address that a source polls, and the function that polls it.
func (c *checker) target(configured *config.Cluster, s *config.Source, options collector.Options) (
	string, source.Ask) {
	nothing, as := func() *job.Facts { return nil }, ""
	if c.as != nil {
		as = c.as.name
	}
	if s.IsPolledForFacts() {
		return daemon.FactsTarget(*s), daemon.AskFacts(*s, options, nothing, as)
	}
	if s.Format == config.FormatQstat {
		return daemon.AskQstat(*s, sge.ListingConfig{Options: options, Alone: true,
			Picture: func() map[string]source.Live { return nil }})
	}
	// The snapshot starts without known jobs, so that it reports every live job.
	snapshot := slurm.NewSnapshot(slurm.SnapshotConfig{Options: options, Alone: true,
		Picture: func() map[string]slurm.Live { return nil }})
	if s.Rest() {
		return cmp.Or(s.Socket, s.URL), slurm.NewRest(daemon.RestConfig(*s), snapshot).Ask
	}
	program, list := daemon.AskSqueue(*s, snapshot)
	if rights := daemon.AskRights(*configured, *s, options, nothing, as); rights != nil {
		list = daemon.WithRights(list, rights)
	}
	return program, list
}

// These bound the age of the jobs of a log that a listing must contain. Older ones may have ended without a record, and
// newer ones may have come after the listing.
const (
	settledAfter = 5 * time.Second
	recentUntil  = 2 * time.Minute
)

// listed compares a listing of squeue with the jobs that the logs have announced recently. It fails if the listing
// lacks most of them.
func (c *checker) listed(t *trial, of *clusterReadings, about string) {
	there, missing := 0, 0
	for id, j := range of.jobs {
		if age := c.now.Sub(j.live); j.live.IsZero() || age < settledAfter || age > recentUntil {
			continue
		}
		if t.jobs[id] != nil {
			there++
		} else {
			missing++
		}
	}
	if missing > there {
		c.add("scheduler.jobs", Failed, about,
			"if slurm.conf has PrivateData=jobs, make the user who asks an operator: docs/formats/slurm.md#operator",
			"it does not list %d of the %s that the log has announced in the last 2 minutes", missing,
			plural(there+missing, "job"))
	}
}

// visibility reports who sees the waiting jobs of other users of a cluster.
func (c *checker) visibility(of *clusterReadings) {
	about := "cluster " + of.cluster.Name
	private, known := (&job.Facts{Private: of.private}).PrivateJobs()
	why := "access.others: " + cmp.Or(c.cfg.Access.Others, "auto")
	status, hint := OK, ""
	if known {
		why += ", Slurm's PrivateData: " + of.private
	} else if slices.ContainsFunc(of.cluster.Sources, func(s config.Source) bool {
		return s.Format == config.FormatSqueue || s.Format == config.FormatFacts
	}) {
		private = true
		why += ", Slurm has not reported PrivateData"
		status, hint = Warning, "add a source of format slurm-facts that runs commands, or set access.others"
	}
	if c.cfg.Access.Others != "" && c.cfg.Access.Others != "auto" {
		status, hint = OK, ""
	}
	who, err := daemon.WhoSeesOthers(c.cfg, private)
	if err != nil {
		c.add("access.others", Failed, about, "correct tokens_file or web_config_file", "%v", err)
		return
	}
	c.add("access.others", status, about, hint, "%s (%s)", who, why)
}

// facts describes the facts that a scheduler reports about its machine. It also counts the nodes in t.
func facts(f *job.Facts, t *trial) string {
	if len(f.Nodes) == 0 && f.Enforced.Limits { // PBS and Grid Engine report facts without nodes
		return plural(len(f.Queues), "queue") + ", " + plural(len(f.Limits), "limit")
	}
	procs, down, gpus := 0, 0, 0
	for _, g := range f.Nodes {
		t.Nodes += g.Count
		down += g.Down
		procs += g.Count * g.Node.Procs
		gpus += g.Count * g.Node.GPUs
	}
	text := fmt.Sprintf("%s (%d down), %s, %s, %s, %s", plural(t.Nodes, "node"), down, plural(procs, "processor"),
		plural(gpus, "GPU"), plural(len(f.Queues), "partition"), plural(len(f.Outages), "reservation"))
	if f.Version != "" {
		text = "Slurm " + f.Version + ", " + text
	}
	return text
}
