package offline

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

// modelUsers is the name of a model that only the daemon offers. For a trace, "waitcast resample" does the same.
const modelUsers = "users"

func (f *liveFlags) flags(command *cobra.Command) {
	flags := command.Flags()
	flags.BoolVar(&f.on, "live", false, "draw from a model that the daemon keeps up to date")
	flags.StringVarP(&f.queue, "queue", "q", "", "with --live: the queue; default all queues together")
	flags.StringVar(&f.cluster, "cluster", "", "with --live: cluster, if the daemon has several")
	flags.Float64Var(&f.hours, "hours", 0, "with --live: jobs that are submitted within so many hours")
	flags.StringVar(&f.format, "format", "swf", "with --live: swf, or jsonl, lines of JSON")
}

// isSet reports whether one of the flags that require --live is set.
func (f *liveFlags) isSet() bool {
	return f.queue != "" || f.cluster != "" || f.hours != 0 || f.format != "swf"
}

// generateLive copies jobs from the daemon to standard output.
func (a *Commands) generateLive(c *cobra.Command, f *GenerateFlags) error {
	if err := f.checkLive(c); err != nil {
		return err
	}
	if a.JSON {
		f.live.format = "jsonl"
	}
	daemon, err := a.daemon()
	if err != nil {
		return err
	}
	request := client.Workload{
		Cluster: f.live.cluster, Queue: f.live.queue, Model: f.Model, Hours: f.live.hours, Format: f.live.format,
	}
	if f.Model == modelUniformLog {
		request.Model = "uniform_log"
	}
	if c.Flags().Changed("jobs") || f.live.hours == 0 {
		request.Jobs = f.Jobs
	}
	if c.Flags().Changed("seed") {
		request.Seed = &f.seed.value
	}
	// The timeout applies only to the beginning of the answer, because a whole workload may take longer.
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	timer := time.AfterFunc(time.Duration(*a.timeout), func() { cancel(context.DeadlineExceeded) })
	jobs, seed, err := daemon.Workload(ctx, request)
	if timer.Stop(); err != nil {
		return err
	}
	defer jobs.Close() //nolint:errcheck // it was only read
	if request.Seed == nil {
		a.Note("the seed is %d; --seed %d gives the same again, for as long as the models are the same", seed, seed)
	}
	if _, err := io.Copy(a.Data(), jobs); err != nil {
		return fmt.Errorf("the workload ends too early: %w", err)
	}
	return nil
}

// checkLive returns an error for flags that contradict --live, and for invalid values.
func (f *GenerateFlags) checkLive(c *cobra.Command) error {
	for _, name := range []string{"set", "params", "from", "arrivals", "procs", "status", "clean", "limits"} {
		if c.Flags().Changed(name) {
			return console.NewUsageError("--" + name + " does not go with --live")
		}
	}
	const mostHours, mostJobs, mostSeed = 100_000, 10_000_000, 9_999_999_999_999_999_999
	switch {
	case !slices.Contains([]string{ModelLublin, ModelMarkov, modelUniformLog, modelUsers}, f.Model):
		return console.NewUsageError(
			fmt.Sprintf("--model is %q; allowed with --live: lublin, markov, uniformlog, users", f.Model))
	case f.live.format != "swf" && f.live.format != "jsonl":
		return console.NewUsageError(fmt.Sprintf("--format is %q; allowed: swf, jsonl", f.live.format))
	case f.Jobs < 1 || f.Jobs > mostJobs:
		return console.NewUsageError(fmt.Sprintf("--jobs is %d; want 1 to %d with --live", f.Jobs, mostJobs))
	case !(f.live.hours >= 0 && f.live.hours <= mostHours):
		return console.NewUsageError(fmt.Sprintf("--hours is %v; want 0 to %d", f.live.hours, mostHours))
	case f.seed.value > mostSeed:
		return console.NewUsageError(fmt.Sprintf("--seed is %d; want at most 19 digits with --live", f.seed.value))
	}
	return nil
}
