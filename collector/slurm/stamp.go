package slurm

import (
	"bytes"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
)

// daemon is the program whose messages count if a log also contains messages of other programs.
const daemon = "slurmctld"

// stamp cuts the time off the front of a line, and returns the time and the message after it. For a line of another
// program in a syslog, the message is empty.
//
// The log file has "[TIME] message" (_log_msg in src/common/log.c). The scheduler's own file (SlurmSchedLogFile) has
// "sched: [TIME] message". Syslog has one of three forms. The first is "Nov 20 08:33:30 host slurmctld[123]: message"
// (RFC 3164). The second is the same with an RFC 3339 time (rsyslog's RSYSLOG_FileFormat, journalctl -o short-iso and
// short-iso-precise). The third is "<14>1 TIME host slurmctld 123 - - message" (RFC 5424). A message from slurmctld's
// standard error begins with "slurmctld: " or "[TIME]".
func (p *logParser) stamp(line []byte) (at time.Time, msg []byte, err error) {
	if line[0] == '[' {
		return p.bracketed(line)
	}
	if bytes.HasPrefix(line, []byte("sched: [")) {
		return p.bracketed(line[len("sched: "):])
	}
	line, versioned := cutPriority(line)
	var text []byte
	switch {
	case len(line) > 0 && isDigit(line[0]):
		text, line, _ = bytes.Cut(line, []byte(" "))
	case len(line) > shortLength:
		text, line = line[:shortLength], line[shortLength+1:]
	default:
		return at, nil, errNoTime(line)
	}
	if at, err = p.instant(text); err != nil {
		return at, nil, err
	}
	_, line, _ = bytes.Cut(line, []byte(" ")) // the host
	if versioned {
		msg = cutVersioned(line)
	} else {
		msg = cutTag(line)
	}
	msg, _ = bytes.CutPrefix(msg, []byte(daemon+": "))
	if len(msg) > 0 && msg[0] == '[' {
		if own, rest, err := p.bracketed(msg); err == nil {
			return own, rest, nil // the message's own time is more exact
		}
	}
	return at, msg, nil
}

// bracketed reads "[TIME] message".
func (p *logParser) bracketed(line []byte) (at time.Time, msg []byte, err error) {
	end := stampEnd(line)
	if end < 0 {
		return at, nil, errNoTime(line)
	}
	at, err = p.instant(line[1:end])
	return at, bytes.TrimLeft(line[end+1:], " "), err
}

// stampEnd returns the place of the bracket that ends the time. The thread's name in a thread_id may have brackets:
// "[Nov 29 05:25:14.910970  7155 worker[3]    0x1548270f06c0] ".
func stampEnd(line []byte) int {
	begin := 0
	if len(line) > shortLength+1 && !isDigit(line[1]) && line[shortLength+1] == '.' {
		begin = max(0, bytes.Index(line, []byte(" 0x")))
	}
	if end := bytes.IndexByte(line[begin:], ']'); end >= 0 {
		return begin + end
	}
	return -1
}

// cutPriority cuts "<14>" and the version "1 " of RFC 5424 off. versioned is true if there was a version.
func cutPriority(line []byte) (rest []byte, versioned bool) {
	if len(line) == 0 || line[0] != '<' {
		return line, false
	}
	_, rest, ok := leadingNumber(line[1:])
	if !ok || len(rest) == 0 || rest[0] != '>' {
		return line, false
	}
	return bytes.CutPrefix(rest[1:], []byte("1 "))
}

// cutTag returns the message after "slurmctld[123]: ". It returns nothing for another program.
func cutTag(line []byte) []byte {
	tag, msg, ok := bytes.Cut(line, []byte(": "))
	if name, _, found := bytes.Cut(tag, []byte("[")); found {
		tag = name
	}
	if !ok || string(tag) != daemon {
		return nil
	}
	return msg
}

// cutVersioned returns the message after "slurmctld 123 - - ", or nothing for another program. slurmctld sends no
// structured data; if a relay adds some ("[...]"), it is skipped.
func cutVersioned(line []byte) []byte {
	app, line, _ := bytes.Cut(line, []byte(" "))
	if string(app) != daemon {
		return nil
	}
	_, line, _ = bytes.Cut(line, []byte(" ")) // process
	_, line, _ = bytes.Cut(line, []byte(" ")) // message id
	if len(line) > 0 && line[0] == '[' {
		_, line, _ = bytes.Cut(line, []byte("] "))
	} else {
		_, line, _ = bytes.Cut(line, []byte(" "))
	}
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // the byte order mark of UTF-8
}

// shortLength is the length of the time in LogTimeFormat=short, of ctime(3) and of RFC 3164.
const shortLength = len("Nov 20 08:33:30")

