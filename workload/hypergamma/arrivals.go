package hypergamma

import (
	"math"
	"math/rand/v2"
)

// Slots is the number of slots of a day, SlotSeconds the length of each (paper, section 7.2).
const (
	Slots       = 48
	SlotSeconds = 1800
)

// interarrival is the law of ln virtual interarrival seconds over all hours.
func (a ArrivalParams) interarrival() Gamma {
	return Gamma{Shape: a.Peak.Shape * a.ARAR, Scale: a.Peak.Scale}
}

// rawWeights returns F(t'+1/2) - F(t'-1/2) for each half hour from midnight, and their sum: t' is the number of the slot, to which 48 is
// added before the shifted day begins.
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

// Weights returns how many times faster than average virtual time passes in each half hour from midnight: the fraction of arrivals in
// each, times 48. Their mean is 1.
func (a ArrivalParams) Weights() [Slots]float64 {
	w, total := a.rawWeights()
	for k := range w {
		w[k] *= Slots / total
	}
	return w
}

// Arrivals is a stream of submit times by the slot-weight method (paper, section 7.3): interarrival times are drawn in
// virtual seconds, of which slot t has SlotSeconds w(t). In the long run a slot gets the fraction w(t)/48 of all jobs.
//
// Times are kept as they come. The authors' program cuts its clock to whole seconds after every job, but not its place
// in the slot: the clock it prints falls behind the daily cycle by half a second a job, a whole day in 172,800 jobs, and the
// cycle of a long run is smeared flat.
type Arrivals struct {
	weights [Slots]float64
	law     Gamma
	maxLog  float64
	slot    int64   // slots since the start
	used    float64 // virtual seconds used of it
}

// NewArrivals returns a stream that starts at midnight. The parameters must be valid ([Params.Validate]). Whatever their cap, no
// interarrival is above e^40 seconds (7e9 years), so that the clock stays a number.
func NewArrivals(p ArrivalParams) *Arrivals {
	return &Arrivals{weights: p.Weights(), law: p.interarrival(), maxLog: min(p.MaxLog, 40)}
}

// Next draws the next submit time, in seconds since the start.
func (a *Arrivals) Next(rng *rand.Rand) float64 {
	gamma := a.law.dist(rng)
	x := gamma.Rand()
	for x > a.maxLog {
		x = gamma.Rand()
	}
	return a.advance(math.Exp(x))
}

// advance lets virtual seconds pass and returns the time then.
func (a *Arrivals) advance(virtual float64) float64 {
	const day = Slots * SlotSeconds // as many virtual as real seconds
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
