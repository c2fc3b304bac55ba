package residual

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func benchModel() *Model {
	m := New(Config{})
	rng := rand.New(rand.NewPCG(9, 1))
	for i := range 20000 {
		j := Job{Queue: "q", User: fmt.Sprint(rng.IntN(100)), App: "a", Procs: 1 << rng.IntN(6),
			Limit: 3600 * float64(1+rng.IntN(8))}
		m.Observe(j, float64(i*50), math.Min(j.Limit, math.Exp(6+2*rng.NormFloat64())))
	}
	for i := range 1000 {
		m.Started(int64(i), Job{Queue: "q", User: fmt.Sprint(rng.IntN(100)), Procs: 8, Limit: 7200},
			1e6-3600*rng.Float64())
	}
	return m
}

func BenchmarkLawInto(b *testing.B) {
	m := benchModel()
	j := Job{Queue: "q", User: "7", App: "a", Procs: 8, Limit: 7200}
	var l Law
	b.ReportAllocs()
	for b.Loop() {
		m.LawInto(&l, j, 1e6)
	}
}

func BenchmarkSurvival(b *testing.B) {
	l := benchModel().Law(Job{Queue: "q", User: "7", Procs: 8, Limit: 7200}, 1e6)
	for b.Loop() {
		_ = l.Survival(1234)
	}
}

func BenchmarkResidual(b *testing.B) {
	l := benchModel().Law(Job{Queue: "q", User: "7", Procs: 8, Limit: 7200}, 1e6)
	rng := rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	for b.Loop() {
		_ = l.Residual(600, rng.Float64())
	}
}

func BenchmarkDraw(b *testing.B) {
	l := benchModel().Law(Job{Queue: "q", User: "7", Procs: 8, Limit: 7200}, 1e6)
	rng := rand.New(rand.NewPCG(1, 1))
	tail := l.Tail(600)
	for b.Loop() {
		_ = l.Draw(600, tail, rng.Float64())
	}
}

func BenchmarkCopulaLevel(b *testing.B) {
	c := NewCopula(DefaultRho)
	for b.Loop() {
		_ = c.Level(.3, -.4)
	}
}

// BenchmarkStartEnd measures the start and the end of one job together, with 1,000 jobs running.
func BenchmarkStartEnd(b *testing.B) {
	m := benchModel()
	j := Job{Queue: "q", User: "7", App: "a", Procs: 8, Limit: 7200}
	at := 1e6
	for b.Loop() {
		m.Started(1<<40, j, at)
		m.Ended(1<<40, at+600)
		at++
	}
}
