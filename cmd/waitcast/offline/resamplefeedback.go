package offline

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/study"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/users"
)

// feedbackFlags define how the users of a resampled workload wait for their jobs.
type feedbackFlags struct {
	policy        string // "" if there is no feedback
	procs         int
	patience, gap duration.Value
}

func (f *feedbackFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.policy, "feedback", "",
		"let users wait for their jobs, as a machine under this policy runs them: "+
			strings.Join(study.Policies(), ", "))
	c.Flags().IntVar(&f.procs, "procs", 0,
		"with --feedback: processors of the machine; 0 is the first trace's MaxProcs")
	c.Flags().Var(&f.patience, "patience", "with --feedback: maximum delay of a user's submission; beyond it the "+
		"user comes back another day (by default no maximum)")
	c.Flags().Var(&f.gap, "session-gap",
		"with --feedback: time between two submits of a user that ends a session (default 1h)")
	for _, name := range []string{"patience", "session-gap"} { // the flags' texts state the defaults
		c.Flags().Lookup(name).DefValue = ""
	}
}

// check checks the flags.
func (f *feedbackFlags) check(c *cobra.Command) error {
	if f.policy == "" {
		for _, name := range []string{"procs", "patience", "session-gap"} {
			if c.Flags().Changed(name) {
				return fmt.Errorf("--%s goes with --feedback", name)
			}
		}
		if c.Flags().Changed("feedback") {
			return fmt.Errorf("--feedback is empty; allowed: %s", strings.Join(study.Policies(), ", "))
		}
		return nil
	}
	if f.procs < 0 || f.procs > mostProcs {
		return fmt.Errorf("--procs is %d; want 1 to %d", f.procs, mostProcs)
	}
	if f.patience < 0 || f.gap < 0 {
		return errors.New("--patience and --session-gap must not be negative")
	}
	if _, err := study.NewPolicy(f.policy); err != nil {
		return fmt.Errorf("--feedback: %w", err)
	}
	return nil
}

func (f *feedbackFlags) config() *users.Feedback {
	if f.policy == "" {
		return nil
	}
	return &users.Feedback{Gap: time.Duration(f.gap).Seconds(), Patience: time.Duration(f.patience).Seconds()}
}

// String describes the feedback for the header of the workload. It returns "" if there is none.
func (f *feedbackFlags) String() string {
	if f.policy == "" {
		return ""
	}
	return fmt.Sprintf(", feedback of %s, patience %s", f.policy, f.patience.String())
}

// throttled runs the workload on a simulated machine. It returns the jobs with their waits in seconds, and describes
// the machine's load and waits on standard error.
func (a *Commands) throttled(g *users.Generator, first *recording,
	f *feedbackFlags) (iter.Seq2[users.Arrival, float64], error) {
	procs := f.procs
	if procs == 0 {
		procs = int(min(first.header.MaxProcs, mostProcs))
	}
	if procs < 1 {
		return nil,
			fmt.Errorf("%s: its header has no MaxProcs: say with --procs how many processors the machine has",
				first.name)
	}
	policy, err := study.NewPolicy(f.policy)
	if err != nil {
		return nil, err
	}
	sim, err := simulator.New(simulator.Config{Procs: procs, Policy: policy})
	if err != nil {
		return nil, err
	}
	collect := simulator.NewCollector(simulator.Measure{Procs: procs})
	var jobs []users.Arrival
	var waits []float64 // the index is the serial number - 1
	for {
		e, ok, err := sim.Next(g.Peek())
		if err != nil {
			return nil, err
		}
		if ok {
			collect.Observe(e)
			switch e.Kind {
			case simulator.Started:
				waits[e.Job.ID-1] = e.Job.Wait()
			case simulator.Ended:
				g.Ended(e.Job.ID, e.Time)
			}
			continue
		}
		j, ok := g.Next()
		if !ok {
			break
		}
		jobs, waits = append(jobs, j), append(waits, swf.Unknown)
		if err := sim.Submit(simulator.Job{
			ID: j.Serial, User: j.User, Submit: j.Submit, Procs: max(1, min(j.Procs, procs)), Runtime: j.Runtime,
			Limit: max(0, j.Estimate), Estimate: max(j.Runtime, j.Estimate, 1),
		}); err != nil {
			return nil, err
		}
	}
	a.describeFeedback(collect.Report(), procs, f.policy)
	return func(yield func(users.Arrival, float64) bool) {
		for i, j := range jobs {
			if !yield(j, waits[i]) {
				return
			}
		}
	}, nil
}

// describeFeedback describes the load and the waits of the machine.
func (a *Commands) describeFeedback(r simulator.Report, procs int, policy string) {
	a.Note("%s on %d processors: mean wait %.0f s, mean bounded slowdown %.2f, utilization %.1f %%", policy, procs,
		r.All.Wait.Mean, r.All.Bounded.Mean, 100*r.Utilization)
	if r.Saturated {
		a.Note("warning: the machine is saturated, %.1f more jobs wait every week: waits grow with the length of the "+
			"workload, and mean nothing", r.Growth)
	}
}
