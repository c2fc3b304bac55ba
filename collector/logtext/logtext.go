// Package logtext has fast readers that the parsers of several log formats share: numbers, names shared between
// records, line ends, and local times with the changes of the clocks.
package logtext

import (
	"bytes"
	"time"
)

// maxDigits is a number of digits that always fits into an int64.
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

// Integer reads b, which must be 1 to 18 digits, with or without a minus sign before them.
func Integer(b []byte) (int64, bool) {
	if len(b) > 1 && b[0] == '-' {
		n, ok := Digits(b[1:])
		return -n, ok
	}
	return Digits(b)
}

// Trim cuts blanks and a line end off the end of a line, and a byte order mark in UTF-8 off its front. Programs put the
// mark in front of a file; files that were joined have it in the middle.
func Trim(line []byte) []byte {
	line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	n := len(line)
	for n > 0 && (line[n-1] == ' ' || line[n-1] == '\t' || line[n-1] == '\r' || line[n-1] == '\n') {
		n--
	}
	return line[:n]
}

// maxNames and maxNameBytes are the bounds of a table of names. A full table is emptied. Names longer than maxShared
// bytes are not shared.
const (
	maxNames     = 1 << 14
	maxNameBytes = 1 << 20
	maxShared    = 256
)

// Names converts bytes to strings. It shares equal strings between records, because there are few queues and users.
// The zero value is ready.
type Names struct {
	known map[string]string
	bytes int
}

// Of returns b as a string.
func (n *Names) Of(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := n.known[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(b) > maxShared {
		return s
	}
	if n.known == nil || len(n.known) >= maxNames || n.bytes+len(b) > maxNameBytes {
		n.known, n.bytes = make(map[string]string), 0
	}
	n.known[s], n.bytes = s, n.bytes+len(b)
	return s
}

// IsUTF16 reports whether a text looks like UTF-16: it begins with the byte order mark, or its first two characters
// are ASCII in that encoding.
func IsUTF16(text []byte) bool {
	if len(text) < 2 {
		return false
	}
	marked := text[0] == 0xff && text[1] == 0xfe || text[0] == 0xfe && text[1] == 0xff
	return marked || len(text) >= 4 && (text[0] == 0) == (text[2] == 0) && (text[1] == 0) == (text[3] == 0) &&
		(text[0] == 0) != (text[1] == 0)
}

const daySeconds = 24 * 60 * 60

// Day converts local times of one day to instants. Lines of one day are adjacent in a log, so Day caches the UTC offset
// of the day. On days with a clock change it looks up the offset for every time.
type Day struct {
	loc     *time.Location
	wall    int64 // midnight of the day, in seconds as if local time were UTC
	offset  int64 // local time - UTC, seconds
	uniform bool  // the offset holds for the whole day
	near    int64 // the present time that Near set, in Unix seconds; 0 means unknown
	after   int64 // the newest instant that After set, in Unix seconds; 0 means unknown
}

// nearSlack is the number of seconds by which a time may be later than the instant of Near, or earlier than that of
// After. The clocks of hosts differ, and the lines of one log are written slightly out of order.
const nearSlack = 60

// Near sets the present time, which resolves local times that occur twice when clocks are set back. Of the two instants
// of such a time, the one that is nearest to now and not later than now counts, or the first if both are later. The
// zero time means that now is unknown.
func (d *Day) Near(now time.Time) { d.near = unixOrZero(now) }

// After sets the newest instant of earlier lines. It resolves local times that occur twice, if Near is unset: of the
// two instants of such a time, the first one that is not before newest counts, or the earlier one if both are before
// newest. The zero time means that newest is unknown.
func (d *Day) After(newest time.Time) { d.after = unixOrZero(newest) }

func unixOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// Set sets the date of the day. It returns false if the date does not exist or is outside 1970 to 9998.
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

// Midnight returns the day's beginning on local clocks, in seconds since 1970 as if local time were UTC.
func (d *Day) Midnight() int64 { return d.wall }

// Instant returns the Unix time of a time of the day that was set, given in seconds since midnight on local clocks.
// Near and After decide about a time that occurs twice.
func (d *Day) Instant(seconds int64) int64 {
	if d.uniform {
		return d.wall + seconds - d.offset
	}
	first := Resolve(d.loc, d.wall+seconds)
	second := SecondPass(d.loc, first)
	switch {
	case second == first:
	case d.near != 0:
		if second <= d.near+nearSlack && second-first < 2*(d.near-first) {
			return second
		}
	case first < d.after-nearSlack && d.after <= second+nearSlack:
		return second
	}
	return first
}

// SecondPass returns the second of the two instants at which local clocks in loc show the same time, if unix (Unix
// seconds) is the first of them. Otherwise it returns unix itself.
func SecondPass(loc *time.Location, unix int64) int64 {
	_, change := time.Unix(unix, 0).In(loc).ZoneBounds()
	if change.IsZero() {
		return unix
	}
	second := unix + offsetAt(loc, unix) - offsetAt(loc, change.Unix())
	if second > unix && second >= change.Unix() && offsetAt(loc, second) == offsetAt(loc, change.Unix()) {
		return second
	}
	return unix
}

// Resolve returns the instant at which local clocks in loc show wall (seconds since 1970, as if local time were UTC).
// For a time that occurs twice it returns the first instant. For a time that clocks skip it uses the offset before the
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
