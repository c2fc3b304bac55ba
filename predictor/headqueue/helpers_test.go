package headqueue

import (
	"math"
	"math/rand/v2"

	"pgregory.net/rapid"
)

// uniformLog is Downey's law: the log of the runtime is uniform on [tmin, tmax].
type uniformLog struct{ tmin, tmax, logRatio float64 }

func newUniformLog(tmin, tmax float64) uniformLog {
	return uniformLog{tmin, tmax, math.Log(tmax / tmin)}
}

func (u uniformLog) Survival(t float64) float64 {
	switch {
	case t <= u.tmin:
		return 1
	case t >= u.tmax:
		return 0
	}
	return math.Log(u.tmax/t) / u.logRatio
}

// fixed is a law of a runtime known to the second.
type fixed float64

func (f fixed) Survival(t float64) float64 {
	if t < float64(f) {
		return 1
	}
	return 0
}

// exponential is an exponential law with this mean.
type exponential float64

func (e exponential) Survival(t float64) float64 { return math.Exp(-t / float64(e)) }

// mortal is a law by which a job ends with probability p, at an exponential instant, and otherwise never.
type mortal struct {
	p    float64
	mean exponential
}

func (m mortal) Survival(t float64) float64 { return 1 - m.p + m.p*m.mean.Survival(t) }

// drawLaw draws any of the laws.
func drawLaw(t *rapid.T) Lifetime {
	switch rapid.IntRange(0, 4).Draw(t, "law") {
	case 0:
		return nil
	case 1:
		return fixed(rapid.Float64Range(1, 1e5).Draw(t, "runtime"))
	case 2:
		return exponential(rapid.Float64Range(10, 1e5).Draw(t, "mean"))
	case 3:
		return mortal{rapid.Float64Range(0, 1).Draw(t, "p"), 1000}
	default:
		tmin := rapid.Float64Range(.1, 100).Draw(t, "tmin")
		return newUniformLog(tmin, tmin*rapid.Float64Range(2, 1e5).Draw(t, "ratio"))
	}
}

// drawHolders draws lo to hi holders whose sizes are multiples of a drawn unit.
func drawHolders(t *rapid.T, lo, hi int) []Holder {
	unit := rapid.SampledFrom([]int{1, 1, 2, 3, 16}).Draw(t, "unit")
	holders := make([]Holder, rapid.IntRange(lo, hi).Draw(t, "jobs"))
	for i := range holders {
		holders[i] = Holder{
			Procs: unit * rapid.IntRange(0, 40).Draw(t, "units"),
			Age:   rapid.Float64Range(-1e4, 1e5).Draw(t, "age"),
			Limit: rapid.SampledFrom([]float64{0, 0, 600, 36000, 2e5}).Draw(t, "limit"),
			Law:   drawLaw(t),
		}
	}
	return holders
}

// enumerate returns the sum of eq. 7 by its definition, over all outcomes that free at least need.
func enumerate(holders []Holder, need int, t float64) float64 {
	p := make([]float64, len(holders))
	for i, h := range holders {
		p[i] = h.Ends(t)
	}
	var walk func(i, freed int) float64
	walk = func(i, freed int) float64 {
		if i == len(p) {
			if freed >= need {
				return 1
			}
			return 0
		}
		n := max(holders[i].Procs, 0)
		return p[i]*walk(i+1, freed+n) + (1-p[i])*walk(i+1, freed)
	}
	return walk(0, 0)
}

// machine returns a random busy machine: jobs running, with sizes from size, under Downey's law with random limits.
func machine(rng *rand.Rand, jobs int, size func() int) []Holder {
	holders := make([]Holder, jobs)
	for i := range holders {
		law := newUniformLog(1+10*rng.Float64(), 3600*math.Exp(4*rng.Float64()))
		h := Holder{Procs: size(), Age: law.tmax * rng.Float64() * rng.Float64(), Law: law}
		if rng.IntN(2) == 0 {
			h.Limit = h.Age + 60 + law.tmax*rng.Float64()
		}
		holders[i] = h
	}
	return holders
}

func totalProcs(holders []Holder) int {
	n := 0
	for _, h := range holders {
		n += h.Procs
	}
	return n
}

// mixes returns the size distributions on which approximations are tested.
func mixes(rng *rand.Rand) map[string]func() int {
	pick := func(p float64, a, b func() int) func() int {
		return func() int {
			if rng.Float64() < p {
				return a()
			}
			return b()
		}
	}
	upTo := func(n int) func() int { return func() int { return 1 + rng.IntN(n) } }
	times := func(k int, f func() int) func() int { return func() int { return k * f() } }
	power := func(n int) func() int { return func() int { return 1 << rng.IntN(n) } }
	same := func(n int) func() int { return func() int { return n } }
	return map[string]func() int{
		"uniform 1-64":         upTo(64),
		"powers of two to 256": power(9),
		"9/10 multiples of 16": pick(.9, times(16, upTo(8)), upTo(128)),
		"97% multiples of 48":  pick(.97, times(48, upTo(6)), upTo(47)),
		"all multiples of 16":  times(16, upTo(8)),
		"a few 256 in small":   pick(.02, same(256), upTo(8)),
		"a few 1024 and 256":   pick(.01, same(1024), pick(.02, same(256), upTo(16))),
		"99% of 16":            pick(.99, same(16), same(1)),
		"log-uniform to 4096":  func() int { return int(math.Exp(rng.Float64() * math.Log(4097))) },
	}
}
