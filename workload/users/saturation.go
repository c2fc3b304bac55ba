package users

import (
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Outstanding returns how many jobs are outstanding (submitted, not ended) at the begin of each week from an instant on, up to the
// last submit. The submits and the ends (+Inf for a job that has not ended) are in seconds, in any order.
func Outstanding(submits, ends []float64, from float64) []int {
	if len(submits) == 0 {
		return nil
	}
	submits, ends = slices.Sorted(slices.Values(submits)), slices.Sorted(slices.Values(ends))
	var counts []int
	s, e := 0, 0
	for at := from; at <= submits[len(submits)-1]; at += week {
		for s < len(submits) && submits[s] < at {
			s++
		}
		for e < len(ends) && ends[e] < at {
			e++
		}
		counts = append(counts, s-e)
	}
	return counts
}

// Saturation tells whether a workload is more than the machine that ran it can do, from the number of outstanding jobs at
// the begin of each week: each count is replaced by the least from then on, so that a crowd that goes away again does not count; the last
// fifth is left out; and the slope of a straight line through the rest is above one job per week (the paper's section 6.3). Results
// of a saturated simulation mean nothing. Fewer than two weeks left tell nothing: slope 0.
func Saturation(weekly []int) (jobsPerWeek float64, saturated bool) {
	least := slices.Clone(weekly)
	for i := len(least) - 2; i >= 0; i-- {
		least[i] = min(least[i], least[i+1])
	}
	least = least[:len(least)-len(least)/5]
	if len(least) < 2 {
		return 0, false
	}
	x, y := make([]float64, len(least)), make([]float64, len(least))
	for i, n := range least {
		x[i], y[i] = float64(i), float64(n)
	}
	_, jobsPerWeek = stat.LinearRegression(x, y, nil, false)
	return jobsPerWeek, jobsPerWeek > 1
}
