package forward_test

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/simulator/swfload"
)

// BenchmarkBacktest simulates every submission of a trace: 16 replicas under EASY of the whole machine as one pool. An
// operation is the whole trace. The metrics give the cost of a submission and the sizes of the states.
func BenchmarkBacktest(b *testing.B) {
	tr, err := swfload.Open(refdata.Shared(b, "traces/SDSC-SP2-1998-4.2-cln.swf.gz"), swfload.Options{Keep: true})
	check(b, err)
	type happening struct {
		at        int64
		kind, job int // ends, submissions, starts
	}
	var all []happening
	for i := range tr.Jobs {
		if r := &tr.Records[i]; r.Wait >= 0 {
			start := r.Submit + r.Wait
			all = append(all, happening{r.Submit, 1, i}, happening{start, 2, i},
				happening{start + max(1, r.Runtime), 0, i})
		}
	}
	slices.SortStableFunc(all, func(a, b happening) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.kind - b.kind
	})
	var sim forward.Sim
	var dst []float64
	submits, running, waiting := 0, 0, 0
	for b.Loop() {
		s := &forward.State{Capacity: tr.Procs, Policy: forward.EASY}
		var runs, queue []int
		for _, h := range all {
			switch h.kind {
			case 0:
				runs = slices.DeleteFunc(runs, func(i int) bool { return i == h.job })
			case 2:
				queue = slices.DeleteFunc(queue, func(i int) bool { return i == h.job })
				runs = append(runs, h.job)
			case 1:
				s.Running, s.Waiting = s.Running[:0], s.Waiting[:0]
				for _, i := range runs {
					j, r := &tr.Jobs[i], &tr.Records[i]
					s.Running = append(s.Running, forward.Running{
						Key: uint64(i + 1), Procs: j.Procs, Age: float64(h.at - r.Submit - r.Wait), Limit: j.Limit,
						Law: part(j.Estimate),
					})
				}
				for _, i := range queue {
					j := &tr.Jobs[i]
					s.Waiting = append(s.Waiting,
						forward.Waiting{Key: uint64(i + 1), Procs: j.Procs, Limit: j.Limit, Law: part(j.Estimate)})
				}
				j := &tr.Jobs[h.job]
				if dst, err = sim.Waits(s, forward.Request{Procs: j.Procs, Limit: j.Limit}, 16, 1, dst); err != nil {
					b.Fatal(err)
				}
				submits, running, waiting = submits+1, running+len(runs), waiting+len(queue)
				queue = append(queue, h.job)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(submits), "us/submit")
	b.ReportMetric(float64(running)/float64(submits), "running")
	b.ReportMetric(float64(waiting)/float64(submits), "waiting")
}
