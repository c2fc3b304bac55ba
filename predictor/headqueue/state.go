package headqueue

import "math"

// Lifetime is the law of a job's total runtime. It must not change: a Calc takes two states with equal laws for equal.
type Lifetime interface {
	// Survival is Pr{L > seconds}: 1 at 0, non-increasing, within [0, 1].
	Survival(seconds float64) float64
}

// Holder is a job that holds processors now, or will from a known instant on.
type Holder struct {
	Procs int // processors given back at its end; a holder with fewer than 1 is ignored
	// Age is the seconds since its start; negative: it starts in -Age seconds.
	Age   float64
	Limit float64  // time limit in seconds from its start; 0 or less: none
	Law   Lifetime // law of its runtime; nil: nothing is known, only the limit ends it
}

// Ends is Pr{the holder has given its processors back within t seconds | still
// holding at Age}, for an Age < 0 the unconditional law from its start on.
//
// It is 1 - S(a+t)/S(a), eq. 4 of Downey 1996. Special cases: 0 for t <= 0; at the time limit the job is gone for sure,
// unless it is over its limit already, when the limit has no meaning; a job older than its law knows (S(a) = 0) counts
// as not ending before its limit.
func (h Holder) Ends(t float64) float64 {
	p := prepare(h)
	return p.ends(t)
}

// Ahead is a job queued before the request.
type Ahead struct {
	Procs int      // processors asked for; a job with fewer than 1 is ignored
	Limit float64  // time limit in seconds; 0 or less: none
	Law   Lifetime // law of its runtime; nil: only the limit ends it
}

// State is the input of a forecast. It is only read.
type State struct {
	Capacity int      // processors of the machine that are in service
	Free     int      // processors that are free now
	Running  []Holder // jobs that hold processors, in any order
	// Ahead are the jobs queued before the request, in the order they will start.
	// Those larger than Capacity are left out: they cannot start, and schedulers
	// hold or reject them.
	Ahead []Ahead
}

// held is a Holder with all values that do not depend on t.
type held struct {
	law   Lifetime
	start float64 // it cannot end before this instant
	shift float64 // the age of the job at instant t is t + shift
	cut   float64 // from this instant on it has certainly ended; NaN if there is no such instant
	s0    float64 // survival at its age; 0 means that it does not end before cut
	procs int
}

func prepare(h Holder) held {
	p := held{law: h.Law, procs: h.Procs, cut: math.NaN(), s0: 1}
	if h.Age < 0 {
		p.start, p.shift = -h.Age, h.Age
		if h.Limit > 0 {
			p.cut = p.start + h.Limit
		}
	} else {
		if h.Age > 0 { // false for NaN too: an unknown age counts as 0
			p.shift = h.Age
		}
		if h.Limit > p.shift {
			p.cut = h.Limit - p.shift
		}
	}
	switch {
	case h.Law == nil:
		p.s0 = 0
	case p.start == 0:
		p.s0 = h.Law.Survival(p.shift)
	}
	return p
}

// ends returns the same as [Holder.Ends].
func (h *held) ends(t float64) float64 {
	if t >= h.cut {
		return 1
	}
	if !(t > h.start) || !(h.s0 > 0) {
		return 0
	}
	p := 1 - h.law.Survival(t+h.shift)/h.s0
	if !(p > 0) { // also true for NaN
		return 0
	}
	return min(p, 1)
}
