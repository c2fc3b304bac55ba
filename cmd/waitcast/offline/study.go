package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/wholefile"
	"github.com/waitcast/waitcast/simulator/study"
	"github.com/waitcast/waitcast/simulator/swfload"
	"github.com/waitcast/waitcast/workload/shake"
)

// studyFlags are the flags of the subcommand study.
type studyFlags struct {
	policies, estimates, loads, seeds string
	attribute, level, degree          string
	rules, out, part, points, plot    string
	grid                              study.Grid
	procs, workers, parts, atOnce     int
	clamp, slurm                      bool
	slurmOptions                      []string
}

func newStudy(a *Commands) *cobra.Command {
	var f studyFlags
	command := &cobra.Command{
		Use:   "study TRACE.swf --out RESULTS.csv",
		Short: "Simulate a workload many times over: policies, loads, shakes",
		Long: "Simulate a workload under every policy and estimate at every load, with many shaken copies, on " +
			"all cores or as a Slurm\n" +
			"job array. Every run is a line of RESULTS.csv; after an interruption the same command continues " +
			"from there.",
		Example: "  waitcast study CTC.swf.gz --policy easy,conservative --load 0.5:0.95:0.01 --out ctc.csv\n" +
			"  waitcast study CTC.swf.gz --load 0.5:0.95:0.01 --shakes 100 --out ctc.csv --points curve.csv --plot " +
			"curve.svg\n" +
			"  waitcast study CTC.swf.gz --load 0.9 --shakes 100 --seeds 1:5 --out shaken.csv --slurm " +
			"--slurm-option=--partition=short",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.study(c.Context(), args[0], f, c.Flags()) },
	}
	flags, d := command.Flags(), shake.Default()
	flags.StringVar(&f.policies, "policy", "easy", "policies: "+strings.Join(study.Policies(), ","))
	flags.StringVar(&f.estimates, "estimates", "limits",
		"what policies plan with: "+strings.Join(study.Estimates(), ","))
	flags.StringVar(&f.loads, "load", "0", "offered loads: 0.7,0.9 or FROM:TO:STEP; 0 leaves the trace's own")
	flags.IntVar(&f.grid.Shakes, "shakes", 0, "shaken copies of the trace per seed")
	flags.StringVar(&f.seeds, "seeds", "1", "seeds of the shakes: 1,2 or FROM:TO; nothing else is random")
	flags.StringVar(&f.attribute, "shake-attribute", d.Attribute.String(),
		"attribute that is shaken: interarrival, runtime, estimate, size")
	flags.StringVar(&f.level, "shake-level", d.Level.String(), "unit that is shaken together: job, session, user")
	flags.StringVar(&f.degree, "shake-degree", "60s", "the largest change; of sizes a number of processors")
	flags.Float64Var(&f.grid.Shake.Relative, "shake-relative", d.Relative,
		"limit of a change as a share of the value; 0 for none")
	flags.Float64Var(&f.grid.Shake.Fraction, "shake-fraction", d.Fraction, "share that is shaken")
	flags.IntVar(&f.procs, "procs", 0, "processors of the machine; 0 is the header's MaxProcs")
	flags.StringVar(&f.rules, "rules", "plain", "how records are read, and what comes first in an instant: plain, pyss")
	flags.BoolVar(&f.clamp, "clamp", false, "cut jobs larger than the machine to its size instead of leaving them out")
	flags.BoolVar(&f.grid.Kill, "kill", false, "end jobs at their time limits")
	flags.Float64Var(&f.grid.WarmUp, "warm-up", 0, "share of the time, from the beginning, of which jobs do not count")
	flags.StringVar(&f.out, "out", "", "file for the results, CSV; required")
	flags.StringVar(&f.points, "points", "",
		"file for a line per load, CSV: the trace's own result, mean and 5 to 95 % span of the shaken ones")
	flags.StringVar(&f.plot, "plot", "", "file for a plot of the bounded slowdown over the load, SVG")
	flags.IntVar(&f.workers, "workers", 0, "concurrent runs; 0 is one per core, and 1 in a task of Slurm")
	flags.StringVar(&f.part, "part", "", "only part K/N of the runs, K from 0 up to N-1")
	flags.BoolVar(&f.slurm, "slurm", false, "submit the runs as a Slurm job array, wait, and gather the results")
	flags.StringArrayVar(&f.slurmOptions, "slurm-option", nil,
		"option for sbatch, as --partition=short; can be given several times")
	flags.IntVar(&f.parts, "slurm-parts", 0, "tasks of the array; 0 is one per run, at most 100")
	flags.IntVar(&f.atOnce, "slurm-at-once", 0, "tasks that may run at once; 0 is no limit")
	_ = command.MarkFlagRequired("out") // no error: the flag exists
	return command
}

