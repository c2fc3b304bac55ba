package slurm

import (
	"time"

	"github.com/waitcast/waitcast/collector"
)

const (
	daySeconds = 24 * 60 * 60
	isoLength  = len("2006-01-02T15:04:05")
	// maxUnix is the end of the year 9999, the last that RFC 3339 can write.
	maxUnix = 253402300799
)

// clock reads local times. Records of one day stand together, so that the day's offset from UTC is kept; only days with a
// change of the clocks are looked up one by one.
type clock struct {
	loc     *time.Location
	known   bool
	date    [10]byte // the date that the fields below belong to
	wall    int64    // its midnight, counted as if local time were UTC
	offset  int64    // local time - UTC, seconds
	uniform bool     // the offset holds all day
}

// local reads "2006-01-02T15:04:05", and nothing else, as local time.
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

// unix returns the instant of a wall time of the clock's day.
func (c *clock) unix(wall int64) int64 {
	if c.uniform {
		return wall - c.offset
	}
	return resolve(c.loc, wall)
}

// wallTime reads the first 19 bytes of text, an ISO 8601 date and time, as seconds since 1970 as if it were UTC, and makes its
// date the clock's day.
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
	return c.wall + seconds, nil
}

// timeOfDay reads "15:04:05".
func timeOfDay(text []byte) (int64, error) {
	if len(text) != 8 || text[2] != ':' || text[5] != ':' {
		return 0, errNoTime(text)
	}
	h, okH := number(text[:2])
	m, okM := number(text[3:5])
	s, okS := number(text[6:])
	if !okH || !okM || !okS {
		return 0, errNoTime(text)
	}
	if h > 23 || m > 59 || s > 60 { // 60: a leap second
		return 0, collector.Bad(collector.ReasonTime, "time", "no such time of day: %q", text)
	}
	return h*3600 + m*60 + s, nil
}

func errNoTime(text []byte) error {
	return collector.Bad(collector.ReasonFormat, "time", "want a time like 2006-01-02T15:04:05, got %q", shorten(text))
}

// setDate makes text the clock's day.
func (c *clock) setDate(text []byte) error {
	if text[4] != '-' || text[7] != '-' {
		return errNoTime(text)
	}
	y, okY := number(text[:4])
	m, okM := number(text[5:7])
	d, okD := number(text[8:])
	if !okY || !okM || !okD {
		return errNoTime(text)
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
