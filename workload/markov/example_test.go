package markov_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/waitcast/waitcast/workload/markov"
)

// Example learns from a queue in which jobs of 2 and of 8 processors alternate, and draws jobs that do the same.
func Example() {
	m, err := markov.New(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 100 {
		for _, job := range []struct {
			procs   int
			seconds float64
		}{{2, 60}, {8, 3600}} {
			if err := m.Append(job.procs, job.seconds); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	g, err := markov.NewGenerator(m.Chains(), rand.New(rand.NewPCG(1, 2)), markov.WithoutRules())
	if err != nil {
		fmt.Println(err)
		return
	}
	turns := 0
	for last, n := 0, 0; n <= 100; n++ {
		procs, _ := g.Next()
		if n > 0 && procs != last {
			turns++
		}
		last = procs
	}
	fmt.Printf("%d of 100 jobs have another size than the one before\n", turns)
	// Output: 100 of 100 jobs have another size than the one before
}
