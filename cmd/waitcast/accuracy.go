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
		Short: "Show the accuracy of the forecasts",
		Long: "Show the accuracy of the forecasts that the daemon made for every job at its submission, by " +
			"queue and size, beside other methods on the same jobs.\n\n" +
			"Nine tenths of the waits should not exceed the quantile 0.90. Its two columns are the shares of " +
			"waits below it and up to it,\n" +
			"over all submissions whose quantile has passed, including jobs that still wait.",
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
	flags.StringVar(&q.Made, "made", "", "only forecasts made live, or replayed afterwards")
	flags.BoolVar(&replayed, "replayed", false,
		"the same as --made replayed: for example forecasts of imported history")
	command.MarkFlagsMutuallyExclusive("made", "replayed")
	flags.StringVar(&q.Since, "since", "",
		"only jobs submitted, or for losses started, since: 7d before the newest record, or 2026-03-02; default 30d")
	flags.StringVar(&q.Until, "until", "", "and before this time; coverage is as of then")
	flags.IntVar(&q.Limit, "limit", 0, "maximum number of rows of queue and size; default 200")
	flags.IntVar(&q.Offset, "offset", 0, "number of rows to skip at the beginning")
	flags.StringVar(&q.Cluster, "cluster", "", "cluster, if the daemon has several")
	return command
}

func (a *app) accuracy(ctx context.Context, q client.AccuracyQuery) error {
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		answer, raw, err := c.Accuracy(ctx, q)
		if err != nil {
			return err
		}
		return a.printAnswer(raw, accuracyText(answer, a.zone), answer.Stale, answer.AgeSeconds)
	})
}

// accuracyText returns the answer as text: a table for live and one for replayed forecasts.
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
		accuracySummary(&out, &groups[0])
		accuracyTable(&out, groups)
		newestTable(&out, groups)
		partsTable(&out, groups)
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

// accuracySummary describes in sentences the first row of the table, and how much larger the loss of the other methods
// is on the same jobs. It writes nothing if no job was decided yet.
func accuracySummary(w io.Writer, g *wire.AccuracyGroup) {
	if len(g.Methods) == 0 || g.Methods[0].Outcomes["0.95"].Decided == 0 {
		return
	}
	m := &g.Methods[0]
	where := ""
	if g.Queue != "" {
		where = " to queue " + console.Printable(g.Queue)
	}
	fmt.Fprintf(w, "  Of %d submissions%s %s had started by their .95 quantile, which should be 95 %%, and %s by "+
		"their median.\n", m.Outcomes["0.95"].Decided, where,
		percent(m.Coverage["0.95"][1]), percent(m.Coverage["0.5"][1]))
	if m.N > 0 {
		fmt.Fprintf(w, "  Of the %d that started, %s waited from half to twice as long as their median, with a minute "+
			"added to both.\n", m.N, percent(m.WithinFactor2))
	}
	for i := range g.Methods[1:] {
		o := &g.Methods[1+i]
		if ours, loss := o.Waitcast["0.5"], o.LogPinball["0.5"]; ours > 0 && loss > 0 {
			fmt.Fprintf(w, "  On the jobs that it forecast, the loss of %s at .50 is %.2f times that of waitcast.\n",
				console.Printable(o.Method), loss/ours)
		}
	}
	fmt.Fprintln(w)
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
				shares(m.Unweighted, "0.95"), high.LeftUndecided, past, m.N, lossOf(m, "0.5"), lossOf(m, "0.95"),
				share(m))
		}
	}
	_ = t.Flush() // cannot fail, because it writes to memory
}

// newestTable writes, for each queue, the coverage of the submissions that were decided last. It writes nothing if
// there are none.
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
			g.Newest["0.95"].LeftUndecided)
	}
	_ = t.Flush() // writes to memory
}

// partsTable writes the accuracy of the forecasts of the parts of waits. It shows only groups with blocked jobs or with
// counts of reasons. It writes nothing if there are no such groups.
func partsTable(w io.Writer, groups []wire.AccuracyGroup) {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g wire.AccuracyGroup) bool {
		return (g.Parts == nil || g.Parts.Blocked.Nonzero == 0) && g.Reasons == nil
	})
	if len(groups) == 0 {
		return
	}
	fmt.Fprint(w, "\nParts of the waits of the jobs that started (blocked: held, or kept by a limit), and the jobs of "+
		"which the predicted cause was the scheduler's\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "queue\tsize\tpart\tjobs with it\tup to .50\tup to .90\tloss .50\tloss .90\tcause\n")
	for i := range groups {
		g, cause := &groups[i], ""
		queue, size := console.Printable(orAll(g.Queue)), orAll(g.SizeClass)
		if r := g.Reasons; r != nil {
			cause = fmt.Sprintf("%d of %d", r.Agreed, r.Jobs)
		}
		if g.Parts == nil {
			fmt.Fprintf(t, "%s\t%s\t-\t-\t-\t-\t-\t-\t%s\n", queue, size, cause)
			continue
		}
		for _, part := range []struct {
			name string
			*wire.PartAccuracy
		}{{"eligible", &g.Parts.Eligible}, {"blocked", &g.Parts.Blocked}} {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d of %d\t%s\t%s\t%.3f\t%.3f\t%s\n", queue, size, part.name,
				part.Nonzero, part.N, shares(part.Coverage, "0.5"), shares(part.Coverage, "0.9"),
				part.LogPinball["0.5"], part.LogPinball["0.9"], cause)
			cause = ""
		}
	}
	_ = t.Flush() // writes to memory
}

func orAll(name string) string {
	if name == "" {
		return "all"
	}
	return name
}

// shares formats the shares of waits below the quantile of a level and up to it: "0.948-0.951".
func shares(coverage map[string][2]float64, level string) string {
	c, ok := coverage[level]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.3f-%.3f", c[0], c[1])
}

// lossOf formats the loss of a level. For a method that was not served it also gives the loss of the served forecast on
// the same jobs.
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
