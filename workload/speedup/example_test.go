package speedup_test

import (
	"fmt"

	"github.com/waitcast/waitcast/workload/speedup"
)

// ExampleNewAmdahl describes a program that takes 1,000 s on one processor, a tenth of them in serial parts.
func ExampleNewAmdahl() {
	program, err := speedup.NewAmdahl(.1, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, procs := range []int{1, 10, 100} {
		seconds, err := program.Runtime(procs)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d: %.0f s\n", procs, seconds)
	}
	// Output:
	// 1: 1000 s
	// 10: 190 s
	// 100: 109 s
}
