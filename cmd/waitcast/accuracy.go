package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

func newAccuracy(a *app) *cobra.Command {
	var q client.AccuracyQuery
	var replayed bool
	command := &cobra.Command{
		Use:   "accuracy",
		Short: "Show how the forecasts turned out",
		Long: "Show how the forecasts turned out that the daemon made for every job at its submission, by queue and " +
			"size, beside other methods on the same jobs.\n\n" +
			"A quantile of .90 should be at or above nine tenths of the waits: its two shares are of the waits below " +
			"it and of those up to it. They are over all submissions whose quantile has passed, jobs that still wait " +
			"included.",
		Example: "  waitcast accuracy -q batch --since 7d\n" +
			"  waitcast accuracy --made live --json | jq '.groups[0].methods[0].coverage'",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if replayed {
				q.Made = "replayed"
			}
			return a.accuracy(c.Context(), q)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&q.Queue, "queue", "q", "", "only this queue")
	flags.StringVar(&q.SizeClass, "size", "", "only this class of sizes: 1, 2-8, 9-64, 65-512, 513-4096, 4097+")
	flags.StringVar(&q.Made, "made", "", "only forecasts made live, or replayed after the fact")
	flags.BoolVar(&replayed, "replayed", false, "the same as --made replayed: forecasts of imported history, say")
	command.MarkFlagsMutuallyExclusive("made", "replayed")
	flags.StringVar(&q.Since, "since", "",
		"only jobs submitted, or for losses started, since: 7d before the newest record, or 2026-03-02; default 30d")
	flags.StringVar(&q.Until, "until", "", "and before; coverage is as of then")
	flags.IntVar(&q.Limit, "limit", 0, "at most so many rows of queue and size; default 200")
	flags.IntVar(&q.Offset, "offset", 0, "leave out so many rows at the beginning")
	flags.StringVar(&q.Cluster, "cluster", "", "cluster, if the daemon watches several")
	return command
}

func (a *app) accuracy(ctx context.Context, q client.AccuracyQuery) error {
	if a.timeout <= 0 {
		return console.NewUsageError("--timeout must be more than 0")
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.timeout))
	defer cancel()
	answer, raw, err := c.Accuracy(ctx, q)
	switch {
	case err != nil:
		return a.refusedAs(err)
	case a.JSON:
		err = a.printJSON(raw)
	default:
		_, err = a.Stdout.Write(accuracyText(answer, a.zone))
	}
	if err == nil && answer.Stale {
		return &staleError{fromSeconds(answer.AgeSeconds)}
	}
	return err
}

// accuracyText writes a table for each way of making forecasts.
func accuracyText(answer *wire.Accuracy, zone *time.Location) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "Cluster %s, jobs since %s", console.Printable(answer.Cluster),
		answer.Since.In(zone).Format("2006-01-02 15:04"))
	if answer.Until != nil {
		fmt.Fprintf(&out, " and before %s", answer.Until.In(zone).Format("2006-01-02 15:04"))
	}
	out.WriteByte('\n')
	for _, made := range []string{"live", "replayed"} {
		groups := slices.DeleteFunc(slices.Clone(answer.Groups), func(g wire.AccuracyGroup) bool {
			return g.Made != made
		})
		if len(groups) == 0 {
			continue
		}
		fmt.Fprintf(&out, "\nForecasts made %s\n",
			map[string]string{"live": "as it happened",
				"replayed": "after the fact, from what could have been known"}[made])
		accuracyTable(&out, groups)
		newestTable(&out, groups)
	}
	if len(answer.Groups) == 0 {
		out.WriteString("  no forecast has been scored there\n")
	} else {
		if answer.NextOffset != nil {
			fmt.Fprintf(&out, "\n%d of %d rows of queue and size are shown: --offset %d shows the next ones.\n",
				len(answer.Groups), answer.Total, *answer.NextOffset)
		}
		out.WriteString("\nDecided are the submissions whose quantile has passed; \"up to\" is the share of them that" +
			" had started, below and up to the quantile. For jobs that were cancelled before it, the others stand " +
			"in; \"plain\" leaves them out. Past .95 are the waiting jobs that have missed it. Loss is the mean " +
			"pinball loss of ln(wait + 1 min) over the jobs that started, the lower the better.\n")
	}
	return out.Bytes()
}

func accuracyTable(w io.Writer, groups []wire.AccuracyGroup) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "queue\tsize\tmethod\tdecided .95\tup to .50\tup to .95\tplain .95\tcancelled .95\tpast .95\t"+
		"started\tloss .50\tloss .95\twithin 2x\n")
	for i := range groups {
		g := &groups[i]
		for k := range g.Methods {
			m := &g.Methods[k]
			queue, size, past := "", "", ""
			if k == 0 {
				queue, size = orAll(g.Queue), orAll(g.SizeClass)
				past = fmt.Sprintf("%d of %d waiting", g.WaitingPast["0.95"], g.Waiting)
			}
			high := m.Outcomes["0.95"]
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%d\t%s\t%d\t%s\t%s\t%s\n", console.Printable(queue), size,
				console.Printable(m.Method), high.Decided, shares(m.Coverage, "0.5"), shares(m.Coverage, "0.95"),
				shares(m.Unweighted, "0.95"), high.Censored, past, m.N, lossOf(m, "0.5"), lossOf(m, "0.95"), share(m))
		}
	}
	_ = t.Flush() // a buffer
}

// newestTable writes the coverage of the submissions of each queue that were decided last, if there are any.
func newestTable(w io.Writer, groups []wire.AccuracyGroup) {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g wire.AccuracyGroup) bool { return len(g.Newest) == 0 })
	if len(groups) == 0 {
		return
	}
	fmt.Fprint(w, "\nThe newest of each queue, up to 1000, as the metrics and the alert have them\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "queue\tdecided .95\tup to .50\tup to .90\tup to .95\tplain .95\tcancelled .95\n")
	for i := range groups {
		g := &groups[i]
		weighted, plain := map[string][2]float64{}, map[string][2]float64{}
		for level, n := range g.Newest {
			weighted[level], plain[level] = n.Coverage, n.Unweighted
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%d\n", console.Printable(g.Queue), g.Newest["0.95"].Decided,
			shares(weighted, "0.5"), shares(weighted, "0.9"), shares(weighted, "0.95"), shares(plain, "0.95"),
			g.Newest["0.95"].Censored)
	}
	_ = t.Flush() // a buffer
}

func orAll(name string) string {
	if name == "" {
		return "all"
	}
	return name
}

// shares writes the two shares of a level.
func shares(coverage map[string][2]float64, level string) string {
	c, ok := coverage[level]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.3f-%.3f", c[0], c[1])
}

// lossOf writes the loss of a level, and of another method what the forecast lost on the same jobs.
func lossOf(m *wire.MethodAccuracy, level string) string {
	loss, ok := m.LogPinball[level]
	if !ok {
		return "-"
	}
	text := fmt.Sprintf("%.3f", loss)
	if ours, ok := m.Waitcast[level]; ok {
		text += fmt.Sprintf(" (ours %.3f)", ours)
	}
	return text
}

func share(m *wire.MethodAccuracy) string {
	if m.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", m.WithinFactor2)
}
