package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// query sends a request to the daemon, which must answer within the timeout. With --json, query also prints a refusal
// as JSON.
func (a *app) query(ctx context.Context, send func(context.Context, *client.Client) error) error {
	return a.refusedAs(a.queryQuietly(ctx, send))
}

// queryQuietly does the same as query, but does not print a refusal.
func (a *app) queryQuietly(ctx context.Context, send func(context.Context, *client.Client) error) error {
	c, err := a.daemon()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.timeout))
	defer cancel()
	return send(ctx, c)
}

// daemon checks the timeout and returns the client of the daemon that the user selected.
func (a *app) daemon() (*client.Client, error) {
	if a.timeout <= 0 {
		return nil, console.NewUsageError("--timeout must be more than 0")
	}
	return a.client()
}

// refusedAs returns err. If err is a refusal by the daemon and --json is set, it also prints the refusal as JSON.
func (a *app) refusedAs(err error) error {
	var problem *client.ProblemError
	if a.JSON && errors.As(err, &problem) {
		return errors.Join(err, a.printJSON(problem.JSON))
	}
	return err
}

// printAnswer prints an answer as JSON or as text. It returns an error if the answer is stale.
func (a *app) printAnswer(raw json.RawMessage, text []byte, stale bool, age float64) error {
	var err error
	if a.JSON {
		err = a.printJSON(raw)
	} else {
		_, err = a.Stdout.Write(text)
	}
	if err == nil && stale {
		return &staleError{fromSeconds(age)}
	}
	return err
}

// noRecord is printed in place of the instant of the newest record while there is none.
const noRecord = "no record has been read yet"

// asOf writes the instant of the newest record on which an answer is based, and its age, which is given in seconds.
func (p *page) asOf(at time.Time, age float64, zone *time.Location) {
	if at.IsZero() {
		p.Line("As of", noRecord)
		return
	}
	p.Line("As of", fmt.Sprintf("%s, %s ago", at.In(zone).Format("2006-01-02 15:04:05 -07:00"),
		duration.Format(fromSeconds(age))))
}

// inTitle formats the instant of the newest record for the title of a table.
func inTitle(at time.Time, zone *time.Location) string {
	if at.IsZero() {
		return noRecord
	}
	return "as of " + at.In(zone).Format("2006-01-02 15:04:05")
}
