package moldable_test

import (
	"fmt"

	"github.com/waitcast/waitcast/workload/moldable"
)

// ExampleRule_Make proves that a recorded job keeps its runtime at its own size, and is not slower on more processors.
func ExampleRule_Make() {
	jobs, err := moldable.Rule{Machine: 64, Seed: 1}.Make([]moldable.Recorded{{Procs: 8, Runtime: 3600, Limit: 7200}})
	if err != nil {
		fmt.Println(err)
		return
	}
	own, limit, err := jobs[0].At(8)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, most := jobs[0].Range()
	large, _, err := jobs[0].At(most)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f s of %.0f at its own size; not slower on the most: %v\n", own, limit, large <= own)
	// Output: 3600 s of 7200 at its own size; not slower on the most: true
}
