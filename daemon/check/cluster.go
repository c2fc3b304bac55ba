package check

import (
	"math"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/config"
)

// Cluster has the combined data of a cluster's sources.
type Cluster struct {
	Name string `json:"name"`
	Jobs int    `json:"jobs"`
	// Unseen are configured queues without jobs. Unconfigured are queues that have jobs but are not configured, if any
	// queue is configured.
	Unseen       []string `json:"unseen_queues"`
	Unconfigured []string `json:"unconfigured_queues"`
	// WithoutLimit is the share of the jobs that have no time limit. It is 0 if no job was read.
	WithoutLimit float64 `json:"without_limit"`
	// Largest is the size of the largest job.
	Largest int `json:"largest"`
	// Missing are attributes that fewer than half of the jobs have, with the effect of their absence on forecasts.
	Missing []Missing `json:"missing"`
	// Suggestions are changes that would improve forecasts.
	Suggestions []string `json:"suggestions"`
}

// Missing is an attribute that fewer than half of the jobs have. Share is the share of the jobs that have it. Loses is
// the effect of its absence on forecasts.
type Missing struct {
	Attribute string  `json:"attribute"`
	Share     float64 `json:"share"`
	Loses     string  `json:"loses"`
}

// hardly is the share of jobs below which an attribute counts as missing. The value is a free choice.
const hardly = .5

// cluster evaluates the trial readings of a cluster, if there are any.
func (c *checker) cluster(of *clusterReadings) {
	out := Cluster{Name: of.cluster.Name, Jobs: len(of.jobs), Unseen: []string{}, Unconfigured: []string{},
		Missing: []Missing{}, Suggestions: []string{}}
	about := "cluster " + of.cluster.Name
	if out.Jobs > 0 {
		out.queues(of)
		out.attributes(of)
	}
	out.suggest(of)
	c.Clusters = append(c.Clusters, out)
	if len(out.Unseen) > 0 && out.Jobs > 0 {
		c.add("cluster.queues", Warning, about, "correct the name, or remove it; an idle queue is fine",
			"configured, but no job of it was read: %s", strings.Join(out.Unseen, ", "))
	}
	if p := of.cluster.Procs; p > 0 && out.Largest > p {
		c.add("cluster.procs", Failed, about, "set procs to the processors of the machine, or 0",
			"procs is %d, but there is a job of %d: larger ones are bad lines", p, out.Largest)
	}
	c.slurmVersion(of)
	for _, m := range out.Missing {
		if m.Attribute == "time_limit" || m.Attribute == "size" {
			c.add("cluster."+m.Attribute, Warning, about, "", "%.0f %% of the jobs have their %s: %s",
				math.Floor(100*m.Share), strings.ReplaceAll(m.Attribute, "_", " "), m.Loses)
		}
	}
}

// slurmVersion reports the version of Slurm, whether starts are missing because of it, and whether it is newer than all
// versions that are known.
func (c *checker) slurmVersion(of *clusterReadings) {
	if of.slurm == "" {
		return
	}
	about := "cluster " + of.cluster.Name
	has := func(format string) bool {
		return slices.ContainsFunc(of.cluster.Sources, func(s config.Source) bool { return s.Format == format })
	}
	if slurm.LogsNoBackfill(of.slurm) && has(slurm.LogName) && !has(config.FormatSqueue) && !has("slurm-jobcomp") {
		c.add("cluster.starts", Warning, about, "add a source of format slurm-squeue, or set SlurmctldDebug=verbose "+
			"and DebugFlags=HetJob in slurm.conf", "Slurm %s logs no starts by backfill at level info, and no other "+
			"source has them: many waits will be unknown", of.slurm)
	}
	if slurm.Newer(of.slurm) {
		c.add("cluster.version", Warning, about, "compare a few waits with sacct, and report differences: "+
			"https://github.com/waitcast/waitcast/issues", "Slurm %s is newer than all versions that were tried "+
			"(docs/formats/slurm.md): its log and commands may have changed", of.slurm)
		return
	}
	c.add("cluster.version", OK, about, "", "Slurm %s", of.slurm)
}

