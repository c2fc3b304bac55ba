package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/memsize"
	"github.com/waitcast/waitcast/job"
)

// whatIf has the values that "waitcast wait" compares. It requests a forecast for every combination of queues, sizes
// and time limits.
type whatIf struct {
	procs                            procsList
	limits                           limitList
	runtime, amdahl, downey, history string
	all                              bool
}

// procsList is a flag with a list of sizes.
type procsList []int

// Set implements pflag.Value.
func (l *procsList) Set(text string) error {
	list, err := sizes("procs", text)
	if err != nil || len(list) == 0 {
		return errors.New("--procs must be 1 or more; several are written as 4,8,16, as 4..64 (doubling) or 4-9 (each)")
	}
	*l = list
	return nil
}

// String implements pflag.Value.
func (l *procsList) String() string { return strings.Trim(fmt.Sprint([]int(*l)), "[]") }

// Type implements pflag.Value.
func (*procsList) Type() string { return "procs" }

// limitList is a flag with a list of time limits. Its function env returns an environment variable.
type limitList struct {
	all []time.Duration
	env func(string) string
}

// Set implements pflag.Value.
func (l *limitList) Set(text string) error {
	l.all = nil
	for item := range strings.SplitSeq(text, ",") {
		d, err := parseLimit(item, l.env)
		if err != nil {
			return err
		}
		l.all = append(l.all, d)
	}
	return nil
}

// unitVariable is the environment variable with the unit of time limits that are written without a unit.
const unitVariable = "WAITCAST_TIME_UNIT"

// unitless reports whether a time limit is a number without a unit.
func unitless(text string) bool {
	_, err := duration.ParseIn(text, 0)
	return errors.Is(err, duration.ErrNoUnit)
}

// parseLimit parses the time limit of a flag. The unit of a number without a unit comes from the environment variable.
// If the variable is not set, such a number is an error: Slurm and LSF understand 120 as two hours, and the daemon
// understands it as two minutes.
func parseLimit(text string, env func(string) string) (time.Duration, error) {
	var unit time.Duration
	if name := env(unitVariable); name != "" {
		var known bool
		if unit, known = duration.Unit(name); !known {
			return 0, fmt.Errorf("%s is %q: it must be a unit, as s, m or h", unitVariable, name)
		}
	}
	d, err := duration.ParseIn(text, unit)
	var wrong *duration.ParseError
	switch {
	case errors.Is(err, duration.ErrNoUnit):
		n := strings.TrimSpace(text)
		return 0, fmt.Errorf("%q has no unit: write %sm for minutes, %ss for seconds or %sh for hours, or set %s to "+
			"m, s or h", n, n, n, n, unitVariable)
	case errors.As(err, &wrong):
		return 0, fmt.Errorf("duration %q: %s; write %s", wrong.Text, wrong.Problem, duration.AllowedWithUnit)
	}
	return d, err
}

// String implements pflag.Value.
func (l *limitList) String() string {
	var out []string
	for _, d := range l.all {
		out = append(out, duration.String(d))
	}
	return strings.Join(out, ",")
}

// Type implements pflag.Value.
func (*limitList) Type() string { return "duration" }

// flags defines the flags that apply only to a comparison.
func (w *whatIf) flags(flags *pflag.FlagSet) {
	flags.StringVar(&w.runtime, "runtime", "",
		"known runtimes: 1:10h,2:5.5h; the combination that finishes soonest then comes first")
	flags.StringVar(&w.amdahl, "amdahl", "", "F,T1: serial part of the work, and runtime on one processor")
	flags.StringVar(&w.downey, "downey", "",
		"A,SIGMA,T1: average parallelism, its variance, and runtime on one processor")
	flags.StringVar(&w.history, "history", "",
		"USER:NAME: that user's runs of jobs of that name, as far as the daemon knows them")
	flags.BoolVar(&w.all, "all", false, fmt.Sprintf("show all combinations, not the best %d", shownSizes))
}

// several reports whether there is more than one combination, or whether the runtime is given, which only a comparison
// uses. Several queues of one cluster are one job; queues of several clusters are compared.
func (w *whatIf) several(queues string) bool {
	ofClusters := strings.Contains(queues, ",") && strings.Contains(queues, ":")
	return len(w.procs) > 1 || len(w.limits.all) > 1 || ofClusters ||
		w.runtime+w.amdahl+w.downey+w.history != ""
}

