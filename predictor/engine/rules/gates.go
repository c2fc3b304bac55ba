package rules

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

const (
	// Slots are the half hours of a week; the first begins at instant 0, a Thursday in Unix time.
	Slots   = 336
	slot    = 1800.
	daily   = 48   // slots of a day
	tick    = 600. // between two looks at the jobs that wait, in seconds
	farGap  = 3 * 86400.
	refresh = 500 // starts between two looks for gates
	// halfLife is after how many weeks counts count half: a rule that is given up is forgotten within a quarter.
	halfLife = 13
)

// What makes a slot of the week shut for a class of limits: the rate of its starts is below a part of the class's mean
// rate, and low; found on the first halves of KTH-SP2 and SDSC-SP2. Less has been seen than leastExposure looks at
// jobs that wait and fit, or leastStarts: nothing is known.
const (
	shutPart      = .08
	shutRate      = .15
	leastExposure = 30
	leastStarts   = 20
	leastDaily    = 4
	// leastProof is the least square of the starts that are missed in the slots that are shut, divided by all starts,
	// for them to be a gate. In a world without gates (KTH-SP2 under EASY) long jobs often wait although they fit, for
	// a reservation, and slots without a start of them come by chance: it is up to 9 there. On the real KTH-SP2, where
	// long jobs start at night and at weekends, it is 20 to 330 in the classes above 4 h.
	leastProof = 15
)

// counts are the starts of a class of limits by slot of the week, and its exposure: jobs that waited although they
// fitted into what was free, in half hours.
type counts struct {
	Starts, Exposure [Slots]float64
}

func (c *counts) plus(o *counts) {
	for s := range c.Starts {
		c.Starts[s] += o.Starts[s]
		c.Exposure[s] += o.Exposure[s]
	}
}

// sums returns the sums of each slot of a day, and of all.
func (c *counts) sums() (day [daily]struct{ starts, exposure float64 }, starts, exposure float64) {
	for s := range c.Starts {
		d := &day[s%daily]
		d.starts += c.Starts[s]
		d.exposure += c.Exposure[s]
		starts += c.Starts[s]
		exposure += c.Exposure[s]
	}
	return day, starts, exposure
}

// shut returns the slots in which jobs of the class do not start, and how many starts should have been in them at its
// mean rate: 0 where none is shut, or all are, so that such a job would never start. known is false where too little
// has been seen. A slot's rate leans on that of its time of day, and this on the mean.
func (c *counts) shut() (out [Slots]bool, missed float64, known bool) {
	day, starts, exposure := c.sums()
	if exposure < leastExposure || starts < leastStarts {
		return out, 0, false
	}
	mean := (starts + 1) / (exposure + 5)
	for s := range out {
		d := &day[s%daily]
		ofDay := (d.starts + mean) / (d.exposure + 1)
		rate := (c.Starts[s] + 1.5*ofDay) / (c.Exposure[s] + 1.5)
		out[s] = d.exposure >= leastDaily && rate < shutPart*mean && rate < shutRate
		if out[s] {
			missed += mean * c.Exposure[s]
		}
	}
	if !slices.Contains(out[:], false) {
		return out, 0, true
	}
	return out, missed, true
}

// prove reports whether so many missed starts show that there is a gate.
func (c *counts) prove(missed float64) bool {
	_, starts, _ := c.sums()
	return missed*missed >= leastProof*starts && missed > 0
}

// GateLearner finds the times of the week at which jobs of long limits do not start. It is not safe for concurrent use.
type GateLearner struct {
	classes [track.LimitClasses]*counts
	next    float64 // instant of the next look at those that wait
	begun   bool
	week    float64 // in which the counts were last made less
	starts  int
	gates   *Gates
	summary *GateSummary // of the newest look for gates, never nil once there was one; immutable
}

// GateSummary is what the newest look for gates saw. It is immutable.
type GateSummary struct {
	// Starts is how many starts had been seen, and Exposure how many hours jobs had waited although they fitted into
	// what was free; the hours of a quarter of a year ago count half.
	Starts   int
	Exposure float64
	// Classes are the classes of limits of which jobs were seen, by rising limits.
	Classes []GateCounts
}

// GateCounts are what was seen of a class of limits, by half hours of the week; the first begins at instant 0.
type GateCounts struct {
	Class            int
	Gate             bool           // whether a gate was found
	Starts, Exposure [Slots]float64 // starts, and hours that jobs waited although they fitted
}

