package advice_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/advice"
)

// nanLaw is a law whose results are NaN.
type nanLaw struct{ advice.Fixed }

func (nanLaw) Quantile(float64) float64 { return math.NaN() }

// TestBadCandidates proves that each bad candidate is refused with its name, place and field.
func TestBadCandidates(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for field, changes := range map[string][]func(c *advice.Candidate){
		"name":    {func(c *advice.Candidate) { c.Name = "asked" }},
		"size":    {func(c *advice.Candidate) { c.Procs = 0 }, func(c *advice.Candidate) { c.Procs = -1 }},
		"billing": {func(c *advice.Candidate) { c.Billing = nan }, func(c *advice.Candidate) { c.Billing = -1 }},
		"runtime": {
			func(c *advice.Candidate) { c.Run = nil }, func(c *advice.Candidate) { c.Run = advice.Fixed(0) },
			func(c *advice.Candidate) { c.Run = advice.Fixed(-5) },
			func(c *advice.Candidate) { c.Run = advice.Fixed(nan) },
			func(c *advice.Candidate) { c.Run = advice.Fixed(inf) },
			func(c *advice.Candidate) { c.Run = advice.LogNormal{Median: nan} },
			func(c *advice.Candidate) { c.Run = advice.LogNormal{Median: 1, Spread: nan} },
			func(c *advice.Candidate) { c.Run = advice.LogNormal{Median: 1, Spread: -1} },
			func(c *advice.Candidate) { c.Run = nanLaw{5} },
		},
		"wait": {
			func(c *advice.Candidate) { c.Wait.Futures = []float64{1, nan} },
			func(c *advice.Candidate) { c.Wait.Futures = []float64{1, -1} },
			func(c *advice.Candidate) { c.Wait.Futures = []float64{1} },
			func(c *advice.Candidate) { c.Wait.Futures = []float64{} },
			func(c *advice.Candidate) { c.Wait.Law = advice.Fixed(1) },
			func(c *advice.Candidate) { c.Wait = advice.Wait{Law: advice.Fixed(nan)} },
			func(c *advice.Candidate) { c.Wait = advice.Wait{Law: nanLaw{5}} },
			// The other candidates of the pool have futures, so this one needs futures, too.
			func(c *advice.Candidate) { c.Wait = advice.Wait{Law: advice.LogNormal{Median: 5, Spread: 1}} },
		},
	} {
		for i, change := range changes {
			c := three()
			change(&c[1])
			_, err := advice.Choose(c, advice.NoRequest, advice.Objective{})
			var bad *advice.CandidateError
			if !errors.As(err, &bad) || bad.Place != 2 || bad.Field != field || bad.Candidate != c[1].Name ||
				!strings.Contains(err.Error(), c[1].Name) {
				t.Errorf("%s, change %d: %v, want a *CandidateError of candidate 2", field, i, err)
			}
		}
	}
	c := three()
	c[2].MaxProcs = 31
	var large *advice.TooLargeError
	if _, err := advice.Choose(c, 0, advice.Objective{}); !errors.As(err, &large) ||
		*large != (advice.TooLargeError{Candidate: "large", Procs: 32, MaxProcs: 31}) {
		t.Errorf("a size over the machine: %v, want a *TooLargeError", err)
	}
	if _, err := advice.Choose(nil, advice.NoRequest, advice.Objective{}); !errors.Is(err, advice.ErrNoCandidates) {
		t.Errorf("no candidates: %v", err)
	}
}

// TestBadObjectives proves that each bad objective is refused with its field, and a deadline in the past with an error
// of its own.
func TestBadObjectives(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for field, objectives := range map[string][]advice.Objective{
		"kind": {{Kind: 9}}, "level": {{Level: nan}, {Level: 1}, {Level: -.1}},
		"deadline":                  {{Deadline: nan}, {Deadline: inf}},
		"price of a processor-hour": {{ProcHour: nan}, {ProcHour: -1}, {ProcHour: inf}},
		"price of an hour":          {{Hour: nan}, {Hour: -1}}, "price": {{Kind: advice.Cost}},
	} {
		for _, o := range objectives {
			var bad *advice.ObjectiveError
			if _, err := advice.Choose(three(), 0, o); !errors.As(err, &bad) || bad.Field != field {
				t.Errorf("%+v: %v, want an *ObjectiveError of %s", o, err, field)
			}
		}
	}
	for _, o := range []advice.Objective{
		{Deadline: -1}, {Kind: advice.ByDeadline}, {Kind: advice.ByDeadline, Deadline: -3600},
	} {
		var past *advice.DeadlineError
		if _, err := advice.Choose(three(), 0, o); !errors.As(err, &past) || past.Seconds != o.Deadline {
			t.Errorf("%+v: %v, want a *DeadlineError", o, err)
		}
	}
	for _, request := range []int{-2, 3} {
		var bad *advice.ObjectiveError
		if _, err := advice.Choose(three(), request, advice.Objective{}); !errors.As(err, &bad) ||
			bad.Field != "request" {
			t.Errorf("request %d: %v, want an *ObjectiveError", request, err)
		}
	}
}

// TestNoNaN proves that for any numbers, including NaN and infinity, a choice returns an error, or an answer without
// NaN (except in fields that document it) and with probabilities between 0 and 1.
func TestNoNaN(t *testing.T) {
	any := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1e5),
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1}))
	sane := rapid.Float64Range(1, 1e6)
	rapid.Check(t, func(t *rapid.T) {
		futures := rapid.IntRange(1, 3).Draw(t, "futures")
		var c []advice.Candidate
		for i := range rapid.IntRange(1, 4).Draw(t, "candidates") {
			next := advice.Candidate{Name: string(rune('a' + i)),
				Pool: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "pool"), Procs: 1 + i}
			next.Wait.Futures = rapid.SliceOfN(rapid.OneOf(sane, sane, sane, any), futures, futures).Draw(t, "waits")
			next.Run = advice.LogNormal{Median: rapid.OneOf(sane, sane, sane, any).Draw(t, "median"),
				Spread: rapid.OneOf(rapid.Float64Range(0, 2), rapid.Just(0.), rapid.Just(.5), any).Draw(t, "spread")}
			c = append(c, next)
		}
		o := advice.Objective{
			Kind:     advice.Kind(rapid.IntRange(0, 3).Draw(t, "kind")),
			Deadline: rapid.OneOf(sane, sane, any).Draw(t, "deadline"),
			ProcHour: rapid.OneOf(sane, sane, any).Draw(t, "price"), Hour: 1,
		}
		r, err := advice.Choose(c, 0, o)
		if err != nil {
			return
		}
		for _, a := range r.Answers {
			if math.IsNaN(a.Score) || math.IsNaN(a.MeanFinish) || math.IsNaN(a.Cost) || a.InTime < 0 ||
				a.InTime > 1+1e-12 {
				t.Errorf("answer %+v", a)
			}
			if p := []float64{a.Best, a.Gain.Better, a.Gain.Worse, a.Gain.Better + a.Gain.Worse}; !inUnit(p) {
				t.Errorf("probabilities %v", p)
			}
			for k := range a.Finish {
				if math.IsNaN(a.Finish[k]) || k > 0 && a.Finish[k] < a.Finish[k-1] {
					t.Errorf("quantiles %v", a.Finish)
				}
			}
		}
	})
}

func inUnit(p []float64) bool {
	for _, x := range p {
		if !(x >= 0 && x <= 1+1e-9) {
			return false
		}
	}
	return true
}
