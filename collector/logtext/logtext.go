// Package logtext holds what the parsers of several log formats need to read bytes fast: numbers, names shared between
// records, line ends, and local times with the changes of the clocks.
package logtext

import "time"

// maxDigits is the number of digits that surely fit an int64.
const maxDigits = 18

// Digits reads b, which must be 1 to 18 digits and nothing else.
func Digits(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > maxDigits {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// Integer reads b, which must be 1 to 18 digits after a minus or nothing.
func Integer(b []byte) (int64, bool) {
	if len(b) > 1 && b[0] == '-' {
		n, ok := Digits(b[1:])
		return -n, ok
	}
	return Digits(b)
}

// TrimEnd cuts blanks and a line end off the end.
func TrimEnd(line []byte) []byte {
	n := len(line)
	for n > 0 && (line[n-1] == ' ' || line[n-1] == '\t' || line[n-1] == '\r' || line[n-1] == '\n') {
		n--
	}
	return line[:n]
}

// maxNames bounds a table of names: at the most it is thrown away and begun again.
const maxNames = 1 << 14

// Names makes strings of bytes and shares equal ones between records: queues and users are few. The zero value is ready.
type Names struct{ known map[string]string }

// Of returns b as a string.
func (n *Names) Of(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := n.known[string(b)]; ok {
		return s
	}
	if n.known == nil {
		n.known = make(map[string]string)
	} else if len(n.known) >= maxNames {
		clear(n.known)
	}
	s := string(b)
	n.known[s] = s
	return s
}

const daySeconds = 24 * 60 * 60

// Day turns local times of one day into instants. The lines of one day stand together in a log, so that the day's offset
// from UTC is kept; only on days on which the clocks change is every time looked up.
type Day struct {
	loc     *time.Location
	wall    int64 // its midnight, counted as if local time were UTC
	offset  int64 // local time - UTC, seconds
	uniform bool  // the offset holds all day
}

// Set makes it the day of that date; false if there is no such date, or none of a log (before 1970, after 9998).
func (d *Day) Set(loc *time.Location, year, month, day int64) bool {
	if year < 1970 || year > 9998 || month < 1 || month > 12 || day < 1 || day > 31 {
		return false
	}
	midnight := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	if midnight.Day() != int(day) {
		return false
	}
	d.loc, d.wall = loc, midnight.Unix()
	start, last := Resolve(loc, d.wall), Resolve(loc, d.wall+daySeconds-1)
	d.offset = d.wall - start
	_, change := time.Unix(start, 0).In(loc).ZoneBounds()
	d.uniform = last-start == daySeconds-1 && (change.IsZero() || change.Unix() > last)
	return true
}

// Midnight returns the day's beginning by the clocks, in seconds since 1970 as if local time were UTC.
func (d *Day) Midnight() int64 { return d.wall }

// Instant returns the Unix time of a time of that day, in seconds since its midnight by the clocks.
func (d *Day) Instant(seconds int64) int64 {
	if d.uniform {
		return d.wall + seconds - d.offset
	}
	return Resolve(d.loc, d.wall+seconds)
}

// Resolve returns the instant at which local clocks in loc show wall (seconds since 1970, as if local time were UTC). An hour
// that clocks show twice is taken as its first pass; a time in the hour that they skip is read with the offset before the
// change.
func Resolve(loc *time.Location, wall int64) int64 {
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
