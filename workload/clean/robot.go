package clean

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/workload/users"
)

const (
	hour    = 3600.
	seconds = 24 * hour // seconds of a day
)

// tick is a submission with its local time.
type tick struct {
	job   int
	day   int
	clock float64 // in seconds after local midnight
}

// ticks returns the submissions of one user in local time.
func ticks(jobs []users.Job, own []int, start time.Time) []tick {
	out := make([]tick, len(own))
	for k, i := range own {
		whole, fraction := math.Modf(jobs[i].Submit)
		at := start.Add(time.Duration(whole) * time.Second)
		_, offset := at.Zone()
		local := at.Unix() + int64(offset)
		day := int64(math.Floor(float64(local) / seconds))
		out[k] = tick{job: i, day: int(day), clock: float64(local-day*int64(seconds)) + fraction}
	}
	slices.SortFunc(out, func(a, b tick) int {
		return cmp.Or(cmp.Compare(a.clock, b.clock), cmp.Compare(a.job, b.job))
	})
	return out
}

// robots marks the jobs that a user submits at the same time of day on many days. It begins with the time of day that
// has submissions on the most days. If they come from a robot, it marks them, leaves out all submissions at this time
// of day, and searches again. It ends when the best time of day does not belong to a robot.
func (r *Report) robots(jobs []users.Job, own []int, o Options) {
	if len(own) < o.RobotDays {
		return
	}
	left := ticks(jobs, own, o.Start)
	for len(left) >= o.RobotDays {
		f, members := busiest(left, o)
		if f.Days < o.RobotDays || float64(f.Days) < o.RobotShare*float64(f.Span) ||
			float64(f.Days) < o.RobotPeak*around(left, f.Clock, o.RobotWidth) {
			return
		}
		f.User, f.From, f.Until = jobs[own[0]].User, math.Inf(1), math.Inf(-1)
		for _, t := range members {
			r.Marks[t.job] |= Robot
			f.From, f.Until = min(f.From, jobs[t.job].Submit), max(f.Until, jobs[t.job].Submit)
		}
		r.Findings = append(r.Findings, f)
		left = slices.DeleteFunc(left, func(t tick) bool { return within(t.clock, f.Clock, f.Width) })
	}
}

// busiest returns the interval of the day, at most as long as the options allow, that has submissions on the most days.
// It returns the shortest interval that contains these submissions. An interval may contain midnight.
func busiest(ticks []tick, o Options) (Finding, []tick) {
	n := len(ticks)
	at := func(k int) float64 { return ticks[k%n].clock + float64(k/n)*seconds }
	days := map[int]int{} // number of submissions in the window by day
	best := Finding{Reason: Robot, Kind: Robot.String()}
	var members []tick
	to := 0
	for from := range n {
		for ; to < from+n && at(to) < at(from)+o.RobotWidth; to++ {
			days[ticks[to%n].day]++
		}
		if len(days) > best.Days {
			best.Days, best.Clock, best.Width = len(days), ticks[from].clock, at(to-1)-at(from)
			members = members[:0]
			for k := from; k < to; k++ {
				members = append(members, ticks[k%n])
			}
		}
		if days[ticks[from].day]--; days[ticks[from].day] == 0 {
			delete(days, ticks[from].day)
		}
	}
	first, last := math.MaxInt, math.MinInt
	for _, t := range members {
		first, last = min(first, t.day), max(last, t.day)
	}
	best.Jobs, best.Span = len(members), last-first+1
	return best, members
}

// around returns the mean number of days with submissions in intervals of the same width, over the hour before and the
// hour after the interval that begins at clock.
func around(ticks []tick, clock, width float64) float64 {
	stretches := int(hour / width)
	total := 0
	for i := range 2 * stretches {
		from := clock + width + float64(i)*width
		if i >= stretches {
			from = clock - float64(i-stretches+1)*width
		}
		days := map[int]bool{}
		for _, t := range ticks {
			if within(t.clock, math.Mod(from+seconds, seconds), width) &&
				t.clock != math.Mod(from+width+seconds, seconds) {
				days[t.day] = true
			}
		}
		total += len(days)
	}
	return float64(total) / float64(2*stretches)
}

// within reports whether a time of day is in an interval, including both ends. The interval may contain midnight.
func within(clock, from, width float64) bool {
	return math.Mod(clock-from+seconds, seconds) <= width
}
