package rules

import "math"

// Trial compares the loss of a learnt order with that of first come, first served on situations after its fit. A
// search on 500 situations always finds an order that fits these better. Only later starts show whether the scheduler
// follows that order.
type Trial struct {
	// Situations is the number of situations. Gain is the sum of the order's gains: in each situation, the loss of
	// first come, first served minus the loss of the order. Squares is the sum of the squared gains. Older situations
	// count less.
	Situations, Gain, Squares float64
}

const (
	// trialKeeps is the factor by which the weight of earlier situations falls at each fit.
	trialKeeps = .8
	// trialErrors is the number of standard errors by which the mean gain must be above 0.
	trialErrors = 1
)

// holds reports whether the order forecasts better than first come, first served. It is false with fewer than two
// situations.
func (t *Trial) holds() bool {
	if t.Situations < 2 {
		return false
	}
	mean := t.Gain / t.Situations
	variance := math.Max(0, t.Squares/t.Situations-mean*mean)
	return mean > trialErrors*math.Sqrt(variance/t.Situations)
}

// try returns t with less weight for earlier situations, plus the gains of a priority's order on the newest situations
// of a fit. The priority must not have been fitted to these.
func (f *fit) try(t Trial, p *Priority, newest int) Trial {
	from := max(0, len(f.of)-newest)
	t = Trial{t.Situations * trialKeeps, t.Gain * trialKeeps, t.Squares * trialKeeps}
	f.judge(p.firstCome(), from, len(f.of))
	first := append([]float64(nil), f.losses[from:]...)
	f.judge(p, from, len(f.of))
	for i, loss := range f.losses[from:] {
		gain := first[i] - loss
		t.Situations++
		t.Gain += gain
		t.Squares += gain * gain
	}
	return t
}

// firstCome returns the priority with its order replaced by first come, first served.
func (p *Priority) firstCome() *Priority {
	return &Priority{LogAge: 1, Lifetimes: p.Lifetimes, Delay: p.Delay, Capacity: p.Capacity, Strict: p.Strict}
}
