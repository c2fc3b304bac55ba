package ask

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/lifetime"
)

// model describes a law; the zero Law (no fit) gives a model with 0 samples.
func model(l *predictor.Law) wire.Model {
	m := wire.Model{Queue: l.Queue, Class: l.Class, N: l.N}
	if l.N == 0 {
		return m
	}
	if m.Law = l.Name; !l.Valid() { // Downey's law does not fit at all, so another law was chosen
		return m
	}
	m.B0, m.B1, m.R2 = l.B0, l.B1, l.R2
	m.TMinSeconds, m.TMaxSeconds = l.TMin(), l.TMax()
	at := l.At.UTC()
	m.FittedAt = &at
	return m
}

// lifetimes describes the law of the lifetimes in one class of a queue. Only if ks is set does it compute the KS
// distance, which needs a pass over the window.
func lifetimes(l *livemodels.LifetimeView, queue string, class int, ks bool) wire.Model {
	m := model(&l.Law)
	m.Queue, m.Class = queue, livemodels.Classes()[class]
	m.N = l.Sample.N()
	if ks && l.Err == nil {
		d := l.Sample.KS(l.Law.Model)
		m.KS = &d
	}
	return m
}

// laws reports the scores of the competing laws of one class.
func laws(l *livemodels.LifetimeView, class string) wire.LifetimeLaws {
	c := l.Selection
	out := wire.LifetimeLaws{Class: class, Jobs: c.Seen, Chosen: c.Chosen, Scores: []wire.LawScore{}}
	for _, s := range c.Standings {
		score := wire.LawScore{Law: s.Name, Scored: s.N, Failed: s.Failed, Reason: s.Error}
		if Scored(&s) {
			score.LogScore = Number(s.Mean)
		}
		out.Scores = append(out.Scores, score)
	}
	slices.SortStableFunc(out.Scores, func(a, b wire.LawScore) int { // a law without a score comes last
		return cmp.Compare(missing(a.LogScore), missing(b.LogScore))
	})
	law := c.Law
	switch {
	case law != nil:
	case c.Seen < livemodels.FirstChoice:
		out.Reason = fmt.Sprintf("the best law is chosen from %d lifetimes on, there are %d",
			livemodels.FirstChoice, c.Seen)
	default:
		out.Reason = "no law could be fitted at the newest refit"
	}
	if law == nil && l.Err == nil {
		law, out.Chosen = lifetime.UniformLog{Model: l.Law.Model}, lifetime.NameUniformLog
		out.Reason += "; until then it is Downey's"
	}
	if law == nil {
		return out
	}
	q := func(p float64) *float64 { return Number(law.Quantile(p)) }
	out.Law = &wire.Quantiles{P10: q(.1), P25: q(.25), P50: q(.5), P75: q(.75), P90: q(.9), P95: q(.95)}
	out.Params = lawParams(law)
	return out
}

// Scored reports whether a law has a score of its own. A law that was never fitted has only the score of a default.
func Scored(s *lifetime.Standing) bool { return s.N > s.Failed }

func lawParams(law lifetime.Law) *wire.LawParams {
	switch l := law.(type) {
	case lifetime.UniformLog:
		return &wire.LawParams{B0: &l.B0, B1: &l.B1}
	case lifetime.AtLimit:
		return &wire.LawParams{B0: &l.B0, B1: &l.B1, LimitSeconds: &l.Limit}
	case lifetime.HyperGamma:
		return &wire.LawParams{HyperGamma: &wire.LogMixture{First: gamma(l.Log.First), Second: gamma(l.Log.Second),
			P: l.Log.P, Short: l.Short}}
	case *lifetime.KaplanMeier:
		steps := l.Times()
		return &wire.LawParams{Steps: &steps}
	}
	return nil
}

func gamma(g hypergamma.Gamma) wire.Gamma {
	return wire.Gamma{Shape: finite(g.Shape), Scale: finite(g.Scale)}
}

// curveSteps is the number of equal parts into which the probabilities from 0 to 1 are divided: one quantile per
// percent gives a smooth curve.
const curveSteps = 100

// curve returns the quantiles, at the given levels, of the observed lifetimes of one class, and of the law that is
// fitted to them.
func curve(l *livemodels.LifetimeView, queue string, class int, levels []float64) wire.LifetimeCurve {
	out := wire.LifetimeCurve{Observed: []float64{}, Law: []*float64{}, Fit: lifetimes(l, queue, class, true)}
	law := l.Selection.Law
	if law == nil && l.Err == nil { // as in GET /v1/models/{queue}
		law = lifetime.UniformLog{Model: l.Law.Model}
	}
	for _, p := range levels {
		if l.Sample.N() > 0 {
			out.Observed = append(out.Observed, l.Sample.Quantile(p))
		}
		if law != nil {
			out.Law = append(out.Law, Number(law.Quantile(p)))
		}
	}
	return out
}
