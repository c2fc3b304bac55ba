package ask

import (
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/workload/speedup"
)

// readCurve sets curve, the runtime as a function of the size. It refuses a request that does not give exactly one of
// the four forms.
func (q *sizeQuery) readCurve() error {
	r := &q.req.Runtime
	given := 0
	for _, is := range []bool{r.Table != nil, r.Amdahl != nil, r.Downey != nil, r.History != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return Invalid("runtime", "give one of table, amdahl, downey and history")
	}
	field, err := q.curveOf(r)
	if err != nil {
		return Invalid("runtime."+field, err.Error())
	}
	return nil
}

func (q *sizeQuery) curveOf(r *wire.Runtime) (field string, err error) {
	switch {
	case r.Table != nil:
		points := make([]speedup.Point, len(r.Table))
		for i, p := range r.Table {
			points[i] = speedup.Point{Procs: p.Procs, Seconds: p.Seconds}
		}
		field = "table"
		q.curve, err = speedup.NewTable(points)
	case r.Amdahl != nil:
		field = "amdahl"
		q.curve, err = speedup.NewAmdahl(r.Amdahl.Serial, r.Amdahl.T1Seconds)
	case r.Downey != nil:
		field = "downey"
		q.curve, err = speedup.NewDowney(speedup.Profile{A: r.Downey.A, Sigma: r.Downey.Sigma}, r.Downey.T1Seconds)
	default:
		field = "history"
		q.curve, err = speedup.NewHistory(q.runs(r.History))
	}
	return field, err
}

// runs returns the earlier runs of a user's program in all clusters of the targets.
func (q *sizeQuery) runs(h *wire.RuntimeHistory) []speedup.Point {
	var out []speedup.Point
	seen := map[string]bool{}
	for i := range q.targets {
		if v := q.targets[i].view; !seen[v.Cluster] {
			seen[v.Cluster] = true
			out = append(out, v.Models.History.Runs(h.User, h.Name)...)
		}
	}
	return out
}
