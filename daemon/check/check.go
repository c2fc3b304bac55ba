// Package check examines whether a daemon with a configuration would work on this machine, and reports the results. It
// checks files and their permissions, polled schedulers, zones and clocks, the database, the address and the machine.
// It also parses a part of each log as a trial.
package check

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/waitcast/waitcast/config"
)

// Status is the result of a check.
type Status string

// These are the results of a check. Failed means that the daemon would not start, or that it could not use a log, a
// scheduler or a file of history, now or after the next rotation. Warning means that the daemon would work, but that
// something may be wrong.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Failed  Status = "failed"
)

// Finding is the result of one check.
type Finding struct {
	// ID identifies the check, for example "log.readable". It does not change between releases.
	ID     string `json:"id"`
	Status Status `json:"status"`
	// About is the subject: "configuration", "source main/pbs", "cluster main", "store", "address", "machine".
	About string `json:"about"`
	Text  string `json:"text"`
	// Hint is advice to the administrator. It is empty if the check passed, or if there is no advice.
	Hint string `json:"hint,omitempty"`
}

// Report has the results of all checks.
type Report struct {
	Version string    `json:"version"`
	At      time.Time `json:"at"`
	// Config is the path of the configuration file; empty if there is none.
	Config   string    `json:"config,omitempty"`
	User     string    `json:"user"`
	Findings []Finding `json:"findings"`
	Sources  []Source  `json:"sources"`
	Clusters []Cluster `json:"clusters"`
	Warnings int       `json:"warnings"`
	Failures int       `json:"failures"`
}

// OK reports whether no check failed.
func (r *Report) OK() bool { return r.Failures == 0 }

func (r *Report) add(id string, status Status, about, hint, format string, args ...any) {
	r.Findings = append(r.Findings,
		Finding{ID: id, Status: status, About: about, Text: fmt.Sprintf(format, args...), Hint: hint})
	switch status {
	case Warning:
		r.Warnings++
	case Failed:
		r.Failures++
	}
}

// Options configure the checks.
type Options struct {
	// Version is the version of the program.
	Version string
	// As is a second user who must be able to read the files, besides the user who runs the check. It may be empty.
	As string
	// Records is the number of newest lines of each log that the trial reads, at least aFew. The trial also ends after
	// the time Limit.
	Records int
	Limit   time.Duration
	// Now returns the wall-clock time; nil means time.Now.
	Now func() time.Time
	// Logrotate is the main configuration of logrotate; empty means /etc/logrotate.conf.
	Logrotate string
}

// checker holds the state of one check.
type checker struct {
	cfg  *config.Config
	opts Options
	now  time.Time
	*Report
	as *account // nil if no other user is checked
	// served is the number of spaces of a shared database that a daemon serves if it does not collect.
	served int
}

// Unusable returns the report about a configuration that cannot be used. It has every error of config.Load.
func Unusable(err error, opts Options) *Report {
	r := newReport(opts, time.Now())
	for _, e := range flatten(err) {
		r.add("config.valid", Failed, "configuration", "correct it; docs/configure.md has every key", "%v", e)
	}
	return r
}

// flatten returns the errors that a joined error contains.
func flatten(err error) []error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, flatten(e)...)
	}
	return out
}

func newReport(opts Options, now time.Time) *Report {
	r := &Report{Version: opts.Version, At: now.UTC().Truncate(time.Second), Findings: []Finding{}, Sources: []Source{},
		Clusters: []Cluster{}}
	if u, err := user.Current(); err == nil {
		r.User = u.Username
	}
	return r
}

// Run checks everything in a configuration. It changes nothing: it creates no files. It polls each scheduler at most
// once.
func Run(ctx context.Context, cfg *config.Config, opts Options) *Report {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	now := opts.Now()
	c := &checker{cfg: cfg, opts: opts, now: now, Report: newReport(opts, now)}
	c.Config = cfg.File
	from := cfg.File
	if from == "" {
		from = "flags and environment (no file)"
	}
	what := plural(len(cfg.Clusters), "cluster")
	if cfg.ServeOnly {
		what = "serve_only; the clusters are in the database"
	}
	c.add("config.valid", OK, "configuration", "", "%s: %s", from, what)
	c.findAccount()
	c.sources(ctx)
	if cfg.Store.URL != "" {
		c.shared(ctx)
	} else {
		c.store()
	}
	c.address(ctx)
	c.machine()
	return c.Report
}

// plural returns "1 cluster" or "2 clusters".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return thousands(int64(n)) + " " + thing + "s"
}

// thousands writes a number with commas.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
