package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// explain writes one line for each running job for whose end the job waits, and one for each change of the request with
// which it would start sooner.
func (p *page) explain(pivots []wire.Pivot, sooner []wire.Sooner) {
	label := "Waits for"
	for _, v := range pivots {
		p.Line(label, fmt.Sprintf("the end of job %s (%s) in %s of the simulated futures; it has run %s, and %s", v.ID,
			processors(v.Procs), percent(v.Share), roughly(v.AgeSeconds), remaining(&v)))
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
		p.Line(label, fmt.Sprintf("%s: %s; materially sooner in %s of cases, %s", what, gainText(&o),
			percent(o.Probability), o.If))
		label = ""
	}
}

// gainText describes how much sooner a job starts if it requests something else.
func gainText(o *wire.Sooner) string {
	if o.WaitSeconds.P50 == nil {
		return "no end in sight in half of the cases"
	}
	text := "starts after " + roughly(*o.WaitSeconds.P50) + " in the median"
	if o.GainSeconds != nil {
		text += ", " + roughly(*o.GainSeconds) + " sooner"
	}
	if o.WaitSeconds.P90 == nil {
		return text + ", in 1 of 10 cases with no end in sight"
	}
	return text + ", in 9 of 10 cases after " + roughly(*o.WaitSeconds.P90) + " at most"
}

// keepFlag adds the flag --keep, which limits how much smaller the suggested requests may be.
func keepFlag(flags *pflag.FlagSet, keep *float64) {
	flags.Float64Var(keep, "keep", 0.25,
		"options that would start sooner keep at least this part of the processors and of the time limit; "+
			"above 0, at most 1")
}

// keepOf returns the value of the flag --keep. It returns 0 if the flag was not given; then the daemon uses its
// default.
func keepOf(c *cobra.Command, keep float64) (float64, error) {
	switch {
	case !(keep > 0 && keep <= 1):
		return 0, console.NewUsageError("--keep must be above 0 and at most 1")
	case !c.Flags().Changed("keep"):
		return 0, nil
	}
	return keep, nil
}

// remaining describes how long a job will still run.
func remaining(v *wire.Pivot) string {
	if v.RemainingP50 == nil {
		return "nobody knows how much longer it runs"
	}
	text := "half of such jobs end within " + roughly(*v.RemainingP50)
	if v.RemainingP90 != nil {
		text += ", 9 of 10 within " + roughly(*v.RemainingP90)
	}
	return text
}

// roughly formats seconds for a sentence, rounded as in everyday speech.
func roughly(seconds float64) string { return duration.Roughly(fromSeconds(seconds)) }

func processors(n int) string {
	if n == 1 {
		return "1 processor"
	}
	return fmt.Sprintf("%d processors", n)
}
