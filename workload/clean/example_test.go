package clean_test

import (
	"fmt"

	"github.com/waitcast/waitcast/workload/clean"
	"github.com/waitcast/waitcast/workload/users"
)

// ExampleFind finds a script that submits every night at 3:30 for two months, among a person's jobs at all hours of the
// day.
func ExampleFind() {
	const day = 86400
	var log []users.Job
	for d := range 60 {
		log = append(log, users.Job{User: 5, Procs: 1, Submit: float64(d*day) + 3.5*3600, Runtime: 60})
		at := float64(d*day) + 9*3600 + float64(d*977%28800) // nine to five
		log = append(log, users.Job{User: 6, Procs: 1, Submit: at, Runtime: 60})
	}
	report, err := clean.Find(log, clean.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range report.Findings {
		fmt.Printf("%s: user %d, %d jobs on %d days\n", f.Kind, f.User, f.Jobs, f.Days)
	}
	// Output: daily robot: user 5, 60 jobs on 60 days
}
