package api

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/workload/clean"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/lifetime"
	"github.com/waitcast/waitcast/workload/markov"
)

type modelInput struct {
	Queue       string `path:"queue" doc:"queue"`
	Cluster     string `query:"cluster" doc:"cluster; may be left out where there is only one"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has: the answer is 304 if it is still one of them"`
}

type modelOutput struct {
	ETag string `header:"ETag" doc:"weak validator: the same as long as the answer tells the same, age_seconds aside"`
	Body wire.Models
}

func (s *Server) getModel(ctx context.Context, in *modelInput) (*modelOutput, error) {
	v, err := s.view(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := findQueue(v, &in.Queue); err != nil {
		return nil, err
	}
	tag := s.tag(ctx, false, v)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	_, age, stale := s.asOf(v)
	out := &modelOutput{ETag: tag, Body: wire.Models{
		Cluster: v.Cluster, Queue: in.Queue, Lifetimes: []wire.Model{}, Laws: []wire.LifetimeLaws{}, AsOf: s.asOfInstant(v), AgeSeconds: age, Stale: stale,
	}}
	models := v.Models.Queue(in.Queue)
	if models == nil {
		return out, nil // no job of it has been seen yet
	}
	for i := range models.Lifetimes {
		out.Body.Lifetimes = append(out.Body.Lifetimes, lifetimes(&models.Lifetimes[i], in.Queue, i, true))
		out.Body.Laws = append(out.Body.Laws, laws(&models.Lifetimes[i], pipeline.Classes()[i]))
	}
	known := s.analyses.of(v, in.Queue, 0, s.opts.Now)
	out.Body.Lublin, out.Body.Users = lublin(&known.lublin), people(known.users, s.analyses.saturation(v, in.Queue))
	out.Body.Markov = chains(models.Chains)
	return out, nil
}

// laws tells how the competing laws of one class stand.
func laws(l *pipeline.LifetimeView, class string) wire.LifetimeLaws {
	c := l.Selection
	out := wire.LifetimeLaws{Class: class, Jobs: c.Seen, Chosen: c.Chosen, Scores: []wire.LawScore{}}
	for _, s := range c.Standings {
		score := wire.LawScore{Law: s.Name, Scored: s.N, Failed: s.Failed, Reason: s.Error}
		if scored(&s) {
			score.LogScore = number(s.Mean)
		}
		out.Scores = append(out.Scores, score)
	}
	slices.SortStableFunc(out.Scores, func(a, b wire.LawScore) int { // those without a score last
		return cmp.Compare(flag(a.LogScore == nil), flag(b.LogScore == nil))
	})
	law := c.Law
	switch {
	case law != nil:
	case c.Seen < pipeline.FirstChoice:
		out.Reason = fmt.Sprintf("the best law is chosen from %d lifetimes on, there are %d", pipeline.FirstChoice, c.Seen)
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
	q := func(p float64) *float64 { return number(law.Quantile(p)) }
	out.Law = &wire.Quantiles{P10: q(.1), P25: q(.25), P50: q(.5), P75: q(.75), P90: q(.9), P95: q(.95)}
	out.Params = lawParams(law)
	return out
}

// scored reports whether a law has a score of its own: one that was never fitted has that of knowing nothing.
func scored(s *lifetime.Standing) bool { return s.N > s.Failed }

func lawParams(law lifetime.Law) *wire.LawParams {
	switch l := law.(type) {
	case lifetime.UniformLog:
		return &wire.LawParams{B0: &l.B0, B1: &l.B1}
	case lifetime.AtLimit:
		return &wire.LawParams{B0: &l.B0, B1: &l.B1, LimitSeconds: &l.Limit}
	case lifetime.HyperGamma:
		return &wire.LawParams{HyperGamma: &wire.LogMixture{First: gamma(l.Log.First), Second: gamma(l.Log.Second), P: l.Log.P, Short: l.Short}}
	case *lifetime.KaplanMeier:
		steps := l.Times()
		return &wire.LawParams{Steps: &steps}
	}
	return nil
}

// number returns a number as JSON can have it, nil where it cannot.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// finite returns 0 where JSON has no number.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

func gamma(g hypergamma.Gamma) wire.Gamma {
	return wire.Gamma{Shape: finite(g.Shape), Scale: finite(g.Scale)}
}

// lublin describes a fit; figures of a part that is not fitted are 0.
func lublin(f *pipeline.LublinFit) *wire.Lublin {
	out := &wire.Lublin{
		Size:    wire.LublinSize{Reason: f.NoSizes},
		Runtime: wire.LublinRuntime{Reason: f.NoRuntimes},
		Arrival: wire.LublinArrival{Reason: f.NoArrivals, HalfHours: []float64{}},
	}
	if f.NoSizes == "" {
		s := &f.Size
		out.Size = wire.LublinSize{
			Jobs: s.N, Serial: s.Params.Serial, PowerOfTwo: s.Params.PowerOfTwo, Low: s.Params.Low, Medium: s.Params.Medium,
			High: s.Params.High, Prob: s.Params.Prob, KS: s.KS,
		}
	}
	if f.NoRuntimes == "" {
		r := &f.Runtime
		out.Runtime = wire.LublinRuntime{
			Jobs: r.N, First: gamma(r.First), Second: gamma(r.Second), P: r.P, A: finite(r.A), B: finite(r.B), KS: r.KS, AllKS: r.AllKS,
			LogLikelihood: finite(r.LogLikelihood),
		}
	}
	if f.NoArrivals == "" {
		a := &f.Arrival
		out.Arrival = wire.LublinArrival{
			Jobs: a.DailyN, Peak: gamma(a.Peak), PeakGaps: a.PeakN, ARAR: finite(a.ARAR), MeanGapSeconds: a.MeanGap,
			Daily: gamma(a.Daily), DailyKS: a.DailyKS, HalfHours: a.HalfHours[:],
		}
	}
	return out
}

func chains(c *markov.Chains) *wire.Markov {
	if c == nil {
		return nil
	}
	return &wire.Markov{
		Procs: wire.Chain(c.Procs), Runtime: wire.Chain(c.Runtime), Cor0: c.Cor0, Cor1: c.Cor1, Jobs: c.Jobs, Pairs: c.Pairs,
	}
}

// people tells what is known of the users, in numbers alone.
func people(a *pipeline.Analysis, s pipeline.Saturation) *wire.Users {
	out := &wire.Users{
		Reason: a.NoPools, Since: a.Origin, Jobs: a.Jobs, NeverRanJobs: a.NeverRan, Sessions: a.Sessions, Weeks: s.History.Weeks,
		Growth: finite(s.History.PerWeek), Saturated: s.Saturated(), Saturation: saturation(&s),
	}
	if p := a.Pools; p != nil {
		out.LongTerm, out.Temporary, out.Dropped, out.PerWeek = len(p.LongTerm), len(p.Temporary), len(p.Dropped), finite(p.Arrivals)
	}
	for _, f := range a.Findings {
		if f.Reason == clean.Robot {
			out.Robots, out.RobotJobs = out.Robots+1, out.RobotJobs+f.Jobs
		} else {
			out.Flurries, out.FlurryJobs = out.Flurries+1, out.FlurryJobs+f.Jobs
		}
	}
	return out
}
