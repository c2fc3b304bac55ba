// Package duration parses durations in the forms in which users write them for batch schedulers. It also formats
// durations for users.
//
// Parse accepts four forms. Each text has one meaning:
//
//	2h30m, 90m, 1d, 1d12h, 1.5h, 2 h 05 min   units: w d h m (or min) s ms, largest first, each at most once;
//	                                          the last number may have a fraction
//	2:00:00, 90:00                            hours:minutes:seconds; with one colon minutes:seconds, as in Slurm
//	1-12, 1-12:00, 1-12:00:00                 days-hours[:minutes[:seconds]], as in Slurm
//	3600, 0.5                                 a number alone is seconds
//
// In the forms with colons and the dash only the first field may be large. Hours after days are at most 23, and
// minutes and seconds after another field are at most 59. Two rules of other programs are deliberately not used: in
// Slurm (sbatch(1), --time) and LSF a number alone is minutes, and in LSF 2:00 is two hours (bsub(1), -W). A day is
// always 24 hours.
package duration

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
	// maxText is the maximum length of a text that Parse accepts. A longer text is no duration that fits a
	// time.Duration.
	maxText = 64
)

// Allowed describes in one line the texts that Parse accepts, for error messages and tables.
const Allowed = AllowedWithUnit + " or seconds"

// AllowedWithUnit describes the texts that Parse accepts, except a number alone.
const AllowedWithUnit = "90m, 2h30m, 1d, 2:00:00 (h:m:s), 90:00 (m:s), 1-12:00 (days-h:m)"

// ParseError reports that a text is not a duration.
type ParseError struct {
	// Text is the text that is not a duration, shortened if it is very long.
	Text string
	// Problem describes what is wrong with the text.
	Problem string
}

// Error implements error.
func (e *ParseError) Error() string {
	return fmt.Sprintf("duration %q: %s; write %s", e.Text, e.Problem, Allowed)
}

// Parse returns the duration that a text means. The package comment describes the forms. The result is never
// negative. Every error is a *ParseError.
func Parse(text string) (time.Duration, error) {
	s := strings.TrimSpace(text)
	if len(s) > maxText {
		return 0, &ParseError{Text: s[:maxText] + "...", Problem: "too long"}
	}
	d, err := parse(s)
	if err != nil {
		return 0, &ParseError{Text: text, Problem: err.Error()}
	}
	return d, nil
}

// ErrNoUnit is the error of ParseIn for a number alone if no unit is known.
var ErrNoUnit = errors.New("a number alone has no unit")

// ParseIn does the same as Parse, but a number alone has the given unit. If unit is 0, a number alone, except 0,
// gives ErrNoUnit.
func ParseIn(text string, unit time.Duration) (time.Duration, error) {
	d, err := Parse(text)
	number := strings.TrimSpace(text)
	if err != nil || d == 0 || strings.Trim(number, "0123456789.") != "" {
		return d, err
	}
	if unit == 0 {
		return 0, ErrNoUnit
	}
	var sum total
	sum.decimal(number, unit)
	if d, err = sum.duration(); err != nil {
		return 0, &ParseError{Text: text, Problem: err.Error()}
	}
	return d, nil
}

// Unit returns the length of a unit: w, d, h, m or min, s, ms. The second result reports whether the unit exists.
func Unit(name string) (time.Duration, bool) {
	if name == "" {
		return 0, false
	}
	return unitSize(name)
}

func parse(s string) (time.Duration, error) {
	switch {
	case s == "":
		return 0, errors.New("it is empty")
	case s[0] == '-':
		return 0, errors.New("a duration cannot be negative")
	case strings.Contains(s, "-"):
		return parseDays(s)
	case strings.Contains(s, ":"):
		return parseClock(s)
	}
	return parseUnits(s)
}

// parseDays parses D-HH, D-HH:MM and D-HH:MM:SS.
func parseDays(s string) (time.Duration, error) {
	days, rest, _ := strings.Cut(s, "-")
	fields := strings.Split(rest, ":")
	if len(fields) > 3 {
		return 0, errors.New("too many fields after the days")
	}
	var sum total
	sum.field("days", days, 0, day)
	for i, f := range fields {
		clock := clockFields[i]
		sum.field(clock.name, f, clock.below, clock.unit)
	}
	return sum.duration()
}

// parseClock parses H:MM:SS and MM:SS.
func parseClock(s string) (time.Duration, error) {
	fields := strings.Split(s, ":")
	if len(fields) > 3 {
		return 0, errors.New("too many colons")
	}
	var sum total
	for i, f := range fields {
		clock := clockFields[3-len(fields)+i]
		if i == 0 {
			clock.below = 0
		}
		sum.field(clock.name, f, clock.below, clock.unit)
	}
	return sum.duration()
}

