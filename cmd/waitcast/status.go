package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// statusError is the error of waitcast status for a daemon that is not ready or degraded.
type statusError struct{ word string }

func (e *statusError) Error() string { return "the daemon is " + e.word }

func newStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show whether the daemon does all of its work: conditions, sources, freshness, version",
		Long: "Show the conditions of the daemon (as /readyz does), its version, how new the data of each cluster " +
			"are, and how far each source has been read.\n\n" +
			"Exit codes: 0 ready, 1 degraded or no answer, 3 not ready (no forecasts yet), 4 the data of a cluster\n" +
			"are stale.",
		Example: "  waitcast status\n  waitcast status --json | jq -r '.conditions[].text'",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.status(c.Context()) },
	}
}

func (a *app) status(ctx context.Context) error {
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		health, raw, err := c.Health(ctx)
		if err != nil {
			return err
		}
		a.asked, a.health = nil, health // the answer has the conditions, so no warnings are due
		if err := a.printAnswer(raw, statusText(health, c.URL(), a.zone), false, 0); err != nil {
			return err
		}
		switch {
		case health.Status == wire.NotReady:
			return &statusError{health.Status}
		case len(health.Stale) > 0:
			return &staleError{}
		case health.Status != wire.Ready:
			return &statusError{health.Status}
		}
		return nil
	})
}

// statusText writes the conditions, then a line for each cluster and each source.
func statusText(h *wire.Health, url string, zone *time.Location) []byte {
	var p page
	p.Line("Status", console.Printable(h.Status))
	for _, c := range h.Conditions {
		text := c.Text
		if !c.Since.IsZero() {
			text += " (since " + c.Since.In(zone).Format("2006-01-02 15:04:05") + ")"
		}
		p.Line("Condition", text)
	}
	for _, s := range h.Stale {
		p.Line("Stale", s.Cluster+": "+s.Reason)
	}
	daemon := url
	if h.Version != "" {
		daemon = "waitcastd " + h.Version + " at " + url
	}
	p.Line("Daemon", daemon)
	if len(h.Clusters) > 0 {
		p.Line("", "")
		w := p.columns()
		fmt.Fprintln(w, "cluster\tnewest record\tage")
		for _, c := range h.Clusters {
			newest, age := "none yet", "-"
			if !c.AsOf.IsZero() {
				newest = c.AsOf.In(zone).Format("2006-01-02 15:04:05 -07:00")
				age = duration.Format(fromSeconds(c.AgeSeconds))
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", console.Printable(c.Cluster), newest, age)
		}
		_ = w.Flush() // cannot fail, because it writes to memory
	}
	if len(h.Sources) > 0 {
		p.Line("", "")
		p.sources(h.Sources)
	}
	return p.Bytes()
}

func (p *page) sources(all []wire.SourceStatus) {
	w := p.columns()
	fmt.Fprintln(w, "source\tnewest line\tread to end\tunread bytes\tclock ahead\tset aside")
	for i := range all {
		s := &all[i]
		newest, end := "none since the start", "no"
		if !s.LastLine.IsZero() {
			newest = duration.Format(fromSeconds(s.LineAgeSeconds)) + " ago"
		}
		if s.CaughtUp {
			end = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%d\n", console.Printable(s.Source), newest, end, s.LagBytes,
			duration.Format(fromSeconds(s.ClockOffsetSeconds)), s.SetAside)
	}
	_ = w.Flush() // cannot fail, because it writes to memory
}
