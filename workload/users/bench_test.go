package users_test

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/workload/users"
)

// BenchmarkResampleMillion makes a million jobs from a log that has already been split. The budget is 2 s.
func BenchmarkResampleMillion(b *testing.B) {
	for _, name := range []string{kth, lanl} {
		b.Run(name, func(b *testing.B) {
			trace, _ := readTrace(b, name)
			p := split(b, trace, users.Options{})
			b.ReportAllocs()
			for b.Loop() {
				g := generator(b, users.Config{Length: math.Inf(1)}, users.Source{Pools: p})
				n := 0
				for range g.All() {
					if n++; n == 1_000_000 {
						break
					}
				}
			}
		})
	}
}

func BenchmarkSplit(b *testing.B) {
	trace, _ := readTrace(b, lanl)
	b.ReportAllocs()
	for b.Loop() {
		split(b, trace, users.Options{})
	}
	b.ReportMetric(float64(b.N*len(trace.Jobs))/b.Elapsed().Seconds(), "jobs/s")
}
