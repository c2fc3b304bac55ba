// Command waitcast asks a waitcast daemon how long a job would wait.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/internal/duration"
)

// The exit codes; docs/command.md explains them to users.
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

// run is the whole command: its arguments without its name, where it writes, and its environment. It returns the exit code.
func run(args []string, stdout, stderr io.Writer, env func(string) string) int {
	a := &app{stdin: os.Stdin, stdout: stdout, stderr: stderr, env: env, zone: time.Local, terminal: isTerminal(stderr)}
	return a.run(args)
}

// isTerminal reports whether what is written can be written over.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// run executes the subcommand that args name, and is the one place where an error becomes a message and an exit code.
func (a *app) run(args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	command, err := root.ExecuteC()
	if err == nil {
		return exitDone
	}
	code := a.code(err)
	message := "waitcast: " + a.explain(err)
	if code == exitUsage {
		message += "\nSee '" + command.CommandPath() + " --help'."
	}
	fmt.Fprintln(a.stderr, message) //nolint:errcheck // there is nowhere left to say so
	return code
}

// usageError is a wrong use of the command that shows only once it runs.
type usageError struct{ problem string }

func (e *usageError) Error() string { return e.problem }

// staleError says that the answer, which was printed, rests on old data.
type staleError struct{ age time.Duration }

func (e *staleError) Error() string {
	return fmt.Sprintf("the data is stale: the newest record is %s old, so the forecast may be far off.\n"+
		"The daemon may be unable to read the scheduler's log; its own log and /readyz say more.", duration.Format(e.age))
}

// code returns the exit code for an error.
func (a *app) code(err error) int {
	var problem *client.ProblemError
	var usage *usageError
	var stale *staleError
	switch {
	case !a.started, errors.As(err, &usage):
		return exitUsage // cobra refused the arguments before any of our code ran
	case errors.As(err, &stale):
		return exitStale
	case errors.As(err, &problem) && problem.NoForecast():
		return exitNoForecast
	case errors.As(err, &problem) && isUsage(problem.Status):
		return exitUsage
	}
	return exitFailed
}

// isUsage tells the statuses by which a daemon says that the question itself is wrong.
func isUsage(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
}

// explain says what an error means for the one who typed the command, and what to do.
func (a *app) explain(err error) string {
	var problem *client.ProblemError
	var unreachable *client.UnreachableError
	var answer *client.AnswerError
	switch {
	case errors.As(err, &problem):
		text := explainProblem(problem)
		if problem.Status == http.StatusUnauthorized && a.tokenFrom != "" { // of another daemon that ran here, mostly
			text += "\nThe token was that of " + a.tokenFrom + "; --token-file names another file, such as " + systemToken
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
		return fmt.Sprintf("no answer from the daemon: %s\n%s", why, a.whereLooked(unreachable.URL))
	case errors.As(err, &answer):
		return err.Error() + "\n" + a.whereLooked(answer.URL)
	}
	return err.Error()
}

func explainProblem(p *client.ProblemError) string {
	if !p.NoForecast() {
		text := "the daemon refused: " + printable(p.Error())
		if p.Hint != "" {
			text += "\nWhat would help: " + printable(p.Hint)
		}
		return text
	}
	text := p.Detail
	if text == "" {
		text = p.Reason
	}
	text = "no forecast possible: " + printable(text)
	if p.Hint != "" {
		text += "\nWhat would help: " + printable(p.Hint)
	}
	return text
}

// whereLooked says which address was asked, why that one, and how to change it.
func (a *app) whereLooked(url string) string {
	return fmt.Sprintf("Looked at %s, %s. If it runs elsewhere, give --url or set WAITCAST_URL.", url, a.urlFrom)
}
