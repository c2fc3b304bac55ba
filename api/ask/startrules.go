package ask

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/ruletext"
)

// startRules describes the rules by which the jobs of a queue start; nil if unknown.
func startRules(r *ruletext.Rules) *wire.Rules {
	if r == nil {
		return nil
	}
	g := &r.Gates
	out := &wire.Rules{Words: r.Words, Order: startOrder(r),
		Times: wire.StartTimes{Starts: g.Starts, StartsNeeded: g.Needed, Found: []wire.LimitTimes{}}}
	if g.Summary != nil {
		out.Times.WaitedHours = g.Summary.Exposure
	}
	for i := range r.Times {
		t := &r.Times[i]
		times := wire.LimitTimes{OverSeconds: t.Over, Open: weekTimes(t.Open), Shut: weekTimes(t.Shut),
			OpenStarts: t.OpenStarts, OpenHours: t.OpenHours, ShutStarts: t.ShutStarts, ShutHours: t.ShutHours}
		if !math.IsInf(t.UpTo, 1) {
			times.UpToSeconds = &t.UpTo
		}
		out.Times.Found = append(out.Times.Found, times)
	}
	return out
}

func startOrder(r *ruletext.Rules) wire.StartOrder {
	out := wire.StartOrder{Source: "policy", Waits: r.Order.Situations, WaitsNeeded: r.Order.Needed,
		Effects: []wire.StartEffect{}}
	switch {
	case r.Source == pools.PolicyConfigured, r.Source == pools.PolicyPriorities:
		out.Source = r.Source.String()
	case r.InUse:
		out.Source = "fitted"
	}
	for _, e := range r.Effects {
		first := "less"
		if e.More {
			first = "more"
		}
		out.Effects = append(out.Effects, wire.StartEffect{Attribute: e.Attribute.String(), First: first,
			Share: e.Share, Pairs: e.Pairs})
	}
	if e := r.Order.Evidence; e != nil && r.Order.Priority != nil {
		at := time.Unix(0, 0).UTC().Add(fromSeconds(e.At))
		out.FittedAt, out.Loss, out.FirstComeLoss = &at, &e.Loss, &e.FirstCome
		out.Weights = weights(r.Order.Priority)
	}
	return out
}

func weights(p *rules.Priority) *wire.OrderWeights {
	return &wire.OrderWeights{
		LogAge: p.LogAge, AgeDays: p.AgeDays, LogTimeLimit: p.LogLimit, LogSize: p.LogProcs,
		LogExpectedRuntime: p.LogExpected, LogOwnJobsAhead: p.Own, QueueWait: p.QueueWait, LogUsage: p.LogUse,
		RuntimeFactor: math.Exp(p.Lifetimes), DelaySeconds: math.Expm1(p.Delay), CapacityFactor: math.Exp(p.Capacity),
		Strict: p.Strict,
	}
}

func weekTimes(all []ruletext.Interval) []wire.WeekTime {
	clock := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60) }
	out := []wire.WeekTime{}
	for _, t := range all {
		days := []string{}
		for _, d := range t.Days {
			days = append(days, strings.ToLower(d.String()))
		}
		out = append(out, wire.WeekTime{Days: days, From: clock(t.From), To: clock(t.To)})
	}
	return out
}
