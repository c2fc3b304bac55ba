// Package study simulates traces with a chosen scheduler. It runs one experiment or a grid of experiments (policies,
// loads, seeds, shakes), on all cores or as a Slurm job array. The results are rows of a CSV file. An interrupted
// study continues from this file.
package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/swfload"
)

// Policies returns the names of the policies.
func Policies() []string { return []string{"fcfs", "easy", "conservative", "priority"} }

// Estimates returns the names of the estimates with which a policy may plan. They are the time limits of the trace,
// the runtimes themselves, and the mean of the user's last two runtimes, which is at most the limit (D. Tsafrir, Y.
// Etsion and D. Feitelson, "Backfilling using system-generated predictions rather than user runtime estimates", IEEE
// TPDS 18(6), 2007).
func Estimates() []string { return []string{"limits", "actual", "recent"} }

// Experiment defines how a trace is simulated.
type Experiment struct {
	// Policy is a name of Policies; empty means fcfs. Estimates is a name of Estimates; empty means limits.
	Policy    string
	Estimates string
	// Kill ends jobs at their time limits.
	Kill bool
	// SubmitsFirst handles the submissions of an instant before its ends, as pyss does.
	SubmitsFirst bool
	// Load is the offered load. It is reached by scaling the times between submissions. 0 leaves these times
	// unchanged.
	Load float64
	// WarmUp is a share of the trace's time, from its beginning. Jobs in this time do not count.
	WarmUp float64
	// Step is the length of a point of the report's series in seconds; 0 means no series.
	Step float64
	// Progress, if set, is called at intervals with the number of jobs that have ended.
	Progress func(ended int)
}

// OptionError reports a setting that is not allowed.
type OptionError struct{ Name, Value, Allowed string }

// Error returns a message with the setting, its value and the allowed values.
func (e *OptionError) Error() string {
	return fmt.Sprintf("%s: %q is not known; allowed: %s", e.Name, e.Value, e.Allowed)
}

// Check returns an *OptionError for a setting that is not allowed.
func (e *Experiment) Check() error {
	if _, err := NewPolicy(e.Policy); err != nil {
		return err
	}
	if e.Estimates != "" && !slices.Contains(Estimates(), e.Estimates) {
		return &OptionError{"estimates", e.Estimates, strings.Join(Estimates(), ", ")}
	}
	if e.Load < 0 || math.IsNaN(e.Load) || e.Load > 10 {
		return &OptionError{"load", fmt.Sprint(e.Load), "0 to 10"}
	}
	if !(e.WarmUp >= 0 && e.WarmUp < 1) {
		return &OptionError{"warm-up", fmt.Sprint(e.WarmUp), "0 up to, not including, 1"}
	}
	return nil
}

// Result is the result of one simulation of a trace.
type Result struct {
	simulator.Report
	// Start and End are the instants of every job of the trace, in the trace's order, in seconds. They are NaN for a
	// job that never ended. Killed is true for jobs that ended at their limits.
	Start, End []float64
	Killed     []bool
	// Factor is the factor by which the times between submissions were multiplied.
	Factor float64
}

// NewPolicy returns a new policy by its name. It returns an *OptionError for an unknown name. The priority policy is a
// plain multifactor policy, as many sites configure Slurm: a user's share counts ten times as much as a job's age, and
// large jobs have a small advantage.
func NewPolicy(name string) (simulator.Policy, error) {
	switch name {
	case "", "fcfs":
		return new(simulator.FCFS), nil
	case "easy":
		return new(simulator.EASY), nil
	case "conservative":
		return new(simulator.Conservative), nil
	case "priority":
		return &simulator.Priority{WeightAge: 1000, WeightFairShare: 10000, WeightSize: 100,
			Backfill: simulator.BackfillEASY}, nil
	}
	return nil, &OptionError{"policy", name, strings.Join(Policies(), ", ")}
}

// Simulate runs one experiment on a trace. It does not change the trace.
func (e *Experiment) Simulate(trace *swfload.Trace) (*Result, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	factor := 1.0
	if offered := simulator.OfferedLoad(trace.Jobs, trace.Procs); e.Load > 0 && offered > 0 {
		factor = offered / e.Load
	}
	out := &Result{
		Start: filled(len(trace.Jobs), math.NaN()), End: filled(len(trace.Jobs), math.NaN()),
		Killed: make([]bool, len(trace.Jobs)), Factor: factor,
	}
	numbered := 0
	jobs := simulator.ScaleInterarrivals(func() (simulator.Job, bool) {
		if numbered == len(trace.Jobs) {
			return simulator.Job{}, false
		}
		j := trace.Jobs[numbered]
		j.ID = int64(numbered) // ids of the trace may repeat
		numbered++
		return j, true
	}, factor)
	recent := newRecentRuntimes()
	policy, err := NewPolicy(e.Policy)
	if err != nil {
		return nil, err
	}
	cfg := simulator.Config{Procs: trace.Procs, Policy: policy, Arrivals: jobs, Kill: e.Kill}
	if e.SubmitsFirst {
		cfg.Order = simulator.SubmitsFirst
	}
	switch e.Estimates {
	case "actual":
		cfg.Estimate = simulator.ActualRuntime
	case "recent":
		cfg.Estimate = recent.estimate
	}
	s, err := simulator.New(cfg)
	if err != nil {
		return nil, err
	}
	measure := simulator.Measure{Procs: trace.Procs, Step: e.Step}
	if n := len(trace.Jobs); n > 0 {
		first := trace.Jobs[0].Submit
		measure.From = first + e.WarmUp*factor*(trace.Jobs[n-1].Submit-first)
	}
	collect, ended := simulator.NewCollector(measure), 0
	err = s.Advance(math.Inf(1), func(ev simulator.Event) {
		collect.Observe(ev)
		if ev.Kind != simulator.Ended {
			return
		}
		recent.ended(ev.Job)
		out.Start[ev.Job.ID], out.End[ev.Job.ID], out.Killed[ev.Job.ID] = ev.Job.Start, ev.Job.End, ev.Job.Killed
		if ended++; e.Progress != nil && ended%1024 == 0 {
			e.Progress(ended)
		}
	})
	if err != nil {
		return nil, err
	}
	out.Report = collect.Report()
	return out, nil
}

func filled(n int, with float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = with
	}
	return out
}

// recentRuntimes has the last two runtimes of every user.
type recentRuntimes struct{ last map[int64][2]float64 }

func newRecentRuntimes() *recentRuntimes { return &recentRuntimes{map[int64][2]float64{}} }

func (r *recentRuntimes) ended(j *simulator.Job) {
	before, ok := r.last[j.User]
	if !ok {
		before[0] = j.End - j.Start
	}
	r.last[j.User] = [2]float64{j.End - j.Start, before[0]}
}

// estimate returns the mean of the user's last two runtimes, which is at most the limit. It returns the limit if no job
// of the user has ended yet. Without a limit, Job.Estimate replaces the limit, or +Inf if that is 0, too.
func (r *recentRuntimes) estimate(j *simulator.Job) float64 {
	limit := j.Limit
	if limit <= 0 {
		limit = j.Estimate
	}
	if limit <= 0 {
		limit = math.Inf(1)
	}
	last, ok := r.last[j.User]
	if !ok {
		return limit
	}
	return math.Min(math.Max(1, (last[0]+last[1])/2), limit)
}
