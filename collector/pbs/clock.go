package pbs

import (
	"time"

	"github.com/waitcast/waitcast/collector"
)

const daySeconds = 24 * 60 * 60

// clock reads the local times at the beginning of records. The lines of one day stand together, so that the day's offset
// from UTC is kept; only days with a change of the clocks are looked up line by line.
type clock struct {
	loc     *time.Location
	known   bool
	date    [10]byte // the date that the fields below belong to
	wall    int64    // its midnight, counted as if local time were UTC
	offset  int64    // local time - UTC, seconds
	uniform bool     // the offset holds all day
}

// read returns the instant at the beginning of line and what follows it. It takes the date as MM/DD/YYYY, the only way the
// servers write it, and as YYYY-MM-DD; the seconds may have a fraction (daemon logs of OpenPBS can), which is dropped.
func (c *clock) read(line []byte) (int64, []byte, error) {
	const length = len("MM/DD/YYYY HH:MM:SS")
	if len(line) < length || line[10] != ' ' && line[10] != 'T' || line[13] != ':' || line[16] != ':' {
		return 0, nil, errNoTime()
	}
	h, okH := number(line[11:13])
	m, okM := number(line[14:16])
	s, okS := number(line[17:19])
	if !okH || !okM || !okS {
		return 0, nil, errNoTime()
	}
	if h > 23 || m > 59 || s > 60 { // 60: a leap second
		return 0, nil, collector.Bad(collector.ReasonTime, "time", "no such time of day: %q", line[11:length])
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
	wall := c.wall + h*3600 + m*60 + s
	if c.uniform {
		return wall - c.offset, rest, nil
	}
	return resolve(c.loc, wall), rest, nil
}

func errNoTime() error {
	return collector.Bad(collector.ReasonFormat, "time", "want a line that begins with \"MM/DD/YYYY HH:MM:SS;\": no PBS accounting record")
}

// setDate makes text the clock's day.
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
	y, okY := number(year)
	m, okM := number(month)
	d, okD := number(day)
	if !okY || !okM || !okD {
		return errNoTime()
	}
	midnight := time.Date(int(y), time.Month(m), int(d), 0, 0, 0, 0, time.UTC)
	if y < 1970 || y > 9998 || m < 1 || m > 12 || midnight.Day() != int(d) {
		return collector.Bad(collector.ReasonTime, "time", "no such date, or none of a log: %q", text)
	}
	copy(c.date[:], text)
	c.known = true
	c.wall = midnight.Unix()
	start, last := resolve(c.loc, c.wall), resolve(c.loc, c.wall+daySeconds-1)
	c.offset = c.wall - start
	_, change := time.Unix(start, 0).In(c.loc).ZoneBounds()
	c.uniform = last-start == daySeconds-1 && (change.IsZero() || change.Unix() > last)
	return nil
}

// resolve returns the instant at which local clocks in loc show wall (seconds since 1970, as if local time were UTC). An hour
// that clocks show twice is taken as its first pass; a time in the hour that they skip is read with the offset before the
// change.
func resolve(loc *time.Location, wall int64) int64 {
	before := offsetAt(loc, wall-daySeconds)
	if offsetAt(loc, wall-before) == before {
		return wall - before
	}
	after := offsetAt(loc, wall+daySeconds)
	if offsetAt(loc, wall-after) == after {
		return wall - after
	}
	return wall - before
}

func offsetAt(loc *time.Location, unix int64) int64 {
	_, offset := time.Unix(unix, 0).In(loc).Zone()
	return int64(offset)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads text, which must be 1 to 18 digits and nothing else.
func number(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range text {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
