package offline

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/wholefile"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/study"
	"github.com/waitcast/waitcast/simulator/swfload"
	"github.com/waitcast/waitcast/swf"
)

// simulateFlags are the flags of the subcommand simulate.
type simulateFlags struct {
	experiment study.Experiment
	procs      int
	rules      string
	clamp      bool
	plot       string
	seed       uint64
}

func newSimulate(a *Commands) *cobra.Command {
	var f simulateFlags
	command := &cobra.Command{
		Use:   "simulate TRACE.swf",
		Short: "Schedule a workload file",
		Long: "Schedule a workload in the Standard Workload Format under a policy. It prints the workload with " +
			"the\n" +
			"simulated waits on standard output, and the measures on standard error. TRACE may be compressed " +
			"with gzip; - is\n" +
			"standard input.",
		Example: "  waitcast simulate KTH-SP2-1996-2.1-cln.swf.gz --policy easy > easy.swf\n" +
			"  waitcast simulate log.swf --policy conservative --load 0.9 --plot queue.svg --json > /dev/null",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.simulate(args[0], f) },
	}
	flags := command.Flags()
	flags.StringVar(&f.experiment.Policy, "policy", "easy", strings.Join(study.Policies(), ", "))
	flags.StringVar(&f.experiment.Estimates, "estimates", "limits",
		"what the policy plans with: "+strings.Join(study.Estimates(), ", "))
	flags.IntVar(&f.procs, "procs", 0, "processors of the machine; 0 is the header's MaxProcs")
	flags.StringVar(&f.rules, "rules", "plain", "how records are read, and what comes first in an instant: plain, or "+
		"pyss as the Python simulator of that name does")
	flags.BoolVar(&f.clamp, "clamp", false, "cut jobs larger than the machine to its size instead of leaving them out")
	flags.BoolVar(&f.experiment.Kill, "kill", false, "end jobs at their time limits")
	flags.Float64Var(&f.experiment.Load, "load", 0,
		"offered load to reach by scaling the times between submissions; 0 leaves them as they are")
	flags.Float64Var(&f.experiment.WarmUp, "warm-up", 0,
		"share of the time, from the beginning, of which jobs do not count")
	flags.StringVar(&f.plot, "plot", "", "file for a plot of queue length and utilization, SVG")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of the random numbers; no policy uses any yet")
	return command
}

// simulate schedules the jobs of a trace.
func (a *Commands) simulate(path string, f simulateFlags) error {
	if err := f.experiment.Check(); err != nil {
		return console.NewUsageError(err.Error())
	}
	options := swfload.Options{Procs: f.procs, Clamp: f.clamp, Keep: true, Queue: true}
	switch f.rules {
	case "plain":
	case "pyss":
		options.Rules, f.experiment.SubmitsFirst = swfload.Pyss, true
	default:
		return console.NewUsageError(fmt.Sprintf("--rules is %q; allowed: plain, pyss", f.rules))
	}
	trace, header, bad, err := a.readTrace(path, options)
	if err != nil {
		return err
	}
	if f.plot != "" && len(trace.Jobs) > 0 { // about 500 points
		f.experiment.Step = math.Max(60, (trace.Jobs[len(trace.Jobs)-1].Submit-trace.Jobs[0].Submit)/500)
	}
	bar := a.CountBar(len(trace.Jobs), "jobs")
	f.experiment.Progress = func(ended int) { _ = bar.Set(ended) } // an error only spoils the bar
	result, err := f.experiment.Simulate(trace)
	_ = bar.Clear()
	if err != nil {
		return err
	}
	if err := writeScheduled(a.Data(), header, trace, result, &f); err != nil {
		return err
	}
	if f.plot != "" {
		if err := plotTo(f.plot, path+", "+f.experiment.Policy, result.Series); err != nil {
			return err
		}
	}
	return a.measures(trace, bad, result, &f)
}

