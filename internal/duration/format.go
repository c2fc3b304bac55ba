package duration

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// tiers are the pairs of units that Format uses. A pair is used for durations of at least its larger unit.
var tiers = [...]struct {
	large, small         time.Duration
	largeName, smallName string
}{
	{day, time.Hour, "d", "h"},
	{time.Hour, time.Minute, "h", "min"},
	{time.Minute, time.Second, "min", "s"},
}

// Format writes a duration for users in its two largest units, rounded: "45 s", "3 min 20 s", "2 h 05 min", "1 d 03 h".
// It leaves out a smaller unit with the value 0: "2 h". Parse reads the text; the result has the rounded value.
func Format(d time.Duration) string {
	if d < 0 {
		if d == -d { // the smallest Duration has no positive counterpart
			d++
		}
		return "-" + Format(-d)
	}
	for _, t := range tiers {
		r := d.Round(t.small)
		if r < t.large {
			continue
		}
		large, small := r/t.large, r%t.large/t.small
		if small == 0 {
			return fmt.Sprintf("%d %s", large, t.largeName)
		}
		return fmt.Sprintf("%d %s %02d %s", large, t.largeName, small, t.smallName)
	}
	return fmt.Sprintf("%d s", d.Round(time.Second)/time.Second)
}

// About writes a duration in one unit, as in everyday speech: "less than a minute", "4 min", "55 min", "2½ h", "3
// days". Format gives the exact value. The web page rounds in the same way (about in format.js).
func About(d time.Duration) string {
	minutes := d.Minutes()
	switch {
	case d < 45*time.Second:
		return "less than a minute"
	case minutes < 10:
		return fmt.Sprintf("%.0f min", math.Max(1, math.Round(minutes)))
	case 57.5 <= minutes && minutes < 62.5:
		return "1 h"
	case minutes < 82.5:
		return fmt.Sprintf("%.0f min", 5*math.Round(minutes/5))
	}
	switch hours := math.Round(minutes/30) / 2; {
	case hours < 10 && hours != math.Trunc(hours):
		return fmt.Sprintf("%.0f½ h", math.Trunc(hours))
	case hours < 47.5:
		return fmt.Sprintf("%.0f h", math.Round(minutes/60))
	default:
		return fmt.Sprintf("%.0f days", math.Round(hours/24))
	}
}

// Roughly returns the text of About for use in a sentence: "about 55 min", "less than a minute".
func Roughly(d time.Duration) string {
	text := About(d)
	if strings.HasPrefix(text, "less") {
		return text
	}
	return "about " + text
}

// String writes a duration exactly, in a form that Parse reads, without weeks and without parts that are 0: "90d",
// "2h5m", "1m0.5s", "250ms". 0 is "0s".
func String(d time.Duration) string {
	if d < 0 {
		return d.String() // Parse does not read this duration
	}
	if 0 < d && d < time.Second && d%time.Millisecond == 0 {
		return fmt.Sprintf("%dms", d/time.Millisecond)
	}
	var b strings.Builder
	for _, u := range [...]struct {
		size time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if n := d / u.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d %= u.size
		}
	}
	if d > 0 || b.Len() == 0 {
		b.WriteString(seconds(d))
		b.WriteByte('s')
	}
	return b.String()
}

// seconds formats d, which is below a minute, as decimal seconds without trailing zeros.
func seconds(d time.Duration) string {
	whole := strconv.FormatInt(int64(d/time.Second), 10)
	fraction := strings.TrimRight(fmt.Sprintf("%09d", d%time.Second), "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// Value is a time.Duration for flags (pflag.Value) and text encodings (encoding.TextMarshaler,
// encoding.TextUnmarshaler). They read it with Parse and write it with String.
type Value time.Duration

// String implements pflag.Value.
func (v *Value) String() string { return String(time.Duration(*v)) }

// Set implements pflag.Value.
func (v *Value) Set(text string) error { return v.UnmarshalText([]byte(text)) }

// Type implements pflag.Value. It returns the name of the type in help texts.
func (v *Value) Type() string { return "duration" }

// MarshalText implements encoding.TextMarshaler.
func (v Value) MarshalText() ([]byte, error) { return []byte(String(time.Duration(v))), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *Value) UnmarshalText(text []byte) error {
	d, err := Parse(string(text))
	if err != nil {
		return err
	}
	*v = Value(d)
	return nil
}