// Gates are the gates that were found. They are immutable.
type Gates struct {
	classes [track.LimitClasses]*[Slots]bool
	coarse  [track.LimitClasses]*[Slots]bool // the same as few gates
}

// Gates returns the gates in force, nil for none.
func (l *GateLearner) Gates() *Gates { return l.gates }

// GatesKnown is what is known of the times at which jobs do not start.
type GatesKnown struct {
	// Starts is how many starts have been seen before the first look for gates, then at the newest, and Needed how many
	// there must be for the first.
	Starts, Needed int
	// Summary is what the newest look saw, nil before it.
	Summary *GateSummary
}

// Known returns what is known of the gates.
func (l *GateLearner) Known() GatesKnown {
	k := GatesKnown{Starts: l.starts, Needed: refresh, Summary: l.summary}
	if l.summary != nil {
		k.Starts = l.summary.Starts
	}
	return k
}

// slotOf returns the slot of the week of an instant.
func slotOf(at float64) int {
	return min(int(inWeek(at)/slot), Slots-1)
}

// inWeek returns the seconds since the beginning of the week of an instant.
func inWeek(at float64) float64 {
	s := math.Mod(at, forward.Week)
	if s < 0 {
		s += forward.Week
	}
	return s
}

// Advance looks at the jobs that wait at every tick up to an instant: waiting returns how many there are, by class of
// limit, that fit into what is free; nothing has changed since the last event. Gaps of days teach nothing.
func (l *GateLearner) Advance(now float64, waiting func() *[track.LimitClasses]float64) {
	if !l.begun || now-l.next > farGap {
		l.begun, l.next = true, now
	}
	if l.next >= now {
		return
	}
	jobs := waiting()
	for ; l.next < now; l.next += tick {
		for c, n := range jobs {
			if n > 0 {
				l.of(c).Exposure[slotOf(l.next)] += n * tick / slot
			}
		}
	}
	if week := math.Floor(now / forward.Week); week != l.week {
		l.fade(math.Exp2(-1. / halfLife))
		l.week = week
	}
}

func (l *GateLearner) of(class int) *counts {
	if l.classes[class] == nil {
		l.classes[class] = &counts{}
	}
	return l.classes[class]
}

func (l *GateLearner) fade(by float64) {
	for _, c := range l.classes {
		if c == nil {
			continue
		}
		for s := range c.Starts {
			c.Starts[s] *= by
			c.Exposure[s] *= by
		}
	}
}

// Started records the start of a job of a class of limits. It reports whether the gates have changed.
func (l *GateLearner) Started(now float64, class int) bool {
	const instant = .1 // exposure of a job that starts at once
	c := l.of(class)
	c.Starts[slotOf(now)]++
	c.Exposure[slotOf(now)] += instant
	if l.starts++; l.starts%refresh != 0 {
		return false
	}
	old := l.gates
	l.gates = l.find()
	return old != nil || l.gates != nil
}

// find finds the gates: the slots that are shut for all limits from a class on, and for the class itself as far as its
// own jobs show.
func (l *GateLearner) find() *Gates {
	var all counts
	g, found := &Gates{}, false
	for class := track.LimitClasses - 1; class >= 0; class-- {
		c := l.classes[class]
		if c == nil {
			continue
		}
		all.plus(c)
		out, missed, known := all.shut()
		if !known || !all.prove(missed) {
			continue
		}
		own, ownMissed, ownKnown := c.shut()
		if ownKnown && ownMissed == 0 {
			continue
		}
		any := false
		for s := range out {
			out[s] = out[s] && (own[s] || !ownKnown || c.Exposure[s]+c.Starts[s] < 1)
			any = any || out[s]
		}
		if any {
			g.classes[class], found = &out, true
		}
	}
	l.summary = l.summarize(g)
	if !found {
		return nil
	}
	for _, group := range g.merged(&l.classes) {
		shut := group.slots()
		for class := group.from; class <= group.to; class++ {
			g.coarse[class] = shut
		}
	}
	return g
}

// summarize returns what has been seen, and where gates were found.
func (l *GateLearner) summarize(gates *Gates) *GateSummary {
	g := &GateSummary{Starts: l.starts}
	for class, c := range l.classes {
		if c == nil {
			continue
		}
		of := GateCounts{Class: class, Gate: gates.classes[class] != nil, Starts: c.Starts}
		for s, exposure := range c.Exposure {
			of.Exposure[s] = exposure * slot / 3600
			g.Exposure += of.Exposure[s]
		}
		g.Classes = append(g.Classes, of)
	}
	return g
}

