package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/client/jobscript"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/memsize"
	"github.com/waitcast/waitcast/job"
)

// batch is the script of the job, and the options of its submission.
type batch struct {
	path      string
	options   []string // options of sbatch, qsub or bsub
	scheduler string
}

// set parses the arguments of the command: a script, and after "--" the options of its submission.
func (b *batch) set(c *cobra.Command, args []string) error {
	if at := c.ArgsLenAtDash(); at >= 0 {
		args, b.options = args[:at], args[at:]
	}
	switch {
	case len(args) > 1:
		return console.NewUsageError(fmt.Sprintf("one script at a time: %q is too much", args[1]))
	case len(args) == 1:
		b.path = args[0]
	case len(b.options) > 0:
		return console.NewUsageError(
			"options behind -- are those of a script's submission: name the script before them")
	case b.scheduler != "":
		return console.NewUsageError("--scheduler is of a script: name the script")
	}
	return nil
}

// missing returns an error that names those of the given flags that are not set, nil if all are set.
func missing(c *cobra.Command, names ...string) error {
	var none []string
	for _, name := range names {
		if f := c.Flags().Lookup(name); !f.Changed {
			none = append(none, "-"+f.Shorthand+" ("+name+")")
		}
	}
	if len(none) > 0 {
		return console.NewUsageError("missing: " + strings.Join(none, ", ") +
			"; or name a batch script that tells them, as in: waitcast wait job.sh")
	}
	return nil
}

// read parses the script in the same way as the scheduler's command, with the options and the environment of the
// user.
func (b *batch) read(stdin io.Reader) (*jobscript.Request, error) {
	in, name := stdin, "standard input"
	if b.path != "-" {
		file, err := os.Open(b.path)
		if err != nil {
			return nil, console.NewUsageError("script: " + err.Error())
		}
		defer func() { _ = file.Close() }() // nothing was written
		in, name = file, b.path
	}
	env := map[string]string{}
	for _, pair := range os.Environ() {
		if key, value, ok := strings.Cut(pair, "="); ok && (strings.HasPrefix(key, "SBATCH_") || key == "PBS_DPREFIX") {
			env[key] = value
		}
	}
	r, err := jobscript.Parse(in,
		jobscript.Options{Scheduler: jobscript.Scheduler(b.scheduler), Args: b.options, Env: env, Name: name})
	switch {
	case errors.Is(err, jobscript.ErrSchedulers):
		return nil, console.NewUsageError(err.Error() + " (--scheduler slurm, pbs, sge or lsf)")
	case err != nil:
		return nil, console.NewUsageError(err.Error())
	}
	return &r, nil
}

// fill sets request, compare and memory from the script, except the values that a flag sets. It returns an error if
// neither the script nor a flag gives the queue or the time limit. It prints the script's warnings on standard error.
func (b *batch) fill(c *cobra.Command, a *app, request *job.Request, compare *whatIf, memory *memsize.Value) error {
	s, err := b.read(c.InOrStdin())
	if err != nil {
		return err
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(a.Stderr, "%s: %s\n", console.Printable(b.path), console.Printable(w.String()))
	}
	if s.Tasks > 1 {
		fmt.Fprintf(a.Stderr, "%s: an array of %d tasks: the forecast is of its first\n",
			console.Printable(b.path), s.Tasks)
	}
	if s.Hold || s.Dependent || s.Begin != "" {
		fmt.Fprintf(a.Stderr, "%s: it is held, waits for other jobs or has a time before which it may not start: the "+
			"forecast is as if it had not\n", console.Printable(b.path))
	}
	given := c.Flags().Changed
	if !given("queue") {
		if len(s.Queues) == 0 {
			return console.NewUsageError(b.path + " names no queue: say with -q to which it would go")
		}
		request.Queue = strings.Join(s.Queues, ",")
	}
	if !given("procs") {
		compare.procs = procsList{s.Procs}
	}
	if !given("nodes") {
		request.Nodes = s.Nodes
	}
	if !given("gpus") {
		request.GPUs = s.GPUs
	}
	if !given("gpus") && !given("gpu-type") {
		request.GPUType = s.GPUType
	}
	if !given("mem") {
		*memory = memsize.Value(s.Memory)
	}
	if !given("account") {
		request.Account = s.Account
	}
	if !given("qos") {
		request.QOS = s.QOS
	}
	if !given("time") {
		if s.TimeLimit <= 0 {
			return console.NewUsageError(b.path + " asks for no time limit: say with -t which one it would get")
		}
		compare.limits = limitList{all: []time.Duration{s.TimeLimit.Round(time.Second)}}
	}
	return nil
}
