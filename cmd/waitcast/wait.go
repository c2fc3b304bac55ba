package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/memsize"
	"github.com/waitcast/waitcast/job"
)

func newWait(a *app) *cobra.Command {
	var cluster string
	var request job.Request
	var limit duration.Value
	var memory memsize.Value
	command := &cobra.Command{
		Use:   "wait -q QUEUE -n PROCS -t LIMIT",
		Short: "Forecast how long a job would wait if it were submitted now",
		Long: "Forecast how long a job would wait if it were submitted now.\n\n" +
			"LIMIT is read as " + duration.Allowed + ".\nA number alone is seconds.",
		Example: "  waitcast wait -q short -n 16 -t 2h30m\n" +
			"  waitcast wait -q long -n 128 -N 4 -t 1-12:00 -A physics --json",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			request.TimeLimit, request.Memory = time.Duration(limit), int64(memory)
			return a.wait(c.Context(), cluster, request)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&request.Queue, "queue", "q", "", "queue or partition (required)")
	flags.IntVarP(&request.Procs, "procs", "n", 0, "number of processors (required)")
	flags.VarP(&limit, "time", "t", "time limit (required)")
	flags.IntVarP(&request.Nodes, "nodes", "N", 0, "number of nodes")
	flags.IntVarP(&request.GPUs, "gpus", "G", 0, "number of GPUs, of all nodes together")
	flags.Var(&memory, "mem", "memory, of all nodes together: "+memsize.Allowed)
	flags.StringVarP(&request.Account, "account", "A", "", "account that is charged")
	flags.StringVar(&request.QOS, "qos", "", "quality of service")
	flags.StringVarP(&request.User, "user", "u", "", "user who would submit the job")
	flags.StringVar(&cluster, "cluster", "", "cluster, where the daemon watches several")
	flags.Lookup("time").DefValue = "" // there is none to show
	for _, name := range []string{"queue", "procs", "time"} {
		_ = command.MarkFlagRequired(name) // fails for a flag that does not exist only
	}
	return command
}

// wait asks, prints the answer, and returns an error where there is none or where it is stale.
func (a *app) wait(ctx context.Context, cluster string, request job.Request) error {
	if err := checkWait(request, time.Duration(a.timeout)); err != nil {
		return err
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.timeout))
	defer cancel()
	answer, raw, err := c.WaitJSON(ctx, cluster, request)
	if err != nil {
		var problem *client.ProblemError
		if a.json && errors.As(err, &problem) {
			return errors.Join(err, a.printJSON(problem.JSON))
		}
		return err
	}
	if a.json {
		err = a.printJSON(raw)
	} else {
		_, err = a.stdout.Write(waitText(answer, a.zone))
	}
	if err == nil && answer.Stale {
		return &staleError{age: fromSeconds(answer.AgeSeconds)}
	}
	return err
}

// checkWait refuses what cannot be asked before anyone is asked.
func checkWait(r job.Request, timeout time.Duration) error {
	switch {
	case r.Queue == "":
		return &usageError{"--queue is empty"}
	case r.Procs < 1:
		return &usageError{"--procs must be 1 or more"}
	case r.Nodes < 0:
		return &usageError{"--nodes cannot be negative"}
	case r.GPUs < 0:
		return &usageError{"--gpus cannot be negative"}
	case r.TimeLimit <= 0:
		return &usageError{"--time must be more than 0"}
	case timeout <= 0:
		return &usageError{"--timeout must be more than 0"}
	}
	return nil
}
