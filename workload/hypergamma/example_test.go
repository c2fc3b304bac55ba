package hypergamma_test

import (
	"fmt"

	"github.com/waitcast/waitcast/workload/hypergamma"
)

// ExampleLaw shows the mean of a law with two parts: half of the values are short and half are long.
func ExampleLaw() {
	short, long := hypergamma.Gamma{Shape: 2, Scale: 5}, hypergamma.Gamma{Shape: 4, Scale: 250}
	l := hypergamma.Law{First: short, Second: long, P: .5}
	fmt.Printf("mean %.0f\n", l.Mean())
	// Output: mean 505
}
