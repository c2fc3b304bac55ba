package logtext_test

import (
	"strconv"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/collector/logtext"
)

// TestInteger proves that plain decimal integers of up to 18 digits are parsed as by strconv, and that all other texts
// are refused.
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

// TestNames proves that names are returned unchanged, even after more names than are kept.
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

// TestDay proves that every time of a day, even of a day with a clock change, becomes the instant by Go's own zone
// rules. A time that occurs twice becomes its first instant.
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
					// Clocks never show wall if they skip it. Only then may the result differ from wall.
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
	for _, bad := range [][3]int64{
		{2023, 2, 29}, {2024, 13, 1}, {2024, 0, 1}, {2024, 4, 31}, {1969, 1, 1}, {9999, 1, 1}, {2024, 1, 0},
	} {
		if d.Set(time.UTC, bad[0], bad[1], bad[2]) {
			t.Errorf("%v taken for a date", bad)
		}
	}
}

// TestPass proves which of the two instants of a time that occurs twice is used: the one that the clock indicates, if
// it is known; otherwise the one that the order of the lines indicates; otherwise the first one.
func TestPass(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC) // 02:30 in Berlin, and again an hour later
	const second = time.Hour
	for name, c := range map[string]struct {
		near, after time.Duration // after the first of the two instants; unknown for an instant that is not set
		want        time.Duration
	}{
		"nothing is known":                       {unknown, unknown, 0},
		"now is the first pass":                  {time.Second, unknown, 0},
		"now is the second pass":                 {second + time.Second, unknown, second},
		"now is a day later":                     {24 * time.Hour, unknown, second},
		"a line before, of the first pass":       {unknown, -time.Minute, 0},
		"a line before, a little out of order":   {unknown, 50 * time.Second, 0},
		"a line before, 5 minutes later":         {unknown, 5 * time.Minute, second},
		"a line before, of the second pass":      {unknown, second - time.Second, second},
		"a line before, out of order and second": {unknown, second + 50*time.Second, second},
		"a line before that is dated far ahead":  {unknown, 20 * time.Hour, 0},
		"the clock knows better than the order":  {time.Second, 5 * time.Minute, 0},
		"the clock knows better, the other way":  {second + time.Second, -time.Minute, second},
		"a line before, of hours ago":            {unknown, -5 * time.Hour, 0},
	} {
		var d logtext.Day
		if !d.Set(berlin, 2026, 10, 25) {
			t.Fatal("refused")
		}
		if c.near != unknown {
			d.Near(first.Add(c.near))
		}
		if c.after != unknown {
			d.After(first.Add(c.after))
		}
		if got := time.Unix(d.Instant(2*3600+1800), 0).Sub(first); got != c.want {
			t.Errorf("%s: %s after the first pass, want %s", name, got, c.want)
		}
	}
}

const unknown = time.Duration(1<<63 - 1)
