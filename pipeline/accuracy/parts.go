package accuracy

import (
	"slices"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// Parts has the scores of the forecasts of the two parts of a wait, the eligible and the blocked one. It counts jobs
// whose rows have parts. If no blocked part was forecast, its quantiles count as 0.
type Parts struct {
	// Whole has the scores of the whole wait (eligible plus blocked) of the same jobs, for comparison.
	Whole    PartScore `json:"whole"`
	Eligible PartScore `json:"eligible"`
	Blocked  PartScore `json:"blocked"`
	// Reasons counts all jobs with a predicted cause and a settled reason, whether they started or not.
	Reasons ReasonCounts `json:"reasons"`
}

// PartScore has the scores of the forecasts of one part of the wait, for jobs that have started. Jobs that still wait
// count in the type Coverage, but not here: the blocked time of a job is known only at its start.
type PartScore struct {
	Figures
	// Below counts, by level, the jobs whose part was shorter than the quantile rounded down to the resolution. UpTo
	// counts the jobs whose part was at most the quantile rounded up.
	Below []int64 `json:"below"`
	UpTo  []int64 `json:"up_to"`
	// Nonzero counts the jobs for which this part was at least as long as the resolution.
	Nonzero int64 `json:"nonzero"`
	// Seconds is the sum of this part of the wait over all jobs, in seconds.
	Seconds float64 `json:"seconds,omitempty"`
}

// ReasonCounts counts jobs by the predicted cause (row) and by the cause of their settled reason (column), in the order
// of Causes.
type ReasonCounts [5][5]int64

// Causes returns the causes that ReasonCounts distinguishes.
func Causes() []job.Cause {
	return []job.Cause{job.Resources, job.Priority, job.LimitReached, job.OnHold, job.Unavailable}
}

// Agreed returns the number of counted jobs, and the number of those whose predicted cause is that of their settled
// reason.
func (r *ReasonCounts) Agreed() (jobs, agreed int64) {
	for p := range r {
		for s, n := range r[p] {
			jobs += n
			if p == s {
				agreed += n
			}
		}
	}
	return jobs, agreed
}

func (r *ReasonCounts) add(predicted, settled job.Cause) {
	p, s := slices.Index(Causes(), predicted), slices.Index(Causes(), settled)
	if p >= 0 && s >= 0 {
		r[p][s]++
	}
}

func newPartScore(levels int) PartScore {
	return PartScore{Figures: newFigures(levels), Below: make([]int64, levels), UpTo: make([]int64, levels)}
}

// NewParts returns the scores of no jobs. levels is the number of levels.
func NewParts(levels int) *Parts {
	return &Parts{Whole: newPartScore(levels), Eligible: newPartScore(levels), Blocked: newPartScore(levels)}
}

// add counts a row that has parts.
func (p *Parts) add(row *modelstore.Row) {
	p.Reasons.add(job.ParseCause(row.Parts.Predicted), job.CauseOf(row.Parts.Settled))
	if row.Outcome != modelstore.Started || row.Quantiles == nil {
		return
	}
	blocked, eligible := row.Parts.Blocked, row.Parts.Eligible
	if blocked == nil {
		blocked, eligible = make([]float64, len(row.Levels)), row.Quantiles
	}
	p.Whole.add(row.Levels, row.Quantiles, row.WaitSeconds)
	p.Blocked.add(row.Levels, blocked, row.Parts.BlockedSeconds)
	p.Eligible.add(row.Levels, eligible, row.WaitSeconds-row.Parts.BlockedSeconds)
}

func (p *PartScore) add(levels, quantiles []float64, seconds float64) {
	p.Figures.add(levels, quantiles, seconds)
	p.Nonzero += count(seconds >= resolution)
	p.Seconds += seconds
	for i, q := range quantiles {
		below, upTo := coverage.Covered(seconds, finiteQuantile(q), resolution)
		p.Below[i] += count(below)
		p.UpTo[i] += count(upTo)
	}
}

// Coverage returns two shares of jobs: those whose part of the wait was below the quantile of the level, and those
// whose part was at most the quantile. Without jobs it returns 0 and 1.
func (p *PartScore) Coverage(level int) coverage.Interval {
	if p.N == 0 {
		return coverage.Interval{Low: 0, High: 1}
	}
	n := float64(p.N)
	return coverage.Interval{Low: float64(p.Below[level]) / n, High: float64(p.UpTo[level]) / n}
}

// each calls fn with each score of p and the corresponding score of o.
func (p *Parts) each(o *Parts, fn func(mine, other *PartScore)) {
	fn(&p.Whole, &o.Whole)
	fn(&p.Eligible, &o.Eligible)
	fn(&p.Blocked, &o.Blocked)
}

// Merge adds other scores.
func (p *Parts) Merge(o *Parts) {
	p.each(o, func(mine, other *PartScore) {
		mine.Figures.merge(&other.Figures)
		mine.Nonzero += other.Nonzero
		mine.Seconds += other.Seconds
		for i := range other.Below {
			mine.Below[i] += other.Below[i]
			mine.UpTo[i] += other.UpTo[i]
		}
	})
	for i := range p.Reasons {
		for k := range p.Reasons[i] {
			p.Reasons[i][k] += o.Reasons[i][k]
		}
	}
}

// clone returns an independent copy; nil for nil.
func (p *Parts) clone() *Parts {
	if p == nil {
		return nil
	}
	c := *p
	c.each(p, func(mine, other *PartScore) {
		mine.Figures = other.Figures.clone()
		mine.Below, mine.UpTo = slices.Clone(other.Below), slices.Clone(other.UpTo)
	})
	return &c
}

// sound reports whether scores from saved state have the given number of levels. Nil is sound too.
func (p *Parts) sound(levels int) bool {
	if p == nil {
		return true
	}
	ok := true
	p.each(p, func(mine, _ *PartScore) {
		ok = ok && mine.Figures.sound(levels) && len(mine.Below) == levels && len(mine.UpTo) == levels
	})
	return ok
}