// study runs a grid of simulations.
func (a *Commands) study(ctx context.Context, path string, f studyFlags, given *pflag.FlagSet) error {
	part, err := f.parse()
	if err != nil {
		return console.NewUsageError(err.Error())
	}
	switch {
	case f.slurm && (f.part != "" || path == "-"):
		return console.NewUsageError("--slurm goes neither with --part nor with standard input")
	case f.part != "" && (f.points != "" || f.plot != ""):
		return console.NewUsageError("--points and --plot go not with --part: they are of the whole study")
	case f.grid.Shakes == 0 && given.Changed("seeds"):
		return console.NewUsageError("--seeds needs --shakes: nothing else is random")
	case f.workers < 0 || f.parts < 0 || f.atOnce < 0:
		return console.NewUsageError("--workers, --slurm-parts and --slurm-at-once must be 0 or more")
	}
	options := swfload.Options{Procs: f.procs, Clamp: f.clamp}
	if f.grid.SubmitsFirst {
		options.Rules = swfload.Pyss
	}
	trace, _, bad, err := a.readTrace(path, options)
	if err != nil {
		return err
	}
	if part.Index == 0 { // if there are several parts, only the first reports
		a.describeTrace(trace, bad)
	}
	plan, err := study.NewPlan(f.grid, trace)
	if err != nil {
		return console.NewUsageError(err.Error())
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // after that a second signal ends the process at once
	bar, began, before, ran := a.CountBar(plan.Cells(), "runs"), time.Now(), -1, 0
	done := func(done, of int) {
		bar.ChangeMax(max(1, of))
		_ = bar.Set(done) // an error only spoils the bar
		if before < 0 {
			before = done
		}
		ran = done - before
	}
	var rows []study.Row
	if f.slurm {
		rows, err = a.studySlurm(ctx, plan, path, &f, given, done)
	} else {
		rows, err = plan.Run(ctx, study.Options{Out: f.out, Workers: f.workers, Part: part, Done: done})
	}
	_ = bar.Clear()
	var option *study.OptionError
	if errors.As(err, &option) {
		return console.NewUsageError(err.Error())
	}
	if err != nil {
		return err
	}
	if part.Of > 0 {
		return nil // no summary, because this part has only some of the results
	}
	if seconds := time.Since(began).Seconds(); ran > 0 && !f.slurm {
		fmt.Fprintf(a.Stderr, "%d runs in %.1f s: %.3g jobs a second\n", ran, seconds,
			float64(ran)*float64(len(trace.Jobs))/seconds)
	}
	groups := study.Groups(rows)
	if err := f.curves(path, groups); err != nil {
		return err
	}
	return a.printGroups(groups)
}

// curves writes the files that show the results of a whole study.
func (f *studyFlags) curves(trace string, groups []study.Group) error {
	for _, c := range []struct {
		path  string
		write func(to io.Writer) error
	}{
		{f.points, func(to io.Writer) error { return study.WritePoints(to, groups) }},
		{f.plot, func(to io.Writer) error { return study.PlotCurves(to, filepath.Base(trace), groups) }},
	} {
		if c.path == "" {
			continue
		}
		if err := wholefile.Write(c.path, outMode, c.write); err != nil {
			return fmt.Errorf("%s: %w", c.path, err)
		}
	}
	return nil
}

// describeTrace reports irregularities of a trace on standard error.
func (a *Commands) describeTrace(trace *swfload.Trace, bad badLines) {
	fmt.Fprintf(a.Stderr, "%d of %d records on %d processors; noted: %s\n", len(trace.Jobs), trace.Report.Records,
		trace.Procs, describeRepairs(&trace.Report))
	if bad.N > 0 {
		fmt.Fprintf(a.Stderr, "%d bad lines, first %s\n", bad.N, console.Printable(bad.First[0]))
	}
}

// studySlurm runs a plan as a Slurm job array, and returns its results. The array's tasks run this command with the
// given flags.
func (a *Commands) studySlurm(
	ctx context.Context, plan *study.Plan, trace string, f *studyFlags, given *pflag.FlagSet, done func(int, int),
) ([]study.Row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if trace, err = filepath.Abs(trace); err != nil {
		return nil, err
	}
	out, err := filepath.Abs(f.out)
	if err != nil {
		return nil, err
	}
	workers := max(1, f.workers)
	command := []string{self, "study", trace, "--workers=" + strconv.Itoa(workers)}
	own := []string{"slurm", "slurm-option", "slurm-parts", "slurm-at-once", "out", "points", "plot", "workers", "json",
		"url", "timeout"}
	given.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(own, flag.Name) {
			command = append(command, "--"+flag.Name+"="+flag.Value.String())
		}
	})
	array := study.Array{
		Command: command, Dir: out + ".parts", Tasks: f.parts, AtOnce: f.atOnce,
		Options: append([]string{"--cpus-per-task=" + strconv.Itoa(workers)}, f.slurmOptions...),
		Say:     func(text string) { fmt.Fprintln(a.Stderr, text) },
		Done:    done,
	}
	return array.Run(ctx, plan, out)
}

