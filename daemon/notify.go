package daemon

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/daemon/systemd"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// service returns the functions that report the daemon's state to systemd.
func (d *Daemon) service() systemd.Service {
	return systemd.Service{Status: d.statusLine, Alive: d.alive}
}

// alive returns an error if the daemon does not work: either the writer has not completed a round of its loop within
// limit, and does not wait for a database that fails; or the HTTP interface does not answer. Any answer counts. TLS
// refuses plain HTTP, and authentication refuses callers without a password, but even a refusal shows that connections
// are accepted and served.
func (d *Daemon) alive(ctx context.Context, limit time.Duration) error {
	if idle := d.core().idle(); idle > limit {
		return fmt.Errorf("the writer has done nothing for %s", idle.Round(time.Second))
	}
	address := d.Addr()
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, address.Network(), address.String())
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/healthz", http.NoBody)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("the HTTP interface at %s does not answer: %w", address, err)
	}
	return response.Body.Close()
}

// startLine describes what the daemon does during its start.
func (d *Daemon) startLine() string {
	if c := d.core(); c != nil {
		if condition := c.restoring(); condition != nil {
			return condition.String()
		}
	}
	return "starting"
}

// statusLine describes what the daemon is doing now. "systemctl status" shows the line.
func (d *Daemon) statusLine() string {
	conditions := d.core().web().views.Conditions()
	sources, unread := 0, 0
	var reading []string
	for _, v := range d.Views() {
		behind := false
		for _, s := range v.Sources {
			sources++
			if s.Unreadable() != nil {
				unread++
			}
			behind = behind || !s.Tried()
		}
		if behind {
			reading = append(reading, v.Cluster+progress(v))
		}
	}
	conditions = slices.DeleteFunc(conditions,
		func(c readmodel.Condition) bool { return c.Name == readmodel.SourceReading || c.Harmless() })
	switch {
	case len(conditions) > 0:
		return fmt.Sprintf("following %d of %d sources; %s", sources-unread, sources, conditions[0])
	case len(reading) > 0:
		return "reading history of " + strings.Join(reading, ", ")
	}
	return followingText(sources)
}

// followingText returns "following 1 source" or "following 3 sources".
func followingText(sources int) string {
	if sources == 1 {
		return "following 1 source"
	}
	return fmt.Sprintf("following %d sources", sources)
}

// progress describes how much of a cluster's logs has been read.
func progress(v *readmodel.View) string {
	if v.At.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%d records, until %s)", v.Seq, v.At.Format(time.DateTime))
}
