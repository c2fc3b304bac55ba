package ruletext

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/predictor/engine/track"
)

// timesWords returns sentences about the times at which jobs start.
func timesWords(r *Rules) []string {
	g := r.Gates
	if g.Summary == nil {
		return []string{fmt.Sprintf("No times of the week without starts were learnt: %s so far, %s are needed.",
			plural(g.Starts, "start", "starts"), count(g.Needed))}
	}
	if len(r.Times) == 0 {
		return []string{fmt.Sprintf("No time of the week was found at which jobs hardly ever start: %s starts, and "+
			"%s h in which jobs waited although they fitted.", count(g.Summary.Starts), rounded(g.Summary.Exposure))}
	}
	var out []string
	for i := range r.Times {
		t := &r.Times[i]
		out = append(out, fmt.Sprintf("%s start mainly %s: %s starts in %s h in which such jobs waited although "+
			"they fitted, at other times %s in %s h.", t.who(), describe(t.Open), rounded(t.OpenStarts),
			rounded(t.OpenHours), rounded(t.ShutStarts), rounded(t.ShutHours)))
	}
	return out
}

// who describes the jobs to which these times apply.
func (t *Times) who() string {
	limited := !math.IsInf(t.UpTo, 1)
	switch {
	case t.Over >= track.LongestOf(track.Unlimited-1):
		return "Jobs without a time limit"
	case t.Over == 0 && !limited:
		return "Jobs"
	case t.Over == 0:
		return "Jobs with time limits up to " + limit(t.UpTo)
	case limited:
		return "Jobs with time limits over " + limit(t.Over) + " and up to " + limit(t.UpTo)
	}
	return "Jobs with time limits over " + limit(t.Over)
}

// limit formats a time limit.
func limit(seconds float64) string {
	switch hours := seconds / 3600; {
	case hours < 1:
		return fmt.Sprintf("%.0f min", seconds/60)
	case hours < 10 && math.Abs(hours-math.Round(hours)) >= .05:
		return fmt.Sprintf("%.1f h", hours)
	case hours < 100:
		return fmt.Sprintf("%.0f h", hours)
	default:
		return fmt.Sprintf("%.0f days", hours/24)
	}
}

// describe returns intervals of the week in words, such as "on weekdays before 08:00, and at weekends".
func describe(all []Interval) string {
	var parts []string
	for i := 0; i < len(all); {
		last := i + 1
		for last < len(all) && slices.Equal(all[last].Days, all[i].Days) {
			last++
		}
		text := daysOf(all[i].Days)
		if times := clocks(all[i:last]); times != "" {
			text += " " + times
		}
		parts, i = append(parts, text), last
	}
	return list(parts, ", and ")
}

// daysOf returns days of the week in words, such as "on weekdays".
func daysOf(days []time.Weekday) string {
	switch {
	case len(days) == weekDays:
		return "every day"
	case len(days) == 5 && !slices.Contains(days, time.Saturday) && !slices.Contains(days, time.Sunday):
		return "on weekdays"
	case len(days) == 2 && days[0] == time.Saturday && days[1] == time.Sunday:
		return "at weekends"
	}
	var names []string
	for _, d := range days {
		names = append(names, d.String()+"s")
	}
	return "on " + list(names, " and ")
}

// clocks formats times of day; "" for the whole day.
func clocks(all []Interval) string {
	var parts []string
	for _, i := range all {
		switch end := i.To >= 24*time.Hour; {
		case i.From == 0 && end:
		case i.From == 0:
			parts = append(parts, "before "+clock(i.To))
		case end:
			parts = append(parts, "from "+clock(i.From))
		default:
			parts = append(parts, "from "+clock(i.From)+" to "+clock(i.To))
		}
	}
	return list(parts, " and ")
}

func clock(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60)
}

// list joins parts with commas, but the last part with the text last.
func list(parts []string, last string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	n := len(parts) - 1
	return strings.Join(parts[:n], ", ") + last + parts[n]
}
