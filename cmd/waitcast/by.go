package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job/waittime"
)

// byAllowed describes the values of --by.
const byAllowed = "a time of the day (09:00, its next occurrence in this computer's zone), an instant " +
	"(2026-03-02T09:00, or with Z or +01:00 in that zone) or a time from now (2h)"

// byValue is the flag for the instant by which the job should start. In this flag 9:30 is a time of day, but in a time
// limit it is a duration.
type byValue struct {
	text string
	// local is the time as written, if it has no zone. clock is true if it has no date either.
	local time.Time
	clock bool
}

// Set implements pflag.Value.
func (b *byValue) Set(text string) error {
	*b = byValue{text: strings.TrimSpace(text)}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if at, err := time.Parse(layout, b.text); err == nil {
			b.local, b.clock = at, true
			return nil
		}
	}
	for _, layout := range []string{
		"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05",
	} {
		if at, err := time.Parse(layout, b.text); err == nil {
			b.local = at
			return nil
		}
	}
	if _, err := time.Parse(time.RFC3339, b.text); err == nil {
		return nil
	}
	if strings.Contains(b.text, ":") && !strings.Contains(b.text, "-") {
		return errors.New("want " + byAllowed)
	}
	if d, err := duration.Parse(b.text); err != nil || d <= 0 {
		return errors.New("want " + byAllowed)
	}
	return nil
}

// String implements pflag.Value.
func (b *byValue) String() string { return b.text }

// Type implements pflag.Value.
func (*byValue) Type() string { return "instant" }

// instant returns the instant in the form that the daemon reads. A time without a zone is in the zone of now. A time
// with a zone, or a duration, is returned as it was given. Without the flag the text is empty.
func (b *byValue) instant(now time.Time) string {
	if b.local.IsZero() {
		return b.text
	}
	on := func(year int, month time.Month, day int) time.Time {
		hour, minute, second := b.local.Clock()
		return time.Date(year, month, day, hour, minute, second, 0, now.Location())
	}
	if !b.clock {
		return on(b.local.Date()).Format(time.RFC3339)
	}
	at := on(now.Date())
	if !at.After(now) {
		at = on(now.AddDate(0, 0, 1).Date())
	}
	return at.Format(time.RFC3339)
}

// chanceBy formats the probability of a start before an instant. Beyond the outermost levels only a bound of the
// probability is known.
func chanceBy(b *wire.StartBy) string {
	levels := waittime.Levels()
	switch {
	case b.AtLeast >= levels[len(levels)-1]:
		return "at least " + percent(b.AtLeast)
	case b.AtMost <= levels[0]:
		return "at most " + percent(b.AtMost)
	}
	return percent(b.Probability)
}

// startsBy writes the probability, if the answer has one, as a line of the page.
func (p *page) startsBy(b *wire.StartBy, zone *time.Location) {
	if b != nil {
		p.Line("Starts by", fmt.Sprintf("%s: %s", b.At.In(zone).Format("Mon 2006-01-02 15:04"), chanceBy(b)))
	}
}