// whatIf requests the forecasts of all combinations, and prints them with the daemon's advice.
func (a *app) whatIf(ctx context.Context, cluster string, r job.Request, w *whatIf, by string) error {
	for _, limit := range w.limits.all {
		r.Procs, r.TimeLimit = w.procs[0], limit
		if err := checkWait(r, time.Duration(a.timeout)); err != nil {
			return err
		}
	}
	question := &wire.WaitsRequest{Procs: w.procs, Nodes: r.Nodes, GPUs: r.GPUs, User: r.User,
		Account: r.Account, QOS: r.QOS, By: by}
	var err error
	if question.Places = []wire.Place{{Cluster: cluster, Queue: r.Queue}}; strings.Contains(r.Queue, ":") {
		if question.Places, err = places(r.Queue, cluster); err != nil {
			return err
		}
	}
	if question.Runtime, err = runtimeOf(w.runtime, w.amdahl, w.downey, w.history); err != nil {
		return err
	}
	for _, limit := range w.limits.all {
		question.TimeLimits = append(question.TimeLimits, duration.String(limit))
	}
	if r.Memory > 0 {
		memory := memsize.Value(r.Memory)
		question.Memory = memory.Exact()
	}
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		answer, raw, err := c.Waits(ctx, question)
		if err != nil {
			return err
		}
		return a.printAnswer(raw, waitsText(answer, w.all, a.zone), answer.Stale, answer.AgeSeconds)
	})
}

// waitsText writes a comparison.
func waitsText(w *wire.Waits, all bool, zone *time.Location) []byte {
	var p page
	for _, text := range w.Advice {
		p.Line("Advice", text)
	}
	if len(w.Advice) > 0 {
		p.Line("", "")
	}
	shown := w.Candidates
	if !all && len(shown) > shownSizes {
		shown = shown[:shownSizes]
	}
	t := p.columns()
	head := "procs\tqueue\tlimit\twait\t8 of 10 cases\tin 10 min\tstart\tbest"
	if w.Candidates[0].StartBy != nil {
		head += "\tby " + instant(&w.Candidates[0].StartBy.At, zone)
	}
	if w.RankedBy == "finish" {
		head += "\truntime\tfinish"
	}
	fmt.Fprintln(t, head)
	for i := range shown {
		fmt.Fprintln(t, waitsRow(w, &shown[i], zone))
	}
	_ = t.Flush() // cannot fail, because it writes to memory
	p.below(len(w.Candidates)-len(shown), w.LeftOut)
	p.asOf(w.AsOf, w.AgeSeconds, zone)
	return p.Bytes()
}

// below writes a note about the candidates that the table does not show.
func (p *page) below(more int, left []wire.SizeLeftOut) {
	if more > 0 {
		fmt.Fprintf(p, "and %d more (--all)\n", more)
	}
	p.Line("", "")
	for _, l := range left {
		p.Line("Left out", fmt.Sprintf("%d in %s: %s", l.Procs, l.Queue, l.Detail))
	}
}

func waitsRow(w *wire.Waits, c *wire.WaitCandidate, zone *time.Location) string {
	limit, where := "-", c.Queue
	if c.TimeLimitSeconds > 0 {
		limit = duration.Format(fromSeconds(c.TimeLimitSeconds))
	}
	if w.Candidates[0].Cluster != c.Cluster {
		where = c.Cluster + ":" + c.Queue
	}
	columns := []string{
		fmt.Sprint(c.Procs), console.Printable(where), limit, quantile(c.WaitSeconds.P50),
		band(c.WaitSeconds.P10, c.WaitSeconds.P90), percent(c.StartWithin.TenMinutes), instant(c.Start.P50, zone),
		percent(c.Best),
	}
	if c.StartBy != nil {
		columns = append(columns, chanceBy(c.StartBy))
	}
	if c.Run != nil && c.FinishAt != nil {
		columns = append(columns, quantile(c.Run.P50), instant(c.FinishAt.P50, zone))
	}
	return strings.Join(columns, "\t")
}

func instant(t *time.Time, zone *time.Location) string {
	if t == nil {
		return "-"
	}
	return t.In(zone).Format("Mon 15:04")
}

// checkWait returns an error for an invalid request before it is sent.
func checkWait(r job.Request, timeout time.Duration) error {
	switch {
	case r.Queue == "":
		return console.NewUsageError("--queue is empty")
	case slices.Contains(strings.Split(r.Queue, ","), ""):
		return console.NewUsageError("--queue has an empty name")
	case r.Procs < 1:
		return console.NewUsageError("--procs must be 1 or more")
	case r.Nodes < 0:
		return console.NewUsageError("--nodes cannot be negative")
	case r.GPUs < 0:
		return console.NewUsageError("--gpus cannot be negative")
	case r.TimeLimit <= 0:
		return console.NewUsageError("--time must be more than 0")
	case timeout <= 0:
		return console.NewUsageError("--timeout must be more than 0")
	}
	return nil
}
