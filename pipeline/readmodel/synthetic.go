package readmodel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/markov"
	"github.com/waitcast/waitcast/workload/uniformlog"
	"github.com/waitcast/waitcast/workload/users"
)

// These are the names of the models from which jobs can be drawn.
const (
	ModelLublin     = "lublin"
	ModelMarkov     = "markov"
	ModelUniformLog = "uniform_log"
	ModelUsers      = "users"
)

// NotFittedError means that a model has not learned enough to draw jobs from it.
type NotFittedError struct {
	Model, Queue string
	// Why says what is missing.
	Why string
}

// Error implements error.
func (e *NotFittedError) Error() string {
	where := "queue " + e.Queue
	if e.Queue == livemodels.AllQueues {
		where = "all queues together"
	}
	return fmt.Sprintf("no jobs can be drawn from the model %s of %s: %s", e.Model, where, e.Why)
}

// SyntheticJob is one job that was drawn from a model.
type SyntheticJob struct {
	Submit  float64 // seconds since Synthetic.Start, never decreasing
	Procs   int     // at least 1
	Runtime float64 // seconds, at least 0
	Limit   float64 // time limit in seconds, 0 if the model has none
	User    int64   // from 1; -1 if the model has none
	Queue   int64   // number in Synthetic.Queues; -1 if the model has none
}

// Synthetic is a workload drawn from the live models. It is not safe for concurrent use.
type Synthetic struct {
	// Start is the instant from which submissions count. It is not before the instant of the view: a midnight in the
	// cluster's time zone or, for the model of users, a whole number of weeks after the beginning of the history.
	Start time.Time
	// Machine is the number of processors of the cluster, 0 if it is not known.
	Machine int
	// Queues has the names of the queues by their numbers.
	Queues []string
	next   func() (SyntheticJob, bool)
}

// Next draws the next job. It returns false if there are no more jobs.
func (s *Synthetic) Next() (SyntheticJob, bool) { return s.next() }

// These are the numbers of the random streams that belong to one seed.
const (
	streamJobs = iota + 1
	streamArrivals
	streamSizes
)

// Synthetic returns a workload drawn from a model of a queue, or of all queues together if queue is empty. Equal seeds
// and views give the same workload. The error is a *NotFittedError if the model has not learned enough.
func (v *View) Synthetic(model, queue string, seed uint64) (*Synthetic, error) {
	if v.At.IsZero() || v.Models.Of(queue) == nil {
		return nil, &NotFittedError{model, queue, "no job of it has been seen yet"}
	}
	s := &Synthetic{Start: midnightAfter(v.At, v.Models.Zone()), Machine: v.Capacity}
	rng := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
	var err error
	switch model {
	case ModelLublin:
		err = v.drawLublin(s, queue, rng)
	case ModelMarkov:
		err = v.drawMarkov(s, queue, rng)
	case ModelUniformLog:
		err = v.drawUniformLog(s, queue, rng)
	case ModelUsers:
		err = v.drawUsers(s, queue, seed)
	default:
		return nil, fmt.Errorf("there is no model %q; there are %s", model, strings.Join(SyntheticModels(), ", "))
	}
	if err != nil {
		return nil, &NotFittedError{model, queue, livemodels.OneLine(err.Error())}
	}
	return s, nil
}

// midnightAfter returns the first midnight in a time zone after an instant.
func midnightAfter(at time.Time, zone *time.Location) time.Time {
	y, m, d := at.In(zone).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, zone).UTC()
}

func (v *View) drawLublin(s *Synthetic, queue string, rng func(uint64) *rand.Rand) error {
	fit := v.LublinOf(queue)
	if err := fit.Err(); err != nil {
		return err
	}
	g, err := hypergamma.New(rng(streamJobs), fit.Params())
	if err != nil {
		return err
	}
	s.next = func() (SyntheticJob, bool) {
		j := g.Next()
		return SyntheticJob{Submit: j.Submit, Procs: j.Procs, Runtime: j.Runtime, User: -1, Queue: -1}, true
	}
	return nil
}

// arrivals returns a function that draws submissions from the model of Lublin and Feitelson, for models that have no
// arrivals of their own.
func arrivals(fit *livemodels.LublinFit, rng *rand.Rand) (func() float64, error) {
	if fit.NoArrivals != "" {
		return nil, errors.New("arrivals: " + fit.NoArrivals)
	}
	p := fit.Arrival.Params()
	if err := (hypergamma.Params{Runtime: hypergamma.ProgramAll(1).Runtime, Arrival: p}).Validate(); err != nil {
		return nil, err
	}
	a := hypergamma.NewArrivals(p)
	return func() float64 { return a.Next(rng) }, nil
}

