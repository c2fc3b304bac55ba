package markov

// Recorded returns a function that returns the given submit times one after the other, and then false.
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
