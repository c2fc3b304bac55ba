package ask

import (
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// AccuracyRequest selects the forecasts that are compared with the outcomes, and the page of groups to return.
type AccuracyRequest struct {
	// Queue, SizeClass and Made select the forecasts; an empty one means any.
	Queue, SizeClass, Made string
	// Since and Until are as in accuracy.Bounds.
	Since, Until time.Time
	// Limit is the maximum number of groups, Offset the number of groups to skip.
	Limit, Offset int
}

// Accuracy reports the accuracy of forecasts. found has the selected forecasts of the ledger; Accuracy adds the
// forecasts of the waiting jobs to it.
func (s *Service) Accuracy(v *readmodel.View, in *AccuracyRequest, found *accuracy.Summary) wire.Accuracy {
	out := wire.Accuracy{Cluster: v.Cluster, Since: in.Since, AsOf: s.AsOfInstant(v), Groups: []wire.AccuracyGroup{}}
	if !in.Until.IsZero() {
		out.Until = &in.Until
	}
	_, out.AgeSeconds, out.Stale = s.AsOf(v)
	for _, w := range v.OpenForecasts {
		if in.Queue == "" || w.Queue == in.Queue {
			found.AddWaiting(w)
		}
	}
	for _, g := range found.Groups() {
		w := group(g)
		if newest := v.Decided.Newest[g.Queue]; newest != nil && g.Queue != "" && g.Size == "" {
			w.Newest = newestCoverage(newest[accuracy.MadeIndex(g.Replayed)])
		}
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

// newestCoverage returns the coverage of a queue's newest submissions. Keys are the LevelName of the levels; levels
// without data are left out.
func newestCoverage(levels []*coverage.OutcomeHistogram) map[string]wire.NewestCoverage {
	out := map[string]wire.NewestCoverage{}
	for i, level := range waittime.Levels() {
		c := levels[i].Counts()
		if c.Known() == 0 {
			continue
		}
		weighted, plain := levels[i].Interval(), c.Interval()
		out[LevelName(level)] = wire.NewestCoverage{
			Decided: c.Decided(), LeftUndecided: c.Censored, Censored: c.Censored,
			Coverage: [2]float64{weighted.Low, weighted.High}, Unweighted: [2]float64{plain.Low, plain.High},
		}
	}
	return out
}

// group returns the scores and the coverage of a group of jobs.
func group(g *accuracy.Group) wire.AccuracyGroup {
	w := wire.AccuracyGroup{
		Queue: g.Queue, SizeClass: g.Size, Made: "live", Unforecast: g.Unforecast, Left: g.Left, Cancelled: g.Left,
		Waiting: g.Waits, WaitingPast: map[string]int64{}, KnownMisses: map[string]int64{},
		Methods: []wire.MethodAccuracy{figures(accuracy.Waitcast, &g.Figures, g.Served)},
	}
	if g.Replayed {
		w.Made = "replayed"
	}
	addParts(&w, g.Parts)
	for i, level := range waittime.Levels() {
		w.WaitingPast[LevelName(level)] = g.Served[i].Waiting
		w.KnownMisses[LevelName(level)] = g.Served[i].Waiting + g.Served[i].Left
	}
	for i := range g.Submissions.Peers {
		p := &g.Submissions.Peers[i]
		scored := g.PeerScore(p.Method)
		m := figures(p.Method, &scored.Figures, p.Coverage)
		m.Waitcast = losses(&scored.Served)
		w.Methods = append(w.Methods, m)
	}
	return w
}

// figures returns the scores of one method. f covers the jobs that started, c all submissions.
func figures(method string, f *accuracy.Figures, c accuracy.Coverage) wire.MethodAccuracy {
	m := wire.MethodAccuracy{
		Method: method, N: f.N, LogPinball: losses(f), Coverage: map[string][2]float64{},
		Unweighted: map[string][2]float64{}, Outcomes: map[string]wire.Outcomes{},
	}
	for i, level := range waittime.Levels() {
		name, counts := LevelName(level), c[i].Counts()
		m.Outcomes[name] = wire.Outcomes{
			Decided: counts.Decided(), Below: counts.Below, UpTo: counts.UpTo(), Missed: counts.Missed,
			LeftUndecided: counts.Censored, Censored: counts.Censored, Undecided: c[i].Undecided, Early: c[i].Early,
		}
		if counts.Known() > 0 {
			weighted, plain := c[i].Interval(), counts.Interval()
			m.Coverage[name] = [2]float64{weighted.Low, weighted.High}
			m.Unweighted[name] = [2]float64{plain.Low, plain.High}
		}
	}
	if f.N > 0 {
		m.WithinFactor2 = float64(f.Within2) / float64(f.N)
	}
	return m
}

// losses returns the mean pinball losses on the logarithmic scale, by LevelName, for the median and the levels above
// it.
func losses(f *accuracy.Figures) map[string]float64 {
	out := map[string]float64{}
	for i, level := range waittime.Levels() {
		if level >= .5 && f.N > 0 {
			out[LevelName(level)] = f.LogPinball[i] / float64(f.N)
		}
	}
	return out
}
