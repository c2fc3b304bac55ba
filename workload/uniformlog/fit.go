package uniformlog

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// MinSamples is the minimum number of lifetimes for a fit. Of 10 lifetimes one is left out at either end, and eight
// remain.
const MinSamples = 10

// trim is the divisor of the number of lifetimes that are left out at either end: the lowest and the highest tenth
// (Downey 1996, section 4).
const trim = 10

var (
	// ErrTooFew is returned if there are fewer than [MinSamples] lifetimes.
	ErrTooFew = errors.New("too few lifetimes")
	// ErrNoSpread is returned if the lifetimes without the outer tenths are all equal, so that no line can be fitted.
	ErrNoSpread = errors.New("lifetimes do not differ")
)

// Fit is a model with facts about its fit.
type Fit struct {
	Model
	R2 float64   `json:"r2"` // coefficient of determination of the regression, without the outer tenths
	N  int       `json:"n"`  // number of lifetimes in the window, including the outer tenths
	At time.Time `json:"at"` // event time of the refit; zero for [FitValues]
}

// FitValues fits lifetimes in seconds, which may be in any order. The result is the same as that of [Window.Fit], to
// the last bit. The error wraps [ErrLifetime], [ErrTooFew] or [ErrNoSpread].
func FitValues(lifetimes []float64) (Fit, error) {
	vals := make([]int32, len(lifetimes))
	for i, t := range lifetimes {
		v, err := quantize(t)
		if err != nil {
			return Fit{}, fmt.Errorf("value %d: %w", i, err)
		}
		vals[i] = v
	}
	sortValues(vals)
	var l list
	l.fill(vals)
	return l.fit()
}

// fit makes the regression of y = i/N on x = ln t_i over the ranks i, without the first and last floor(N/10) ranks
// (Downey 1996, section 4; the cdf is the dependent variable). All sums are exact, so that the result depends only on
// the values and not on their order.
func (l *list) fit() (Fit, error) {
	if l.n < MinSamples {
		return Fit{}, fmt.Errorf("uniformlog: fit of %d lifetimes: %w (at least %d needed)", l.n, ErrTooFew, MinSamples)
	}
	first := l.n / trim
	s := l.sums(first, l.n-first)
	n := uint64(s.n)
	// Sums of squares and products about the means, times n.
	sxx := s.sumSq.mul(n).sub(product(s.sum, s.sum))
	sxy := s.rankSum.mul(n).sub(product(s.rankTotal(), s.sum))
	if sxx == (uint128{}) {
		return Fit{}, fmt.Errorf("uniformlog: fit of %d lifetimes, all kept ones %.6g s: %w", l.n,
			secondsOf(int32(s.sum/n)), ErrNoSpread)
	}
	// The conversions prevent the compiler from fusing operations, which would give different results on different
	// machines.
	nf, total := float64(n), float64(l.n)
	syy := float64(nf*nf) * (float64(nf*nf) - 1) / 12 // ranks are consecutive integers
	slope := sxy.float() / sxx.float()
	b1 := slope * scale / total
	meanRank := float64(s.rankTotal()) / nf
	meanLog := float64(s.sum) / nf / scale
	b0 := meanRank/total - float64(b1*meanLog)
	return Fit{
		Model: Model{B0: b0, B1: b1},
		R2:    math.Min(slope*(sxy.float()/syy), 1),
		N:     l.n,
	}, nil
}

// sums are the sums of the regression over the ranks first+1 to first+n.
type sums struct {
	first, n int
	sum      uint64  // Σ x
	sumSq    uint128 // Σ x²
	rankSum  uint128 // Σ i x
}

// rankTotal returns Σ i.
func (s *sums) rankTotal() uint64 {
	n := uint64(s.n)
	if n%2 == 0 {
		return n / 2 * (2*uint64(s.first) + n + 1)
	}
	return n * ((2*uint64(s.first) + n + 1) / 2)
}

// sums returns the sums over the ranks first+1 to end. It uses the stored sums of whole leaves. In leaves that are
// partly in the range it adds the values one by one.
func (l *list) sums(first, end int) sums {
	s := sums{first: first, n: end - first}
	base := 0
	for _, lf := range l.leaves {
		next := base + lf.n
		switch {
		case next <= first || base >= end:
		case base >= first && next <= end:
			s.sum += lf.sum
			s.sumSq = s.sumSq.add(uint128{lo: lf.sumSq})
			s.rankSum = s.rankSum.add(product(uint64(base+1), lf.sum)).add(uint128{lo: lf.ranks})
		default:
			for i := max(base, first); i < min(next, end); i++ {
				x := uint64(lf.vals[i-base])
				s.sum += x
				s.sumSq = s.sumSq.add(uint128{lo: x * x})
				s.rankSum = s.rankSum.add(product(uint64(i+1), x))
			}
		}
		base = next
	}
	return s
}

// uint128 is an unsigned 128-bit integer. The comment of scale shows that no sum overflows it.
type uint128 struct{ hi, lo uint64 }

func product(a, b uint64) uint128 {
	hi, lo := bits.Mul64(a, b)
	return uint128{hi, lo}
}

func (a uint128) add(b uint128) uint128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return uint128{hi, lo}
}

func (a uint128) sub(b uint128) uint128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return uint128{hi, lo}
}

func (a uint128) mul(b uint64) uint128 {
	p := product(a.lo, b)
	p.hi += a.hi * b
	return p
}

func (a uint128) float() float64 { return math.Ldexp(float64(a.hi), 64) + float64(a.lo) }
