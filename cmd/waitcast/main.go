// Command waitcast requests forecasts from a waitcast daemon: how long a job would wait. It also has commands that
// work on files.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/terminal"
)

// These are the exit codes. docs/command.md explains them to users.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitNoForecast = 3
	exitStale      = 4
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Getenv))
}

// run runs the command with arguments (without its name), output streams and environment. It returns the exit code.
func run(args []string, stdout, stderr io.Writer, env func(string) string) int {
	a := &app{Console: console.Console{Stdin: os.Stdin, Stdout: stdout, Stderr: stderr,
		Terminal: console.IsTerminal(stderr)}, env: env, zone: time.Local, socket: client.DefaultSocket}
	return a.run(args)
}

// run executes the subcommand that args name. It is the only place where an error becomes a message and an exit code.
func (a *app) run(args []string) int {
	a.Plain = [2]io.Writer{a.Stdout, a.Stderr}
	a.Stdout, a.Stderr = terminal.NewWriter(a.Stdout), terminal.NewWriter(a.Stderr)
	root := newRoot(a)
	root.SetArgs(args)
	command, err := root.ExecuteC()
	if unreachable := new(client.UnreachableError); !errors.As(err, &unreachable) {
		a.warn()
	}
	if err == nil {
		return exitDone
	}
	code := a.code(err)
	message := "waitcast: " + a.explain(err)
	if code == exitUsage {
		message += "\nSee '" + command.CommandPath() + " --help'."
	}
	fmt.Fprintln(a.Stderr, message) //nolint:errcheck // there is nowhere left to say so
	return code
}

// code returns the exit code for an error.
func (a *app) code(err error) int {
	var problem *client.ProblemError
	var usage *console.UsageError
	var stale *staleError
	var status *statusError
	switch {
	case !a.started, errors.As(err, &usage):
		return exitUsage // cobra refused the arguments before a subcommand's code ran
	case errors.As(err, &stale):
		return exitStale
	case errors.As(err, &status) && status.word == wire.NotReady,
		errors.As(err, &problem) && problem.NoForecast():
		return exitNoForecast
	case errors.As(err, &problem) && isUsage(problem.Status):
		return exitUsage
	}
	return exitFailed
}

// isUsage reports whether an HTTP status of the daemon means that the request itself is wrong.
func isUsage(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
}

// explain returns a message for the user about an error. The message says what the error means and what to do.
func (a *app) explain(err error) string {
	var problem *client.ProblemError
	var unreachable *client.UnreachableError
	var answer *client.AnswerError
	var stale *staleError
	switch {
	case errors.As(err, &stale):
		why := a.whyStale()
		if why == "" { // an older daemon gives no reason
			why = stale.Error()
		}
		return "the data is stale, the forecast may be far off: " + why
	case errors.As(err, &problem):
		text := explainProblem(problem)
		// The token is often that of an older daemon.
		if problem.Status == http.StatusUnauthorized && a.tokenFrom != "" {
			text += "\nThe token was that of " + a.tokenFrom +
				"; --token-file names another file, such as " + systemToken
		}
		return text
	case errors.As(err, &unreachable):
		why := unreachable.Err.Error()
		if errors.Is(err, context.DeadlineExceeded) {
			why = fmt.Sprintf("none within %s (--timeout)", duration.String(time.Duration(a.timeout)))
		}
		if unknown := new(x509.UnknownAuthorityError); errors.As(err, unknown) {
			why += "; --ca FILE names the certificate of its authority"
		}
		return fmt.Sprintf("no answer from the daemon: %s\n%s", console.Printable(why), a.whereLooked(unreachable.URL))
	case errors.As(err, &answer):
		return console.Printable(err.Error()) + "\n" + a.whereLooked(answer.URL)
	}
	if !a.started && strings.HasPrefix(err.Error(), "unknown command ") { // cobra adds a list of similar commands
		return err.Error()
	}
	return console.Printable(err.Error())
}

func explainProblem(p *client.ProblemError) string {
	if !p.NoForecast() {
		text := "the daemon refused: " + console.Printable(p.Error())
		if p.Hint != "" {
			text += "\nWhat would help: " + console.Printable(p.Hint)
		}
		return text
	}
	text := p.Detail
	if text == "" {
		text = p.Reason
	}
	text = "no forecast possible: " + console.Printable(text)
	if p.Hint != "" {
		text += "\nWhat would help: " + console.Printable(p.Hint)
	}
	return text
}

// whereLooked describes which address was used, where it comes from, and how to change it.
func (a *app) whereLooked(url string) string {
	return fmt.Sprintf("Looked at %s, %s. If it runs elsewhere, give --url or set WAITCAST_URL.",
		console.Printable(url), console.Printable(a.urlFrom))
}