func (v *View) drawMarkov(s *Synthetic, queue string, rng func(uint64) *rand.Rand) error {
	fit := v.LublinOf(queue)
	submit, err := arrivals(&fit, rng(streamArrivals))
	if err != nil {
		return err
	}
	g, err := markov.NewGenerator(v.Models.Of(queue).Chains, rng(streamJobs), markov.WithJointSizes())
	if err != nil {
		return err
	}
	s.next = func() (SyntheticJob, bool) {
		at := submit()
		procs, runtime := g.Next()
		return SyntheticJob{Submit: at, Procs: procs, Runtime: runtime, User: -1, Queue: -1}, true
	}
	return nil
}

// drawUniformLog lets s draw runtimes from Downey's laws of the two classes of jobs, and sizes and arrivals from the
// model of Lublin and Feitelson.
func (v *View) drawUniformLog(s *Synthetic, queue string, rng func(uint64) *rand.Rand) error {
	fit := v.LublinOf(queue)
	submit, err := arrivals(&fit, rng(streamArrivals))
	if err != nil {
		return err
	}
	if fit.NoSizes != "" {
		return errors.New("sizes: " + fit.NoSizes)
	}
	size := fit.Params().Size
	laws, err := v.downey(queue, size.Serial)
	if err != nil {
		return err
	}
	drawn, sizes := rng(streamJobs), rng(streamSizes)
	s.next = func() (SyntheticJob, bool) {
		j := SyntheticJob{Submit: submit(), Procs: size.Rand(sizes), User: -1, Queue: -1}
		j.Runtime = laws[livemodels.ClassIndex(j.Procs)].Rand(drawn)
		return j, true
	}
	return nil
}

// downey returns Downey's laws of the two classes of jobs. A class whose law is not fitted gets the law of the other
// class, but only if the class has at most 5 % of the jobs; otherwise downey returns an error. serial is the share of
// one-processor jobs.
func (v *View) downey(queue string, serial float64) ([]uniformlog.Model, error) {
	lifetimes := v.Models.Of(queue).Lifetimes
	laws := make([]uniformlog.Model, len(lifetimes))
	var missing []int
	var errs []error
	for i, l := range lifetimes {
		laws[i] = l.Law.Model
		if l.Err != nil {
			missing = append(missing, i)
			errs = append(errs, fmt.Errorf("%s jobs: %w", livemodels.Classes()[i], l.Err))
		}
	}
	const few = .05 // maximum share of jobs in a class that uses the other law
	share := [...]float64{serial, 1 - serial}
	if len(missing) == len(laws) || len(missing) > 0 && share[missing[0]] > few {
		return laws, errors.Join(errs...)
	}
	for _, i := range missing {
		laws[i] = laws[1-i]
	}
	return laws, nil
}

func (v *View) drawUsers(s *Synthetic, queue string, seed uint64) error {
	history := v.Models.History
	jobs, origin := history.Jobs(queue)
	if len(jobs) == 0 {
		return errors.New(v.Analyze(queue).NoPools)
	}
	pools, err := split(v, jobs, origin, nil)
	if err != nil {
		return err
	}
	config := users.Config{Seed: seed, Length: math.Inf(1), Stationary: true}
	g, err := users.NewGenerator(config, users.Source{Pools: pools})
	if err != nil {
		return err
	}
	weeks := math.Ceil(v.At.Sub(origin).Seconds() / weekSeconds)
	s.Start = origin.Add(time.Duration(weeks) * weekSeconds * time.Second)
	s.Queues = history.Queues()
	s.next = func() (SyntheticJob, bool) {
		a, ok := g.Next()
		return SyntheticJob{
			Submit: a.Submit - pools.Start, Procs: a.Procs, Runtime: a.Runtime, Limit: max(0, a.Estimate),
			User: a.User, Queue: a.Queue,
		}, ok
	}
	return nil
}

// SyntheticModels returns the names of the models from which jobs can be drawn.
func SyntheticModels() []string {
	return []string{ModelLublin, ModelMarkov, ModelUniformLog, ModelUsers}
}
