package ask

import (
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// addParts adds the accuracy of the forecasts of the parts of waits, and of the predicted causes, if there are any.
func addParts(w *wire.AccuracyGroup, p *accuracy.Parts) {
	if p == nil {
		return
	}
	if p.Whole.N > 0 {
		w.Parts = &wire.PartsAccuracy{
			Whole: partAccuracy(&p.Whole), Eligible: partAccuracy(&p.Eligible), Blocked: partAccuracy(&p.Blocked),
		}
	}
	jobs, agreed := p.Reasons.Agreed()
	if jobs == 0 {
		return
	}
	w.Reasons = &wire.ReasonAccuracy{Jobs: jobs, Agreed: agreed, Share: float64(agreed) / float64(jobs),
		Counts: map[string]map[string]int64{}}
	for i, predicted := range accuracy.Causes() {
		for k, settled := range accuracy.Causes() {
			if n := p.Reasons[i][k]; n > 0 {
				if w.Reasons.Counts[predicted.String()] == nil {
					w.Reasons.Counts[predicted.String()] = map[string]int64{}
				}
				w.Reasons.Counts[predicted.String()][settled.String()] = n
			}
		}
	}
}

// partAccuracy returns the accuracy of the forecasts of one part.
func partAccuracy(p *accuracy.PartScore) wire.PartAccuracy {
	w := wire.PartAccuracy{N: p.N, Nonzero: p.Nonzero, Coverage: map[string][2]float64{},
		LogPinball: losses(&p.Figures), WithinFactor2: float64(p.Within2) / float64(p.N)}
	for i, level := range waittime.Levels() {
		c := p.Coverage(i)
		w.Coverage[LevelName(level)] = [2]float64{c.Low, c.High}
	}
	return w
}
