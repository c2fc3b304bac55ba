package slurm

import (
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
)

const (
	daySeconds = 24 * 60 * 60
	isoLength  = len("2006-01-02T15:04:05")
	// maxUnix is the end of the year 9999, the last year that RFC 3339 can represent.
	maxUnix = 253402300799
)

// clock reads local times.
type clock struct {
	loc   *time.Location
	known bool
	date  [10]byte // the text of the date
	day   logtext.Day
}

// local parses exactly "2006-01-02T15:04:05" as local time, and returns Unix seconds.
func (c *clock) local(text []byte) (int64, error) {
	if len(text) != isoLength {
		return 0, errNoTime(text)
	}
	wall, err := c.wallTime(text)
	if err != nil {
		return 0, err
	}
	return c.unix(wall), nil
}

// unix returns the Unix time at which local clocks show wall, a time of the clock's day as wallTime returns it.
func (c *clock) unix(wall int64) int64 { return c.day.Instant(wall - c.day.Midnight()) }

// wallTime parses the first 19 bytes of text, an ISO 8601 date and time. It returns seconds since 1970, as if the time
// were UTC. It also sets the clock's day to the date.
func (c *clock) wallTime(text []byte) (int64, error) {
	if len(text) < isoLength || text[10] != 'T' && text[10] != ' ' {
		return 0, errNoTime(text)
	}
	seconds, err := timeOfDay(text[11:isoLength])
	if err != nil {
		return 0, err
	}
	if !c.known || string(c.date[:]) != string(text[:10]) {
		if err := c.setDate(text[:10]); err != nil {
			return 0, err
		}
	}
	return c.day.Midnight() + seconds, nil
}

// timeOfDay reads "15:04:05".
func timeOfDay(text []byte) (int64, error) {
	if len(text) != 8 || text[2] != ':' || text[5] != ':' {
		return 0, errNoTime(text)
	}
	h, okH := logtext.Digits(text[:2])
	m, okM := logtext.Digits(text[3:5])
	s, okS := logtext.Digits(text[6:])
	if !okH || !okM || !okS {
		return 0, errNoTime(text)
	}
	if h > 23 || m > 59 || s > 60 { // 60: a leap second
		return 0, collector.Bad(collector.ReasonTime, "time", "not a time of day: %q", text)
	}
	return h*3600 + m*60 + s, nil
}

func errNoTime(text []byte) error {
	return collector.Bad(collector.ReasonFormat, "time", "want a time like 2006-01-02T15:04:05, got %q", shorten(text))
}

// setDate sets the clock's day from text.
func (c *clock) setDate(text []byte) error {
	if text[4] != '-' || text[7] != '-' {
		return errNoTime(text)
	}
	y, okY := logtext.Digits(text[:4])
	m, okM := logtext.Digits(text[5:7])
	d, okD := logtext.Digits(text[8:])
	if !okY || !okM || !okD {
		return errNoTime(text)
	}
	if c.known = c.day.Set(c.loc, y, m, d); !c.known {
		return collector.Bad(collector.ReasonTime, "time", "not a plausible date of a log: %q", text)
	}
	copy(c.date[:], text)
	return nil
}
