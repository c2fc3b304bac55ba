package pbs

import (
	"time"

	"github.com/waitcast/waitcast/collector"
)

// shift measures by how much the local times of records differ from the Unix times in them, because the log is of
// another zone than the configured one.
type shift struct {
	seconds int64
	known   bool
	// end is the difference that the newest E record shows. The server may write such a record long after the end of
	// the job, so that only a second record with the same difference counts.
	end  int64
	said int64 // the difference that was reported
}

const (
	// zoneStep divides the offsets of all zones from UTC, and maxZone is the largest difference of two zones.
	zoneStep = 15 * 60
	maxZone  = 26 * 3600
	// prompt is the maximum number of seconds between a start and its record.
	prompt = 120
	// nearChange is the number of seconds around a change of the clocks in which nothing is measured.
	nearChange = 3 * 3600
)

// measure compares the record's own time with the Unix time of its event.
func (s *shift) measure(rec *record, f *fields, loc *time.Location) {
	at := f.start
	if rec.kind == 'E' {
		at = f.end
	} else if rec.kind != 'S' {
		return
	}
	difference := at - rec.at
	steps := (difference + maxZone + zoneStep/2) / zoneStep
	seconds := steps*zoneStep - maxZone
	late := difference - seconds
	if at <= 0 || seconds < -maxZone || seconds > maxZone || late < -prompt || late > prompt ||
		offset(loc, rec.at-nearChange) != offset(loc, rec.at+nearChange) {
		return
	}
	if rec.kind == 'E' {
		again := s.end == seconds || s.known && s.seconds == seconds
		if s.end = seconds; !again {
			return
		}
	}
	s.seconds, s.known = seconds, true
}

func offset(loc *time.Location, unix int64) int {
	_, seconds := time.Unix(unix, 0).In(loc).Zone()
	return seconds
}

// correct corrects the record's own time, and reports a new difference.
func (p *parser) correct(rec *record) {
	s := &p.shift
	rec.at += s.seconds
	if s.seconds == s.said {
		return
	}
	s.said = s.seconds
	if p.options.Notice == nil {
		return
	}
	by := time.Duration(s.seconds) * time.Second
	if by == 0 {
		p.options.Notice(collector.Bad(collector.ReasonTime, "", "the local times of records are those of the zone %s "+
			"again", p.clock.loc))
		return
	}
	p.options.Notice(collector.Bad(collector.ReasonTime, "", "the local times of records and the Unix times in them "+
		"differ by %s: the zone of the log is not %s; set time_zone (--time-zone) to that of the PBS server; until "+
		"then, local times are corrected by the difference", by, p.clock.loc))
}

// Survey implements collector.Zoned.
func (p *parser) Survey(line []byte) bool {
	if p.shift.known {
		return true
	}
	if rec, err := p.split(line); err == nil && (rec.kind == 'S' || rec.kind == 'E') {
		p.fields.reset(rec.kind)
		if p.fields.scan(rec.body) == nil {
			p.ahead.measure(&rec, &p.fields, p.clock.loc)
		}
	}
	if p.ahead.known {
		p.shift.seconds, p.shift.known, p.ahead = p.ahead.seconds, true, shift{}
	}
	return p.shift.known
}

// Shift implements collector.Zoned.
func (p *parser) Shift() time.Duration { return time.Duration(p.shift.seconds) * time.Second }

// SetShift implements collector.Zoned.
func (p *parser) SetShift(by time.Duration) { p.shift.seconds = int64(by / time.Second) }
