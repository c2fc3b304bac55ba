package forward

import (
	"math"

	"gonum.org/v1/gonum/mathext/prng"
)

// mix returns a hash of x. Every bit of it depends on every bit of x. It is the first number of SplitMix64 with the
// seed x (G. Steele, D. Lea and C. Flood, OOPSLA 2014).
func mix(x uint64) uint64 { return prng.NewSplitMix64(x).Uint64() }

// uniform returns a number in (0, 1) computed from stream and key.
func uniform(stream, key uint64) float64 {
	return (float64(mix(stream^mix(key))>>11) + .5) / (1 << 53)
}

// quantile returns the level, in (0, 1), at which the law of a job gives its lifetime in a replica. It mixes a score of
// the job with the score of the job's group.
func quantile(stream, key, group uint64, rho float64) float64 {
	u := uniform(stream, key)
	if group == 0 || rho == 0 {
		return u
	}
	return mixed(groupScore(stream, group, rho), u, rho)
}

// groupScore returns the part that a group has in the normal scores of its jobs in a replica.
func groupScore(stream, group uint64, rho float64) float64 {
	return float64(math.Sqrt(rho) * normal(uniform(mix(stream), group)))
}

// mixed returns the level of a job from the job's own random number u and the score of its group.
func mixed(score, u, rho float64) float64 {
	z := score + float64(math.Sqrt(1-rho)*normal(u)) // the conversion rounds, so that no compiler fuses the sum
	const least = 1. / (1 << 53)
	return min(max(math.Erfc(-z/math.Sqrt2)/2, least), 1-least)
}

func normal(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*u-1) }
