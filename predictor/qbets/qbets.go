// Package qbets implements the Brevik method batch predictor and its successor QBETS. They use only the observed
// waits of a queue. From these they compute upper confidence bounds on quantiles of its waits (J. Brevik, D. Nurmi
// and R. Wolski, "Predicting bounds on queuing delay for batch-scheduled parallel machines", PPoPP 2006; D. Nurmi, J.
// Brevik and R. Wolski, "QBETS: queue bounds estimation from time series", JSSPP 2007).
//
// waitcast is measured against this predictor. Of n independent waits, the number below the q quantile is binomial,
// so an order statistic bounds the quantile with a stated confidence. Waits are not stationary. A run of waits above
// the bound counts as a change if it is too long to be chance. After a change only the newest waits are kept.
package qbets

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Index returns the number k, from 1, of an order statistic of n observations. It lies at or above their q quantile
// with at least the given confidence. k is the smallest one with Pr{Binomial(n, q) <= k - 1} >= confidence. It is 0
// if n is too small.
func Index(n int, q, confidence float64) int {
	if n < 1 || atMost(n-1, n, q) < confidence {
		return 0
	}
	low, high := 1, n
	for low < high {
		if k := (low + high) / 2; atMost(k-1, n, q) >= confidence {
			high = k
		} else {
			low = k + 1
		}
	}
	return low
}

// atMost returns Pr{Binomial(n, q) <= k} for k below n: the regularized incomplete beta function I(1-q; n-k, k+1).
func atMost(k, n int, q float64) float64 {
	if k < 0 {
		return 0
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-q)
}

// Least returns the smallest number of observations whose maximum bounds the q quantile with the given confidence. It
// is 59 for a quantile of 0.95 and a confidence of 0.95.
func Least(q, confidence float64) int {
	return int(math.Ceil(math.Log(1-confidence) / math.Log(q)))
}

// Size returns the class of a size, by the ranges of processors in the papers: 1-4, 5-16, 17-64 and more.
func Size(procs int) int {
	switch {
	case procs <= 4:
		return 0
	case procs <= 16:
		return 1
	case procs <= 64:
		return 2
	}
	return 3
}

// Config configures a Series. The zero value of a field means its default.
type Config struct {
	// Level is the level of the quantile whose bound defines a miss, 0.95 by default. Confidence is the confidence of
	// every bound, 0.95 by default.
	Level, Confidence float64
	// Run is the number of consecutive misses that counts as a change. 0 means that it adapts to the correlation of
	// the waits (see the function Run), starting at three.
	Run int
	// Most is the maximum number of kept waits, 100,000 by default; the oldest are dropped first.
	Most int
}

// Series has the waits of one queue and size class, in the order in which they became known. It is not safe for
// concurrent use.
type Series struct {
	cfg     Config
	waits   []float64 // in the order in which they became known
	sorted  []float64
	misses  int // number of successive misses
	run     int // number of successive misses that counts as a change
	trimmed int
	place   place // place of the bound in sorted
}

// place is the index of the order statistic that bounds a quantile, for n waits. One more wait moves it by at most
// one.
type place struct{ n, k int }

// at returns the index k for n waits, 0 if they are too few (see Index).
func (p *place) at(n int, q, confidence float64) int {
	switch {
	case n == p.n:
	case n == p.n+1 && p.k > 0:
		if atMost(p.k-1, n, q) < confidence {
			p.k++
		}
		p.n = n
	default:
		p.n, p.k = n, Index(n, q, confidence)
	}
	return p.k
}

var errConfig = errors.New("qbets: level and confidence must be more than 0 and less than 1, and at least the waits " +
	"that a bound needs must be kept")

// New returns an empty series.
func New(cfg Config) (*Series, error) {
	if cfg.Level == 0 {
		cfg.Level = .95
	}
	if cfg.Confidence == 0 {
		cfg.Confidence = .95
	}
	if cfg.Most == 0 {
		cfg.Most = 100_000
	}
	if !(cfg.Level > 0 && cfg.Level < 1 && cfg.Confidence > 0 && cfg.Confidence < 1) || cfg.Run < 0 ||
		cfg.Most < Least(cfg.Level, cfg.Confidence) {
		return nil, errConfig
	}
	s := &Series{cfg: cfg, run: cfg.Run}
	if s.run == 0 {
		s.run = Run(0, cfg.Level)
	}
	return s, nil
}

// N returns the number of waits in the history.
func (s *Series) N() int { return len(s.waits) }

// Trimmed returns how often the history was cut because of a change.
func (s *Series) Trimmed() int { return s.trimmed }

// Bound returns the upper bound on the q quantile of the next wait, in seconds. It returns false if the history is
// too short.
func (s *Series) Bound(q float64) (float64, bool) {
	k := 0
	if n := len(s.sorted); q == s.cfg.Level {
		k = s.place.at(n, q, s.cfg.Confidence)
	} else {
		k = Index(n, q, s.cfg.Confidence)
	}
	if k == 0 {
		return 0, false
	}
	return s.sorted[k-1], true
}

// Misses returns the number of the newest waits in a row that missed their bound.
func (s *Series) Misses() int { return s.misses }

// Restore replaces the series by a history of waits in order, with the given number of misses at its end. The number of
// misses that counts as a change stays as it was. It returns an error, and leaves the series unchanged, for invalid
// waits, more waits than Config.Most, or more misses than waits.
func (s *Series) Restore(waits []float64, misses int) error {
	bad := func(w float64) bool { return !(w >= 0) || math.IsInf(w, 1) }
	if misses < 0 || misses > len(waits) || len(waits) > s.cfg.Most || slices.ContainsFunc(waits, bad) {
		return fmt.Errorf("qbets: %d misses of %d waits, or one that is no number of seconds: the history is damaged",
			misses, len(waits))
	}
	s.waits, s.sorted, s.misses = slices.Clone(waits), slices.Clone(waits), misses
	slices.Sort(s.sorted)
	return nil
}

// Add adds a wait, in seconds; it ignores values that are negative, infinite or NaN. A wait counts as a miss if it is
// above the bound that was in force before it.
func (s *Series) Add(wait float64) {
	if !(wait >= 0) || math.IsInf(wait, 1) {
		return
	}
	if bound, ok := s.Bound(s.cfg.Level); ok && wait > bound {
		s.misses++
	} else {
		s.misses = 0
	}
	s.waits = append(s.waits, wait)
	i, _ := slices.BinarySearch(s.sorted, wait)
	s.sorted = slices.Insert(s.sorted, i, wait)
	if len(s.waits) > s.cfg.Most {
		s.drop(1)
	}
	if s.misses >= s.run {
		s.change()
	}
}

// change drops all waits except the newest ones that a bound needs. Before that, it computes from all waits how many
// misses in a row will count as the next change.
func (s *Series) change() {
	if s.cfg.Run == 0 {
		s.run = Run(correlation(s.waits), s.cfg.Level)
	}
	s.drop(max(0, len(s.waits)-Least(s.cfg.Level, s.cfg.Confidence)))
	s.misses = 0
	s.trimmed++
}

// drop removes the n oldest waits.
func (s *Series) drop(n int) {
	for _, w := range s.waits[:min(n, 8)] {
		i, _ := slices.BinarySearch(s.sorted, w)
		s.sorted = slices.Delete(s.sorted, i, i+1)
	}
	s.waits = slices.Delete(s.waits, 0, n)
	if n > 8 {
		s.sorted = append(s.sorted[:0], s.waits...)
		slices.Sort(s.sorted)
	}
}
