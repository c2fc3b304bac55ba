package shake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/workload/users"
)

// DefaultRuns is the number of shaken workloads that the thesis simulates (section 5.1).
const DefaultRuns = 100

// Runs simulates the given number of shaken workloads, several at once, and returns their results in order. A run's
// workload depends only on the seed and the run's number. So the results do not depend on the number of cores. Several
// goroutines call simulate at once; it must not keep or change the jobs. An error ends the work, and so does the end of
// the context. Of several errors, Runs returns the one with the lowest run number.
func Runs[R any](
	ctx context.Context, s *Shaker, n int, seed uint64, simulate func(run int, jobs []users.Job) (R, error),
) ([]R, error) {
	if n <= 0 {
		return nil, fmt.Errorf("shake: %d runs; want 1 or more", n)
	}
	results, failed := make([]R, n), make([]error, n)
	var next atomic.Int64
	var stop atomic.Bool
	var work sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		work.Go(func() {
			var jobs []users.Job
			for !stop.Load() && ctx.Err() == nil {
				run := int(next.Add(1)) - 1
				if run >= n {
					return
				}
				jobs = s.Shake(jobs, rand.New(rand.NewPCG(seed, uint64(run))))
				if results[run], failed[run] = simulate(run, jobs); failed[run] != nil {
					stop.Store(true)
				}
			}
		})
	}
	work.Wait()
	for run, err := range failed {
		if err != nil {
			return nil, fmt.Errorf("shaken run %d: %w", run, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("shake: %w", err)
	}
	return results, nil
}

// Summary compares the results of shaken runs with the result of the original workload. It has the three measures of
// section 5.2.1 of the thesis, as shares of the original result (0.01 is 1 %).
type Summary struct {
	Original      float64 `json:"original"`
	Mean          float64 `json:"mean"`          // mean of the shaken results, which is the result to use
	Low           float64 `json:"low"`           // 5th percentile
	High          float64 `json:"high"`          // 95th percentile
	Span          float64 `json:"span"`          // (High - Low) / |Original|
	Distance      float64 `json:"distance"`      // (Mean - Original) / |Original|; the thesis gives its absolute value
	Concentration float64 `json:"concentration"` // share of the results within 1 % of the original
	Runs          int     `json:"runs"`
}

// Summarize summarizes the results of shaken runs. The original result must not be 0.
func Summarize(original float64, results []float64) (Summary, error) {
	if len(results) == 0 {
		return Summary{}, errors.New("shake: no results to summarize")
	}
	if original == 0 || math.IsNaN(original) || math.IsInf(original, 0) {
		return Summary{},
			fmt.Errorf("shake: the original result is %v; shares of it need a number other than 0", original)
	}
	sorted := slices.Sorted(slices.Values(results))
	if math.IsNaN(sorted[0]) || math.IsInf(sorted[0], 0) || math.IsInf(sorted[len(sorted)-1], 0) {
		return Summary{}, errors.New("shake: a result is not a finite number")
	}
	s := Summary{
		Original: original, Mean: stat.Mean(sorted, nil), Runs: len(sorted),
		Low: stat.Quantile(.05, stat.Empirical, sorted, nil), High: stat.Quantile(.95, stat.Empirical, sorted, nil),
	}
	size := math.Abs(original)
	s.Span, s.Distance = (s.High-s.Low)/size, (s.Mean-original)/size
	for _, x := range sorted {
		if math.Abs(x-original) <= .01*size {
			s.Concentration += 1 / float64(len(sorted))
		}
	}
	return s, nil
}
