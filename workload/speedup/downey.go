package speedup

import "math"

// Profile is Downey's model of a program's parallelism (A. Downey, "A model for speedup of parallel programs",
// UCB/CSD-97-933, 1997): its average A, and the coefficient Sigma of its variance V = Sigma (A-1)^2. On as many
// processors as it can use, a program of low variance (Sigma up to 1) spends 1-Sigma of its time at parallelism A, and
// half of the rest at 1 and at 2A-1 each. One of high variance (Sigma from 1) spends Sigma units of time at 1 for one
// unit at A + Sigma. Sigma 0 is linear speedup up to A; Sigma without bound is Amdahl's law with F = 1/A.
type Profile struct {
	A     float64 // average parallelism, 1 or more
	Sigma float64 // 0 or more
}

// Check returns a *ParameterError for a profile that cannot be.
func (p Profile) Check() error {
	switch {
	case !(p.A >= 1) || math.IsInf(p.A, 1):
		return &ParameterError{"A", p.A, "the average parallelism, 1 or more"}
	case !(p.Sigma >= 0) || math.IsInf(p.Sigma, 1):
		return &ParameterError{"sigma", p.Sigma, "the variance in parallelism, 0 or more"}
	}
	return nil
}

// Speedup returns S(n) = R(1)/R(n), between 1 and min(n, A), for n from 1. It never falls, and S(n)/n never rises.
func (p Profile) Speedup(n float64) float64 {
	a, sigma := p.A, p.Sigma
	// These are the report's branches. Each fraction is divided by the term that would overflow first.
	switch {
	case n >= p.Saturation():
		return a
	case sigma >= 1: // n A (sigma+1) / (sigma (n+A-1) + A)
		return n / (1 + sigma/(sigma+1)*(n-1)/a)
	case n <= a: // A n / (A + sigma (n-1)/2)
		return n / (1 + sigma/2*(n-1)/a)
	}
	return n / (sigma*(1-0.5/a) + n/a*(1-sigma/2)) // A n / (sigma (A-1/2) + n (1-sigma/2))
}

// Saturation returns the size from which more processors gain nothing, where S = A: 2A-1 for low variance (A without
// any), and A + Sigma for high variance.
func (p Profile) Saturation() float64 {
	switch {
	case p.Sigma == 0:
		return p.A
	case p.Sigma < 1:
		return 2*p.A - 1
	}
	return p.A + p.Sigma*(p.A-1)
}

// Downey is a program with a profile of parallelism and a runtime on one processor.
type Downey struct {
	model
	profile Profile
}

// NewDowney returns Downey's model for a profile and the seconds T1 on one processor. The error is a *ParameterError.
func NewDowney(profile Profile, t1 float64) (*Downey, error) {
	if err := profile.Check(); err != nil {
		return nil, err
	}
	if err := checkT1(t1); err != nil {
		return nil, err
	}
	return &Downey{model{t1}, profile}, nil
}

// Through returns a program of the given profile that runs the given seconds on the given processors. Errors are a
// *ParameterError (of T1, for invalid seconds) and a *SizeError.
func Through(profile Profile, procs int, seconds float64) (*Downey, error) {
	if procs < 1 {
		return nil, &SizeError{Procs: procs, From: 1}
	}
	if err := profile.Check(); err != nil {
		return nil, err
	}
	return NewDowney(profile, seconds*profile.Speedup(float64(procs)))
}

// Profile returns the profile of parallelism.
func (d *Downey) Profile() Profile { return d.profile }

// Runtime returns the seconds on so many processors.
func (d *Downey) Runtime(procs int) (float64, error) { return d.runtime(procs, d.profile.Speedup) }
