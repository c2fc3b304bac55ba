package ask

// Pace lets other requests be served during a request with many candidates. Size, Waits and Watchers.Join accept a nil
// Pace, which never waits.
type Pace interface {
	// Expect announces the given number of forecasts.
	Expect(forecasts int)
	// Next is called before each forecast, and at intervals while the candidates are ranked. It may wait. If it
	// returns an error, the request ends with that error.
	Next() error
}

// paceError is an error of a Pace, which ends a request.
type paceError struct{ error }

// Unwrap returns the error of the pace.
func (e *paceError) Unwrap() error { return e.error }

// rankStep lets other requests be served while candidates are ranked. It is called at intervals.
func (q *sizeQuery) rankStep() error {
	if err := q.pace.Next(); err != nil {
		return &paceError{err}
	}
	return nil
}

// unpaced is a Pace that never waits.
type unpaced struct{}

// Expect implements Pace.
func (unpaced) Expect(int) {}

// Next implements Pace.
func (unpaced) Next() error { return nil }

// paceOf returns a pace, unpaced for nil.
func paceOf(p Pace) Pace {
	if p == nil {
		return unpaced{}
	}
	return p
}