// queues compares the configured queues with those in the logs, and finds the size of the largest job.
func (o *Cluster) queues(of *clusterReadings) {
	met, configured := map[string]bool{}, map[string]bool{}
	for _, j := range of.jobs {
		met[j.Queue] = true
		o.Largest = max(o.Largest, j.Procs)
	}
	for _, q := range of.cluster.Queues {
		configured[q.Name] = true
	}
	for _, p := range of.cluster.Pools {
		for _, q := range p.Queues {
			configured[q] = true
		}
	}
	for _, name := range names(configured) {
		if !met[name] {
			o.Unseen = append(o.Unseen, name)
		}
	}
	for _, name := range names(met) {
		if !configured[name] && len(configured) > 0 {
			o.Unconfigured = append(o.Unconfigured, name)
		}
	}
}

// attributes computes WithoutLimit, and finds the attributes that fewer than half of the jobs have (hardly).
func (o *Cluster) attributes(of *clusterReadings) {
	n := map[string]int{}
	for _, j := range of.jobs {
		for what, told := range map[string]bool{
			"time_limit": j.TimeLimit > 0, "size": j.Procs > 0, "user": j.User != "", "account": j.Account != "",
			"priority": j.Priority != 0, "eligible": j.eligible, "memory": j.Memory > 0,
		} {
			if told {
				n[what]++
			}
		}
	}
	jobs := float64(len(of.jobs))
	o.WithoutLimit = 1 - float64(n["time_limit"])/jobs
	for _, m := range [...]Missing{
		{"time_limit", 0, "backfilling cannot be simulated, and running jobs have no latest end"},
		{"size", 0, "such jobs are left out"},
		{"user", 0, "a user's own recent runs, the best guide to how long the next takes, are not known"},
		{"account", 0, "limits and shares of accounts cannot be told apart"},
		{"priority", 0, "where jobs start by priority their order is guessed"},
		{"eligible", 0, "a wait for a dependency or a begin time counts as queueing"},
		{"memory", 0, "jobs that wait for memory look as if they waited for processors"},
	} {
		if m.Share = float64(n[m.Attribute]) / jobs; m.Share < hardly {
			o.Missing = append(o.Missing, m)
		}
	}
}

// suggest recommends additional sources and better settings. docs/formats lists the formats that report a job only at
// its end.
func (o *Cluster) suggest(of *clusterReadings) {
	has := func(format string) bool {
		return slices.ContainsFunc(of.cluster.Sources, func(s config.Source) bool { return s.Format == format })
	}
	lacks := func(attribute string) bool {
		return slices.ContainsFunc(o.Missing, func(m Missing) bool { return m.Attribute == attribute })
	}
	ofSlurm := slices.ContainsFunc(of.cluster.Sources, func(s config.Source) bool {
		return strings.HasPrefix(s.Format, "slurm-")
	})
	add := func(text string) { o.Suggestions = append(o.Suggestions, text) }
	switch live := has("slurm-log") || has(config.FormatSqueue); {
	case ofSlurm && !live:
		add("add a source of format slurm-squeue, or slurm-log: the present ones report jobs only when they are " +
			"over, so that waiting jobs are unknown")
	case ofSlurm && !has(config.FormatSqueue) && (lacks("time_limit") || lacks("priority")):
		add("add a source of format slurm-squeue: it reports limits, priorities and sizes of waiting jobs")
	}
	if ofSlurm && !has(config.FormatFacts) {
		add("add a source of format slurm-facts: it reports nodes, reservations, limits and the rules of priority")
	}
	if has("sge-accounting") && !has("sge-reporting") {
		add("add a source of format sge-reporting: sge-accounting reports jobs only when they are over")
	}
	if (has("sge-accounting") || has("sge-reporting")) && !has(config.FormatQstat) {
		add("add a source of format gridengine-qstat: it reports waiting jobs with their sizes, queues and limits")
	}
	if has("lsf-acct") && !has("lsf-events") {
		add("add a source of format lsf-events: lsf-acct reports jobs only when they are over")
	}
	if !ofSlurm && of.cluster.Procs == 0 && len(of.cluster.Pools) == 0 {
		add("set procs of the cluster: until the machine was full once, it counts as smaller than it is")
	}
	late := slices.ContainsFunc(of.cluster.Sources, func(s config.Source) bool { return s.Start == "end" })
	if late && len(of.cluster.History.Files) == 0 {
		add("set start of the source to beginning, or import older logs: forecasts learn from history")
	}
}
