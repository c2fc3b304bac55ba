package lifetime

import "math"

// For scoring, lifetimes are sorted into cells, because a law without density (Kaplan-Meier) has probabilities only
// for cells. The first cell ends at 1 s. In each following cell the lifetime grows by a factor of 2^(1/4). The last
// cell, from about 2^31 s (68 years) on, has no end. The upper edge of a cell belongs to the cell.
const (
	perOctave = 4
	octaves   = 31
	cells     = perOctave*octaves + 1
)

// doubt is the share of each prediction that is spread evenly over the cells. Without it, one lifetime with
// probability 0 would make a law's score infinitely bad (the uniform-log law has ends). With it, such a lifetime
// costs ln(125/0.01) = 9.4.
const doubt = .01

func cellOf(seconds float64) int {
	if seconds <= 1 {
		return 0
	}
	return min(int(math.Ceil(perOctave*math.Log2(seconds))), cells-1)
}

// upper returns the upper edge of a cell in seconds.
func upper(cell int) float64 { return math.Exp2(float64(cell) / perOctave) }

// Score returns the natural logarithm of the probability that the law gives to the observation. For an ended job that
// is the probability of the cell of its lifetime. For a censored one it is the probability of a longer life. 1 % of
// every prediction is spread over all cells, so that the score is at least -9.5. A nil law spreads everything. A
// higher score is better. The expected score is highest for the true law.
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

// These are the names of [Candidates].
const (
	NameUniformLog  = "uniform_log"
	NameAtLimit     = "uniform_log_at_limit"
	NameHyperGamma  = "hyper_gamma"
	NameKaplanMeier = "kaplan_meier"
)

// Candidates returns all laws of this package for a queue with the given time limit in seconds. If the limit is 0,
// the queue has no limit, and the law cut at the limit is left out.
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
