// Package ouaknine is the test bed of Ouaknine's thesis ("Reducing performance evaluation sensitivity and variability
// by input shaking", The Hebrew University, 2007, chapters 5 and 6): the log SDSC-SP2-1998-4.2-cln of the Parallel
// Workloads Archive, as it is or with one of the two accidental changes of chapter 6, under EASY backfilling.
package ouaknine

import (
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/users"
)

// Butterfly is the number of the job that was estimated to run for 64,800 s on 9 processors and ran for 30 s more
// (section 6.1).
const Butterfly = 64241

const (
	itsProcs   = 9
	itsLimit   = 64_800
	itsRuntime = 64_830
)

// Jobs returns the jobs that ran, in order of the log; Index is the job's number. An estimate below the runtime is
// raised to it, or, if asked for, kept as the user gave it: such a job overruns it.
func Jobs(records []swf.Record, asGiven bool) []users.Job {
	var jobs []users.Job
	for i := range records {
		r := &records[i]
		if !r.Ran() || r.Procs() <= 0 {
			continue
		}
		j := users.Job{
			Index: int(r.ID), User: r.User, Procs: int(r.Procs()), Submit: float64(r.Submit), Wait: -1,
			Runtime: float64(r.Runtime), Estimate: float64(max(r.TimeLimit, 1)),
		}
		if !asGiven {
			j.Estimate = max(j.Estimate, j.Runtime)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// Truncated returns a copy of the jobs with the 30 s of the job [Butterfly] cut off. Its estimate stays. The error says
// that the job is not the one of the thesis.
func Truncated(jobs []users.Job) ([]users.Job, error) {
	out := slices.Clone(jobs)
	i := slices.IndexFunc(out, func(j users.Job) bool { return j.Index == Butterfly })
	if i < 0 || out[i].Runtime != itsRuntime || out[i].Procs != itsProcs ||
		out[i].Estimate != itsLimit && out[i].Estimate != itsRuntime {
		return nil, fmt.Errorf("job %d is not the one of the thesis: want it on %d processors for %d s, estimated %d s",
			Butterfly, itsProcs, itsRuntime, itsLimit)
	}
	out[i].Runtime = itsLimit
	return out, nil
}

// Reversed returns a copy of the jobs with those submitted at one instant in reverse order (section 6.2).
func Reversed(jobs []users.Job) []users.Job {
	out := slices.Clone(jobs)
	for from := 0; from < len(out); {
		to := from
		for to < len(out) && out[to].Submit == out[from].Submit {
			to++
		}
		slices.Reverse(out[from:to])
		from = to
	}
	return out
}

// Means are what the thesis measures, over all jobs: the bounded slowdown, max(1, (wait + runtime) / max(10 s,
// runtime)), and the wait in seconds.
type Means struct{ Slowdown, Wait float64 }

// Simulate simulates jobs, in order of submission, under EASY on so many processors; a job that asks for more gets them
// all.
func Simulate(jobs []users.Job, procs int) (Means, error) {
	i := 0
	s, err := simulator.New(simulator.Config{Procs: procs, Policy: new(simulator.EASY),
		Arrivals: func() (simulator.Job, bool) {
			if i == len(jobs) {
				return simulator.Job{}, false
			}
			j := &jobs[i]
			i++
			return simulator.Job{ID: int64(j.Index), Submit: j.Submit, Procs: min(j.Procs, procs), Runtime: j.Runtime,
				Estimate: j.Estimate}, true
		}})
	if err != nil {
		return Means{}, err
	}
	var m Means
	err = s.Advance(math.Inf(1), func(e simulator.Event) {
		if e.Kind == simulator.Started {
			m.Slowdown += simulator.BoundedSlowdown(e.Job.Wait(), e.Job.Runtime, 10) / float64(len(jobs))
			m.Wait += e.Job.Wait() / float64(len(jobs))
		}
	})
	return m, err
}
