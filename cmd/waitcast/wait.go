package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/memsize"
	"github.com/waitcast/waitcast/job"
)

func newWait(a *app) *cobra.Command {
	var cluster string
	var request job.Request
	compare := whatIf{limits: limitList{env: a.env}}
	var memory memsize.Value
	var script batch
	var keep float64
	var by byValue
	command := &cobra.Command{
		Use:   "wait -q QUEUE -n PROCS -t LIMIT | SCRIPT [-- OPTIONS]",
		Short: "Forecast how long a job would wait if it were submitted now",
		Long: "Forecast how long a job would wait if it were submitted now.\n\n" +
			"LIMIT is read as " + duration.AllowedWithUnit +
			".\nA number alone needs a unit, or the one that " + unitVariable + " names (s, m or h): Slurm and " +
			"LSF read it as minutes.\n\n" +
			"Several queues, separated by commas, are one job that starts in one of them, as with sbatch -p. " +
			"With several sizes or time limits,\nor queues of several clusters (CLUSTER:QUEUE), all combinations " +
			"are compared: the one that starts soonest comes first.\n\n" +
			"SCRIPT is a batch script (- for standard input). Its #SBATCH, #PBS, #$ or #BSUB lines are the " +
			"request. The OPTIONS that sbatch,\n" +
			"qsub or bsub would get override them, as SBATCH_* in the environment do; the flags here override " +
			"both.",
		Example: "  waitcast wait -q short -n 16 -t 2h30m\n" +
			"  waitcast wait -q short -n 16 -t 2h30m --by 09:00\n" +
			"  waitcast wait job.sh -- --time=30\n" +
			"  waitcast wait -q long -n 128 -N 4 -t 1-12:00 -A physics --json\n" +
			"  waitcast wait -q short,long -n 4,8,16 -t 3h,7d",
		Args: script.set,
		RunE: func(c *cobra.Command, _ []string) error {
			if script.path == "" {
				if err := missing(c, "queue", "procs", "time"); err != nil {
					return err
				}
			} else if err := script.fill(c, a, &request, &compare, &memory); err != nil {
				return err
			}
			request.Memory = int64(memory)
			part, err := keepOf(c, keep)
			instant := by.instant(time.Now().In(a.zone))
			switch several := compare.several(request.Queue); {
			case err != nil:
				return err
			case several && part != 0:
				return console.NewUsageError("--keep is for one queue, one size and one time limit")
			case several:
				return a.whatIf(c.Context(), cluster, request, &compare, instant)
			}
			request.Procs, request.TimeLimit = compare.procs[0], compare.limits.all[0]
			return a.wait(c.Context(), cluster, request, client.WaitOptions{Keep: part, By: instant})
		},
	}
	flags := command.Flags()
	flags.StringVarP(&request.Queue, "queue", "q", "",
		"queue or partition; several, separated by commas, are one job (required without a script)")
	flags.VarP(&compare.procs, "procs", "n",
		"number of processors, several as 4,8,16, 4..64 or 4-9 (required without a script)")
	flags.VarP(&compare.limits, "time", "t", "time limit, several separated by commas (required without a script)")
	compare.flags(flags)
	flags.IntVarP(&request.Nodes, "nodes", "N", 0, "number of nodes")
	flags.IntVarP(&request.GPUs, "gpus", "G", 0, "number of GPUs, of all nodes together")
	flags.StringVar(&request.GPUType, "gpu-type", "", "type of those GPUs, as the scheduler names it")
	flags.Var(&memory, "mem", "memory, of all nodes together: "+memsize.Allowed)
	flags.StringVarP(&request.Account, "account", "A", "", "account that is charged")
	flags.StringVar(&request.QOS, "qos", "", "quality of service")
	flags.StringVarP(&request.User, "user", "u", "", "user who would submit the job")
	flags.Var(&by, "by", "show the probability of a start by then: "+byAllowed)
	flags.StringVar(&cluster, "cluster", "", "cluster, if the daemon has several")
	keepFlag(flags, &keep)
	flags.Lookup("time").DefValue = "" // the flag has no default value to show
	flags.StringVar(&script.scheduler, "scheduler", "",
		"scheduler that the script is for: slurm, pbs, sge or lsf; default the one whose directives it has")
	return command
}

// wait requests a forecast and prints the answer. It returns an error if there is no forecast or if it is stale.
func (a *app) wait(ctx context.Context, cluster string, request job.Request, options client.WaitOptions) error {
	if err := checkWait(request, time.Duration(a.timeout)); err != nil {
		return err
	}
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		answer, raw, err := c.WaitJSON(ctx, cluster, request, options)
		if err != nil {
			return err
		}
		return a.printAnswer(raw, waitText(answer, a.zone), answer.Stale, answer.AgeSeconds)
	})
}
