package duration

import (
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"
)

var (
	_ pflag.Value              = (*Value)(nil)
	_ encoding.TextUnmarshaler = (*Value)(nil)
	_ encoding.TextMarshaler   = Value(0)
)

// TestParseReadsEveryForm checks the forms that sbatch(1) lists for --time, with the meanings there except for a number
// alone, and the forms with units.
func TestParseReadsEveryForm(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90m":                           90 * time.Minute,
		"2h30m":                         150 * time.Minute,
		"1d":                            24 * time.Hour,
		"1d12h":                         36 * time.Hour,
		"2w":                            14 * 24 * time.Hour,
		"1.5h":                          90 * time.Minute,
		"1m0.5s":                        60500 * time.Millisecond,
		"250ms":                         250 * time.Millisecond,
		"2 h 05 min":                    125 * time.Minute,
		" 10 s ":                        10 * time.Second,
		"2160h0m0s":                     90 * 24 * time.Hour,
		"2:00:00":                       2 * time.Hour,
		"1:0:0":                         time.Hour,
		"100:00:00":                     100 * time.Hour,
		"90:00":                         90 * time.Minute,
		"0:30":                          30 * time.Second,
		"1-12":                          36 * time.Hour,
		"1-12:00":                       36 * time.Hour,
		"1-12:30:15":                    36*time.Hour + 30*time.Minute + 15*time.Second,
		"0-01":                          time.Hour,
		"3600":                          time.Hour,
		"0":                             0,
		"0.5":                           500 * time.Millisecond,
		"0700":                          700 * time.Second, // never octal
		"0.0000000019s":                 1,                 // truncated to nanoseconds
		"9223372036854775807":           -1,                // too large
		"9223372036.854775807":          math.MaxInt64,
		"106751-23:47:16":               106751*24*time.Hour + 23*time.Hour + 47*time.Minute + 16*time.Second,
		"106751-23:47:17":               -1,
		"15251w":                        -1,
		"18446744073709551616:00":       -1,
		"":                              -1,
		"  ":                            -1,
		"-5m":                           -1,
		"5x":                            -1,
		"m":                             -1,
		"5m5":                           -1,
		"5 5":                           -1,
		"5m2h":                          -1,
		"5m5m":                          -1,
		"5m5min":                        -1,
		"1.5h30m":                       -1,
		"1.":                            -1,
		".5h":                           -1,
		"1..5h":                         -1,
		"1e3":                           -1,
		"1/2":                           -1,
		"+5":                            -1,
		"1:60":                          -1,
		"1:005":                         -1,
		"1:+5":                          -1,
		"1:":                            -1,
		":30":                           -1,
		"1:2:3:4":                       -1,
		"1-24":                          -1,
		"1-2:60":                        -1,
		"1-":                            -1,
		"1-2-3":                         -1,
		"1-2:3:4:5":                     -1,
		"1d-2":                          -1,
		"1:30m":                         -1,
		"UNLIMITED":                     -1,
		"５m":                            -1, // a digit, but not an ASCII one
		strings.Repeat("1", maxText+1):  -1,
		"0x10":                          -1,
		"1_000":                         -1,
		"2024-01-01":                    -1,
		"1h" + strings.Repeat(" ", 100): time.Hour,
	} {
		got, err := Parse(text)
		if want < 0 {
			var e *ParseError
			if !errors.As(err, &e) || e.Problem == "" {
				t.Errorf("Parse(%q) = %v, %v; want a *ParseError that says why", text, got, err)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestErrorNamesTheTextAndWhatToWrite(t *testing.T) {
	_, err := Parse("1-36:00")
	for _, part := range []string{`"1-36:00"`, `hours: "36" is not between 0 and 23`, "2h30m"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v does not contain %q", err, part)
		}
	}
}

func anyDuration() *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.Int64Range(0, math.MaxInt64), func(n int64) time.Duration { return time.Duration(n) })
}

// TestStringRoundTrip proves that Parse reads back every output of String, exact to the nanosecond.
func TestStringRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDuration().Draw(t, "d")
		got, err := Parse(String(d))
		if err != nil || got != d {
			t.Fatalf("Parse(%q) = %v, %v; want %v", String(d), got, err, d)
		}
	})
}

// TestFormatRoundTrip proves that Format rounds to its smaller unit: Parse reads its output as a value that is at most
// half of that unit away and has the same format.
func TestFormatRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.OneOf(anyDuration(), rapid.Map(rapid.Int64Range(0, int64(3*day)),
			func(n int64) time.Duration { return time.Duration(n) })).Draw(t, "d")
		if d > math.MaxInt64-time.Hour {
			return // rounds up past the largest duration
		}
		text := Format(d)
		got, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		unit := time.Second
		if d.Round(time.Minute) >= time.Hour {
			unit = time.Minute
		}
		if d.Round(time.Hour) >= day {
			unit = time.Hour
		}
		if diff := (got - d).Abs(); diff > unit/2 {
			t.Fatalf("Format(%v) = %q, which is %v away; unit %v", d, text, diff, unit)
		}
		if Format(got) != text {
			t.Fatalf("Format is not stable: %q, then %q", text, Format(got))
		}
	})
}

