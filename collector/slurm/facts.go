package slurm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// FactsName is the name, in the configuration, of the source of Slurm's facts about the machine.
const FactsName = "slurm-facts"

// FactsFormat returns the format of Slurm's facts about the machine. It has no parser: commands are run, no file is
// read. See Facts.
func FactsFormat() collector.Format {
	return collector.Format{Name: FactsName, Order: collector.Live, Private: true}
}

// FactsEnv returns the environment variables of the commands. They make Slurm write times in Unix seconds. Local times
// are also understood, in case a wrapper command drops the variables.
func FactsEnv() []string { return []string{"SLURM_TIME_FORMAT=%s"} }

// FactsConfig configures a Facts.
type FactsConfig struct {
	Options collector.Options
	// Run runs one of Slurm's commands and returns its output. If Rest is set, Run is not called: slurmrestd answers
	// instead of the commands.
	Run  func(ctx context.Context, args []string) ([]byte, error)
	Rest *RestConfig
	// Known returns the facts that the daemon already has, nil if there are none. It is called once, after the first
	// useful answer.
	Known func() *job.Facts
	// As is the user whose rights count; by default the user who runs the commands.
	As string
	// Rights is set for a cluster whose other facts are not wanted. Then only PrivateData, and what it hides, are
	// found out, by commands.
	Rights bool
}

// Facts polls Slurm, by its commands or slurmrestd, for facts about the machine and its rules. It polls nodes and
// reservations at each call, and everything else every ten minutes. It returns an event only if something has changed.
//
// The queries are independent of each other: if one fails, its earlier facts remain, and the other queries are still
// made.
type Facts struct {
	cfg    FactsConfig
	parser squeueParser // parses times and names
	parts  []*part
	known  *job.Facts

	nodes        map[string]*node
	reservations []reservation
	queues       []job.QueueFacts
	qos          qosFacts
	assoc        assocFacts
	general      general
	shares       shares
	rights       rights
	asked        time.Time
}

// part is one query: a command, or an endpoint of slurmrestd.
type part struct {
	name string
	// every is the minimum time between two queries, 0 for a query at each call. A failed query is repeated sooner, see
	// due.
	every time.Duration
	// needed reports whether the query is useful; nil means always.
	needed func() bool
	// database is true if slurmdbd has the data; needed is not nil then.
	database bool
	// ask runs the query and returns its entries.
	ask func(ctx context.Context) ([]entry, error)
	// read parses the records of an answer. It returns a function that stores the parsed facts.
	read func(each eachRecord) (commit func())

	asked  time.Time
	failed int             // number of failed calls in a row
	denied bool            // the last call failed because the user may not see the data
	bad    map[string]bool // entries of the last answer that could not be parsed
}

// record returns the value of a column (or key) of an entry, nil if there is none. Columns have the names of Slurm's
// commands even if slurmrestd answered.
type record func(key string) []byte

// entry is one line or object of an answer.
type entry struct {
	number int64
	text   []byte
	record record
	err    error // nil if the entry can be parsed
}

// column returns the value of a column in the form in which facts are kept.
func (e *entry) column(key string) []byte { return printable(e.record(key)) }

// eachRecord calls a function with every record. If the function returns an error, the record is refused. eachRecord
// reports whether all entries could be parsed.
type eachRecord func(do func(record) error) (complete bool)

// factsEvery is the minimum time between two queries of facts that rarely change.
const factsEvery = 10 * time.Minute

// NewFacts returns a Facts.
func NewFacts(cfg FactsConfig) *Facts {
	f := &Facts{cfg: cfg, parser: squeueParser{common: newCommon(cfg.Options)}}
	switch {
	case cfg.Rights:
		f.parts = f.rightsParts()
	case cfg.Rest != nil:
		f.parts = f.questions()
	default:
		f.parts = f.commands()
	}
	return f
}

