package main

import (
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// TestByInstants checks the interpretation of --by. A time of day is its next occurrence in the command's zone, even
// across the change to summer time. A date without a zone is in that zone. Instants and durations are sent to the
// daemon unchanged.
func TestByInstants(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	evening := time.Date(2026, 3, 28, 20, 0, 0, 0, berlin) // summer time begins in the following night
	for text, want := range map[string]string{
		"20:01":                     "2026-03-28T20:01:00+01:00",
		"20:00":                     "2026-03-29T20:00:00+02:00",
		"09:00":                     "2026-03-29T09:00:00+02:00",
		"9:00:30":                   "2026-03-29T09:00:30+02:00",
		"2026-11-24T09:00":          "2026-11-24T09:00:00+01:00",
		"2026-11-24 09:00:05":       "2026-11-24T09:00:05+01:00",
		"2026-11-24T09:00:00+03:00": "2026-11-24T09:00:00+03:00",
		"2026-11-24T09:00:00Z":      "2026-11-24T09:00:00Z",
		"2h":                        "2h",
		"1-12:00":                   "1-12:00",
		"90":                        "90",
	} {
		var by byValue
		if err := by.Set(text); err != nil {
			t.Errorf("--by %s: %v", text, err)
		} else if got := by.instant(evening); got != want {
			t.Errorf("--by %s is %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "24:00", "9:60", "90:00", "soon", "-2h", "0", "2026-11-24", "2026-13-01T09:00"} {
		var by byValue
		if err := by.Set(text); err == nil || !strings.Contains(err.Error(), "09:00") {
			t.Errorf("--by %q: %v, want an error with an example", text, err)
		}
	}
	if got := new(byValue).instant(evening); got != "" {
		t.Errorf("without --by %q is asked for", got)
	}
}

// TestByText proves that if an instant is outside of the range of levels, the text claims no more than the outermost
// level.
func TestByText(t *testing.T) {
	at := time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)
	for want, b := range map[string]wire.StartBy{
		"Starts by       Tue 2026-03-03 09:00: 93 %":          {Probability: .93, AtLeast: .9, AtMost: .95},
		"Starts by       Tue 2026-03-03 09:00: at least 95 %": {Probability: .999, AtLeast: .95, AtMost: 1},
		"Starts by       Tue 2026-03-03 09:00: at most 10 %":  {Probability: .02, AtMost: .1},
		"Starts by       Tue 2026-03-03 09:00: 50 %":          {Probability: .5, AtLeast: .5, AtMost: .75},
	} {
		answer := canned()
		b.At = at
		answer.StartBy = &b
		r := runWith(serve(t, 200, answer), append(question, "--by", "09:00")...)
		if r.code != 0 || !strings.Contains(r.stdout, want+"\n") {
			t.Errorf("want %q in\n%s%s", want, r.stdout, r.stderr)
		}
		waits := cannedWaits()
		waits.Candidates[0].StartBy, waits.Candidates[1].StartBy = &b, &b
		r = runWith(serve(t, 200, waits), "wait", "-q", "a,b", "-n", "8", "-t", "3h,7d", "--by", "09:00")
		_, chance, _ := strings.Cut(want, "09:00: ")
		shown := strings.Count(r.stdout, "  "+chance+"\n")
		if r.code != 0 || !strings.Contains(r.stdout, "by Tue 09:00") || shown != 2 {
			t.Errorf("want a column of %q in\n%s%s", chance, r.stdout, r.stderr)
		}
	}
}
