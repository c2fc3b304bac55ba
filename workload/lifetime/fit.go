package lifetime

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// MinSamples is the minimum number of ended jobs for the fit of any law. The hyper-Gamma law needs
// [hypergamma.MinSamples].
const MinSamples = uniformlog.MinSamples

var (
	// ErrTooFew is returned if fewer ended jobs are given than a fit needs.
	ErrTooFew = errors.New("too few ended jobs")
	// ErrNoSpread is returned if lifetimes do not differ.
	ErrNoSpread = errors.New("lifetimes do not differ")
	// ErrValue is returned for a lifetime or limit that is NaN or out of range.
	ErrValue = errors.New("value out of range")
)

// Observation is the known part of one job's lifetime.
type Observation struct {
	Seconds float64 // the lifetime, or a lower bound of it if Censored is true
	// Censored is true if the job was still running at that age, or ended for a reason that does not depend on the
	// law (a node failed).
	Censored bool
}

// mass is a time at which jobs ended, with its probability in the Kaplan-Meier estimate.
type mass struct {
	seconds float64
	ended   float64
	p       float64
}

// productLimit returns the masses in order of time, the remaining probability after the last, the longest observed
// time, and the number of ended jobs.
func productLimit(jobs []Observation) (out []mass, rest, longest float64, ended int, err error) {
	sorted := slices.Clone(jobs)
	for i, j := range sorted {
		if !(j.Seconds >= 0 && j.Seconds <= uniformlog.MaxLifetime) {
			return nil, 0, 0, 0, fmt.Errorf("lifetime: job %d of %v s: %w (0 to %d expected)", i, j.Seconds, ErrValue,
				int64(uniformlog.MaxLifetime))
		}
		if !j.Censored {
			ended++
		}
	}
	if ended < MinSamples {
		return nil, 0, 0, 0,
			fmt.Errorf("lifetime: fit of %d ended jobs: %w (at least %d needed)", ended, ErrTooFew, MinSamples)
	}
	slices.SortFunc(sorted, func(a, b Observation) int { return cmp.Compare(a.Seconds, b.Seconds) })
	rest = 1
	for i := 0; i < len(sorted); {
		t, atRisk, d := sorted[i].Seconds, float64(len(sorted)-i), 0.0
		for ; i < len(sorted) && sorted[i].Seconds == t; i++ {
			if !sorted[i].Censored {
				d++
			}
		}
		if d > 0 {
			p := rest * d / atRisk
			out = append(out, mass{t, d, p})
			rest = max(rest-p, 0)
		}
		longest = t
	}
	return out, rest, longest, ended, nil
}

// FitKaplanMeier returns the product-limit estimate. The error wraps [ErrTooFew] or [ErrValue].
func FitKaplanMeier(jobs []Observation) (*KaplanMeier, error) {
	masses, rest, longest, _, err := productLimit(jobs)
	if err != nil {
		return nil, err
	}
	var k KaplanMeier
	upTo := 0.0
	for _, m := range masses {
		upTo += m.p
		k.times = append(k.times, m.seconds)
		k.upTo = append(k.upTo, min(upTo, 1))
	}
	if rest > 0 && longest > k.times[len(k.times)-1] {
		k.times = append(k.times, longest)
		k.upTo = append(k.upTo, 1)
	}
	k.upTo[len(k.upTo)-1] = 1
	return &k, nil
}

// FitUniformLog fits Downey's law. Without censored observations it uses [uniformlog.FitValues]. Otherwise it makes the
// same regression on the Kaplan-Meier estimate of the cdf, between 0.1 and 0.9. The error wraps [ErrTooFew],
// [ErrNoSpread] or [ErrValue].
func FitUniformLog(jobs []Observation) (UniformLog, error) {
	if !slices.ContainsFunc(jobs, func(j Observation) bool { return j.Censored }) {
		values := make([]float64, len(jobs))
		for i, j := range jobs {
			values[i] = j.Seconds
		}
		f, err := uniformlog.FitValues(values)
		switch {
		case errors.Is(err, uniformlog.ErrTooFew):
			err = fmt.Errorf("lifetime: fit of %d ended jobs: %w (at least %d needed)", len(jobs),
				ErrTooFew, MinSamples)
		case errors.Is(err, uniformlog.ErrNoSpread):
			err = fmt.Errorf("%w: %w", err, ErrNoSpread)
		case err != nil:
			err = fmt.Errorf("%w: %w", err, ErrValue)
		}
		return UniformLog{f.Model}, err
	}
	masses, _, _, ended, err := productLimit(jobs)
	if err != nil {
		return UniformLog{}, err
	}
	const trim = .1 // Downey 1996, section 4
	var x, y, w []float64
	upTo := 0.0
	for _, m := range masses {
		middle := upTo + m.p/2
		upTo += m.p
		if middle > trim && middle < 1-trim {
			x, y, w = append(x, math.Log(max(m.seconds, 1))), append(y, middle), append(w, m.p)
		}
	}
	if len(x) < 2 || x[0] == x[len(x)-1] {
		return UniformLog{},
			fmt.Errorf("lifetime: fit of %d ended jobs without the outer tenths: %w", ended, ErrNoSpread)
	}
	b0, b1 := stat.LinearRegression(x, y, w, false)
	u := UniformLog{uniformlog.Model{B0: b0, B1: b1}}
	if !u.Valid() {
		return UniformLog{}, fmt.Errorf("lifetime: fit of %d ended jobs: %w", ended, ErrNoSpread)
	}
	return u, nil
}

// FitAtLimit fits Downey's law to lifetimes below the limit. Jobs that reach the limit count as still running.
func FitAtLimit(jobs []Observation, limit float64) (AtLimit, error) {
	if !(limit > 0) || math.IsInf(limit, 1) {
		return AtLimit{}, fmt.Errorf("lifetime: time limit %v s: %w (above 0 expected)", limit, ErrValue)
	}
	cut := slices.Clone(jobs)
	for i := range cut {
		if cut[i].Seconds >= limit {
			cut[i] = Observation{limit, true}
		}
	}
	u, err := FitUniformLog(cut)
	return AtLimit{u.Model, limit}, err
}

// FitHyperGamma fits the hyper-Gamma law of ln lifetime. The weight of running jobs moves to the jobs that ended later,
// as in the Kaplan-Meier estimate.
func FitHyperGamma(jobs []Observation) (HyperGamma, error) {
	masses, rest, longest, ended, err := productLimit(jobs)
	if err != nil {
		return HyperGamma{}, err
	}
	if rest > 0 {
		masses = append(masses, mass{longest, 0, rest})
	}
	var h HyperGamma
	var x, w []float64
	n := float64(len(jobs))
	for _, m := range masses {
		if m.seconds <= 1 {
			h.Short += m.p
			continue
		}
		x, w = append(x, math.Log(m.seconds)), append(w, m.p*n)
	}
	f, err := hypergamma.FitWeighted(x, w)
	switch {
	case errors.Is(err, hypergamma.ErrTooFew):
		return HyperGamma{}, fmt.Errorf("lifetime: hyper-Gamma fit of %d ended jobs: %w: %w", ended, ErrTooFew, err)
	case errors.Is(err, hypergamma.ErrNoSpread):
		return HyperGamma{}, fmt.Errorf("%w: %w", err, ErrNoSpread)
	case err != nil:
		return HyperGamma{}, fmt.Errorf("%w: %w", err, ErrValue)
	}
	h.Log = f.Law
	h.Short = min(h.Short, 1)
	return h, nil
}
