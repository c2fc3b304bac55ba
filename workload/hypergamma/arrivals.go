package hypergamma

import (
	"math"
	"math/rand/v2"
)

// Slots is the number of slots of a day. SlotSeconds is the length of a slot (paper, section 7.2).
const (
	Slots       = 48
	SlotSeconds = 1800
)

// interarrival returns the law of the logarithm of interarrival times in virtual seconds, for all hours.
func (a ArrivalParams) interarrival() Gamma {
	return Gamma{Shape: a.Peak.Shape * a.ARAR, Scale: a.Peak.Scale}
}

// rawWeights returns F(t'+1/2) - F(t'-1/2) for each half hour from midnight, and the sum of these weights. t' is the
// number of the half hour; 48 is added to the numbers of the half hours before the shifted day begins.
func (a ArrivalParams) rawWeights() (w [Slots]float64, total float64) {
	for k := range w {
		t := float64(k + a.FirstSlot)
		if k < a.Shift {
			t += Slots
		}
		w[k] = a.Daily.CDF(t+.5) - a.Daily.CDF(t-.5)
		total += w[k]
	}
	return w, total
}

// Weights returns, for each half hour from midnight, how many times faster than average virtual time passes. This is
// the share of arrivals in the half hour, times 48. The mean of the weights is 1.
func (a ArrivalParams) Weights() [Slots]float64 {
	w, total := a.rawWeights()
	for k := range w {
		w[k] *= Slots / total
	}
	return w
}

// Arrivals is a stream of submit times. With the slot-weight method (paper, section 7.3) interarrival times are drawn
// in virtual seconds. Slot t has SlotSeconds w(t) virtual seconds, so that in the long run the slot gets the share
// w(t)/48 of all jobs. For the other methods see [Method].
//
// Times are not rounded, unless [ArrivalParams].WholeSeconds requests the clock of the authors' program.
type Arrivals struct {
	weights [Slots]float64
	law     Gamma
	maxLog  float64
	slot    int64   // number of slots since the start
	used    float64 // virtual seconds of the slot that have passed

	shapes *[Slots]float64 // for the rejected methods: shape of the law in each slot
	whole  bool
	exact  float64 // the time before it is cut to whole seconds
	clock  float64
}

// NewArrivals returns a stream that starts at midnight and uses the slot-weight method. The parameters must be valid
// ([Params.Validate]). Whatever the cap in the parameters, no interarrival time is above e^40 seconds (7e9 years), so
// that the clock stays a finite number.
func NewArrivals(p ArrivalParams) *Arrivals {
	return &Arrivals{weights: p.Weights(), law: p.interarrival(), maxLog: min(p.MaxLog, 40), whole: p.WholeSeconds}
}

// Next draws the next submit time, in seconds since the start.
func (a *Arrivals) Next(rng *rand.Rand) float64 {
	law := a.law
	if a.shapes != nil {
		law.Shape = a.shapes[a.slot%Slots]
	}
	gamma := law.dist(rng)
	x := gamma.Rand()
	for x > a.maxLog {
		x = gamma.Rand()
	}
	var t float64
	if a.shapes != nil {
		t = a.exact + math.Exp(x)
		a.slot = int64(t / SlotSeconds)
	} else {
		t = a.advance(math.Exp(x))
	}
	if !a.whole {
		a.exact = t
		return t
	}
	a.clock = math.Floor(a.clock + t - a.exact)
	a.exact = t
	return a.clock
}

// advance adds virtual seconds and returns the new time, in real seconds since the start.
func (a *Arrivals) advance(virtual float64) float64 {
	const day = Slots * SlotSeconds // a day has as many virtual as real seconds
	if days := math.Floor(virtual / day); days >= 1 {
		virtual -= days * day
		a.slot += int64(days) * Slots
	}
	a.used += virtual
	for {
		w := a.weights[a.slot%Slots]
		if left := w * SlotSeconds; a.used >= left {
			a.used -= left
			a.slot++
			continue
		}
		return float64(a.slot)*SlotSeconds + a.used/w
	}
}