// writeScheduled writes the trace with the simulated submissions (scaled by r.Factor), sizes, waits and runtimes. The
// waits and runtimes of jobs that never started are unknown. Killed jobs get the status failed.
func writeScheduled(to io.Writer, header *swf.Header, trace *swfload.Trace, r *study.Result, f *simulateFlags) error {
	out := swf.NewWriter(to)
	h := *header
	h.MaxProcs = int64(trace.Procs)
	h.Lines = append([]string{
		fmt.Sprintf("; Note: scheduled by waitcast simulate: policy %s, estimates %s, %d processors, load factor %.4g",
			f.experiment.Policy, f.experiment.Estimates, trace.Procs, 1/r.Factor),
	}, header.Lines...)
	if err := out.WriteHeader(&h); err != nil {
		return err
	}
	first := trace.Jobs[0].Submit
	for i, j := range trace.Jobs {
		rec := trace.Records[i]
		submit := first + (j.Submit-first)*r.Factor
		rec.Submit, rec.Allocated = int64(math.Round(submit)), int64(j.Procs)
		rec.Wait, rec.Runtime = swf.Unknown, swf.Unknown
		if !math.IsNaN(r.Start[i]) {
			rec.Wait, rec.Runtime = int64(math.Round(r.Start[i]-submit)), int64(math.Round(r.End[i]-r.Start[i]))
		}
		if r.Killed[i] {
			rec.Status = swf.StatusFailed
		}
		if err := out.Write(&rec); err != nil {
			return err
		}
	}
	return out.Flush()
}

func plotTo(path, title string, series []simulator.Point) error {
	return wholefile.Write(path, outMode, func(to io.Writer) error { return study.Plot(to, title, series) })
}

// Simulated is the output of --json.
type Simulated struct {
	Policy    string           `json:"policy"`
	Estimates string           `json:"estimates"`
	Procs     int              `json:"procs"`
	Records   int              `json:"records"`
	Simulated int              `json:"simulated"`
	Factor    float64          `json:"interarrival_factor"`
	Reading   swfload.Report   `json:"reading"`
	BadLines  badLines         `json:"bad_lines"`
	Measures  simulator.Report `json:"measures"`
}

// measures prints the measures to standard error, because the workload is printed to standard output.
func (a *Commands) measures(trace *swfload.Trace, bad badLines, r *study.Result, f *simulateFlags) error {
	if a.JSON {
		return json.NewEncoder(a.JSONOn(a.RawErr())).Encode(Simulated{
			Policy: f.experiment.Policy, Estimates: f.experiment.Estimates, Procs: trace.Procs,
			Records: trace.Report.Records, Simulated: len(trace.Jobs), Factor: r.Factor, Reading: trace.Report,
			BadLines: bad, Measures: r.Report,
		})
	}
	t := tabwriter.NewWriter(a.Stderr, 0, 0, 2, ' ', 0)
	row := func(label, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", label, fmt.Sprintf(format, args...))
	}
	row("Jobs", "%d of %d records on %d processors, policy %s", len(trace.Jobs), trace.Report.Records, trace.Procs,
		f.experiment.Policy)
	row("Noted", "%s", describeRepairs(&trace.Report))
	for _, b := range bad.First {
		row("Bad line", "%s", console.Printable(b))
	}
	row("Utilization", "%.1f %%", 100*r.Utilization)
	row("Throughput", "%.1f jobs an hour", 3600*r.Throughput)
	row("Queue", "%.1f jobs on average, at most %d", r.MeanQueue, r.MaxQueue)
	growth := ""
	if r.Saturated {
		growth = ": the machine is saturated, its waits grow with the length of the log"
	}
	row("Growth", "%+.1f waiting jobs a week%s", r.Growth, growth)
	fmt.Fprintln(t, "\tmean\tmedian\t95 %\tmax")
	for _, s := range []struct {
		name string
		simulator.Summary
	}{{"Wait, s", r.All.Wait}, {"Slowdown", r.All.Slowdown}, {"Bounded slowdown", r.All.Bounded}} {
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t%.1f\n", s.name, s.Mean, s.Median, s.P95, s.Max)
	}
	return t.Flush()
}
