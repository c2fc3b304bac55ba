package compare_test

import (
	"fmt"

	"github.com/waitcast/waitcast/workload/compare"
)

// ExampleKS compares two samples: half of the second lies beyond all of the first.
func ExampleKS() {
	d, err := compare.KS([]float64{1, 2, 3, 4}, []float64{3, 4, 5, 6})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d)
	// Output: 0.5
}
