package slurm

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// FactsName is the name in the configuration of the source of Slurm's facts about the machine.
const FactsName = "slurm-facts"

// FactsFormat returns the format of Slurm's facts about the machine. It has no parser: commands are run, no file is
// read. See Facts.
func FactsFormat() collector.Format { return collector.Format{Name: FactsName, Order: collector.Live} }

// FactsEnv returns what the commands need in their environment: times in Unix seconds. Where a command in between loses
// it, local times are read too.
func FactsEnv() []string { return []string{"SLURM_TIME_FORMAT=%s"} }

// FactsConfig is what a Facts is made from.
type FactsConfig struct {
	Options collector.Options
	// Run runs one of Slurm's commands and returns what it prints.
	Run func(ctx context.Context, args []string) ([]byte, error)
	// Known returns the facts that the picture has, nil if it has none. It is called before the first event only.
	Known func() *job.Facts
}

// Facts polls Slurm for facts about the machine and its rules: nodes and reservations at each call, all that changes
// seldom every ten minutes. An event is made only if something has changed.
//
// Commands are independent. One that fails leaves its earlier facts in place, and never keeps the others from being
// run.
type Facts struct {
	cfg    FactsConfig
	parser squeueParser // reads times and names
	parts  []*part
	known  *job.Facts

	nodes        map[string]*node
	reservations []reservation
	queues       []job.QueueFacts
	qosLimits    []job.Limit
	assocLimits  []job.Limit
	general      general
	shares       []job.Share
	accountList  []job.Account
	qosList      []string
}

// part is one command.
type part struct {
	name string
	args []string
	// every is the least time between two runs.
	every time.Duration
	// needed reports whether the command is worth running; nil means always.
	needed func() bool
	// read parses an output, whose lines each passes to a function. It returns a function that puts the facts into
	// force.
	read func(each eachLine) (count func())

	asked  time.Time
	failed int             // calls in a row
	bad    map[string]bool // lines that could not be read the last time
}

// eachLine hands every line that is not empty to a function; an error refuses the line.
type eachLine func(do func(line []byte) error)

// factsEvery is the least time between two calls for what changes seldom.
const factsEvery = 10 * time.Minute

// NewFacts returns a Facts.
func NewFacts(cfg FactsConfig) *Facts {
	f := &Facts{cfg: cfg, parser: squeueParser{newCommon(cfg.Options)}}
	scontrol := func(what ...string) []string {
		return append([]string{"scontrol", "--all", "--oneliner", "show"}, what...)
	}
	f.parts = []*part{
		{name: "scontrol show config", args: scontrol("config"), every: factsEvery, read: f.readConfig},
		{name: "sinfo", args: sinfoCommand(), read: f.readNodes},
		{name: "scontrol show reservation", args: scontrol("reservation"), read: f.readReservations},
		{name: "scontrol show partition", args: scontrol("partition"), every: factsEvery, read: f.readPartitions},
		{name: "sacctmgr show qos", args: sacctmgrCommand("qos", qosFields[:]), every: factsEvery, read: f.readQOS,
			needed: f.accounts},
		{name: "sacctmgr show assoc", args: sacctmgrCommand("assoc", assocFields[:]), every: factsEvery,
			read: f.readAssociations, needed: f.accounts},
		{name: "sshare", args: []string{"sshare", "--all", "--noheader", "--parsable2",
			"--format=Account,User,FairShare"}, every: factsEvery, read: f.readShares, needed: f.shared},
	}
	return f
}

// Ask runs the commands that are due. It returns an error if none of them gave facts.
func (f *Facts) Ask(ctx context.Context, asked time.Time) source.Answer {
	var a source.Answer
	good := 0
	for _, p := range f.parts {
		if !p.due(asked) || p.needed != nil && !p.needed() {
			continue
		}
		p.asked = asked
		output, err := f.cfg.Run(ctx, p.args)
		if ctx.Err() != nil {
			return source.Answer{Err: ctx.Err()}
		}
		if err == nil {
			err = p.take(output, &a)
		}
		if err != nil {
			p.failed++
			a.Notes = append(a.Notes, fmt.Errorf("%s: %w", p.name, err))
			continue
		}
		p.failed = 0
		good++
	}
	if good == 0 && len(a.Notes) > 0 {
		a.Err, a.Notes = a.Notes[0], nil
		return a
	}
	if f.known == nil {
		f.known = f.cfg.Known()
	}
	if facts := f.facts(asked); f.known == nil || !facts.Equal(f.known) {
		f.known = facts
		a.Events = append(a.Events, job.Event{
			Kind: job.Machine, Cluster: f.cfg.Options.Cluster, ID: job.MachineID, Time: asked.UTC(),
			Facts: facts, Live: true,
		})
	}
	return a
}

// factsRetry is the time to the next call of a command that failed; it doubles with each failure up to the usual one.
const factsRetry = time.Minute

// due reports whether it is time to run the command again, give or take what calls are early.
func (p *part) due(now time.Time) bool {
	wait := p.every
	if p.failed > 0 {
		wait = min(wait, factsRetry<<min(p.failed-1, 10))
	}
	return p.asked.IsZero() || now.Sub(p.asked) >= wait-wait/20
}

// take reads an output. Bad lines are left out, and reported unless they are those of the last time; if most lines are
// bad, the output is ignored.
func (p *part) take(output []byte, a *source.Answer) error {
	lines, count, seen := 0, 0, p.bad
	p.bad = map[string]bool{}
	var worst error
	commit := p.read(func(do func(line []byte) error) {
		for line := range bytes.Lines(output) {
			lines++
			line = bytes.TrimSpace(line)
			if len(line) == 0 {
				continue
			}
			err := do(line)
			if err == nil {
				continue
			}
			count++
			if worst == nil {
				worst = fmt.Errorf("line %d: %w", lines, err)
			}
			if text := string(line); len(p.bad) < maxBadLines && !p.bad[text] {
				p.bad[text] = true
				if !seen[text] {
					a.Bad = append(a.Bad, source.Refused(p.name, int64(lines), line, err))
				}
			}
		}
	})
	a.Lines += lines
	if 2*count > lines {
		return &source.CallError{Reason: source.FailedOutput,
			Err: fmt.Errorf("%d of the %d lines it printed cannot be read, first %w", count, lines, worst)}
	}
	commit()
	return nil
}

// facts combines the facts of all commands.
func (f *Facts) facts(asked time.Time) *job.Facts {
	facts := &job.Facts{
		Nodes: f.groups(), Outages: f.outages(asked), Queues: f.queues, Weights: f.general.weights,
		Version: f.general.version,
	}
	facts.Limits = append(append(facts.Limits, f.qosLimits...), f.assocLimits...)
	facts.Accounts, facts.QOSs, facts.Enforced = f.accountList, f.qosList, f.general.enforced
	facts.Shares = f.shares
	if f.known != nil && alike(f.known.Shares, f.shares) {
		facts.Shares = f.known.Shares
	}
	return facts
}

// wordOf returns the value of the word "key=value" of a line, nil if it has none.
func wordOf(line []byte, key string) []byte {
	for word := range bytes.FieldsSeq(line) {
		if value, ok := bytes.CutPrefix(word, []byte(key)); ok && len(value) > 0 && value[0] == '=' {
			return value[1:]
		}
	}
	return nil
}

// number reads a whole number; words for none (UNLIMITED, N/A) and what else is no number are 0.
func number(text []byte) int {
	n, _ := count(text)
	return int(n)
}
