package headqueue

import "math"

// Lifetime is the law of a job's total runtime. It must not change: a Calc treats two states with equal laws as
// equal.
type Lifetime interface {
	// Survival returns Pr{L > seconds}: 1 at 0, non-increasing, within [0, 1].
	Survival(seconds float64) float64
}

// Holder is a job that holds processors now, or from a known later instant on.
type Holder struct {
	Procs int // processors given back at its end; a holder with fewer than 1 is ignored
	// Age is the number of seconds since the job's start. If it is negative, the job starts in -Age seconds.
	Age   float64
	Limit float64  // time limit in seconds from its start; 0 or less: none
	Law   Lifetime // law of its runtime; if nil, only the limit ends it
}

// Ends returns Pr{the holder has given its processors back within t seconds | still holding at Age}. For an Age < 0
// it returns the unconditional law from the start on.
//
// The result is 1 - S(a+t)/S(a), eq. 4 of Downey 1996. There are three special cases. It is 0 for t <= 0. At the time
// limit the job has ended for sure; but if the job is over its limit already, the limit has no effect. A job older
// than its law knows (S(a) = 0) does not end before its limit.
func (h Holder) Ends(t float64) float64 {
	p := prepare(h)
	return p.ends(t)
}

// Ahead is a job queued before the request.
type Ahead struct {
	Procs int      // requested processors; a job with fewer than 1 is ignored
	Limit float64  // time limit in seconds; 0 or less: none
	Law   Lifetime // law of its runtime; if nil, only the limit ends it
}

// State is the input of a forecast. Forecasts do not change it.
type State struct {
	Capacity int      // processors of the machine that are in service
	Free     int      // processors that are free now
	Running  []Holder // jobs that hold processors, in any order
	// Ahead are the jobs queued before the request, in the order in which they will start. Jobs larger than Capacity
	// are ignored: they cannot start, and schedulers hold or reject them.
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

// ends returns the result of [Holder.Ends].
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
