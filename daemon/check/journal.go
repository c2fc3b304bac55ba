package check

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
)

// journalLines is the maximum number of journal entries that the check tries to parse. journalTime is the maximum
// time.
const (
	journalLines = 10_000
	journalTime  = 10 * time.Second
)

// journal checks a log in systemd's journal: whether it can be read, and whether its entries can be parsed.
func (c *checker) journal(ctx context.Context, log *source.Config, about string) {
	once := *log
	once.Files.OneShot, once.Files.FromEnd = true, false
	ctx, cancel := context.WithTimeout(ctx, journalTime)
	defer cancel()
	r, err := source.Open(once, nil, func() time.Time { return c.now }, tail.Options{})
	if err != nil {
		c.add("log.there", Failed, about, "", "%v", err)
		return
	}
	defer func() { _ = r.Close() }() // nothing was written
	lines, events, bad := 0, 0, 0
	for lines < journalLines {
		d, err := r.Next(ctx)
		if errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			c.add("log.there", Failed, about, "", "%v", err)
			return
		}
		if len(d.Standing) > 0 {
			c.add("log.there", Failed, about, "run journalctl by hand as the daemon's user", "%v", d.Standing[0])
			return
		}
		lines, events, bad = lines+d.Lines, events+len(d.Events), bad+len(d.Bad)
	}
	switch {
	case lines == 0:
		c.add("log.there", Warning, about, "is slurmctld's SlurmctldLogFile unset, and do the matches of journal fit?",
			"no entry of the journal matches")
	case events == 0:
		c.add("log.there", Warning, about, "is SlurmctldDebug (or SlurmctldSyslogDebug) info or more?",
			"%s of the journal, none about a job", plural(lines, "message"))
	default:
		c.add("log.there", OK, about, "", "%s of the journal, %s, %s not understood", plural(lines, "message"),
			plural(events, "event"), plural(bad, "line"))
	}
}
