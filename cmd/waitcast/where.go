package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// whereFlags are the flags of waitcast where.
type whereFlags struct {
	procs, nodes       int
	limits             limitList
	daemons            []string
	queue              string
	user, account, qos string
	cluster, memory    string
}

func newWhere(a *app) *cobra.Command {
	f := whereFlags{limits: limitList{env: a.env}}
	command := &cobra.Command{
		Use:   "where -n PROCS -t LIMIT",
		Short: "Compare clusters for one job: where would it start soonest?",
		Long: "Compare all queues of all clusters for one job, of several daemons too: where would it start " +
			"soonest?\n\n" +
			"Queues that cannot take the job are left out, with the reason. The token and the certificates " +
			"are sent to every daemon.",
		Example: "  waitcast where -n 16 -t 2h\n" +
			"  waitcast where -n 16 -t 2h --at http://north:9817 --at http://south:9817",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := missing(c, "procs", "time"); err != nil {
				return err
			}
			switch {
			case f.procs < 1:
				return console.NewUsageError("--procs must be 1 or more")
			case len(f.limits.all) != 1 || f.limits.all[0] <= 0:
				return console.NewUsageError("--time must be one time limit, more than 0")
			case f.nodes < 0:
				return console.NewUsageError("--nodes cannot be negative")
			}
			return a.where(c.Context(), &f)
		},
	}
	flags := command.Flags()
	flags.IntVarP(&f.procs, "procs", "n", 0, "number of processors (required)")
	flags.VarP(&f.limits, "time", "t", "time limit (required)")
	flags.StringArrayVar(&f.daemons, "at", nil, "address of a daemon, as in --url; can be given several times")
	flags.StringVarP(&f.queue, "queue", "q", "", "only queues of this name")
	flags.IntVarP(&f.nodes, "nodes", "N", 0, "number of nodes")
	flags.StringVar(&f.memory, "mem", "", "memory, of all nodes together: 4000M, 64G")
	flags.StringVarP(&f.account, "account", "A", "", "account that is charged")
	flags.StringVar(&f.qos, "qos", "", "quality of service")
	flags.StringVarP(&f.user, "user", "u", "", "user who would submit the job")
	flags.StringVar(&f.cluster, "cluster", "", "only this cluster")
	flags.Lookup("time").DefValue = "" // the flag has no default value to show
	return command
}

// placed is a queue where the job can be submitted, as in the JSON output.
type placed struct {
	Daemon string `json:"daemon"`
	wire.WaitCandidate
	stale bool
	age   float64
}

// passed is a queue where the job cannot be submitted.
type passed struct {
	Daemon  string `json:"daemon"`
	Cluster string `json:"cluster,omitempty"`
	Queue   string `json:"queue,omitempty"`
	Detail  string `json:"detail"`
}

// whereAnswer is the output of --json.
type whereAnswer struct {
	Candidates []placed `json:"candidates"`
	LeftOut    []passed `json:"left_out"`
}

func (a *app) where(ctx context.Context, f *whereFlags) error {
	daemons := f.daemons
	if len(daemons) == 0 {
		daemons = []string{a.url}
	}
	out := whereAnswer{Candidates: []placed{}, LeftOut: []passed{}}
	var failure error
	given := a.url
	for _, address := range daemons {
		a.url = address
		err := a.queryQuietly(ctx, func(ctx context.Context, c *client.Client) error { return f.compare(ctx, c, &out) })
		if err != nil {
			failure = err
			out.LeftOut = append(out.LeftOut, passed{Daemon: cmp.Or(address, "the daemon"), Detail: err.Error()})
		}
	}
	a.url = given
	if len(out.Candidates) == 0 && failure != nil {
		return a.refusedAs(failure)
	}
	slices.SortStableFunc(out.Candidates, func(x, y placed) int {
		return cmp.Or(cmp.Compare(never(x.WaitSeconds.P50), never(y.WaitSeconds.P50)),
			cmp.Compare(never(x.WaitSeconds.P90), never(y.WaitSeconds.P90)))
	})
	raw, err := json.Marshal(out)
	if err != nil {
		return err
	}
	stale, age := false, 0.
	for _, c := range out.Candidates {
		if c.stale {
			stale, age = true, math.Max(age, c.age)
		}
	}
	return a.printAnswer(raw, whereText(&out, a.zone), stale, age)
}

// never returns the value of a quantile. It returns +Inf if the quantile is never reached.
func never(q *float64) float64 {
	if q == nil {
		return math.Inf(1)
	}
	return *q
}

// compare requests the forecasts of all queues from one daemon.
func (f *whereFlags) compare(ctx context.Context, c *client.Client, out *whereAnswer) error {
	known, _, err := c.Queues(ctx, f.cluster)
	if err != nil {
		return err
	}
	question := wire.WaitsRequest{Procs: []int{f.procs}, TimeLimits: []string{duration.String(f.limits.all[0])},
		Nodes: f.nodes, Memory: f.memory, User: f.user, Account: f.account, QOS: f.qos}
	for _, q := range known.Queues {
		if f.queue == "" || f.queue == q.Name {
			question.Places = append(question.Places, wire.Place{Cluster: q.Cluster, Queue: q.Name})
		}
	}
	if len(question.Places) == 0 {
		return fmt.Errorf("there is no such queue: %s", cmp.Or(f.queue, "none is known yet"))
	}
	answer, _, err := c.Waits(ctx, &question)
	if err != nil {
		return err
	}
	for _, one := range answer.Candidates {
		out.Candidates = append(out.Candidates, placed{c.URL(), one, answer.Stale, answer.AgeSeconds})
	}
	for _, l := range answer.LeftOut {
		out.LeftOut = append(out.LeftOut, passed{c.URL(), l.Cluster, l.Queue, l.Detail})
	}
	return nil
}

// whereText writes the queues, the best first.
func whereText(w *whereAnswer, zone *time.Location) []byte {
	var p page
	if len(w.Candidates) > 0 {
		best := &w.Candidates[0]
		p.Line("Advice", "queue "+best.Queue+" of cluster "+best.Cluster+": "+medianText(best))
		p.Line("", "")
		t := p.columns()
		fmt.Fprintln(t, "cluster\tqueue\twait\t8 of 10 cases\tin 10 min\tstart")
		for i := range w.Candidates {
			c := &w.Candidates[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", console.Printable(c.Cluster), console.Printable(c.Queue),
				quantile(c.WaitSeconds.P50), band(c.WaitSeconds.P10, c.WaitSeconds.P90),
				percent(c.StartWithin.TenMinutes), instant(c.Start.P50, zone))
		}
		_ = t.Flush() // cannot fail, because it writes to memory
		p.Line("", "")
	}
	for _, l := range w.LeftOut {
		where := l.Daemon
		if l.Queue != "" {
			where = l.Cluster + ":" + l.Queue
		}
		p.Line("Left out", where+": "+l.Detail)
	}
	return p.Bytes()
}

// medianText formats the median wait in a queue.
func medianText(c *placed) string {
	if c.WaitSeconds.P50 == nil {
		return noEnd
	}
	return "median wait " + quantile(c.WaitSeconds.P50)
}
