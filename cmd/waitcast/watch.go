package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

const (
	// movedShare is a share of the remaining wait. The forecast must change by at least this share before another
	// line is written.
	movedShare = .2
	// leastMove is the minimum of that change.
	leastMove = time.Minute
)

// watchFlags are the flags of waitcast watch.
type watchFlags struct {
	cluster, run string
	every        duration.Value
}

func newWatch(a *app) *cobra.Command {
	f := watchFlags{every: duration.Value(30 * time.Second)}
	command := &cobra.Command{
		Use:   "watch JOB",
		Short: "Follow a waiting job, with a line whenever its forecast moves",
		Long: "Write a line with the forecast of a waiting job: at the beginning, whenever its likely start " +
			"moves by a fifth of the\n" +
			"remaining wait, when it is held or released, and when it no longer waits, which ends the " +
			"command.\n\n" +
			"The shell runs the command of --run for every line, with WAITCAST_JOB, WAITCAST_EVENT (forecast, " +
			"held, gone), WAITCAST_START (RFC 3339) and WAITCAST_LINE in its environment.",
		Example: "  waitcast watch 4711\n" +
			"  waitcast watch 4711 --run 'notify-send \"$WAITCAST_LINE\"'",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case args[0] == "":
				return console.NewUsageError("JOB is empty")
			case f.every <= 0:
				return console.NewUsageError("--every must be more than 0")
			}
			return a.watch(c.Context(), &f, args[0])
		},
	}
	flags := command.Flags()
	flags.Var(&f.every, "every", "how often to ask")
	flags.StringVar(&f.run, "run", "", "command that the shell runs for every line")
	flags.StringVar(&f.cluster, "cluster", "", "cluster, if the daemon has several")
	return command
}

// watched is the content of the newest line about a job.
type watched struct {
	held  bool
	start *time.Time
	rest  time.Duration // remaining wait when the line was written
}

// moved reports whether a job needs another line, and returns the content of that line.
func (w *watched) moved(j *wire.JobAnswer) (watched, bool) {
	now := watched{held: j.Held}
	if f := j.Forecast; f != nil && f.Start.P50 != nil && f.Now.P50 != nil {
		now.start, now.rest = f.Start.P50, fromSeconds(*f.Now.P50)
	}
	switch {
	case w == nil, w.held != now.held, (w.start == nil) != (now.start == nil):
		return now, true
	case now.start == nil:
		return now, false
	}
	least := math.Max(float64(leastMove), movedShare*float64(w.rest))
	return now, math.Abs(float64(now.start.Sub(*w.start))) >= least
}

// watch reports changes of a job's forecast until the job no longer waits. An error before the first report ends it;
// after that watch tries again.
func (a *app) watch(ctx context.Context, f *watchFlags, id string) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var written *watched
	silent := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		timer.Reset(time.Duration(f.every))
		var answer *wire.JobAnswer
		var raw []byte
		err := a.queryQuietly(ctx, func(ctx context.Context, c *client.Client) (err error) {
			answer, raw, err = c.Job(ctx, f.cluster, id, 0)
			return err
		})
		var problem *client.ProblemError
		switch gone := errors.As(err, &problem) && problem.Status == http.StatusNotFound; {
		case err != nil && written == nil:
			return a.refusedAs(err)
		case gone:
			return a.reportEvent(ctx, f, id, "gone", nil, "job "+id+" waits no more: it has started or left",
				problem.JSON)
		case err != nil:
			if !silent {
				a.Note("%v; it is tried again", err)
			}
			silent = true
			continue
		}
		silent = false
		now, moved := written.moved(answer)
		if !moved {
			continue
		}
		written = &now
		event := "forecast"
		if now.held {
			event = "held"
		}
		if err := a.reportEvent(ctx, f, id, event, now.start, a.watchLine(answer), raw); err != nil {
			return err
		}
	}
}

// watchLine describes the present state of a job.
func (a *app) watchLine(j *wire.JobAnswer) string {
	line := "job " + j.ID
	switch f := j.Forecast; {
	case j.Held:
		return line + " is held: " + j.HeldReason
	case f == nil:
		return line + " has no forecast: " + withoutForecast(j.NoForecast)
	case f.Start.P50 == nil:
		return line + ": " + noEnd
	default:
		line += fmt.Sprintf(" starts %s, in %s (8 of 10 cases %s)", f.Start.P50.In(a.zone).Format("Mon 15:04"),
			quantile(f.Now.P50), band(f.Now.P10, f.Now.P90))
	}
	if j.Moved != "" {
		line += "; " + j.Moved
	}
	return line
}

// reportEvent writes a line, and runs the user's command.
func (a *app) reportEvent(ctx context.Context, f *watchFlags, id, event string, start *time.Time, line string,
	raw []byte) error {
	if a.JSON {
		if err := a.printJSON(raw); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintln(a.Stdout, console.Printable(line)); err != nil {
		return err
	}
	if f.run == "" {
		return nil
	}
	at := ""
	if start != nil {
		at = start.UTC().Format(time.RFC3339)
	}
	command := exec.CommandContext(ctx, "/bin/sh", "-c", f.run) //nolint:gosec // it is what the user asks for
	command.Env = append(os.Environ(), "WAITCAST_JOB="+id, "WAITCAST_EVENT="+event, "WAITCAST_START="+at,
		"WAITCAST_LINE="+console.Printable(line))
	command.Stdout, command.Stderr = a.Stderr, a.Stderr // standard output contains only the lines
	if err := command.Run(); err != nil && ctx.Err() == nil {
		a.Note("--run: %v (%s)", err, strconv.Quote(f.run))
	}
	return nil
}
