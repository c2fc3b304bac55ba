package markov

import "iter"

// Job is a drawn job with a submit time.
type Job struct {
	Submit  float64 // seconds
	Procs   int
	Runtime float64 // seconds
}

// Stream draws jobs and gives them submit times, which the chains do not model (Song et al. 2004, sec. 2): those of Lublin and Feitelson (their
// Arrivals.Next) or recorded ones ([Recorded]). submit returns the next time, and false at its end, which ends the stream.
func (g *Generator) Stream(submit func() (seconds float64, ok bool)) iter.Seq[Job] {
	return func(yield func(Job) bool) {
		for {
			t, ok := submit()
			if !ok {
				return
			}
			procs, runtime := g.Next()
			if !yield(Job{Submit: t, Procs: procs, Runtime: runtime}) {
				return
			}
		}
	}
}

// Recorded returns the times one after the other, for [Generator.Stream].
func Recorded(submits []float64) func() (seconds float64, ok bool) {
	at := 0
	return func() (float64, bool) {
		if at == len(submits) {
			return 0, false
		}
		at++
		return submits[at-1], true
	}
}
