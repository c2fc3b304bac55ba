// Package downey repeats the test of Downey's paper ("Predicting queue times on space-sharing parallel computers",
// UCB/CSD-96-906, 1996, section 6) on a log of the same machine, the Paragon of the San Diego Supercomputer Center, in
// the next year: SDSC-Par-1996-3.1-cln of the Parallel Workloads Archive.
package downey

import (
	"math"
	"strings"
	"time"

	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// Procs is how many processors the paper schedules batch jobs on (section 6).
const Procs = 368

// Class is Downey's class of a job: queues by the last letter of their names, one-processor jobs apart except in
// interactive and standby. What fits none of them is called by its queue.
func Class(queue string, procs int64) string {
	switch {
	case queue == "interactive" || queue == "standby":
		return queue
	case procs == 1:
		return "sequential"
	case strings.HasSuffix(queue, "s"):
		return "short"
	case strings.HasSuffix(queue, "m"):
		return "medium"
	case strings.HasSuffix(queue, "l"):
		return "long"
	}
	return queue
}

// Printed returns the law that his Table 2 has for a class, of 1995; that of the medium class for those that it has
// none for, as the letterless standby queues.
func Printed(class string) uniformlog.Model {
	switch class {
	case "sequential":
		return uniformlog.Model{B0: -.65, B1: .21}
	case "short":
		return uniformlog.Model{B0: -.30, B1: .15}
	case "long":
		return uniformlog.Model{B0: -.73, B1: .13}
	}
	return uniformlog.Model{B0: -.50, B1: .14}
}

// Batch1996 returns the batch jobs submitted from 1 January to 15 May 1996 as strict first come, first served starts
// them on [Procs] processors, in order of their starts, and their printed laws by ID. Times are in seconds from the
// log's beginning.
func Batch1996(h *swf.Header, records []swf.Record) ([]simulator.Job, map[int64]headqueue.Lifetime, error) {
	since := func(month time.Month, day int) float64 {
		return time.Date(1996, month, day, 0, 0, 0, 0, h.Location()).Sub(h.Start()).Seconds()
	}
	from, to := since(time.January, 1), since(time.May, 16)
	sim, err := simulator.New(simulator.Config{Procs: Procs})
	if err != nil {
		return nil, nil, err
	}
	laws := map[int64]headqueue.Lifetime{}
	for i := range records {
		r := &records[i]
		const batch = 2 // the log's number of the partition
		submit := float64(r.Submit)
		if r.Runtime <= 0 || r.Allocated < 1 || r.Allocated > Procs || submit < from || submit >= to ||
			r.Partition != batch {
			continue
		}
		id := int64(len(laws))
		laws[id] = Printed(Class(h.QueueName(r), r.Allocated))
		if err := sim.Submit(simulator.Job{ID: id, Submit: submit, Procs: int(r.Allocated),
			Runtime: float64(r.Runtime)}); err != nil {
			return nil, nil, err
		}
	}
	var jobs []simulator.Job
	err = sim.Advance(math.Inf(1), func(e simulator.Event) {
		if e.Kind == simulator.Started {
			jobs = append(jobs, *e.Job)
		}
	})
	return jobs, laws, err
}

// Pairs are forecasts and the waits that followed, as natural logarithms of seconds.
type Pairs struct{ Forecast, Wait []float64 }

// AtHead forecasts every job that has to wait at the head of the queue of so many processors, and returns what came of
// it by method (see [headqueue.NameA] and its neighbors). The jobs are in order of their starts, under strict first
// come, first served. Where a method has no forecast, as where only jobs older than their laws hold the processors, it
// is left out; forecasts under a second count as one.
func AtHead(jobs []simulator.Job, laws map[int64]headqueue.Lifetime, procs int) map[string]Pairs {
	out := map[string]Pairs{}
	var calc headqueue.Calc
	var running []simulator.Job
	for i := 1; i < len(jobs); i++ {
		running = append(running, jobs[i-1])
		head := max(jobs[i].Submit, jobs[i-1].Start)
		state := headqueue.State{Capacity: procs, Free: procs}
		kept := running[:0]
		for _, r := range running {
			if r.End > head {
				kept = append(kept, r)
				state.Free -= r.Procs
				state.Running = append(state.Running,
					headqueue.Holder{Procs: r.Procs, Age: head - r.Start, Law: laws[r.ID]})
			}
		}
		running = kept
		wait := jobs[i].Start - head
		if wait <= 0 {
			continue
		}
		result, err := calc.Forecast(&state, jobs[i].Procs, []float64{.5}, nil)
		if err != nil {
			continue
		}
		for _, m := range result.Medians {
			if m.Cannot == nil && !math.IsInf(m.Seconds, 1) {
				p := out[m.Name]
				out[m.Name] = Pairs{append(p.Forecast, math.Log(max(1, m.Seconds))), append(p.Wait, math.Log(wait))}
			}
		}
	}
	return out
}
