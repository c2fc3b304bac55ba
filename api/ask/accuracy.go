package ask

import (
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// AccuracyRequest defines which forecasts are compared with the facts, and which page of the groups is the answer.
type AccuracyRequest struct {
	// Queue, SizeClass and Made select; empty means any.
	Queue, SizeClass, Made string
	// Since and Until select by when the wait ended; a zero Until means no bound.
	Since, Until time.Time
	// Limit is the greatest number of groups, Offset how many of the first are left out.
	Limit, Offset int
}

// Accuracy reports how the forecasts turned out that were found in the ledger.
func (s *Service) Accuracy(v *readmodel.View, in *AccuracyRequest, found *accuracy.Summary) wire.Accuracy {
	out := wire.Accuracy{Cluster: v.Cluster, Since: in.Since, AsOf: s.AsOfInstant(v), Groups: []wire.AccuracyGroup{}}
	if !in.Until.IsZero() {
		out.Until = &in.Until
	}
	_, out.AgeSeconds, out.Stale = s.AsOf(v)
	for _, g := range found.Groups() {
		w := group(&g)
		if in.SizeClass != "" && w.SizeClass != in.SizeClass || in.Made != "" && w.Made != in.Made ||
			in.Queue != "" && w.Queue != in.Queue {
			continue
		}
		if out.Total++; out.Total > in.Offset && len(out.Groups) < in.Limit {
			out.Groups = append(out.Groups, w)
		}
	}
	if next := in.Offset + len(out.Groups); next < out.Total {
		out.NextOffset = &next
	}
	return out
}

// group writes the scores of some jobs.
func group(g *accuracy.Group) wire.AccuracyGroup {
	w := wire.AccuracyGroup{
		Queue: g.Queue, SizeClass: g.Size, Made: "live", Unforecast: g.Unforecast, Cancelled: g.Censored,
		KnownMisses: map[string]int64{},
		Methods:     []wire.MethodAccuracy{figures(accuracy.Waitcast, &g.Figures)},
	}
	if g.Replayed {
		w.Made = "replayed"
	}
	for i, level := range waittime.Levels() {
		w.KnownMisses[LevelName(level)] = g.Outlived[i]
	}
	for i := range g.Peers {
		p := &g.Peers[i]
		m := figures(p.Method, &p.Figures)
		m.Waitcast = losses(&p.Served)
		w.Methods = append(w.Methods, m)
	}
	return w
}

func figures(method string, f *accuracy.Figures) wire.MethodAccuracy {
	m := wire.MethodAccuracy{Method: method, N: f.N, Coverage: map[string][2]float64{}, LogPinball: losses(f)}
	if f.N == 0 {
		return m
	}
	n := float64(f.N)
	for i, level := range waittime.Levels() {
		m.Coverage[LevelName(level)] = [2]float64{float64(f.Below[i]) / n, float64(f.UpTo[i]) / n}
	}
	m.WithinFactor2 = float64(f.Within2) / n
	return m
}

// losses returns the mean losses of the median and the levels above it.
func losses(f *accuracy.Figures) map[string]float64 {
	out := map[string]float64{}
	for i, level := range waittime.Levels() {
		if level >= .5 && f.N > 0 {
			out[LevelName(level)] = f.LogPinball[i] / float64(f.N)
		}
	}
	return out
}
