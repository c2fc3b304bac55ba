package backtest

import (
	"cmp"
	"slices"

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

// happening is an event of a trace.
type happening struct {
	at   float64
	rank int8
	job  int32
}

// The order of what happens at one instant. A job that takes no time ends right after its start.
const (
	ends int8 = iota
	submits
	starts
	endsAtOnce
)

// happenings lists the events of a trace in the order in which they are told. A cancellation counts as an end: it was
// known before a job submitted at its instant, unless it is that very job's.
func (t *Trace) happenings() []happening {
	out := make([]happening, 0, 3*len(t.Jobs))
	for i := range t.Jobs {
		j, n := &t.Jobs[i], int32(i)
		out = append(out, happening{j.Submit, submits, n})
		from := j.Submit
		if j.Starts {
			out = append(out, happening{j.Start, starts, n})
			from = j.Start
		}
		if j.Ends || j.Cancelled {
			rank := ends
			if j.End <= from {
				rank = endsAtOnce
			}
			out = append(out, happening{j.End, rank, n})
		}
	}
	slices.SortStableFunc(out, func(a, b happening) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank), cmp.Compare(a.job, b.job))
	})
	return out
}

// Replay sends the trace's events to f, and calls tell with each submission's forecast.
func (t *Trace) Replay(f Replayed, tell func(job int, fc engine.Forecast)) {
	for _, h := range t.happenings() {
		j, id := &t.Jobs[h.job], uint64(h.job)
		switch h.rank {
		case submits:
			tell(int(h.job), f.Submit(h.at, id, j.Request))
		case starts:
			f.Start(h.at, id, j.Recorded)
		default:
			switch {
			case j.Cancelled:
				f.Gone(h.at, id)
			case j.Lost:
				f.Lost(h.at, id)
			default:
				f.End(h.at, id)
			}
		}
	}
}
