package source

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/collector"
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
}

// withNewest returns the checkpoint. If clocks go back near the newest instant, that instant is added to the
// checkpoint. Without it, a restart in an hour that occurs twice could change how the log is read.
func (r *Reader) withNewest(checkpoint []byte) []byte {
	const about = 25 * time.Hour
	if r.newest.IsZero() || len(checkpoint) == 0 {
		return checkpoint
	}
	loc := r.cfg.Options.Location
	if loc == nil {
		loc = time.Local
	}
	_, before := r.newest.Add(-about).In(loc).Zone()
	if _, after := r.newest.Add(about).In(loc).Zone(); after >= before {
		return checkpoint
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(checkpoint, &fields); err != nil {
		return checkpoint
	}
	fields["newest"] = strconv.AppendInt(nil, r.newest.Unix(), 10)
	if with, err := json.Marshal(fields); err == nil {
		return with
	}
	return checkpoint
}

// savedNewest returns the newest instant of a checkpoint, zero if it has none.
func savedNewest(checkpoint []byte) time.Time {
	var s savedAs
	if err := json.Unmarshal(checkpoint, &s); err != nil || s.Newest == 0 {
		return time.Time{}
	}
	return time.Unix(s.Newest, 0).UTC()
}
