package ask

import (
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/workload/clean"
	"github.com/waitcast/waitcast/workload/markov"
)

// lublin describes a fit. The figures of a part without a fit are 0.
func lublin(f *livemodels.LublinFit) *wire.Lublin {
	out := &wire.Lublin{
		Size:    wire.LublinSize{Reason: f.NoSizes},
		Runtime: wire.LublinRuntime{Reason: f.NoRuntimes},
		Arrival: wire.LublinArrival{Reason: f.NoArrivals, HalfHours: []float64{}},
	}
	if f.NoSizes == "" {
		s := &f.Size
		out.Size = wire.LublinSize{
			Jobs: s.N, Serial: s.Params.Serial, PowerOfTwo: s.Params.PowerOfTwo, Low: s.Params.Low,
			Medium: s.Params.Medium, High: s.Params.High, Prob: s.Params.Prob, KS: s.KS,
		}
	}
	if f.NoRuntimes == "" {
		r := &f.Runtime
		out.Runtime = wire.LublinRuntime{
			Jobs: r.N, First: gamma(r.First), Second: gamma(r.Second), P: r.P, A: finite(r.A), B: finite(r.B), KS: r.KS,
			AllKS: r.AllKS, LogLikelihood: finite(r.LogLikelihood),
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
		Procs: wire.Chain(c.Procs), Runtime: wire.Chain(c.Runtime), Cor0: c.Cor0, Cor1: c.Cor1, Jobs: c.Jobs,
		Pairs: c.Pairs,
	}
}

// Users reports statistics of the users, without names.
func Users(a *readmodel.Analysis, s readmodel.Saturation) *wire.Users {
	out := &wire.Users{
		Reason: a.NoPools, Since: a.Origin, Jobs: a.Jobs, NeverRanJobs: a.NeverRan, Sessions: a.Sessions,
		Weeks: s.History.Weeks, Growth: finite(s.History.PerWeek), Saturated: s.Saturated(), Saturation: saturation(&s),
	}
	if p := a.Pools; p != nil {
		out.LongTerm, out.Temporary, out.Dropped, out.PerWeek = len(p.LongTerm), len(p.Temporary), len(p.Dropped),
			finite(p.Arrivals)
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

// saturation returns the saturation of a queue or the cluster, nil if nothing is known yet.
func saturation(s *readmodel.Saturation) *wire.Saturation {
	if s.History.Weeks == 0 && s.FutureWeeks == 0 {
		return nil
	}
	out := &wire.Saturation{Saturated: s.Saturated(), Growth: decimals(s.History.PerWeek, 4),
		GrowthWeeks: s.History.Weeks}
	if s.FutureWeeks > 0 {
		probability, band, at := decimals(s.Future.Probability, 4), loadBand(s.Future.JobsPerWeek, 2), s.At
		out.Probability, out.JobsPerWeek, out.Weeks, out.At = &probability, &band, s.FutureWeeks, &at
	}
	return out
}

// Models describes the models of one queue.
func (s *Service) Models(v *readmodel.View, queue string) wire.Models {
	_, age, stale := s.AsOf(v)
	out := wire.Models{
		Cluster: v.Cluster, Queue: queue, Lifetimes: []wire.Model{}, Laws: []wire.LifetimeLaws{},
		AsOf: s.AsOfInstant(v), AgeSeconds: age, Stale: stale,
	}
	models := v.Models.Queue(queue)
	if models == nil {
		return out // no job of the queue has been seen yet
	}
	for i := range models.Lifetimes {
		out.Lifetimes = append(out.Lifetimes, lifetimes(&models.Lifetimes[i], queue, i, true))
		out.Laws = append(out.Laws, laws(&models.Lifetimes[i], livemodels.Classes()[i]))
	}
	known := s.Analysis(v, queue, 0)
	out.Lublin, out.Users = lublin(&known.Lublin), Users(known.Users, s.Saturation(v, queue))
	out.Markov = chains(models.Chains)
	return out
}

// Curves returns the observed lifetimes of the jobs of a queue, beside the laws fitted to them.
func (s *Service) Curves(v *readmodel.View, queue string) wire.LifetimeCurves {
	out := wire.LifetimeCurves{Cluster: v.Cluster, Queue: queue, Curves: []wire.LifetimeCurve{}, AsOf: s.AsOfInstant(v)}
	_, out.AgeSeconds, out.Stale = s.AsOf(v)
	for i := range curveSteps + 1 {
		out.Levels = append(out.Levels, float64(i)/curveSteps)
	}
	if models := v.Models.Queue(queue); models != nil {
		for class := range models.Lifetimes {
			out.Curves = append(out.Curves, curve(&models.Lifetimes[class], queue, class, out.Levels))
		}
	}
	return out
}
