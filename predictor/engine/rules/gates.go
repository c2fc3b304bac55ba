package rules

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

const (
	// Slots is the number of half hours of a week; the first begins at instant 0, a Thursday in Unix time.
	Slots   = 336
	slot    = 1800.
	daily   = 48         // slots of a day
	tick    = 600.       // seconds between two observations of the waiting jobs
	farGap  = 3 * 86400. // a longer time without events, in seconds, is not observed
	refresh = 500        // starts between two searches for gates
	// halfLife is the half-life of counts in weeks. With it an abandoned rule is forgotten within a quarter of a
	// year.
	halfLife = 13
)

// A slot of the week is shut for a class of limits if its rate of starts is low: below shutRate starts for each half
// hour of exposure (see counts), and below shutPart times the mean rate of the class. The exposure at this time of day
// must be at least leastDaily. Nothing is known of a class with an exposure below leastExposure or with fewer than
// leastStarts starts. The values come from the first halves of KTH-SP2 and SDSC-SP2.
const (
	shutPart      = .08
	shutRate      = .15
	leastExposure = 30
	leastStarts   = 20
	leastDaily    = 4
	// leastProof is the minimum proof of a gate: the squared number of missing starts in the shut slots, divided by the
	// number of all starts. In a simulation without gates (KTH-SP2 under EASY) the proof is up to 9. There long jobs
	// often wait although they fit, because they would delay a reservation, and by chance none of them starts in some
	// slots. On the real KTH-SP2, where long jobs start at night and at weekends, the proof is 20 to 330 in the classes
	// above 4 h.
	leastProof = 15
)

// counts holds the starts of a class of limits by slot of the week, and its exposure. The exposure is the sum over jobs
// of the half hours for which they waited although they fitted into the free processors. Each start adds a tenth of a
// half hour.
type counts struct {
	Starts, Exposure [Slots]float64
}

func (c *counts) plus(o *counts) {
	for s := range c.Starts {
		c.Starts[s] += o.Starts[s]
		c.Exposure[s] += o.Exposure[s]
	}
}

// sums returns the sums of each slot of a day, and of all slots.
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

// shut returns the slots in which jobs of the class do not start. missed is the number of starts that these slots
// should have had at the mean rate of the class. It is 0 if no slot is shut. It is also 0 if all slots are shut,
// because such a job would never start. known is false if there are too few observations. A slot's rate is shrunk
// towards the rate of its time of day, and that rate towards the mean.
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

// prove reports whether the given number of missing starts proves a gate.
func (c *counts) prove(missed float64) bool {
	_, starts, _ := c.sums()
	return missed*missed >= leastProof*starts && missed > 0
}

// GateLearner learns the times of the week at which jobs of long limits do not start. It is not safe for concurrent
// use.
type GateLearner struct {
	classes [track.LimitClasses]*counts
	next    float64 // the instant of the next observation of waiting jobs
	begun   bool
	week    float64 // the week in which the counts were last reduced
	starts  int
	gates   *Gates
	summary *GateSummary // of the newest search for gates, not nil after the first one; immutable
}

// GateSummary has the data of the newest search for gates. It is immutable.
type GateSummary struct {
	// Starts is the number of observed starts. Exposure is the number of hours for which jobs waited although they
	// fitted. Hours of a quarter of a year ago count half.
	Starts   int
	Exposure float64
	// Classes has the classes of limits with observed jobs, by rising limits.
	Classes []GateCounts
}

// GateCounts are the observations of a class of limits, by half hours of the week. The first half hour begins at
// instant 0. Observations of a quarter of a year ago count half.
type GateCounts struct {
	Class            int
	Gate             bool           // whether a gate was found
	Starts, Exposure [Slots]float64 // starts, and hours that jobs waited although they fitted
}

// Gates are the gates that were found. They are immutable.
type Gates struct {
	classes [track.LimitClasses]*[Slots]bool
	coarse  [track.LimitClasses]*[Slots]bool // the same gates, merged into few
}

// Gates returns the gates in force, nil for none.
func (l *GateLearner) Gates() *Gates { return l.gates }

// GatesKnown is the present knowledge of the times at which jobs do not start.
type GatesKnown struct {
	// Starts is the number of observed starts: the present number before the first search for gates, then the number
	// of the newest search. Needed is the number of starts for the first search.
	Starts, Needed int
	// Summary has the data of the newest search, nil before the first.
	Summary *GateSummary
}

// Known returns the present knowledge of the gates.
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

// Advance observes the waiting jobs at every tick until an instant. waiting returns the number of jobs that fit, by
// class of limit. This number has not changed since the last event. A gap longer than farGap is ignored. In each new
// week the earlier counts lose weight.
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

// Started records the start of a job of a class of limits. At every refresh-th start it searches for the gates again.
// It then returns true if there are or were gates, because they may have changed.
func (l *GateLearner) Started(now float64, class int) bool {
	const instant = .1 // the exposure of a job that starts at once, in half hours
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

// find finds the gates. A slot of a gate must be shut for two groups: the jobs with limits of the gate's class or
// longer, and the jobs of the class alone. The second condition is dropped if too little is known of the class, or of
// the class in this slot.
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

// summarize returns the observations of the search, and the classes for which gates were found.
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

// mostDistinct is the maximum number of distinct coarse gates if one group of classes has no gate; otherwise there may
// be one more. The cost of simulating all requests at once grows with this number.
const mostDistinct = 4

// classGroup has neighbouring classes of limits that get one gate.
type classGroup struct {
	from, to int
	starts   float64
	shut     [Slots]float64 // by slot: number of starts of the classes whose gate is shut
}

func (g *classGroup) isShut(slot int) bool { return 2*g.shut[slot] > g.starts }

// differs returns the number of slots in which exactly one of two groups is shut.
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

// merged groups neighbouring classes whose gates are alike, until there are few groups. A merged gate is shut in the
// slots that are shut for most of its starts. Simulations of single requests use the exact gates. On the first 20,000
// jobs of KTH-SP2 their loss at level 0.5 is 0.675. With merged gates it is 0.715, without gates 0.749.
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

// slots returns the slots in which the gate of a group is shut, nil if there are none.
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

// alike: groups of classes whose gates differ in at most this number of half hours of the week are merged even if there
// are few groups.
const alike = 24

// IsShut reports whether jobs of a class of limits do not start at an instant.
func (g *Gates) IsShut(at float64, class int) bool {
	return g != nil && g.classes[class] != nil && g.classes[class][slotOf(at)]
}

// At returns the gates in the form for a simulation of one request from an instant on; nil for none.
func (g *Gates) At(at float64) []forward.Gate {
	if g == nil {
		return nil
	}
	return gatesAt(&g.classes, at)
}

// Coarse returns a few merged gates, for simulations of all requests at once.
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

// gate returns a gate with times relative to an instant. over is its Over. If shut is nil, the gate is always open.
func gate(over float64, shut *[Slots]bool, at float64) forward.Gate {
	g := forward.Gate{Over: over}
	if shut == nil {
		return g
	}
	first := slotOf(at)
	begin := slot*float64(first+1) - inWeek(at) // seconds until the next slot
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
