package speedup

import "math"

// Profile is Downey's model of a program's parallelism (A. Downey, "A model for speedup of parallel programs",
// UCB/CSD-97-933, 1997). It has the average parallelism A, and the coefficient Sigma of the variance V = Sigma
// (A-1)^2. Consider a program on as many processors as it can use. With low variance (Sigma up to 1) it spends the
// share 1-Sigma of its time at parallelism A, and half of the rest at 1 and at 2A-1 each. With high variance (Sigma
// from 1) it spends Sigma units of time at parallelism 1 for each unit at A + Sigma. Sigma 0 means linear
// speedup up to A. For Sigma towards infinity the model is Amdahl's law with F = 1/A.
type Profile struct {
	A     float64 // average parallelism, at least 1
	Sigma float64 // at least 0
}

// Check returns a *ParameterError for an invalid profile.
func (p Profile) Check() error {
	switch {
	case !(p.A >= 1) || math.IsInf(p.A, 1):
		return &ParameterError{"A", p.A, "the average parallelism, 1 or more"}
	case !(p.Sigma >= 0) || math.IsInf(p.Sigma, 1):
		return &ParameterError{"sigma", p.Sigma, "the variance in parallelism, 0 or more"}
	}
	return nil
}

// Speedup returns S(n) = R(1)/R(n), for n from 1. It is between 1 and min(n, A). It never falls with n, and S(n)/n
// never rises.
func (p Profile) Speedup(n float64) float64 {
	a, sigma := p.A, p.Sigma
	// These are the cases of the report. The numerator and the denominator of each are divided by the factor of n in
	// the numerator, because a product with it could overflow.
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

// Saturation returns the size from which on more processors have no effect, where S = A. It is 2A-1 for low variance,
// A for no variance, and A + Sigma for high variance.
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

// NewDowney returns Downey's model for a profile and the runtime T1 in seconds on one processor. The error is a
// *ParameterError.
func NewDowney(profile Profile, t1 float64) (*Downey, error) {
	if err := profile.Check(); err != nil {
		return nil, err
	}
	if err := checkT1(t1); err != nil {
		return nil, err
	}
	return &Downey{model{t1}, profile}, nil
}

// Through returns a program with the given profile that runs for the given seconds on the given number of processors.
// The error is a *ParameterError (about T1 if seconds is invalid) or a *SizeError.
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

// Runtime returns the runtime in seconds on the given number of processors.
func (d *Downey) Runtime(procs int) (float64, error) { return d.runtime(procs, d.profile.Speedup) }
