package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/daemon"
)

// learnInterval is the time between two checks of the daemon's progress. A check costs as much as one scrape of the
// metrics.
const learnInterval = 500 * time.Millisecond

// learn waits until the daemon has learnt the events of its history and has forecast the load. Meanwhile it reports
// the progress. It returns false if the daemon fails or ctx ends before. An end of ctx is no error.
func learn(ctx context.Context, o Options, d *daemon.Daemon, events int) (bool, error) {
	tick := time.NewTicker(learnInterval)
	defer tick.Stop()
	report := time.NewTicker(reportEvery(o))
	defer report.Stop()
	fmt.Fprintln(o.Out, "the daemon forecasts each of these jobs and learns from it, which takes about a minute")
	for !answers(d) {
		select {
		case <-ctx.Done():
			return false, nil
		case err := <-d.Failed():
			return false, err
		case <-report.C:
			o.report(fmt.Sprintf("learning: %d %%", min(99, 100*applied(d.Registry())/max(1, events))))
		case <-tick.C:
		}
	}
	if o.Terminal {
		o.report("")
	}
	return true, nil
}

// answers reports whether the daemon has read its log to the end and can answer every kind of request.
func answers(d *daemon.Daemon) bool {
	for _, v := range d.Views() {
		if v.At.IsZero() || v.Load == nil {
			return false
		}
		for _, s := range v.Sources {
			if !s.CaughtUp {
				return false
			}
		}
	}
	return true
}

// applied returns the number of events that the daemon has learnt from.
func applied(metrics prometheus.Gatherer) int {
	families, err := metrics.Gather()
	if err != nil {
		return 0
	}
	n := 0.0
	for _, f := range families {
		if f.GetName() != "waitcast_events_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			n += m.GetCounter().GetValue()
		}
	}
	return int(n)
}
