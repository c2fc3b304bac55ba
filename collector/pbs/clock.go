package pbs

import (
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
)

// clock reads the local times at the beginning of records.
type clock struct {
	loc   *time.Location
	known bool
	date  [10]byte // the text of the date
	day   logtext.Day
}

// read returns the instant at the beginning of line, and the rest of the line. It accepts the date as MM/DD/YYYY, the
// only form that the servers write, and as YYYY-MM-DD. A fraction of a second, possible in daemon logs of OpenPBS, is
// dropped.
func (c *clock) read(line []byte) (int64, []byte, error) {
	const length = len("MM/DD/YYYY HH:MM:SS")
	if len(line) < length || line[10] != ' ' && line[10] != 'T' || line[13] != ':' || line[16] != ':' {
		return 0, nil, errNoTime()
	}
	h, okH := logtext.Digits(line[11:13])
	m, okM := logtext.Digits(line[14:16])
	s, okS := logtext.Digits(line[17:19])
	if !okH || !okM || !okS {
		return 0, nil, errNoTime()
	}
	if h > 23 || m > 59 || s > 60 { // 60: a leap second
		return 0, nil, collector.Bad(collector.ReasonTime, "time", "not a time of day: %q", line[11:length])
	}
	if !c.known || string(c.date[:]) != string(line[:10]) {
		if err := c.setDate(line[:10]); err != nil {
			return 0, nil, err
		}
	}
	rest := line[length:]
	if len(rest) > 0 && rest[0] == '.' {
		for rest = rest[1:]; len(rest) > 0 && isDigit(rest[0]); {
			rest = rest[1:]
		}
	}
	return c.day.Instant(h*3600 + m*60 + s), rest, nil
}

func errNoTime() error {
	return collector.Bad(collector.ReasonFormat, "time",
		"want a line that begins with \"MM/DD/YYYY HH:MM:SS;\": this is not a PBS accounting record")
}

// setDate sets the day of the clock from text.
func (c *clock) setDate(text []byte) error {
	var year, month, day []byte
	switch {
	case text[2] == '/' && text[5] == '/':
		month, day, year = text[:2], text[3:5], text[6:]
	case text[4] == '-' && text[7] == '-':
		year, month, day = text[:4], text[5:7], text[8:]
	default:
		return errNoTime()
	}
	y, okY := logtext.Digits(year)
	m, okM := logtext.Digits(month)
	d, okD := logtext.Digits(day)
	if !okY || !okM || !okD {
		return errNoTime()
	}
	if c.known = c.day.Set(c.loc, y, m, d); !c.known {
		return collector.Bad(collector.ReasonTime, "time", "not a plausible date of a log: %q", text)
	}
	copy(c.date[:], text)
	return nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// ReadAt implements collector.Dated.
func (p *parser) ReadAt(now time.Time) { p.clock.day.Near(now) }

// After implements collector.Dated.
func (p *parser) After(newest time.Time) { p.clock.day.After(newest) }