// instant parses a time in any format of LogTimeFormat (vxstrfmt and _set_idbuf in src/common/log.c; slurm.conf(5)):
//
//	iso8601, iso8601_ms   2026-11-20T08:33:30.636
//	rfc5424, rfc5424_ms   2026-11-20T08:33:30.636+01:00
//	short                 Nov 20 08:33:30
//	thread_id             Nov 20 08:33:30.636123 4711 slurmctld 0x7f2b4c000700, in newer versions also worker[3]
//	clock                 the processor time used so far, without a time of day
func (p *logParser) instant(text []byte) (time.Time, error) {
	switch {
	case len(text) >= isoLength && text[4] == '-':
		return p.isoInstant(text)
	case len(text) >= shortLength && !isDigit(text[0]):
		return p.shortInstant(text)
	}
	if _, ok := logtext.Digits(text); ok {
		return time.Time{}, collector.Bad(collector.ReasonTime, "time",
			"LogTimeFormat=clock has no time of day: set it to iso8601_ms in slurm.conf")
	}
	return time.Time{}, errNoTime(text)
}

func (p *logParser) isoInstant(text []byte) (time.Time, error) {
	wall, err := p.clock.wallTime(text)
	if err != nil {
		return time.Time{}, err
	}
	nanos, rest := fraction(text[isoLength:])
	if len(rest) == 0 {
		return time.Unix(p.clock.unix(wall), nanos).UTC(), nil
	}
	offset, ok := zoneOffset(rest)
	if !ok {
		return time.Time{}, errNoTime(text)
	}
	return time.Unix(wall-offset, nanos).UTC(), nil
}

// fraction parses ".636" as nanoseconds. It ignores digits after the ninth.
func fraction(text []byte) (nanos int64, rest []byte) {
	if len(text) < 2 || text[0] != '.' && text[0] != ',' || !isDigit(text[1]) {
		return 0, text
	}
	scale := int64(time.Second) / 10
	for text = text[1:]; len(text) > 0 && isDigit(text[0]); text = text[1:] {
		nanos += int64(text[0]-'0') * scale
		scale /= 10
	}
	return nanos, text
}

// zoneOffset reads "Z", "+01:00" or "+0100" as seconds.
func zoneOffset(text []byte) (int64, bool) {
	if string(text) == "Z" {
		return 0, true
	}
	if len(text) == 6 && text[3] == ':' {
		text = []byte{text[0], text[1], text[2], text[4], text[5]}
	}
	if len(text) != 5 {
		return 0, false
	}
	hours, okH := logtext.Digits(text[1:3])
	minutes, okM := logtext.Digits(text[3:5])
	seconds := hours*3600 + minutes*60
	switch {
	case !okH || !okM || hours > 23 || minutes > 59:
		return 0, false
	case text[0] == '+':
		return seconds, true
	case text[0] == '-':
		return -seconds, true
	}
	return 0, false
}

// shortInstant reads "Nov 20 08:33:30", perhaps followed by the additions of thread_id: microseconds (not a fraction:
// ".636 " is 636), process, thread. The year is the last one for which the result is at most one day after now.
func (p *logParser) shortInstant(text []byte) (time.Time, error) {
	month := monthOf(text[:3])
	day, ok := logtext.Digits(bytes.TrimLeft(text[4:6], " "))
	if month == 0 || !ok || text[3] != ' ' || text[6] != ' ' {
		return time.Time{}, errNoTime(text)
	}
	seconds, err := timeOfDay(text[7:shortLength])
	if err != nil {
		return time.Time{}, err
	}
	var nanos int64
	if rest := text[shortLength:]; len(rest) > 0 {
		micros, after, ok := leadingNumber(rest[1:])
		if rest[0] != '.' || !ok || micros > 999999 || len(after) > 0 && after[0] != ' ' {
			return time.Time{}, errNoTime(text)
		}
		nanos = micros * 1000
	}
	latest := p.now().Add(24 * time.Hour)
	for year := latest.In(p.clock.loc).Year(); ; year-- {
		if day < 1 || day > 31 || latest.Year()-year > 8 { // there are at most 8 years between two 29ths of February
			return time.Time{}, collector.Bad(collector.ReasonTime, "time", "not a date: %q", shorten(text))
		}
		midnight := time.Date(year, month, int(day), 0, 0, 0, 0, time.UTC)
		if midnight.Day() != int(day) {
			continue
		}
		wall, err := p.clock.wallTime(midnight.Add(time.Duration(seconds)*time.Second).AppendFormat(nil,
			"2006-01-02T15:04:05"))
		if err != nil {
			return time.Time{}, err
		}
		if at := time.Unix(p.clock.unix(wall), nanos).UTC(); !at.After(latest) {
			return at, nil
		}
	}
}

// monthOf returns the month of an English abbreviation, 0 for other texts. Slurm's daemons run in the C locale.
func monthOf(text []byte) time.Month {
	for m := time.January; m <= time.December; m++ {
		if m.String()[:3] == string(text) {
			return m
		}
	}
	return 0
}
