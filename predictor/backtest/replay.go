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
	Hold(now float64, id uint64, h engine.Hold)
	Release(now float64, id uint64)
	Update(now float64, id uint64, r engine.Request)
}

// happening is an event of a trace: the submission, start or departure of a job, or a change while it waits.
type happening struct {
	at     float64
	kind   changes.Kind
	job    int32
	change int32 // index among the job's changes
}

// happenings returns the events of a trace ordered by time, and within an instant by the stage of a job's life. A
// Sequencer sorts the events of an instant into the order in which they take effect.
func (t *Trace) happenings() []happening {
	out := make([]happening, 0, 3*len(t.Jobs))
	for i := range t.Jobs {
		j, n := &t.Jobs[i], int32(i)
		out = append(out, happening{at: j.Submit, kind: changes.Submitted, job: n})
		for k := range j.Changes {
			out = append(out, happening{j.Changes[k].At, changes.Updated, n, int32(k)}) //nolint:gosec // few
		}
		if j.Starts {
			out = append(out, happening{at: j.Start, kind: changes.Started, job: n})
		}
		if j.Ends || j.Cancelled {
			out = append(out, happening{at: j.End, kind: j.leaves(), job: n})
		}
	}
	slices.SortStableFunc(out, func(a, b happening) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(stage(a.kind), stage(b.kind)), cmp.Compare(a.job, b.job))
	})
	return out
}

// leaves returns the kind of the event by which the job leaves.
func (j *Job) leaves() changes.Kind {
	switch {
	case j.Cancelled:
		return changes.Cancelled
	case j.Lost:
		return changes.Lost
	}
	return changes.Ended
}

// stage returns the stage of an event in a job's life.
func stage(k changes.Kind) int {
	switch k {
	case changes.Submitted:
		return 0
	case changes.Updated:
		return 1
	case changes.Started:
		return 2
	}
	return 3
}

// Replay passes the trace's events to f, and calls tell with the forecast of each submission.
func (t *Trace) Replay(f Replayed, tell func(job int, fc engine.Forecast)) {
	order := changes.NewSequencer(func(h happening) (uint64, changes.Kind) { return t.key(h.job), h.kind })
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

// key returns the engine's id of a job.
func (t *Trace) key(job int32) uint64 {
	if key := t.Jobs[job].Key; key != 0 {
		return key
	}
	return uint64(job)
}

func (t *Trace) apply(h happening, f Replayed, tell func(job int, fc engine.Forecast)) {
	j, id := &t.Jobs[h.job], t.key(h.job)
	switch h.kind {
	case changes.Submitted:
		tell(int(h.job), f.Submit(h.at, id, j.Request))
	case changes.Updated:
		j.change(int(h.change), h.at, id, f)
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

// change passes the k-th change of a waiting job to the engine.
func (j *Job) change(k int, now float64, id uint64, f Replayed) {
	c := &j.Changes[k]
	held, before := false, j.Request
	if k > 0 {
		held, before = j.Changes[k-1].Held, j.Changes[k-1].Request
	}
	if c.Request != before {
		f.Update(now, id, c.Request)
	}
	switch {
	case c.Held && !held:
		f.Hold(now, id, engine.Hold{})
	case held && !c.Held:
		f.Release(now, id)
	}
}
