package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

func newModels(a *app) *cobra.Command {
	var cluster string
	command := &cobra.Command{
		Use:   "models [QUEUE]",
		Short: "Show the models that the daemon keeps of the queues",
		Long: "Show what the daemon has learnt of a queue, or of all: the laws of lifetimes with their scores, " +
			"the model of Lublin and Feitelson,\n" +
			"the Markov chains, and statistics of the users.",
		Example: "  waitcast models batch\n" +
			"  waitcast models batch --json | jq .markov.procs.transitions",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.models(c.Context(), cluster, args) },
	}
	command.Flags().StringVar(&cluster, "cluster", "", "cluster, if the daemon has several")
	return command
}

// models requests the models of one queue or of all queues.
func (a *app) models(ctx context.Context, cluster string, queues []string) error {
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		return a.eachModel(ctx, c, cluster, queues)
	})
}

// eachModel prints the models of the named queues, or of all queues if none is named. If the last answer is stale, it
// then returns a staleError.
func (a *app) eachModel(ctx context.Context, c *client.Client, cluster string, queues []string) error {
	if len(queues) == 0 {
		known, _, err := c.Queues(ctx, cluster)
		if err != nil {
			return err
		}
		for _, q := range known.Queues {
			if q.Cluster != known.Queues[0].Cluster {
				return console.NewUsageError("the daemon has several clusters: give --cluster")
			}
			queues = append(queues, q.Name)
		}
		if len(queues) == 0 {
			return errors.New("the daemon knows no queue yet")
		}
	}
	age, stale := 0.0, false
	for i, queue := range queues {
		answer, raw, err := c.Models(ctx, cluster, queue)
		if err != nil {
			return err
		}
		if err := a.printModels(answer, raw, i > 0); err != nil {
			return err
		}
		age, stale = answer.AgeSeconds, answer.Stale
	}
	if stale {
		return &staleError{fromSeconds(age)}
	}
	return nil
}

func (a *app) printModels(m *wire.Models, raw json.RawMessage, more bool) error {
	if a.JSON {
		return a.printJSON(raw)
	}
	var out bytes.Buffer
	if more {
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "Queue %s of cluster %s, %s\n", console.Printable(m.Queue), console.Printable(m.Cluster),
		inTitle(m.AsOf, a.zone))
	if m.Lublin == nil || m.Users == nil || m.Markov == nil {
		out.WriteString("  no job of it has been seen yet\n")
	} else {
		lawsTable(&out, m.Laws)
		lublinText(&out, m.Lublin)
		markovText(&out, m.Markov)
		usersText(&out, m.Users)
	}
	_, err := a.Stdout.Write(out.Bytes())
	return err
}

// lawsTable writes the competing laws, the best first. A star marks the chosen law.
func lawsTable(w io.Writer, laws []wire.LifetimeLaws) {
	for _, l := range laws {
		fmt.Fprintf(w, "\nLifetimes of %s jobs: %d\n", console.Printable(l.Class), l.Jobs) //nolint:errcheck // a buffer
		if l.Reason != "" {
			fmt.Fprintf(w, "  %s\n", console.Printable(l.Reason)) //nolint:errcheck // a buffer
		}
		if l.Jobs == 0 {
			continue
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "  law\tlog score\tscored on\tnot fitted because") //nolint:errcheck // a buffer
		for _, s := range l.Scores {
			mark, score := " ", "-"
			if s.Law == l.Chosen {
				mark = "*"
			}
			if s.LogScore != nil {
				score = fmt.Sprintf("%.3f", *s.LogScore)
			}
			fmt.Fprintf(t, "%s %s\t%s\t%d\t%s\n", mark, console.Printable(s.Law), score, s.Scored,
				console.Printable(s.Reason))
		}
		_ = t.Flush() // cannot fail, because it writes to memory
		if q := l.Law; q != nil {
			fmt.Fprintf(w, "  by the law with *: half of the jobs take %s, 9 of 10 %s\n",
				band(q.P25, q.P75), upTo(q.P90))
		}
	}
}

func lublinText(out *bytes.Buffer, l *wire.Lublin) {
	gamma := func(g wire.Gamma) string { return fmt.Sprintf("Gamma(%.4g, %.4g)", g.Shape, g.Scale) }
	out.WriteString("\nLublin and Feitelson\n")
	row := func(name, reason, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if reason != "" {
			text = "not fitted: " + console.Printable(reason)
		}
		fmt.Fprintf(out, "  %-10s%s\n", name, text)
	}
	s, r, a := &l.Size, &l.Runtime, &l.Arrival
	row("sizes", s.Reason, "serial %.3f, powers of two %.3f, log2 size %.2f / %.2f / %.2f, p %.3f; KS %.3f",
		s.Serial, s.PowerOfTwo, s.Low, s.Medium, s.High, s.Prob, s.KS)
	row("runtimes", r.Reason, "ln: %.3f %s + %s; p(s) = %.4g s + %.3f; KS %.3f, by size %.3f", r.P, gamma(r.First),
		gamma(r.Second), r.A, r.B, r.KS, r.AllKS)
	row("arrivals", a.Reason, "peak ln gap %s, ARAR %.3f, mean gap %s; daily %s, KS %.3f",
		gamma(a.Peak), a.ARAR, duration.Format(fromSeconds(math.Round(a.MeanGapSeconds))), gamma(a.Daily), a.DailyKS)
}

func markovText(out *bytes.Buffer, m *wire.Markov) {
	fmt.Fprintf(out, "\nMarkov chains: %d jobs, %d pairs, %d states of size, %d of runtime, cor0 %.3f, cor1 %.3f\n",
		m.Jobs, m.Pairs, len(m.Procs.States), len(m.Runtime.States), m.Cor0, m.Cor1)
	if len(m.Procs.States) == 0 || len(m.Procs.States) > 12 {
		return
	}
	t := tabwriter.NewWriter(out, 0, 0, 1, ' ', tabwriter.AlignRight)
	row := []string{"  size"}
	for _, s := range m.Procs.States {
		row = append(row, fmt.Sprint(s))
	}
	fmt.Fprintln(t, strings.Join(row, "\t")+"\t") //nolint:errcheck // a buffer
	for i, s := range m.Procs.States {
		row = []string{fmt.Sprint(s)}
		for _, p := range m.Procs.Transitions[i] {
			row = append(row, fmt.Sprintf("%.2f", p))
		}
		fmt.Fprintln(t, strings.Join(row, "\t")+"\t") //nolint:errcheck // a buffer
	}
	_ = t.Flush() // cannot fail, because it writes to memory
}

func usersText(out *bytes.Buffer, u *wire.Users) {
	fmt.Fprintf(out, "\nUsers, by the newest %d jobs (%d never ran)\n", u.Jobs, u.NeverRanJobs)
	if u.Reason != "" {
		fmt.Fprintf(out, "  not told apart: %s\n", console.Printable(u.Reason))
	} else {
		fmt.Fprintf(out,
			"  %d long-term, %d temporary (%.2g come in a week), %d cut off by an end of the history; %d sessions\n",
			u.LongTerm, u.Temporary, u.PerWeek, u.Dropped, u.Sessions)
	}
	fmt.Fprintf(out, "  flurries: %d of %d jobs; daily robots: %d of %d jobs\n", u.Flurries, u.FlurryJobs,
		u.Robots, u.RobotJobs)
	fmt.Fprintf(out, "  saturation: %s\n", saturationText(u.Saturation))
}
