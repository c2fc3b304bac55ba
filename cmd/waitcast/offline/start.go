package offline

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

// These are the words that --start accepts.
const (
	startFirst  = "first"
	startHeader = "header"
)

// start is the flag --start. It is for commands whose results also depend on the time without jobs. UnixStartTime of
// the header is only the origin of the log's clock: a cleaned log may begin a year later. So it is used only if the
// user asks for it (startHeader).
type start struct{ text string }

func (s *start) flag(c *cobra.Command) {
	c.Flags().StringVar(&s.text, "start", startFirst,
		"start of a log: first (its first submission), header (its UnixStartTime), or a time such as 1996-09-23 "+
			"or 1996-09-23T17:00:00+02:00")
}

// check returns an error for an invalid text.
func (s *start) check() error {
	if s.text == startFirst || s.text == startHeader {
		return nil
	}
	_, err := s.at(time.UTC)
	return err
}

// at parses a time. If the time has no zone, the zone of the log's clock is used.
func (s *start) at(zone *time.Location) (time.Time, error) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.ParseInLocation(form, s.text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{},
		console.NewUsageError(
			fmt.Sprintf("--start is %q; want first, header, or a time such as 1996-09-23 or 1996-09-23T17:00:00+02:00",
				s.text))
}

// of returns the start of a log, in seconds of the log's clock. A start after the first submission is an error.
func (s *start) of(r *recording) (float64, error) {
	first := r.first()
	switch s.text {
	case startFirst:
		return first, nil
	case startHeader:
		return min(0, first), nil
	}
	t, err := s.at(r.header.Location())
	if err != nil {
		return 0, err
	}
	seconds := t.Sub(r.header.Start()).Seconds()
	if seconds > first {
		begun := r.header.Start().Add(time.Duration(first) * time.Second)
		return 0,
			console.NewUsageError(fmt.Sprintf("--start is %s, after the first submission of %s, at %s", s.text, r.name,
				begun.Format(time.RFC3339)))
	}
	return seconds, nil
}

// first returns the first submission, in seconds of the log's clock. It ignores impossible submissions.
func (r *recording) first() float64 {
	for i := range r.records { // the records are in order of submission
		if at := r.records[i].Submit; at >= 0 && at <= mostSeconds {
			return float64(at)
		}
	}
	return 0
}
