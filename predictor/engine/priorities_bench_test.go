package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster/fairshare"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine/pools"
)

// BenchmarkPriorities makes a forecast in a pool of 298 jobs. Their priorities do not move (0 associations), or move
// with the usage of the given number of associations.
func BenchmarkPriorities(b *testing.B) {
	for _, users := range []int{0, 4, 2000} {
		b.Run(fmt.Sprint(users), func(b *testing.B) {
			e := quick(b, Config{Capacity: 400})
			e.SetPool("q", pools.PoolConfig{Name: "q", Procs: 400})
			facts := &job.Facts{Weights: &job.Weights{Age: 1000, FairShare: 10000, MaxAge: 24 * time.Hour,
				HalfLife: 7 * 24 * time.Hour, Period: 5 * time.Minute}}
			for u := range users {
				account := fmt.Sprint("a", u/10)
				if u%10 == 0 {
					facts.AccountShares = append(facts.AccountShares,
						job.Share{Account: account, Raw: 1 + u%3, Usage: 1e6})
				}
				facts.Shares = append(facts.Shares,
					job.Share{Account: account, User: fmt.Sprint("u", u), Raw: 1, Usage: float64(1e5 + 1000*u)})
			}
			if users > 0 {
				e.SetPriorities(0, fairshare.NewPriorities(facts))
			}
			for i := range 298 {
				r := of(fmt.Sprint("u", i%40), "q", 1+i%8)
				r.Account, r.Limit = fmt.Sprint("a", i%40/10), float64(3600*(1+i%10))
				r.Priority = float64(1000 + i*37%997)
				e.Submit(float64(i), uint64(i+1), r)
				if i < 90 {
					e.Start(float64(i), uint64(i+1), true)
				}
			}
			r := of("u3", "q", 4)
			r.Account, r.Priority = "a0", 1500
			for b.Loop() {
				e.View(400).Forecast(&r)
			}
		})
	}
}
