package lifetime

import "math"

// Lifetimes are sorted into cells for scoring, as a law without density (Kaplan-Meier) has a probability for a cell
// only: up to 1 s, then quarters of a doubling; the last, of about 2^31 s (68 years), has no end. A cell ends at its
// upper edge, inclusively.
const (
	perOctave = 4
	octaves   = 31
	cells     = perOctave*octaves + 1
)

// doubt is how much of each prediction is spread evenly over the cells, so that no law loses everything by one lifetime
// that it holds impossible (the uniform-log law has ends). One lifetime out of reach costs ln(125/.01) = 9.4.
const doubt = .01

func cellOf(seconds float64) int {
	if seconds <= 1 {
		return 0
	}
	return min(int(math.Ceil(perOctave*math.Log2(seconds))), cells-1)
}

// upper returns a cell's upper edge in seconds.
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
		if c < cells-1 { // the last has no upper edge
			p -= l.Survival(upper(c))
		}
	}
	if l == nil {
		return math.Log(even)
	}
	if !(p >= 0) { // not a distribution
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

// asLaw keeps a nil law from becoming a Law that is not nil.
func asLaw[L Law](l L, err error) (Law, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}