// clockFields are the fields of a clock time. below is the limit of a field that follows another field.
var clockFields = [...]struct {
	name  string
	below uint64
	unit  time.Duration
}{{"hours", 24, time.Hour}, {"minutes", 60, time.Minute}, {"seconds", 60, time.Second}}

// parseUnits parses texts such as 2h30m, and a number without a unit.
func parseUnits(s string) (time.Duration, error) {
	var sum total
	previous := week + 1
	for rest := s; rest != ""; {
		number, unit, after, err := token(rest)
		if err != nil {
			return 0, err
		}
		size, ok := unitSize(unit)
		switch {
		case unit == "" && (rest != s || after != ""):
			return 0, fmt.Errorf("%q has no unit", number)
		case !ok:
			return 0, fmt.Errorf("unknown unit %q (known: w, d, h, m or min, s, ms)", unit)
		case size >= previous:
			return 0, fmt.Errorf("unit %q must come earlier, and once: largest first", unit)
		case after != "" && strings.Contains(number, "."):
			return 0, fmt.Errorf("only the last number may have a fraction, not %q", number)
		}
		sum.decimal(number, size)
		previous, rest = size, after
	}
	return sum.duration()
}

// token splits the first number and its unit from s.
func token(s string) (number, unit, rest string, err error) {
	end := strings.IndexFunc(s, func(r rune) bool { return !isDigit(r) && r != '.' })
	if end < 0 {
		end = len(s)
	}
	number = s[:end]
	whole, fraction, dot := strings.Cut(number, ".")
	if whole == "" || dot && (fraction == "" || strings.Contains(fraction, ".")) {
		return "", "", "", fmt.Errorf("no number at %q", s)
	}
	s = strings.TrimLeft(s[end:], " ")
	end = strings.IndexFunc(s, func(r rune) bool { return isDigit(r) || r == '.' || r == ' ' })
	if end < 0 {
		end = len(s)
	}
	return number, s[:end], strings.TrimLeft(s[end:], " "), nil
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

func unitSize(unit string) (time.Duration, bool) {
	switch unit {
	case "w":
		return week, true
	case "d":
		return day, true
	case "h":
		return time.Hour, true
	case "m", "min":
		return time.Minute, true
	case "s", "":
		return time.Second, true
	case "ms":
		return time.Millisecond, true
	}
	return 0, false
}

// total adds the parts of a duration exactly. It remembers the first error.
type total struct {
	whole time.Duration // nanoseconds of whole units, without overflow
	sum   big.Rat       // fractions, and numbers that do not fit into whole
	exact bool          // true if sum has a part of the duration
	err   error
}

// field adds a whole number of units. If below is not 0, the number must be less than below and have at most two
// digits.
func (t *total) field(name, text string, below uint64, unit time.Duration) {
	if t.err != nil {
		return
	}
	n, err := strconv.ParseUint(text, 10, 63)
	switch {
	case errors.Is(err, strconv.ErrRange):
		t.err = errTooLarge
	case err != nil:
		t.err = fmt.Errorf("%s: %q is not a whole number", name, text)
	case below > 0 && (n >= below || len(text) > 2):
		t.err = fmt.Errorf("%s: %q is not between 0 and %d", name, text, below-1)
	default:
		t.decimal(text, unit)
	}
}

// decimal adds a decimal number of units. The text has digits and at most one point.
func (t *total) decimal(text string, unit time.Duration) {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil { // the common case, without big numbers
		if most := (math.MaxInt64 - t.whole) / unit; n <= uint64(most) {
			t.whole += time.Duration(n) * unit
			return
		}
	}
	t.exact = true
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		t.err = fmt.Errorf("%q is not a number", text)
		return
	}
	t.sum.Add(&t.sum, n.Mul(n, new(big.Rat).SetInt64(int64(unit))))
}

var errTooLarge = errors.New("larger than 292 years")

// duration returns the sum, truncated to whole nanoseconds.
func (t *total) duration() (time.Duration, error) {
	if t.err != nil {
		return 0, t.err
	}
	if !t.exact {
		return t.whole, nil
	}
	t.sum.Add(&t.sum, new(big.Rat).SetInt64(int64(t.whole)))
	whole := new(big.Int).Quo(t.sum.Num(), t.sum.Denom())
	if !whole.IsInt64() {
		return 0, errTooLarge
	}
	return time.Duration(whole.Int64()), nil
}
