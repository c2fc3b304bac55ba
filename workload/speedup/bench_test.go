package speedup_test

import (
	"testing"

	"github.com/waitcast/waitcast/workload/speedup"
)

// BenchmarkRuntime computes the runtime on one size.
func BenchmarkRuntime(b *testing.B) {
	for name, c := range map[string]speedup.Curve{
		"downey": must[*speedup.Downey](b)(speedup.NewDowney(speedup.Profile{A: 64, Sigma: .5}, 36000)),
		"table":  must[*speedup.Table](b)(speedup.NewTable([]speedup.Point{{1, 36000}, {16, 3000}, {256, 600}})),
	} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := c.Runtime(1 + i%256); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
