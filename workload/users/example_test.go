package users_test

import (
	"fmt"

	"github.com/waitcast/waitcast/workload/users"
)

// Example resamples a user who comes every week at the same hour for half a year. This user does the same in a
// resampled year.
func Example() {
	const week = 7 * 86400
	var log []users.Job
	for w := range 26 {
		log = append(log, users.Job{Index: w, User: 1, Procs: 4, Submit: float64(w*week + 9*3600), Runtime: 60})
	}
	pools, err := users.Split(users.Trace{Name: "half a year", Jobs: log, End: 26 * week}, users.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := users.NewGenerator(users.Config{Seed: 1, Length: 52 * week}, users.Source{Pools: pools})
	if err != nil {
		fmt.Println(err)
		return
	}
	atNine, others := 0, 0
	for a := range g.All() {
		if int(a.Submit)%week == 9*3600 {
			atNine++
		} else {
			others++
		}
	}
	fmt.Printf("more than 40 at nine: %v, at other hours: %d\n", atNine > 40, others)
	// Output: more than 40 at nine: true, at other hours: 0
}