// Ask runs the queries that are due, and returns an event if the facts have changed. It returns an error if queries
// failed and none succeeded. Otherwise the errors of failed queries are notes of the answer.
func (f *Facts) Ask(ctx context.Context, asked time.Time) source.Answer {
	var a source.Answer
	good := 0
	f.asked = asked.UTC()
	for _, p := range f.parts {
		if !p.due(asked) || p.needed != nil && !p.needed() {
			continue
		}
		p.asked = asked
		entries, err := p.ask(ctx)
		if ctx.Err() != nil {
			return source.Answer{Err: ctx.Err()}
		}
		if err == nil {
			err = p.take(entries, &a)
		}
		p.denied = err != nil && strings.Contains(err.Error(), denied)
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
	a.Gap, a.Outage = f.gap(), f.outage()
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

// outage reports that slurmdbd does not answer: a query of its data has failed, although the user may see them.
func (f *Facts) outage() string {
	for _, p := range f.parts {
		if p.database && p.failed > 0 && !p.denied && p.needed() {
			return p.name + " fails: is slurmdbd up? Limits, accounts and shares are those of the last answer"
		}
	}
	return ""
}

// factsRetry is the time until a failed query is repeated. It doubles with each failure, up to the usual interval.
const factsRetry = time.Minute

// due reports whether the query is due. After a failure it may be due sooner than p.every. due tolerates calls that
// come slightly early.
func (p *part) due(now time.Time) bool {
	wait := p.every
	if p.failed > 0 {
		wait = min(wait, factsRetry<<min(p.failed-1, 10))
	}
	return p.asked.IsZero() || now.Sub(p.asked) >= wait-wait/20
}

// take parses an answer. It leaves out bad entries, and reports those that were not bad in the previous answer. If most
// entries are bad, it ignores the answer.
func (p *part) take(entries []entry, a *source.Answer) error {
	count, seen := 0, p.bad
	p.bad = map[string]bool{}
	var worst error
	commit := p.read(func(do func(record) error) bool {
		for _, e := range entries {
			err := e.err
			if err == nil {
				err = do(e.column)
			}
			if err == nil {
				continue
			}
			count++
			if worst == nil {
				worst = fmt.Errorf("line %d: %w", e.number, err)
			}
			if text := string(e.text); len(p.bad) < maxBadLines && !p.bad[text] {
				p.bad[text] = true
				if !seen[text] {
					a.Bad = append(a.Bad, source.Refused(p.name, e.number, e.text, err))
				}
			}
		}
		return count == 0
	})
	a.Lines += len(entries)
	if 2*count > len(entries) {
		return &source.CallError{Reason: source.FailedOutput,
			Err: fmt.Errorf("%d of its %d lines cannot be read, first %w", count, len(entries), worst)}
	}
	commit()
	return nil
}

// facts combines the facts of all answers. Shares that have hardly changed (see alike) keep their earlier values.
func (f *Facts) facts(asked time.Time) *job.Facts {
	if f.cfg.Rights {
		var facts job.Facts
		if f.known != nil {
			facts = *f.known
		}
		facts.Private = f.general.private
		return &facts
	}
	facts := &job.Facts{
		Nodes: f.groups(), Outages: f.outages(asked), Queues: f.queues, Weights: f.general.weights,
		Version: f.general.version, Untried: Newer(f.general.version),
		Enforced: f.general.enforced, Preemption: f.general.preemption,
		QOSs: f.qos.names, QOSRules: f.qos.rules, Accounts: f.assoc.accounts, Associations: f.assoc.list,
		Shares: f.shares.users, AccountShares: f.shares.accounts, SharesAt: f.shares.at, Private: f.general.private,
	}
	facts.Limits = append(append(facts.Limits, f.qos.limits...), f.assoc.limits...)
	if f.known != nil && alike(f.known.Shares, f.shares.users) && alike(f.known.AccountShares, f.shares.accounts) {
		facts.Shares, facts.AccountShares = f.known.Shares, f.known.AccountShares
		facts.SharesAt = f.known.SharesAt
	}
	return facts
}

// number parses a whole number. It returns 0 for words (UNLIMITED, N/A) and all other texts.
func number(text []byte) int {
	n, _ := count(text)
	return int(n)
}
