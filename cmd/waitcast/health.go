package main

import (
	"context"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/terminal"
)

// healthTimeout is the maximum time for the daemon's health report after it has answered a request.
const healthTimeout = 3 * time.Second

// warn prints the conditions of the daemon that was used, in the words of /readyz. It also prints whether the daemon's
// clock is simulated, and keeps the report for whyStale. It prints nothing if no request was sent, or if the daemon is
// too old to report conditions.
func (a *app) warn() {
	if a.asked == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	health, _, err := a.asked.Health(ctx)
	if err != nil {
		return // the daemon is too old, or the request has failed too
	}
	a.health = health
	if health.SimulatedSpeed > 0 {
		fmt.Fprintf(a.Stderr, "waitcast: the daemon's clock is simulated and runs %g times as fast as yours\n",
			health.SimulatedSpeed)
	}
	if health.Status == wire.Ready {
		return
	}
	for _, c := range health.Conditions {
		fmt.Fprintf(a.Stderr, "waitcast: the daemon is %s: %s\n", terminal.Line(health.Status), terminal.Line(c.Text))
	}
}

// whyStale returns the daemon's reason for marking answers as stale. It returns "" if the daemon gives none.
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
