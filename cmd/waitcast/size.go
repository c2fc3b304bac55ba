package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// sizeFlags are the flags of waitcast size.
type sizeFlags struct {
	queues, cluster                  string
	sizes                            string
	min, max, request                int
	runtime, amdahl, downey, history string
	limit                            string
	by, deadline                     string
	level, priceProcHour, priceHour  float64
	job                              string
	holds                            int
	remaining, overhead, hold        duration.Value
	done, leastGain                  float64
	user, account, qos               string
	all, watch                       bool
	doneGiven, gainGiven             bool
	env                              func(string) string
}

// shownSizes is the number of candidates that are shown without --all.
const shownSizes = 12

func newSize(a *app) *cobra.Command {
	f := sizeFlags{env: a.env}
	command := &cobra.Command{
		Use:   "size -q QUEUE[,QUEUE...] --sizes SIZES --runtime TABLE",
		Short: "Show which size, in which queue, finishes soonest",
		Long: "Show which number of processors, in which queue, makes a job finish soonest. Each size has its " +
			"wait, its runtime and\n" +
			"its finish; the best comes first. For a running malleable job: whether it should expand, keep " +
			"its size or shrink.\n\n" +
			"The runtime by number of processors is given by one of --runtime, --amdahl, --downey and " +
			"--history.",
		Example: "  waitcast size -q short,long --sizes 1,2,4..64 --runtime 1:10h,2:5.5h,64:30m -t 1.5x\n" +
			"  waitcast size -q batch --min 8 --max 32 --amdahl 0.02,40h --deadline 2026-03-02T18:00:00Z\n" +
			"  waitcast size --job 4711 --sizes 8..128 --downey 60,0.5,100h --remaining 3h --watch",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.doneGiven, f.gainGiven = c.Flags().Changed("done"), c.Flags().Changed("least-gain")
			return a.size(c.Context(), &f)
		},
	}
	f.add(command.Flags())
	return command
}

// add defines the flags.
func (f *sizeFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.queues, "queue", "q", "",
		"queues to choose among, separated by commas; CLUSTER:QUEUE if the daemon has several")
	flags.StringVar(&f.cluster, "cluster", "", "cluster of the queues that are named without one")
	flags.StringVar(&f.sizes, "sizes", "",
		"numbers of processors: 1,2,12; 4..64 doubles from 4 to 64, 4-9 is each from 4 to 9")
	flags.IntVar(&f.min, "min", 0, "instead of --sizes: the smallest")
	flags.IntVar(&f.max, "max", 0, "and the largest")
	flags.StringVar(&f.runtime, "runtime", "", "known runtimes: 1:10h,2:5.5h")
	flags.StringVar(&f.amdahl, "amdahl", "", "F,T1: serial part of the work, and runtime on one processor")
	flags.StringVar(&f.downey, "downey", "",
		"A,SIGMA,T1: average parallelism, its variance, and runtime on one processor")
	flags.StringVar(&f.history, "history", "",
		"USER:NAME: that user's runs of jobs of that name, as far as the daemon knows them")
	flags.StringVarP(&f.limit, "time", "t", "", "time limit, or 1.5x for 1.5 times the runtime")
	flags.StringVar(&f.by, "by", "",
		"the criterion: mean, quantile, deadline, cost or considerate; default mean, or the criterion of the "+
			"flags below")
	flags.Float64Var(&f.level, "level", 0, "level of the quantile of the finish; 0.5 by default")
	flags.StringVar(&f.deadline, "deadline", "",
		"when the job must have finished: an instant (2026-03-02T18:00:00Z), or a time from now")
	flags.Float64Var(&f.priceProcHour, "price-proc-hour", 0, "price of a processor for an hour")
	flags.Float64Var(&f.priceHour, "price-hour", 0, "price of an hour until the finish, in the same unit")
	flags.IntVarP(&f.request, "procs", "n", 0, "the size that you would use otherwise: gains are relative to it")
	flags.StringVar(&f.job, "job", "", "the running malleable job")
	flags.IntVar(&f.holds, "holds", 0, "instead of --job: processors that the running job holds")
	flags.Var(&f.remaining, "remaining", "how long the running job would still run at its size")
	flags.Float64Var(&f.done, "done", 0, "instead of --remaining: the part of its work that is done, 0 to 1")
	flags.Var(&f.overhead, "overhead", "how long the job pauses while it changes its size")
	flags.Float64Var(&f.leastGain, "least-gain", 0, "the part by which another size must be better before a "+
		"running job, or the current advice, changes; 0.05 by default")
	flags.Var(&f.hold, "hold", "with --watch: minimum time for which an advice is kept")
	flags.StringVarP(&f.user, "user", "u", "", "user who would submit the job")
	flags.StringVarP(&f.account, "account", "A", "", "account that is charged")
	flags.StringVar(&f.qos, "qos", "", "quality of service")
	flags.BoolVar(&f.watch, "watch", false, "keep running, and print the advice whenever it changes")
	flags.BoolVar(&f.all, "all", false, fmt.Sprintf("show all candidates, not the best %d", shownSizes))
	for _, name := range []string{"remaining", "overhead", "hold"} {
		flags.Lookup(name).DefValue = ""
	}
}