// parse parses the flags whose texts are lists, ranges or names.
func (f *studyFlags) parse() (part study.Part, err error) {
	g := &f.grid
	g.Policies, g.Estimates = strings.Split(f.policies, ","), strings.Split(f.estimates, ",")
	if g.Loads, err = ParseLoads(f.loads); err != nil {
		return part, fmt.Errorf("--load: %w", err)
	}
	switch f.rules {
	case "plain":
	case "pyss":
		g.SubmitsFirst = true
	default:
		return part, fmt.Errorf("--rules is %q; allowed: plain, pyss", f.rules)
	}
	if f.part != "" {
		if part, err = parsePart(f.part); err != nil {
			return part, err
		}
	}
	if g.Shakes <= 0 {
		return part, nil
	}
	if g.Seeds, err = ParseSeeds(f.seeds); err != nil {
		return part, fmt.Errorf("--seeds: %w", err)
	}
	if g.Shake.Attribute, err = shake.ParseAttribute(f.attribute); err != nil {
		return part, fmt.Errorf("--shake-attribute: %w", err)
	}
	if g.Shake.Level, err = shake.ParseLevel(f.level); err != nil {
		return part, fmt.Errorf("--shake-level: %w", err)
	}
	degree, err := duration.Parse(f.degree) // a number without a unit is in seconds, or is a number of processors
	if err != nil {
		return part, fmt.Errorf("--shake-degree: %w", err)
	}
	g.Shake.Degree = float64(degree) / float64(time.Second)
	return part, nil
}

func parsePart(text string) (study.Part, error) {
	k, n, _ := strings.Cut(text, "/")
	index, err := strconv.Atoi(k)
	of, err2 := strconv.Atoi(n)
	if err != nil || err2 != nil || index < 0 || index >= of {
		return study.Part{}, fmt.Errorf("--part is %q; want K/N with K from 0 up to N-1", text)
	}
	return study.Part{Index: index, Of: of}, nil
}

// maxValues is the maximum number of values in a range.
const maxValues = study.MaxCells

// ParseLoads parses numbers and ranges FROM:TO:STEP. A range includes FROM, and also TO if whole steps lead to it.
func ParseLoads(text string) ([]float64, error) {
	var out []float64
	for field := range strings.SplitSeq(text, ",") {
		var at []float64
		for number := range strings.SplitSeq(field, ":") {
			x, err := console.ParseNumber(number)
			if err != nil || x < 0 {
				return nil, fmt.Errorf("%q is not a number, as 0.7, nor a range, as 0.5:0.95:0.01", field)
			}
			at = append(at, x)
		}
		if len(at) == 1 {
			out = append(out, at[0])
			continue
		}
		if len(at) != 3 || !(at[2] > 0) || at[1] < at[0] || (at[1]-at[0])/at[2] > maxValues {
			return nil, fmt.Errorf("%q is not a range; want FROM:TO:STEP, as 0.5:0.95:0.01", field)
		}
		for i := range int((at[1]-at[0])/at[2]+1e-9) + 1 {
			// Rounding gives 0.57 instead of 0.5700000000000001.
			out = append(out, math.Round((at[0]+float64(i)*at[2])*1e9)/1e9)
		}
	}
	return out, nil
}

// ParseSeeds parses numbers and ranges FROM:TO. A range includes both ends.
func ParseSeeds(text string) ([]uint64, error) {
	var out []uint64
	for field := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(field, ":")
		from, err := strconv.ParseUint(strings.TrimSpace(low), 10, 64)
		to := from
		if ranged && err == nil {
			to, err = strconv.ParseUint(strings.TrimSpace(high), 10, 64)
		}
		if err != nil || to < from || to-from >= maxValues {
			return nil, fmt.Errorf("%q is neither a number, as 7, nor a range, as 1:5", field)
		}
		for i := range to - from + 1 {
			out = append(out, from+i)
		}
	}
	return out, nil
}

// printGroups prints a summary of a study.
func (a *Commands) printGroups(groups []study.Group) error {
	if a.JSON {
		return json.NewEncoder(a.JSONTo()).Encode(map[string]any{"groups": groups})
	}
	t := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	header := "policy\testimates\tload\tmean wait, s\tbounded slowdown\t"
	if slices.ContainsFunc(groups, func(g study.Group) bool { return g.Shaken != nil }) {
		header += "shaken\tmean\tspan\tdistance\twithin 1 %\t"
	}
	fmt.Fprintln(t, header)
	for _, g := range groups {
		fmt.Fprintf(t, "%s\t%s\t%.3f\t%.0f\t%.2f\t", g.Policy, g.Estimates, g.Offered, g.MeanWait, g.Bounded)
		if g.Shaken != nil && g.Shaken.Bounded != nil {
			s := g.Shaken.Bounded
			fmt.Fprintf(t, "%d\t%.2f\t%.1f %%\t%+.1f %%\t%.0f %%\t", s.Runs, s.Mean, 100*s.Span, 100*s.Distance,
				100*s.Concentration)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range study.Curves(groups) {
		if text := c.String(); text != "" {
			fmt.Fprintln(a.Stdout, text)
		}
	}
	return nil
}
