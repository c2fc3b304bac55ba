package markov

// Recorded returns the times one after the other, and false at their end.
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
