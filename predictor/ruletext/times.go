package ruletext

import (
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// Times are the times at which the jobs of some time limits start, and the times at which they hardly ever start.
type Times struct {
	// Over and UpTo bound the time limits in seconds: above Over, at most UpTo. 0 and +Inf are no bounds. If UpTo is
	// +Inf, jobs without a limit are included.
	Over, UpTo float64
	// Open and Shut are parts of the week, by the site's clock.
	Open, Shut []Interval
	// These are the observations in Open and in Shut: the starts, and the hours for which jobs waited although they
	// fitted.
	OpenStarts, OpenHours, ShutStarts, ShutHours float64
}

// Interval is a time of the day on some days of the week, counted from Monday. From and To are times since midnight.
// To is at most 24 h, the next midnight.
type Interval struct {
	Days     []time.Weekday
	From, To time.Duration
}

const (
	halfHour = 1800
	perHour  = 2 // half hours in an hour
	perDay   = 48
	weekDays = 7
	workdays = 5
	perWeek  = rules.Slots
	firstDay = time.Thursday // the engine's weeks begin on this day
)

// These are the conditions for showing times without starts. Jobs for which there was room must have waited for
// enough hours in these times. Their rate of starts there must be low, and at most a share of the rate at other
// times, which must have enough starts. The times must have at most a share of all starts. Two rates must explain the
// starts better than one rate, by a minimum of the log-likelihood. That minimum is high, because starts come in
// bursts and thousands of times are tried. If a queue waits while the machine is down for a night, there are fewer
// hours than required.
const (
	leastHours  = 100
	leastStarts = 20
	mostRate    = .3 // starts per hour
	mostPart    = 1. / 3
	mostStarts  = .25
	mostLonger  = .1 // in place of mostStarts for the second and further patterns of a search by find
	leastLog    = 50
)

// counts has numbers of starts and hours of exposure.
type counts struct{ starts, hours float64 }

func (c *counts) plus(o counts) { c.starts, c.hours = c.starts+o.starts, c.hours+o.hours }

func (c *counts) without(o counts) counts { return counts{c.starts - o.starts, c.hours - o.hours} }

// log returns the log-likelihood of the starts at their own rate, up to a constant.
func (c *counts) log() float64 {
	if c.starts <= 0 {
		return 0
	}
	return c.starts * math.Log(c.starts/c.hours)
}

// gain returns the increase of the log-likelihood if the shut times get a rate of their own. It returns 0 if that rate
// is not clearly lower, if the shut times have more than the share mostStarts of the starts, or if there are too few
// hours or starts to judge (see leastHours).
func gain(shut, all counts, mostStarts float64) float64 {
	open := all.without(shut)
	if shut.hours < leastHours || open.starts < leastStarts || open.hours <= 0 ||
		shut.starts > mostStarts*all.starts || shut.starts > mostRate*shut.hours ||
		shut.starts*open.hours > mostPart*open.starts*shut.hours {
		return 0
	}
	return shut.log() + open.log() - all.log()
}

// week has the counts of the jobs above a time limit, by half hours from Monday on in the site's local time.
type week struct {
	at   [perWeek]counts
	late time.Duration // the engine's half hours begin this much later than those of local time; earlier if negative
}

// add adds a class of limits. shift is as in Of.
func (w *week) add(c *rules.GateCounts, shift float64) {
	const toMonday = int(firstDay-time.Monday) * perDay
	slots := math.Round(shift / halfHour)
	w.late = time.Duration((shift - slots*halfHour) * float64(time.Second)).Truncate(time.Minute)
	by := int(math.Mod(slots, perWeek)) + perWeek + toMonday
	for s := range c.Starts {
		w.at[(s+by)%perWeek].plus(counts{c.Starts[s], c.Exposure[s]})
	}
}

// without subtracts the counts of the jobs above a longer limit.
func (w *week) without(longer *week) {
	for s := range w.at {
		w.at[s] = w.at[s].without(longer.at[s])
	}
}

// pattern is a set of half hours of the week in which jobs hardly ever start.
type pattern [perWeek]bool

// of returns the counts inside a pattern if shut is set, otherwise those outside it.
func (w *week) of(p *pattern, shut bool) (sum counts) {
	for s, is := range p {
		if is == shut {
			sum.plus(w.at[s])
		}
	}
	return sum
}

// best returns the pattern that best explains the starts outside another pattern, and its gain. The gain is 0 if
// there is none. It tries times of day, on all days and on weekdays, and intervals of the week.
func (w *week) best(outside *pattern, mostStarts float64) (pattern, float64) {
	open := *w
	for s, is := range outside {
		if is {
			open.at[s] = counts{}
		}
	}
	all := open.of(&pattern{}, false)
	var out pattern
	most := 0.
	try := func(cells []counts, slots int, days int) {
		from, to, gain := longestGain(cells, all, mostStarts)
		if gain <= most {
			return
		}
		most, out = gain, pattern{}
		for i := from * slots; i < to*slots; i++ {
			if days == 0 {
				out[i%perWeek] = true
			}
			for d := range days {
				out[d*perDay+i%perDay] = true
			}
		}
	}
	for _, days := range []int{workdays, weekDays} {
		cells := make([]counts, perDay)
		for s := range days * perDay {
			cells[s%perDay].plus(open.at[s])
		}
		try(cells, 1, days)
	}
	hours := make([]counts, perWeek/perHour)
	for s := range open.at {
		hours[s/perHour].plus(open.at[s])
	}
	try(hours, perHour, 0)
	return out, most
}

// longestGain returns the interval with the largest gain in a circle of cells. If several have that gain, it returns
// the shortest.
func longestGain(cells []counts, all counts, mostStarts float64) (from, to int, most float64) {
	n := len(cells)
	sums := make([]counts, 2*n+1)
	for i := range 2 * n {
		sums[i+1] = sums[i]
		sums[i+1].plus(cells[i%n])
	}
	for length := 1; length < n; length++ {
		for i := range n {
			// A difference below 1e-9 comes from rounding.
			if g := gain(sums[i+length].without(sums[i]), all, mostStarts); g > most+1e-9 {
				from, to, most = i, i+length, g
			}
		}
	}
	return from, to, most
}

// finding is a pattern that applies to the jobs of a class and of all later classes.
type finding struct {
	from int
	shut pattern
}

// timesOf returns the times that are supported by the evidence, by rising limits; nil if there are none.
func timesOf(g *rules.GateSummary, shift float64) []Times {
	if g == nil {
		return nil
	}
	above := make([]week, len(g.Classes)+1) // above[k]: the jobs of class k and of later classes
	for i := len(g.Classes) - 1; i >= 0; i-- {
		above[i] = above[i+1]
		above[i].add(&g.Classes[i], shift)
	}
	all := find(g.Classes, above, len(g.Classes))
	var out []Times
	for i, f := range all {
		t := Times{UpTo: math.Inf(1), Open: f.shut.intervals(false, above[0].late),
			Shut: f.shut.intervals(true, above[0].late)}
		if class := g.Classes[f.from].Class; class > 0 {
			t.Over = track.LongestOf(class - 1)
		}
		end := len(g.Classes)
		if i+1 < len(all) {
			end = all[i+1].from
			t.UpTo = track.LongestOf(g.Classes[end].Class - 1)
		}
		w := above[f.from]
		w.without(&above[end])
		if t.count(&w, &f.shut); t.clear() {
			out = append(out, t)
		}
	}
	return out
}

// find returns the patterns that explain the starts of the classes before b, by rising classes. The forecasts have a
// gate at the first class of each pattern.
func find(classes []rules.GateCounts, above []week, b int) []finding {
	var out []finding
	var shut pattern
	mostStarts := mostStarts
	for from := 0; ; {
		f, ok := findNext(classes, above, from, b, &shut, mostStarts)
		if !ok {
			break
		}
		out, shut, from, mostStarts = append(out, f), f.shut, f.from+1, mostLonger
	}
	if len(out) == 0 {
		return nil
	}
	return append(find(classes, above, out[0].from), out...)
}

// findNext returns the pattern that best explains starts, among the patterns that contain all half hours of included.
// It tries each class i from a up to b-1 at which the forecasts have a gate, with the starts of the classes i to b-1
// together. ok is false if no pattern explains the starts well enough.
func findNext(classes []rules.GateCounts, above []week, a, b int, included *pattern,
	mostStarts float64) (out finding, ok bool) {
	most := 0.
	for i := a; i < b; i++ {
		if !classes[i].Gate {
			continue
		}
		w := above[i]
		w.without(&above[b])
		if p, gain := w.best(included, mostStarts); gain > most {
			most, out = gain, finding{i, p}
		}
	}
	for s, is := range included {
		out.shut[s] = out.shut[s] || is
	}
	return out, most >= leastLog
}

// count sets the starts and hours of t to those of a week, inside the pattern shut and outside it.
func (t *Times) count(w *week, shut *pattern) {
	in, out := w.of(shut, true), w.of(shut, false)
	t.ShutStarts, t.ShutHours, t.OpenStarts, t.OpenHours = in.starts, in.hours, out.starts, out.hours
}

// clear reports whether the evidence for these limits alone is clear.
func (t *Times) clear() bool {
	shut := counts{t.ShutStarts, t.ShutHours}
	return gain(shut, counts{t.OpenStarts + shut.starts, t.OpenHours + shut.hours}, mostStarts) >= leastLog
}

// day returns the half hours of a day.
func (p *pattern) day(d int) []bool { return p[d*perDay : (d+1)*perDay] }

// intervals returns the intervals of the week that are shut, or the other ones if shut is false. It joins days with
// equal intervals. late is defined as in week.
func (p *pattern) intervals(shut bool, late time.Duration) []Interval {
	clock := func(s int) time.Duration {
		at := time.Duration(s) * halfHour * time.Second
		if s > 0 && s < perDay {
			at += late
		}
		return at
	}
	var out []Interval
	var done [weekDays]bool
	for d := range weekDays {
		if done[d] {
			continue
		}
		var days []time.Weekday
		for e := d; e < weekDays; e++ {
			if slices.Equal(p.day(d), p.day(e)) {
				days = append(days, time.Weekday((e+1)%weekDays))
				done[e] = true
			}
		}
		day := p.day(d)
		for from := 0; from < perDay; from++ {
			to := from
			for to < perDay && day[to] == shut {
				to++
			}
			if to > from {
				out = append(out, Interval{days, clock(from), clock(to)})
				from = to
			}
		}
	}
	return out
}
