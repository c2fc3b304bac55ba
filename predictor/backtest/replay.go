package backtest

import (
	"cmp"
	"slices"

	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/predictor/engine"
)

// Replayed receives the events of a trace. Instants never go back.
type Replayed interface {
	Submit(now float64, id uint64, r engine.Request) engine.Forecast
	Start(now float64, id uint64, learn bool)
	End(now float64, id uint64)
	Lost(now float64, id uint64)
	Gone(now float64, id uint64)
}

// happening is an event of a trace: a job's submission, its start, or that it left.
type happening struct {
	at   float64
	kind changes.Kind
	job  int32
}

// happenings returns the events of a trace by their instants, and of one instant by the course of a job's life. A
// Sequencer puts those of one instant into the order in which they take effect.
func (t *Trace) happenings() []happening {
	out := make([]happening, 0, 3*len(t.Jobs))
	for i := range t.Jobs {
		j, n := &t.Jobs[i], int32(i)
		out = append(out, happening{j.Submit, changes.Submitted, n})
		if j.Starts {
			out = append(out, happening{j.Start, changes.Started, n})
		}
		if j.Ends || j.Cancelled {
			out = append(out, happening{j.End, j.leaves(), n})
		}
	}
	slices.SortStableFunc(out, func(a, b happening) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(stage(a.kind), stage(b.kind)), cmp.Compare(a.job, b.job))
	})
	return out
}

// leaves returns how the job left.
func (j *Job) leaves() changes.Kind {
	switch {
	case j.Cancelled:
		return changes.Cancelled
	case j.Lost:
		return changes.Lost
	}
	return changes.Ended
}

// stage returns the place of an event in the course of a job's life.
func stage(k changes.Kind) int {
	switch k {
	case changes.Submitted:
		return 0
	case changes.Started:
		return 1
	}
	return 2
}

// Replay sends the trace's events to f, and calls tell with each submission's forecast.
func (t *Trace) Replay(f Replayed, tell func(job int, fc engine.Forecast)) {
	order := changes.NewSequencer(func(h happening) (uint64, changes.Kind) { return uint64(h.job), h.kind })
	apply := func(h happening) { t.apply(h, f, tell) }
	all := t.happenings()
	for i, h := range all {
		if i > 0 && h.at > all[i-1].at {
			order.EndInstant(apply)
		}
		if order.Add(h) {
			apply(h)
		}
	}
	order.EndInstant(apply)
}

func (t *Trace) apply(h happening, f Replayed, tell func(job int, fc engine.Forecast)) {
	j, id := &t.Jobs[h.job], uint64(h.job)
	switch h.kind {
	case changes.Submitted:
		tell(int(h.job), f.Submit(h.at, id, j.Request))
	case changes.Started:
		f.Start(h.at, id, j.Recorded)
	case changes.Cancelled:
		f.Gone(h.at, id)
	case changes.Lost:
		f.Lost(h.at, id)
	default:
		f.End(h.at, id)
	}
}
