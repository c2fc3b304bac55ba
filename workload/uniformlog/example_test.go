package uniformlog_test

import (
	"fmt"

	"github.com/waitcast/waitcast/workload/uniformlog"
)

// ExampleModel uses lifetimes from 1 s to e^10 s whose logarithm is uniform. Half of them end within e^5 s, and half of
// the others within e^7.5 s.
func ExampleModel() {
	m := uniformlog.Model{B0: 0, B1: .1}
	median := m.Quantile(.5)
	fmt.Printf("shortest %.0f s, longest %.0f s, median %.1f s\n", m.TMin(), m.TMax(), median)
	fmt.Printf("at that age half end within another %.1f s\n", m.MedianRemaining(median))
	// Output:
	// shortest 1 s, longest 22026 s, median 148.4 s
	// at that age half end within another 1659.6 s
}

// ExampleFitValues fits lifetimes that double: each is ln 2 beyond the one before, and is a tenth of the distribution.
func ExampleFitValues() {
	fit, err := uniformlog.FitValues([]float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("a doubling is %.2f of the jobs, R2 %.2f, of %d\n", fit.B1*0.693147, fit.R2, fit.N)
	// Output: a doubling is 0.10 of the jobs, R2 1.00, of 10
}
