// Package ouaknine repeats the simulations of Ouaknine's thesis ("Reducing performance evaluation sensitivity and
// variability by input shaking", The Hebrew University, 2007, chapters 5 and 6). It simulates the log
// SDSC-SP2-1998-4.2-cln of the Parallel Workloads Archive under EASY backfilling, unchanged or with one of the two
// accidental changes of chapter 6 ([Truncated], [Reversed]).
package ouaknine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/users"
)

// Butterfly is the number of the job in section 6.1 that ran on 9 processors, 30 s longer than its estimate of 64,800
// s.
const Butterfly = 64241

const (
	itsProcs   = 9
	itsLimit   = 64_800
	itsRuntime = 64_830
)

// Jobs returns the jobs that ran, in the order of the log. Index is the job's number. An estimate below 1 s or unknown
// is 1 s. An estimate below the runtime is raised to the runtime, unless asGiven is true: then such a job exceeds its
// estimate.
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

// Truncated returns a copy of the jobs in which the job [Butterfly] is 30 s shorter and keeps its estimate. It is an
// error if the job with that number is not the one in the thesis.
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

// Reversed returns a copy of the jobs in which jobs submitted at one instant are in reverse order (section 6.2).
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

// Means has the measures of the thesis, as means over all jobs: the bounded slowdown, max(1, (wait + runtime) / max(10
// s, runtime)), and the wait in seconds.
type Means struct{ Slowdown, Wait float64 }

// Simulate simulates jobs, in order of submission, under EASY on procs processors. A job that requests more gets procs
// processors.
func Simulate(jobs []users.Job, procs int) (Means, error) { return simulate(jobs, procs, nil) }

// SimulateWindow simulates like Simulate, but EASY plans with another runtime than the estimate: the mean runtime of
// the user's last k jobs that had ended at the submission, at least 1 s and at most the estimate (section 6.4). Until
// one of the user's jobs has ended, it plans with the estimate.
func SimulateWindow(jobs []users.Job, procs, k int) (Means, error) {
	return simulate(jobs, procs, &window{k: k, last: map[int64][]float64{}})
}

// window has the last k runtimes of each user, in seconds.
type window struct {
	k    int
	last map[int64][]float64
}

func (w *window) ended(j *simulator.Job) {
	l := append(w.last[j.User], j.Runtime)
	w.last[j.User] = l[max(0, len(l)-w.k):]
}

// estimate returns the runtime with which EASY plans for a job (see SimulateWindow).
func (w *window) estimate(j *simulator.Job) float64 {
	l := w.last[j.User]
	if len(l) == 0 {
		return j.Estimate
	}
	sum := 0.0
	for _, x := range l {
		sum += x
	}
	return max(1, min(sum/float64(len(l)), j.Estimate))
}

// Bad returns a copy of the jobs in which estimates are drawn uniformly between the runtime R of the job and (f + 1) R
// (section 6.5), and are at least 1 s. The random numbers are the same for all f.
func Bad(jobs []users.Job, f float64) []users.Job {
	rng := rand.New(rand.NewPCG(1, 5))
	out := slices.Clone(jobs)
	for i := range out {
		out[i].Estimate = max(1, out[i].Runtime*(1+f*rng.Float64()))
	}
	return out
}

// simulate simulates jobs. With a window it advances the clock to just before the submission of each job before it
// submits the job, so that the runtimes of the jobs that have ended by then are known.
func simulate(jobs []users.Job, procs int, w *window) (Means, error) {
	i := 0
	next := func() (simulator.Job, bool) {
		if i == len(jobs) {
			return simulator.Job{}, false
		}
		j := &jobs[i]
		i++
		return simulator.Job{ID: int64(j.Index), Submit: j.Submit, User: j.User, Procs: min(j.Procs, procs),
			Runtime: j.Runtime, Estimate: j.Estimate}, true
	}
	cfg := simulator.Config{Procs: procs, Policy: new(simulator.EASY), Arrivals: next}
	if w != nil {
		cfg.Arrivals = nil
	}
	s, err := simulator.New(cfg)
	if err != nil {
		return Means{}, err
	}
	var m Means
	observe := func(e simulator.Event) {
		if e.Kind == simulator.Ended && w != nil {
			w.ended(e.Job)
		}
		if e.Kind == simulator.Started {
			m.Slowdown += simulator.BoundedSlowdown(e.Job.Wait(), e.Job.Runtime, 10) / float64(len(jobs))
			m.Wait += e.Job.Wait() / float64(len(jobs))
		}
	}
	for w != nil {
		j, ok := next()
		if !ok {
			break
		}
		if err := s.Advance(math.Nextafter(j.Submit, math.Inf(-1)), observe); err != nil {
			return m, err
		}
		j.Estimate = w.estimate(&j)
		if err := s.Submit(j); err != nil {
			return m, err
		}
	}
	return m, s.Advance(math.Inf(1), observe)
}
