package shake_test

import (
	"fmt"

	"github.com/waitcast/waitcast/workload/shake"
)

// ExampleSummarize shows an effect of 10 on the original workload that shaken copies do not have: it was an accident of
// that workload.
func ExampleSummarize() {
	s, err := shake.Summarize(10, []float64{-1, 0, 1, 0, -1, 1, 0, 0, 1, -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("mean %.1f of %d shaken runs, %.0f %% of the original\n", s.Mean, s.Runs, 100*s.Mean/s.Original)
	// Output: mean 0.0 of 10 shaken runs, 0 % of the original
}
