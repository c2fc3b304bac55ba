package source

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// note records the time of an event if it is the newest. For a format in order of submission it records the time of the
// submission. Parsers of local times use it to resolve times in an hour that clocks show twice. A record whose time is
// far ahead makes the newest time useless until the log reaches that time. Even then results are not wrong, because
// Day.Instant checks for that case.
func (r *Reader) note(ev *job.Event) {
	if _, ok := r.parser.(collector.Dated); !ok {
		return
	}
	at := ev.Latest()
	if r.cfg.Format.Order == collector.BySubmit {
		at = ev.Times.Submit
	}
	if at.After(r.newest) {
		r.newest = at
	}
}

// savedAs has the fields of a checkpoint other than the position; the tailer ignores them.
type savedAs struct {
	Newest int64 `json:"newest"` // Unix seconds
	Shift  int64 `json:"shift"`  // seconds
}

// withTimes returns the checkpoint with what is known about local times: the newest instant if clocks go back near it,
// and the measured difference of zones. Without them, a restart could change how the log is read.
func (r *Reader) withTimes(checkpoint []byte) []byte {
	if len(checkpoint) == 0 {
		return checkpoint
	}
	saved := map[string]int64{}
	if r.clocksGoBack() {
		saved["newest"] = r.newest.Unix()
	}
	if p, ok := r.parser.(collector.Zoned); ok && p.Shift() != 0 {
		saved["shift"] = int64(p.Shift() / time.Second)
	}
	var fields map[string]json.RawMessage
	if len(saved) == 0 || json.Unmarshal(checkpoint, &fields) != nil {
		return checkpoint
	}
	for name, value := range saved {
		fields[name] = strconv.AppendInt(nil, value, 10)
	}
	if with, err := json.Marshal(fields); err == nil {
		return with
	}
	return checkpoint
}

func (r *Reader) clocksGoBack() bool {
	const about = 25 * time.Hour
	if r.newest.IsZero() {
		return false
	}
	loc := r.cfg.Options.Location
	if loc == nil {
		loc = time.Local
	}
	_, before := r.newest.Add(-about).In(loc).Zone()
	_, after := r.newest.Add(about).In(loc).Zone()
	return after < before
}

// restoreTimes is the inverse of withTimes.
func (r *Reader) restoreTimes(checkpoint []byte) {
	var s savedAs
	if err := json.Unmarshal(checkpoint, &s); err != nil {
		return
	}
	if s.Newest != 0 {
		r.newest = time.Unix(s.Newest, 0).UTC()
	}
	if p, ok := r.parser.(collector.Zoned); ok {
		p.SetShift(time.Duration(s.Shift) * time.Second)
	}
}

// survey lets the parser measure the difference of zones in the lines of a batch before they are parsed.
func (r *Reader) survey(lines []tail.Line) {
	p, ok := r.parser.(collector.Zoned)
	for i := 0; ok && i < len(lines) && !p.Survey(lines[i].Text); i++ {
	}
}
