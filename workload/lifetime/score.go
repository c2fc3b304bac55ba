package lifetime

import "math"

// For scoring, lifetimes are sorted into cells, because a law without density (Kaplan-Meier) has probabilities only for
// cells. The first cell ends at 1 s; the next are quarters of a doubling wide; the last, from about 2^31 s (68 years)
// on, has no end. The upper edge of a cell belongs to the cell.
const (
	perOctave = 4
	octaves   = 31
	cells     = perOctave*octaves + 1
)

// doubt is the share of each prediction that is spread evenly over the cells. So a law does not lose everything by one
// lifetime to which it gives probability 0 (the uniform-log law has ends). Such a lifetime costs ln(125/.01) = 9.4.
const doubt = .01

func cellOf(seconds float64) int {
	if seconds <= 1 {
		return 0
	}
	return min(int(math.Ceil(perOctave*math.Log2(seconds))), cells-1)
}

// upper returns the upper edge of a cell in seconds.
func upper(cell int) float64 { return math.Exp2(float64(cell) / perOctave) }

// Score returns the natural logarithm of the probability that the law gives to the observation: to the cell of its
// lifetime, a quarter of a doubling wide, or, where it is censored, to living longer. One part in 100 of every
// prediction is spread over all cells, so that the score is at least -9.5. A nil law knows nothing: it spreads
// everything. Higher is better; the expected score is highest for the true law.
func Score(l Law, o Observation) float64 {
	c := cellOf(o.Seconds)
	even, p := 1./cells, 0.0
	if o.Censored {
		even = max(float64(cells-1-c), 1) / cells
		if l != nil {
			p = l.Survival(o.Seconds)
		}
	} else if l != nil {
		p = 1.0
		if c > 0 {
			p = l.Survival(upper(c - 1))
		}
		if c < cells-1 { // the last cell has no upper edge
			p -= l.Survival(upper(c))
		}
	}
	if l == nil {
		return math.Log(even)
	}
	if !(p >= 0) { // NaN or negative: not a distribution
		p = 0
	}
	return math.Log((1-doubt)*min(p, 1) + doubt*even)
}

// Candidate is one of the laws that compete.
type Candidate struct {
	Name string
	Fit  func(jobs []Observation) (Law, error)
}

// The names of [Candidates].
const (
	NameUniformLog  = "uniform_log"
	NameAtLimit     = "uniform_log_at_limit"
	NameHyperGamma  = "hyper_gamma"
	NameKaplanMeier = "kaplan_meier"
)

// Candidates returns all laws of this package for a queue with the given time limit in seconds; 0: it has none, nor the
// law cut at it.
func Candidates(limit float64) []Candidate {
	all := []Candidate{
		{NameUniformLog, func(jobs []Observation) (Law, error) { return asLaw(FitUniformLog(jobs)) }},
		{NameHyperGamma, func(jobs []Observation) (Law, error) { return asLaw(FitHyperGamma(jobs)) }},
		{NameKaplanMeier, func(jobs []Observation) (Law, error) { return asLaw(FitKaplanMeier(jobs)) }},
	}
	if limit > 0 {
		all = append(all,
			Candidate{NameAtLimit, func(jobs []Observation) (Law, error) { return asLaw(FitAtLimit(jobs, limit)) }})
	}
	return all
}

// asLaw converts a law to the interface Law. A nil pointer becomes a nil interface.
func asLaw[L Law](l L, err error) (Law, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}
