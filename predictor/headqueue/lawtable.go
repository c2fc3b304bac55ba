package headqueue

import (
	"math"
	"reflect"
)

// These bound a tabulated law.
const (
	firstKnot = .01 // in seconds; shorter times count as this long
	// gridStep is the factor between the knots of the first grid. It gives 22 knots up to the horizon.
	gridStep = 4
	// knotError is the maximum error when a straight line over ln t replaces the survival between two knots. It is
	// relative to the survival there, or to rareSurvival if that is larger, and is checked in the middle between the
	// knots.
	knotError    = .004
	rareSurvival = .01
	// mostFall is the maximum fall of the survival between two knots. It is needed because the middle between two
	// knots may lie on the straight line by chance.
	mostFall = .25
	// jumpWidth is the width, as a share of t, within which a fall of the survival counts as a jump.
	jumpWidth = 1e-5
	// mostKnots is the maximum number of knots of one law; the later steps of a function with more steps become sloping
	// lines. Once other laws have manyKnots knots, the maximum is fewKnots. If all laws together have more than
	// mostTabled knots, all tables are forgotten before the next law.
	mostKnots  = 4096
	fewKnots   = 64
	manyKnots  = 1 << 17
	mostTabled = 1 << 16
)

// knot is a point of a survival function.
type knot struct{ t, x, s float64 } // x = ln t

// tabled is a law's survival as straight lines over ln t. It is exact for Downey's uniform-log law between the bounds
// of that law, and within knotError for other laws.
type tabled struct {
	from, to int // its range of knots
	row      int // index of its quantiles in lawTables.rows; negative if they are not computed yet
	seen     bool
}

// lawTables has the tabulated laws of one forecast.
type lawTables struct {
	laws  []tabled
	known map[Lifetime]int
	knots []knot
	stack []knot
	spent int       // number of knots computed in this forecast
	rows  []float64 // quantiles, the same number for each law
}

func (l *lawTables) reset() {
	l.forget()
	l.spent = 0
}

func (l *lawTables) forget() {
	l.laws, l.knots, l.rows = l.laws[:0], l.knots[:0], l.rows[:0]
	if l.known == nil {
		l.known = map[Lifetime]int{}
	}
	clear(l.known)
}

// of returns the table of a law. It is valid until the next call.
func (l *lawTables) of(law Lifetime) *tabled {
	pointer := reflect.TypeOf(law).Kind() == reflect.Pointer // values of other types may not be comparable
	if pointer {
		if i, ok := l.known[law]; ok {
			return &l.laws[i]
		}
	}
	if len(l.knots) > mostTabled {
		l.forget()
	}
	from := len(l.knots)
	l.tabulate(law)
	l.laws = append(l.laws, tabled{from: from, to: len(l.knots), row: -1})
	if pointer {
		l.known[law] = len(l.laws) - 1
	}
	return &l.laws[len(l.laws)-1]
}

// tabulate appends the knots of a law. It starts with a grid, and refines it if the middle of an interval is off the
// straight line.
func (l *lawTables) tabulate(law Lifetime) {
	last := knot{firstKnot, math.Log(firstKnot), 1}
	l.knots = append(l.knots, last)
	from := len(l.knots)
	end := from + max(fewKnots, min(mostKnots, manyKnots-l.spent))
	for last.t < horizon && last.s > 0 {
		l.stack = append(l.stack[:0], survivalAt(law, last.t*gridStep, last.x+math.Log(gridStep), last.s))
		for len(l.stack) > 0 {
			top := l.stack[len(l.stack)-1]
			fall := last.s - top.s
			if fall > 0 && top.x-last.x > jumpWidth && len(l.knots)+len(l.stack) < end {
				mid := survivalAt(law, math.Sqrt(last.t*top.t), (last.x+top.x)/2, last.s)
				mid.s = max(mid.s, top.s)
				if off := math.Abs(mid.s - (last.s - fall/2)); fall > mostFall ||
					off > knotError*max(mid.s, rareSurvival) {
					l.stack = append(l.stack, mid)
					continue
				}
			}
			l.stack = l.stack[:len(l.stack)-1]
			l.knots = append(l.knots, top)
			last = top
		}
	}
	l.spent += len(l.knots) - from
}

// survivalAt evaluates law at t, whose logarithm is x. It limits the survival to [0, most].
func survivalAt(law Lifetime, t, x, most float64) knot {
	s := law.Survival(t)
	if !(s < most) { // also true for NaN
		s = most
	}
	return knot{t, x, max(s, 0)}
}

// quantiles fills dst with the instants, counted from the job's start, at which the survival has fallen to s0 (1-u).
// The levels are u = (i+offset)/len(dst). An instant is +Inf if the survival never falls that far.
func (l *lawTables) quantiles(dst []float64, law *tabled, s0, offset float64) {
	knots := l.knots[law.from:law.to]
	i, n := 1, float64(len(dst))
	for k := range dst {
		s := s0 * (1 - (float64(k)+offset)/n)
		for i < len(knots) && knots[i].s > s {
			i++
		}
		if i >= len(knots) {
			dst[k] = math.Inf(1)
			continue
		}
		a, b := &knots[i-1], &knots[i]
		switch {
		case b.x-a.x <= jumpWidth || s <= b.s:
			dst[k] = b.t
		default:
			dst[k] = math.Exp(b.x - (b.x-a.x)*(s-b.s)/(a.s-b.s))
		}
	}
}
