package report

import (
	"fmt"
	"html/template"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/predictor/backtest"
)

// formats returns the functions of the template.
func formats() template.FuncMap {
	return template.FuncMap{
		"count": count[int], "count64": count[int64], "percent": percent, "seconds": seconds, "secondsOr": secondsOr,
		"loss": loss, "base": base, "queue": queueName, "method": methodName, "reason": reasonText,
		"day": dayOf, "length": lengthName, "chance": chance, "covered": coveredRange, "times": times, "size": sizeName,
		"level": levelPercent, "jobs": jobs,
	}
}

// count formats a number with commas between thousands.
func count[N int | int64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// jobs formats a number of jobs.
func jobs(n int) string { return numbered(n, "job", "jobs") }

// numbered formats a number with its noun.
func numbered(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// percent formats a share as a percentage with one decimal.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// ofHundred formats a share as a percentage without the sign: "95.0".
func ofHundred(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }

// seconds formats a duration, "–" if it is NaN or above 1e9 s.
func seconds(s float64) string {
	if math.IsNaN(s) || s > 1e9 {
		return "–"
	}
	return duration.Format(time.Duration(s * float64(time.Second)))
}

// secondsOr formats a time that may be unknown.
func secondsOr(s *float64) string {
	if s == nil {
		return "–"
	}
	return seconds(*s)
}

func loss(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// times formats a ratio, "–" for nil.
func times(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

// chance formats an interval of ratios, "–" for nil.
func chance(c *[2]float64) string {
	if c == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f to %.2f", c[0], c[1])
}

// coveredRange formats the shares of waits below a quantile and up to it, as one number if they agree.
func coveredRange(c [2]float64) string {
	low, high := ofHundred(c[0]), ofHundred(c[1])
	if low == high {
		return low + " %"
	}
	return low + " to " + high + " %"
}

func base(path string) string { return visible(filepath.Base(path)) }

// visible replaces characters that are invisible, or that change how other characters are displayed.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// queueName names a group that has one queue or several.
func queueName(g backtest.Group) string {
	switch {
	case g.Queues > 1:
		return fmt.Sprintf("%d other queues", g.Queues)
	case g.Name == "":
		return "(no queue)"
	}
	return visible(g.Name)
}

func sizeName(g backtest.Group) string {
	if g.Name == "1" {
		return "1 processor"
	}
	return g.Name + " processors"
}

// lengthName names a group of forecasts of similar length.
func lengthName(g backtest.Group) string {
	switch {
	case g.From == 0:
		return "up to " + seconds(g.To)
	case g.To == 0:
		return "over " + seconds(g.From)
	}
	return seconds(g.From) + " to " + seconds(g.To)
}

// methodName returns the name under which a method is displayed.
func methodName(name string) string {
	switch name {
	case "qbets":
		return "QBETS"
	case "limits":
		return "plan from time limits"
	case "recent":
		return "recent waits"
	case backtest.BestConstant:
		return "best constant"
	}
	return name
}

// reasonText describes why records were left out. reason is one of package collector.
func reasonText(reason string) string {
	switch reason {
	case "format":
		return "not a record of this format"
	case "field":
		return "a field is missing or cannot be read"
	case "time":
		return "an instant that cannot be"
	case "procs":
		return "no number of processors, or an impossible one"
	case "future":
		return "later than now"
	case "long_line":
		return "the line is too long"
	case "unknown":
		return "a kind of record that nobody has documented"
	}
	return visible(reason)
}

// dayOf formats an instant of a trace as its day: a date in UTC or, without dates, the number of the day from 1.
func dayOf(p backtest.Period, at float64) string {
	if !p.Dated {
		return fmt.Sprintf("day %d", int((at-p.First)/86400)+1)
	}
	return time.Unix(int64(at), 0).UTC().Format(time.DateOnly)
}

func levelPercent(l level) string { return l.Percent }