func (a *app) size(ctx context.Context, f *sizeFlags) error {
	question, err := f.question()
	if err != nil {
		return err
	}
	if f.watch {
		c, err := a.daemon()
		if err != nil {
			return err
		}
		return a.refusedAs(c.Watch(ctx, question, "", a.sizeEvent))
	}
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		answer, raw, err := c.Size(ctx, question)
		if err != nil {
			return err
		}
		return a.printAnswer(raw, sizeText(answer, f.all, a.zone), answer.Stale, answer.AgeSeconds)
	})
}

// sizeEvent prints an event of a subscription: one line of JSON, or the advice in a sentence.
func (a *app) sizeEvent(e client.WatchEvent) error {
	if a.JSON {
		return a.printJSON(e.JSON)
	}
	var p page
	switch {
	case e.Problem != nil:
		p.Line("No advice", e.Problem.Detail)
	default:
		p.Line(e.Advice.Advice.Since.In(a.zone).Format("01-02 15:04:05"), e.Advice.Advice.Reason)
		if e.Advice.Stale {
			p.Line("",
				fmt.Sprintf("STALE: the newest record is %s old", duration.Format(fromSeconds(e.Advice.AgeSeconds))))
		}
	}
	_, err := a.Stdout.Write(p.Bytes())
	return err
}

// sizeText writes an answer, the advice first.
func sizeText(s *wire.Size, all bool, zone *time.Location) []byte {
	var p page
	p.Line("Advice", s.Advice.Reason)
	p.Line("", "")
	shown := s.Candidates
	if !all && len(shown) > shownSizes {
		shown = shown[:shownSizes]
	}
	w := p.columns()
	fmt.Fprintln(w, sizeHead(s))
	for i := range shown {
		fmt.Fprintln(w, sizeRow(s, &shown[i]))
	}
	_ = w.Flush() // cannot fail, because it writes to memory
	p.below(len(s.Candidates)-len(shown), s.LeftOut)
	p.asOf(s.AsOf, s.AgeSeconds, zone)
	return p.Bytes()
}

// sizeHead returns the names of the columns. It leaves out columns for which the answer has no values.
func sizeHead(s *wire.Size) string {
	columns := []string{"procs", "queue", "limit", "median wait", "mean wait", "mean run", "mean finish"}
	if s.Candidates[0].MeanBefore != nil {
		columns = []string{"procs", "queue", "median wait", "mean before", "mean after", "mean finish"}
	}
	columns = append(columns, "9 of 10 by", "best")
	if first := &s.Candidates[0]; first.InTime != nil {
		columns = append(columns, "in time")
	}
	if s.Candidates[0].Cost != nil {
		columns = append(columns, "cost")
	}
	if s.Candidates[0].Gain != nil {
		columns = append(columns, "gain")
	}
	return strings.Join(columns, "\t")
}

func sizeRow(s *wire.Size, c *wire.SizeCandidate) string {
	limit := "-"
	if c.TimeLimitSeconds > 0 {
		limit = duration.Format(fromSeconds(c.TimeLimitSeconds))
	}
	where := c.Queue
	if s.Candidates[0].Cluster != c.Cluster {
		where = c.Cluster + ":" + c.Queue
	}
	columns := []string{fmt.Sprint(c.Procs), console.Printable(where)}
	if c.MeanBefore != nil {
		columns = append(columns, quantile(c.Wait.P50), quantile(c.MeanBefore), quantile(c.MeanAfter))
	} else {
		columns = append(columns, limit, quantile(c.Wait.P50), quantile(c.MeanWait), quantile(c.MeanRun))
	}
	columns = append(columns, quantile(c.MeanFinish), quantile(c.Finish.P90), percent(c.Best))
	if c.InTime != nil {
		columns = append(columns, percent(*c.InTime))
	}
	if c.Cost != nil {
		columns = append(columns, fmt.Sprintf("%.4g", *c.Cost))
	}
	if c.Gain != nil {
		columns = append(columns, gained(c))
	}
	return strings.Join(columns, "\t")
}

// gained describes how much sooner a candidate ends than the requested job.
func gained(c *wire.SizeCandidate) string {
	switch m := c.Gain.MeanFinish; {
	case c.Requested:
		return "(asked)"
	case m == nil:
		return "-"
	case *m < 0:
		return duration.Format(fromSeconds(-*m)) + " later"
	default:
		return duration.Format(fromSeconds(*m)) + " sooner"
	}
}
