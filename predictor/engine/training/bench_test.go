package training

import (
	"math"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
)

// rowsOf draws rows with as many features as an engine's rows, of the same kinds: a third has any value, a third has
// few values, and a third are counts. A fifth of the features has some unknown values. Waits depend on some of the
// features.
func rowsOf(n, features int) (rows [][]float32, waits []float64) {
	rng := rand.New(rand.NewPCG(8, 8))
	rows, waits = make([][]float32, n), make([]float64, n)
	for i := range rows {
		rows[i] = make([]float32, features)
		for f := range rows[i] {
			v := rng.NormFloat64()
			switch f % 3 {
			case 1:
				v = float64(int(4*v)) / 2
			case 2:
				v = math.Floor(math.Exp(3 + v))
			}
			waits[i] += math.Tanh(v) / float64(f+1)
			if f%5 == 0 && rng.IntN(5) == 0 {
				v = math.NaN()
			}
			rows[i][f] = float32(v)
		}
		waits[i] += .3 * rng.NormFloat64()
	}
	return rows, waits
}

// processorTime returns the processor time that this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkTraining measures a whole training, as large as the engine's largest: 60,000 rows of 150 features, all
// levels, both sets of trees, on two cores. It should take at most 4 s of wall time. cpu-s is its processor time, which
// other work on the machine changes less.
func BenchmarkTraining(b *testing.B) {
	rows, waits := rowsOf(60_000, 150)
	l := NewLearner(Config{
		Levels: waittime.Levels(), Rows: len(rows), Recent: Recent{Rows: 30_000, HalfLife: 8000}, Synchronous: true,
		Cores: 2,
	})
	defer l.Close()
	for _, row := range rows {
		l.Rows.Append(row)
	}
	l.targets, l.Seen = waits, len(rows)
	runtime.GC()
	b.ReportAllocs()
	begun := processorTime(b)
	for b.Loop() {
		l.beginNow(0)
		if l.Models == nil {
			b.Fatal("the training failed")
		}
	}
	b.ReportMetric((processorTime(b)-begun).Seconds()/float64(b.N), "cpu-s/op")
}
