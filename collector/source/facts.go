package source

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/waitcast/waitcast/job"
)

// FactsReading is the parsed output of a command: facts about a machine and its rules.
type FactsReading struct {
	// Facts are nil if Err is set, because the output cannot be used then.
	Facts *job.Facts
	Err   error
	// Lines, Bad and Notes have the same meaning as in Answer.
	Lines int
	Bad   []BadLine
	Notes []error
}

// FactsQuestion is a command that is polled for the facts of a machine. It is for schedulers that report all facts
// with one command.
type FactsQuestion struct {
	Cluster string
	Command Command
	// None is a part of the error message with which the command fails if there are no facts. It is empty if the
	// command does not fail then.
	None string
	// Read parses the output of the command.
	Read func(output []byte) FactsReading
	// Known returns the facts that the daemon already has, nil if there are none. It is called once, at the first
	// usable answer.
	Known func() *job.Facts
}

// AskFacts returns a function that queries facts. It returns an event only if they have changed. If most lines cannot
// be parsed, the answer has an error and no event. A bad line that the previous output had, too, is not reported again.
func AskFacts(q FactsQuestion) Ask {
	var known *job.Facts
	var told bool
	var refused map[string]bool
	return func(ctx context.Context, asked time.Time) Answer {
		output, err := Run(ctx, q.Command)
		if err != nil && (q.None == "" || !strings.Contains(err.Error(), q.None)) {
			return Answer{Err: err}
		}
		r := q.Read(output)
		a := Answer{Lines: r.Lines, Notes: r.Notes}
		seen := refused
		refused = map[string]bool{}
		for i := range r.Bad {
			text := string(r.Bad[i].Text)
			if refused[text] = true; !seen[text] {
				a.Bad = append(a.Bad, r.Bad[i])
			}
		}
		switch {
		case r.Err != nil:
			a.Err = &CallError{Reason: FailedOutput, Err: r.Err}
			return a
		case 2*len(r.Bad) > r.Lines:
			a.Err = &CallError{Reason: FailedOutput, Err: fmt.Errorf("%d of the %d lines it printed cannot be read, "+
				"first line %d: %w", len(r.Bad), r.Lines, r.Bad[0].Number, r.Bad[0].Err)}
			return a
		}
		job.EachText(r.Facts, job.Printable)
		if !told {
			known, told = q.Known(), true
		}
		if known == nil || !r.Facts.Equal(known) {
			known = r.Facts
			a.Events = []job.Event{{Kind: job.Machine, Cluster: q.Cluster, ID: job.MachineID, Time: asked.UTC(),
				Facts: r.Facts, Live: true}}
		}
		return a
	}
}
