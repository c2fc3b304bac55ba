package advice

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Reshape gives the waits of candidates in common futures the laws of a calibrated forecast: in each future a wait becomes the law's quantile at the
// rank that it had among its candidate's. What is long together stays so. Ties, such as starts at once, are ranked by how long all candidates wait in
// their futures. The error is a *LawError.
func Reshape(futures [][]float64, laws []Law) ([][]float64, error) {
	if len(futures) != len(laws) || len(futures) == 0 {
		return nil, &LawError{Problem: fmt.Sprintf("%d candidates with futures and %d laws; want as many, at least 1", len(futures), len(laws))}
	}
	n := len(futures[0])
	common := make([]float64, n) // how long a future is for all
	for i, waits := range futures {
		if len(waits) != n || n == 0 {
			return nil, &LawError{Place: i + 1, Value: float64(len(waits)), Problem: fmt.Sprintf("candidates must have as many futures, at least 1; the first has %d", n)}
		}
		if laws[i] == nil {
			return nil, &LawError{Place: i + 1, Value: math.NaN(), Problem: "the candidate has no law"}
		}
		for f, w := range waits {
			if !(w >= 0) {
				return nil, &LawError{Place: i + 1, Value: w, Problem: fmt.Sprintf("future %d: a wait must be 0 or more", f+1)}
			}
			common[f] += math.Log(min(w, math.MaxFloat64) + offset)
		}
	}
	out := make([][]float64, len(futures))
	order := make([]int, n)
	for i, waits := range futures {
		for f := range order {
			order[f] = f
		}
		slices.SortStableFunc(order, func(f, g int) int { return cmp.Or(cmp.Compare(waits[f], waits[g]), cmp.Compare(common[f], common[g])) })
		values := middles(laws[i], n)
		out[i] = make([]float64, n)
		for rank, f := range order {
			out[i][f] = values[rank]
		}
	}
	return out, nil
}
