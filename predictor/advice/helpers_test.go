package advice_test

import (
	"math"

	"github.com/waitcast/waitcast/predictor/advice"
)

type failer interface{ Errorf(string, ...any) }

func near(t failer, what string, got, want, tol float64) {
	if !(math.Abs(got-want) <= tol) && got != want {
		t.Errorf("%s = %v, want %v within %v", what, got, want, tol)
	}
}

func must[T any](t interface{ Fatal(...any) }) func(T, error) T {
	return func(v T, err error) T {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func choose(t interface{ Fatal(...any) }, candidates []advice.Candidate, request int,
	o advice.Objective) *advice.Result {
	return must[*advice.Result](t)(advice.Choose(candidates, request, o))
}
