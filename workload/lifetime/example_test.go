package lifetime_test

import (
	"fmt"

	"github.com/waitcast/waitcast/workload/lifetime"
)

// ExampleFitKaplanMeier uses nineteen jobs that ended after 1 to 19 minutes, and one that has been running for 20
// minutes. Three quarters live for more than 5 minutes, and half for more than 10.
func ExampleFitKaplanMeier() {
	var jobs []lifetime.Observation
	for minutes := 1.; minutes <= 19; minutes++ {
		jobs = append(jobs, lifetime.Observation{Seconds: 60 * minutes})
	}
	jobs = append(jobs, lifetime.Observation{Seconds: 1200, Censored: true})
	law, err := lifetime.FitKaplanMeier(jobs)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("over 5 min %.2f, over 10 min %.2f\n", law.Survival(300), law.Survival(600))
	// Output: over 5 min 0.75, over 10 min 0.50
}
