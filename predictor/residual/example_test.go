package residual_test

import (
	"fmt"

	"github.com/waitcast/waitcast/predictor/residual"
)

func Example() {
	m := residual.New(residual.Config{})
	j := residual.Job{Queue: "batch", User: "ann", Procs: 16, Limit: 7200}
	for i := range 30 {
		start := float64(i) * 4000
		m.Started(int64(i), j, start)
		m.Ended(int64(i), start+3600)
	}
	law := m.Law(j, 120_000)
	fmt.Println("runs for more than half an hour:", law.Survival(1800) > .9)
	fmt.Println("at 3,000 s it likely ends within 20 minutes:", law.Residual(3000, .5) < 1200)
	fmt.Printf("at 7,000 s it ends by the limit, most likely: in %.0f s\n", law.Residual(7000, .9))
	// Output:
	// runs for more than half an hour: true
	// at 3,000 s it likely ends within 20 minutes: true
	// at 7,000 s it ends by the limit, most likely: in 200 s
}