// TestClockFormsMeanTheirFields checks the Slurm and clock forms for any values of their fields.
func TestClockFormsMeanTheirFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := func(name string, limit int) time.Duration {
			return time.Duration(rapid.IntRange(0, limit).Draw(t, name))
		}
		d, h, m, s := field("d", 1000), field("h", 23), field("m", 59), field("s", 59)
		text := strings.Join([]string{num(h), num(m), num(s)}, ":")
		want := h*time.Hour + m*time.Minute + s*time.Second
		if got, err := Parse(text); err != nil || got != want {
			t.Fatalf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
		text = num(d) + "-" + text
		if got, err := Parse(text); err != nil || got != want+d*day {
			t.Fatalf("Parse(%q) = %v, %v; want %v", text, got, err, want+d*day)
		}
	})
}

func num(d time.Duration) string {
	b, _ := json.Marshal(int64(d))
	return string(b)
}

func TestStringIsShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 2160 * time.Hour: "90d", 125 * time.Minute: "2h5m", 60500 * time.Millisecond: "1m0.5s",
		250 * time.Millisecond: "250ms", 1: "0.000000001s", time.Second: "1s",
	} {
		if got := String(d); got != want {
			t.Errorf("String(%d ns) = %q, want %q", d, got, want)
		}
	}
}

func TestFormatForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                              "0 s",
		300 * time.Millisecond:         "0 s",
		45 * time.Second:               "45 s",
		59600 * time.Millisecond:       "1 min",
		200 * time.Second:              "3 min 20 s",
		time.Hour - time.Millisecond:   "1 h",
		125 * time.Minute:              "2 h 05 min",
		2 * time.Hour:                  "2 h",
		24*time.Hour - time.Second:     "1 d",
		27 * time.Hour:                 "1 d 03 h",
		400 * 24 * time.Hour:           "400 d",
		-125 * time.Minute:             "-2 h 05 min",
		time.Duration(math.MinInt64):   "-106751 d 23 h",
		time.Minute + time.Millisecond: "1 min",
	} {
		if got := Format(d); got != want {
			t.Errorf("Format(%d ns) = %q, want %q", d, got, want)
		}
	}
}

func TestValueAsFlagAndText(t *testing.T) {
	var limit Value
	flags := pflag.NewFlagSet("t", pflag.ContinueOnError)
	flags.VarP(&limit, "time", "t", "")
	if err := flags.Parse([]string{"-t", "1-12:00"}); err != nil || time.Duration(limit) != 36*time.Hour {
		t.Errorf("flag: %v, %v", limit, err)
	}
	if err := flags.Parse([]string{"-t", "soon"}); err == nil || time.Duration(limit) != 36*time.Hour {
		t.Errorf("a wrong flag must fail and leave the value alone: %v, %v", limit, err)
	}
	b, err := json.Marshal(limit)
	if err != nil || string(b) != `"1d12h"` {
		t.Errorf("marshal: %s, %v", b, err)
	}
	var back Value
	if err := json.Unmarshal(b, &back); err != nil || back != limit {
		t.Errorf("unmarshal: %v, %v", back, err)
	}
}

// FuzzParse proves that no input causes a panic or a negative duration, and that Parse reads back the String of the
// result.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"90m", "2h30m", "2:00:00", "1-12:00", "1-12", "90:00", "1d", "3600", "2 h 05 min", "1.5", "-", "1:",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		if d < 0 {
			t.Fatalf("Parse(%q) = %v", text, d)
		}
		if again, err := Parse(String(d)); err != nil || again != d {
			t.Fatalf("Parse(%q) = %v, then %q = %v, %v", text, d, String(d), again, err)
		}
	})
}

// TestParseIn proves that a number alone has the given unit, and that all other texts are read as by Parse.
func TestParseIn(t *testing.T) {
	for _, c := range []struct {
		text string
		unit time.Duration
		want time.Duration
	}{
		{"120", time.Minute, 2 * time.Hour}, {" 1.5 ", time.Hour, 90 * time.Minute},
		{"120", time.Second, 2 * time.Minute},
		{"0", 0, 0}, {"2h", 0, 2 * time.Hour}, {"90:00", time.Hour, 90 * time.Minute}, {"1-12", 0, 36 * time.Hour},
	} {
		if got, err := ParseIn(c.text, c.unit); err != nil || got != c.want {
			t.Errorf("%q in %v: %v, %v, want %v", c.text, c.unit, got, err, c.want)
		}
	}
	if _, err := ParseIn("120", 0); !errors.Is(err, ErrNoUnit) {
		t.Errorf("120 without a unit: %v", err)
	}
	var wrong *ParseError
	for _, text := range []string{"", "-5", "x", "1e9", "99999999999999999999"} {
		if _, err := ParseIn(text, time.Minute); !errors.As(err, &wrong) {
			t.Errorf("%q: %v, want a ParseError", text, err)
		}
	}
}

// TestAbout checks the texts of durations at the limits of each unit.
func TestAbout(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "less than a minute", 44 * time.Second: "less than a minute", 45 * time.Second: "1 min",
		9*time.Minute + 20*time.Second: "9 min", 12 * time.Minute: "10 min", 54*time.Minute + 7*time.Second: "55 min",
		82 * time.Minute: "80 min", 85 * time.Minute: "1½ h", 2*time.Hour + 10*time.Minute: "2 h",
		9*time.Hour + 30*time.Minute: "9½ h", 10*time.Hour + 20*time.Minute: "10 h", 47 * time.Hour: "47 h",
		48 * time.Hour: "2 days", 90 * time.Hour: "4 days",
	} {
		if got := About(d); got != want {
			t.Errorf("About(%v) is %q, want %q", d, got, want)
		}
	}
}
