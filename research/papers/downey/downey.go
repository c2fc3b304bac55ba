// Package downey repeats the test in section 6 of Downey's paper ("Predicting queue times on space-sharing parallel
// computers", UCB/CSD-96-906, 1996). The paper's log of 1995 is not at hand. The package uses the log of the same
// machine, the Paragon of the San Diego Supercomputer Center, for 1996: SDSC-Par-1996-3.1-cln of the Parallel Workloads
// Archive.
package downey

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// Procs is the number of processors on which the paper simulates batch jobs (section 6).
const Procs = 368

// Class returns Downey's class of a job. The queues interactive and standby are classes. In the other queues
// one-processor jobs are a class, and the class of larger jobs follows from the last letter of the queue's name. A job
// that belongs to no class gets the name of its queue.
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

// Printed returns the law of a class in Downey's Table 2, which is from 1995. For a class that the table lacks, such as
// standby, it returns the law of the class medium.
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

// Batch1996 simulates the batch jobs that were submitted from 1 January to 15 May 1996, under strict first come, first
// served on [Procs] processors. Jobs without a runtime and jobs that do not fit are left out. It returns the jobs in
// order of their starts, and by ID the laws that [Printed] returns for them. Times are in seconds from the beginning of
// the log.
func Batch1996(h *swf.Header, records []swf.Record) ([]simulator.Job, map[int64]headqueue.Lifetime, error) {
	return Batch1996As(h, records, Printed)
}

// Batch1996As is like Batch1996, but the law of a class is the one that the function printed returns.
func Batch1996As(h *swf.Header, records []swf.Record, printed func(class string) uniformlog.Model) ([]simulator.Job,
	map[int64]headqueue.Lifetime, error) {
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
		const batch = 2 // number of the batch partition in the log
		submit := float64(r.Submit)
		if r.Runtime <= 0 || r.Allocated < 1 || r.Allocated > Procs || submit < from || submit >= to ||
			r.Partition != batch {
			continue
		}
		id := int64(len(laws))
		laws[id] = printed(Class(h.QueueName(r), r.Allocated))
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

// Pairs has forecasts and the waits that followed, as natural logarithms of seconds.
type Pairs struct{ Forecast, Wait []float64 }

// AtHead forecasts every job that must wait at the head of the queue on a machine with procs processors. It returns the
// forecasts and the waits by method (see [headqueue.NameA] and its neighbors). The jobs are in order of their starts,
// under strict first come, first served. A job is left out for a method that cannot forecast it, for example because
// all running jobs are older than their laws allow. Forecasts below a second count as one second.
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

// Heads returns two numbers for each job that waits at the head of the queue: how many processors it lacks, and how
// many running jobs hold at least that many processors each (n' and benefactors in Table 4 of the paper). The jobs are
// in order of their starts.
func Heads(jobs []simulator.Job, procs int) (missing, benefactors []float64) {
	var running []simulator.Job
	for i := 1; i < len(jobs); i++ {
		running = append(running, jobs[i-1])
		head, need := max(jobs[i].Submit, jobs[i-1].Start), jobs[i].Procs-procs
		running = slices.DeleteFunc(running, func(r simulator.Job) bool { return r.End <= head })
		for _, r := range running {
			need += r.Procs
		}
		if jobs[i].Start <= head || need <= 0 {
			continue
		}
		with := 0
		for _, r := range running {
			if r.Procs >= need {
				with++
			}
		}
		missing, benefactors = append(missing, float64(need)), append(benefactors, float64(with))
	}
	return missing, benefactors
}