// mostDistinct is how many distinct coarse gates there may be: the cost of playing all requests at once grows with
// them.
const mostDistinct = 4

// classGroup is neighbouring classes of limits that get one gate.
type classGroup struct {
	from, to int
	starts   float64
	shut     [Slots]float64 // starts of the classes whose gate is shut
}

func (g *classGroup) isShut(slot int) bool { return 2*g.shut[slot] > g.starts }

// differs returns in how many slots one of two groups is shut and the other is not.
func (g *classGroup) differs(o *classGroup) int {
	n := 0
	for s := range g.shut {
		if g.isShut(s) != o.isShut(s) {
			n++
		}
	}
	return n
}

func (g *classGroup) merge(o *classGroup) {
	g.to, g.starts = o.to, g.starts+o.starts
	for s := range g.shut {
		g.shut[s] += o.shut[s]
	}
}

// merged groups neighbouring classes whose gates are alike, until there are few groups. The gate of several is shut
// where those are that had most of the starts. Simulations of one request take the gates as they are: on KTH-SP2 their
// loss at .5 is .675 over the first 20,000 jobs, with merged gates .715, without gates .749.
func (g *Gates) merged(of *[track.LimitClasses]*counts) []classGroup {
	var all []classGroup
	for class, shut := range g.classes {
		n := classGroup{from: class, to: class, starts: 1}
		if of[class] != nil {
			_, starts, _ := of[class].sums()
			n.starts += starts
		}
		for s := range n.shut {
			if shut != nil && shut[s] {
				n.shut[s] = n.starts
			}
		}
		all = append(all, n)
	}
	for len(all) > 1 {
		best, least := 0, Slots+1
		for i := 1; i < len(all); i++ {
			if d := all[i-1].differs(&all[i]); d < least {
				best, least = i, d
			}
		}
		if least > alike && len(all) <= mostDistinct+1 {
			break
		}
		all[best-1].merge(&all[best])
		all = slices.Delete(all, best, best+1)
	}
	return all
}

// slots returns when the gate of a group is shut, nil for never.
func (g *classGroup) slots() *[Slots]bool {
	var out *[Slots]bool
	for s := range g.shut {
		if g.isShut(s) {
			if out == nil {
				out = &[Slots]bool{}
			}
			out[s] = true
		}
	}
	return out
}

// alike is how many half hours of the week two gates may differ in that are taken for one.
const alike = 24

// IsShut reports whether jobs of a class of limits do not start at an instant.
func (g *Gates) IsShut(at float64, class int) bool {
	return g != nil && g.classes[class] != nil && g.classes[class][slotOf(at)]
}

// At returns the gates as a simulation of one request from an instant on needs them; nil for none.
func (g *Gates) At(at float64) []forward.Gate {
	if g == nil {
		return nil
	}
	return gatesAt(&g.classes, at)
}

// Coarse returns the same as few gates, for simulations of all requests at once.
func (g *Gates) Coarse(at float64) []forward.Gate {
	if g == nil {
		return nil
	}
	return gatesAt(&g.coarse, at)
}

func gatesAt(classes *[track.LimitClasses]*[Slots]bool, at float64) []forward.Gate {
	var out []forward.Gate
	var last *[Slots]bool
	for class, shut := range classes {
		if same(last, shut) {
			continue
		}
		last = shut
		over := 0.
		if class > 0 {
			over = track.LongestOf(class - 1)
		}
		out = append(out, gate(over, shut, at))
	}
	return out
}

// same reports whether two classes have the same gate.
func same(a, b *[Slots]bool) bool { return a == b || a != nil && b != nil && *a == *b }

// gate returns a gate as it is from an instant on; nil is an open one.
func gate(over float64, shut *[Slots]bool, at float64) forward.Gate {
	g := forward.Gate{Over: over}
	if shut == nil {
		return g
	}
	first := slotOf(at)
	begin := slot*float64(first+1) - inWeek(at) // until the next slot
	g.Shut = shut[first]
	flips := 0
	for k := range shut {
		if shut[k] != shut[(k+1)%Slots] {
			flips++
		}
	}
	if flips == 0 {
		return g
	}
	g.Flips = make([]float64, 0, flips)
	was := g.Shut
	for k := 1; k <= Slots; k++ {
		if is := shut[(first+k)%Slots]; is != was {
			g.Flips = append(g.Flips, math.Min(begin+slot*float64(k-1), forward.Week))
			was = is
		}
	}
	return g
}
