package hypergamma

import (
	"fmt"
	"math"
)

// Method is a way to make arrivals follow the daily cycle (paper, section 7.3).
type Method int

// The paper tries three methods and chooses the first. The others are available for comparison.
const (
	// SlotWeight draws virtual seconds, which pass faster in busy slots.
	SlotWeight Method = iota
	// ExpectedInterarrival shifts the law of the interarrival time in each slot so that its expectation is inversely
	// proportional to the slot's weight. The paper rejects it: its cycle is too flat and too late, because the length
	// of a gap depends only on the slot where it begins.
	ExpectedInterarrival
	// ExpectedSlots makes the mean interarrival time in each slot proportional to an expected number of slots to the
	// next arrival. In this expectation the probability of each slot is multiplied by its weight. The paper's formula
	// has a mistake, see [ArrivalParams.SlotShapes].
	ExpectedSlots
)

// NewArrivalsBy does the same as [NewArrivals] with any method. The error wraps [ErrValue] for an unknown method, and
// for shapes that do not define a law.
func NewArrivalsBy(p ArrivalParams, m Method) (*Arrivals, error) {
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("arrival model: %w", err)
	}
	a := NewArrivals(p)
	if m == SlotWeight {
		return a, nil
	}
	shapes, err := p.SlotShapes(m)
	if err != nil {
		return nil, err
	}
	a.shapes = &shapes
	return a, nil
}

// SlotShapes returns alpha(t), the shape of the law of ln interarrival seconds in each half hour from midnight, by
// one of the two rejected methods. The scale of the law is that of Peak. The comment of expectedSlots in the source
// explains a mistake in the second method's formula.
func (a ArrivalParams) SlotShapes(m Method) (shapes [Slots]float64, err error) {
	switch m {
	case ExpectedInterarrival:
		// mean(w)/w(t) = e^(alpha(t) beta) / e^(alpha beta)
		for t, w := range a.Weights() {
			shapes[t] = a.interarrival().Shape - math.Log(w)/a.Peak.Scale
		}
	case ExpectedSlots:
		shapes = a.expectedSlots()
	default:
		return shapes, fmt.Errorf("hypergamma: method %d has no shapes: %w", m, ErrValue)
	}
	for t, k := range shapes {
		if !(k > 0 && k < maxShape && Gamma{k, a.Peak.Scale}.CDF(a.MaxLog) > 1e-3) {
			return shapes, fmt.Errorf("hypergamma: shape %v in half hour %d: %w", k, t, ErrValue)
		}
	}
	return shapes, nil
}

// expectedSlots returns alpha(t). It follows from E(t), the expected number of slots from slot t to the slot of the
// next arrival. In E(t) the probability of each target slot is multiplied by its weight. The mean interarrival times
// e^(alpha(t) beta) are made proportional to E(t); their weighted mean stays unchanged.
//
// The paper prints the iteration alpha'(t) = E(t) / sum(w E) * sum(w alpha). It treats alpha itself as "proportional"
// to the mean interarrival time, which is wrong for logarithms. If Pr is computed from the current alpha(t), the
// iteration diverges (E grows as a power of e^alpha). If Pr is computed from the original law, the shapes range from
// 6 to above 30. Therefore this code makes e^(alpha beta) proportional, and computes Pr from the original law for an
// arrival in the middle of its slot. This converges in one round. The paper says that this method gives better
// results than the first. Here it does not: E(t) depends on how the weights change after t, but not on their level,
// so that quiet nights get too many arrivals.
func (a ArrivalParams) expectedSlots() (alpha [Slots]float64) {
	w := a.Weights()
	var jumps [Slots]float64
	mean := 0.0
	for t := range jumps {
		jumps[t] = expectedJump(a.interarrival(), t, &w)
		mean += w[t] / Slots * jumps[t]
	}
	for t, e := range jumps {
		alpha[t] = a.interarrival().Shape + math.Log(e/mean)/a.Peak.Scale
	}
	return alpha
}

// expectedJump returns E(t), the expected number of slots to the next arrival, by a sum over the 48 slots from t on;
// see expectedSlots.
func expectedJump(g Gamma, t int, w *[Slots]float64) float64 {
	sum, norm, last := 0.0, 0.0, 0.0
	for k := range Slots {
		upTo := g.CDF(math.Log((float64(k) + .5) * SlotSeconds))
		p := w[(t+k)%Slots] * (upTo - last)
		last = upTo
		sum += float64(k) * p
		norm += p
	}
	return sum / norm
}

// CycleDistance is the paper's measure of how well a daily cycle is reproduced (section 7.3). It is the sum over the
// half hours of (m - d)^2 / (m + d), where m and d are the numbers of arrivals in model and data. A half hour that is
// empty in both counts as 0.
func CycleDistance(model, data [Slots]float64) float64 {
	sum := 0.0
	for i, m := range model {
		if d := data[i]; m+d > 0 {
			sum += (m - d) * (m - d) / (m + d)
		}
	}
	return sum
}
