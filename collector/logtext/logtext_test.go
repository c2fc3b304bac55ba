package logtext_test

import (
	"strconv"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/collector/logtext"
)

// TestInteger proves that what strconv reads as a plain decimal integer of up to 18 digits is read alike, and nothing else is.
func TestInteger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching(`-?[0-9]{0,20}`), rapid.String()).Draw(t, "text")
		got, ok := logtext.Integer([]byte(s))
		want, err := strconv.ParseInt(s, 10, 64)
		digits := len(s)
		if digits > 0 && (s[0] == '-' || s[0] == '+') {
			digits--
		}
		wantOK := err == nil && digits <= 18 && s[0] != '+'
		if ok != wantOK || ok && got != want {
			t.Fatalf("Integer(%q) = %d, %v; strconv says %d, %v", s, got, ok, want, err)
		}
	})
}

// TestNames proves that names come back as they were, also after more of them than are kept.
func TestNames(t *testing.T) {
	var n logtext.Names
	for i := range 40_000 {
		want := strconv.Itoa(i % 20_000)
		if got := n.Of([]byte(want)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if n.Of(nil) != "" {
		t.Error("no bytes are not the empty name")
	}
}

// TestDay proves that every time of a day, also of one on which the clocks change, is the instant that Go's own zone rules
// give; where clocks show a time twice, the first pass.
func TestDay(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for date := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); date.Year() == 2024; date = date.AddDate(0, 0, 1) {
			var d logtext.Day
			if !d.Set(loc, 2024, int64(date.Month()), int64(date.Day())) {
				t.Fatalf("%s refused", date)
			}
			for seconds := int64(0); seconds < 86400; seconds += 900 {
				got := time.Unix(d.Instant(seconds), 0).In(loc)
				wall := date.Add(time.Duration(seconds) * time.Second)
				if got.Format(time.DateTime) != wall.Format(time.DateTime) {
					// only a time that clocks skip may come out differently
					again := time.Date(2024, wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, loc)
					if again.Format(time.DateTime) == wall.Format(time.DateTime) {
						t.Errorf("%s: %s read as %s", zone, wall.Format(time.DateTime), got)
					}
					continue
				}
				earlier := got.Add(-time.Hour).In(loc)
				if earlier.Format(time.DateTime) == wall.Format(time.DateTime) {
					t.Errorf("%s: %s read as its second pass", zone, wall.Format(time.DateTime))
				}
			}
		}
	}
	var d logtext.Day
	for _, bad := range [][3]int64{{2023, 2, 29}, {2024, 13, 1}, {2024, 0, 1}, {2024, 4, 31}, {1969, 1, 1}, {9999, 1, 1}, {2024, 1, 0}} {
		if d.Set(time.UTC, bad[0], bad[1], bad[2]) {
			t.Errorf("%v taken for a date", bad)
		}
	}
}
