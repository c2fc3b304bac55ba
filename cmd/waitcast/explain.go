package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// explain writes what a start waits for, and what would start sooner: a line for each.
func (p *page) explain(pivots []wire.Pivot, sooner []wire.Sooner) {
	label := "Waits for"
	for _, v := range pivots {
		p.Line(label, fmt.Sprintf("end of job %s in %s of futures: %s, runs %s, %s", v.ID, percent(v.Share),
			processors(v.Procs), duration.Format(fromSeconds(v.AgeSeconds)), remaining(&v)))
		label = ""
	}
	label = "Sooner"
	for _, o := range sooner {
		what := processors(o.Procs)
		switch o.Changes {
		case "time_limit":
			what = "time limit " + duration.Format(fromSeconds(o.TimeLimitSeconds))
		case "queue":
			what = "queue " + o.Queue
		}
		gain := ""
		if o.GainSeconds != nil {
			gain = ", " + duration.Format(fromSeconds(*o.GainSeconds)) + " sooner"
		}
		p.Line(label, fmt.Sprintf("%s: median wait %s%s, 9 of 10 %s; materially sooner in %s of cases, %s", what,
			quantile(o.WaitSeconds.P50), gain, upTo(o.WaitSeconds.P90), percent(o.Probability), o.If))
		label = ""
	}
}

// keepFlag adds the flag of how much of a request its options keep.
func keepFlag(flags *pflag.FlagSet, keep *float64) {
	flags.Float64Var(keep, "keep", 0.25,
		"what would start sooner keeps at least this part of the processors and of the time limit; above 0, at most 1")
}

// keepOf returns the value of that flag, 0 where it was not given: the daemon has the same default.
func keepOf(c *cobra.Command, keep float64) (float64, error) {
	switch {
	case !(keep > 0 && keep <= 1):
		return 0, console.NewUsageError("--keep must be above 0 and at most 1")
	case !c.Flags().Changed("keep"):
		return 0, nil
	}
	return keep, nil
}

// remaining reports how much longer a job runs.
func remaining(v *wire.Pivot) string {
	if v.RemainingP50 == nil {
		return "nobody knows how much longer"
	}
	text := "median rest " + duration.Format(fromSeconds(*v.RemainingP50))
	if v.RemainingP90 != nil {
		text += ", 9 of 10 at most " + duration.Format(fromSeconds(*v.RemainingP90))
	}
	return text
}

func processors(n int) string {
	if n == 1 {
		return "1 processor"
	}
	return fmt.Sprintf("%d processors", n)
}
