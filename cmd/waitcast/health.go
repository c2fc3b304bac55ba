package main

import (
	"context"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/terminal"
)

// healthTimeout is how long the daemon may take to report its faults, after it has answered the question.
const healthTimeout = 3 * time.Second

// warn prints what keeps the daemon that was asked from doing all of its work, in the words of /readyz. It prints
// nothing if no question was asked, or if the daemon is too old to know.
func (a *app) warn() {
	if a.asked == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	health, err := a.asked.Health(ctx)
	if err != nil {
		return // the question itself has its own error
	}
	a.health = health
	if health.Status == wire.Ready {
		return
	}
	for _, c := range health.Conditions {
		fmt.Fprintf(a.Stderr, "waitcast: the daemon is %s: %s\n", terminal.Line(health.Status), terminal.Line(c.Text))
	}
}

// whyStale returns why the daemon marks answers as stale, "" if it gives no reason.
func (a *app) whyStale() string {
	if a.health == nil {
		return ""
	}
	why := ""
	for _, s := range a.health.Stale {
		if why != "" {
			why += "; "
		}
		if len(a.health.Stale) > 1 {
			why += "cluster " + s.Cluster + ": "
		}
		why += s.Reason
	}
	return terminal.Line(why)
}
