package headqueue_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/waitcast/waitcast/predictor/headqueue"
)

// score measures forecasts against true waits.
type score struct {
	n       int
	covered []int     // by level: the number of true waits at or below its quantile
	loss    []float64 // by level: the sum of the log-pinball losses
}

// add scores one true wait.
func (s *score) add(r *headqueue.Result, wait float64) {
	if s.covered == nil {
		s.covered, s.loss = make([]int, len(r.Levels)), make([]float64, len(r.Levels))
	}
	s.n++
	for i, q := range r.Levels {
		at := min(r.Quantiles[i], 1e9)
		if wait <= at {
			s.covered[i]++
		}
		d := math.Log(wait+60) - math.Log(at+60)
		s.loss[i] += max(q*d, (q-1)*d)
	}
}

func (s *score) coverage(level int) float64 { return float64(s.covered[level]) / float64(s.n) }

func (s *score) pinball(level int) float64 { return s.loss[level] / float64(s.n) }

func (s *score) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%5d waits, coverage", s.n)
	for i := range s.covered {
		fmt.Fprintf(&b, " %.3f", s.coverage(i))
	}
	fmt.Fprintf(&b, ", log-pinball .5 %.3f, .95 %.3f", s.pinball(2), s.pinball(5))
	return b.String()
}
