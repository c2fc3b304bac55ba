package residual

import "math"

// DefaultRho is the correlation of the normal scores of the remaining lifetimes of two jobs that one user runs at
// once. It was measured under strict first come, first served in the first halves of KTH-SP2 (0.31), SDSC-SP2 (0.41),
// SDSC-Par-96 (0.14) and CTC-SP2 (0.40), at the instants when a job reached the head of the queue. For jobs of
// different users the correlation was 0.04 or less. TestCampaignsEndTogether of package head repeats the
// measurement.
const DefaultRho = .3

// Copula correlates the residual lifetimes of one user's jobs through a normal factor that they share, because the
// jobs of a campaign often end together.
type Copula struct{ shared, own float64 }

// NewCopula returns the Copula of a correlation in [0, 1]. A value outside counts as the nearer end, and NaN counts
// as 0.
func NewCopula(rho float64) Copula {
	if !(rho > 0) {
		rho = 0
	}
	rho = min(rho, 1)
	return Copula{math.Sqrt(rho), math.Sqrt(1 - rho)}
}

// Level returns the level u for Law.Residual from two independent standard normal draws: one that all of the user's
// jobs share, and one of the job's own. Levels are uniform.
func (c Copula) Level(shared, own float64) float64 {
	return math.Erfc(-(c.shared*shared+c.own*own)/math.Sqrt2) / 2
}
