package advice

import (
	"errors"
	"fmt"
	"math"

	"github.com/waitcast/waitcast/job/waittime"
)

// Running is a running malleable job.
type Running struct {
	Procs int // the processors that it holds now
	Left  Law // law of the seconds until its end if it keeps its size; finite and above 0
	// Billing is a factor of the price of a processor-hour, as in Candidate; 0 stands for 1.
	Billing float64
}

// Size is a size that a running job could have.
type Size struct {
	Procs    int
	MaxProcs int // maximum size of a job in its queue or machine, 0 for unknown
	// Wait is the wait for the additional processors of a larger size. The job keeps running meanwhile. To shrink, a
	// job need not wait. The waits of all sizes belong to the same futures.
	Wait Wait
	// Left is the law of the remaining runtime, in seconds, if the job had the size from now on.
	Left Law
	// Overhead is the time in seconds for which the job pauses while it changes to the size.
	Overhead float64
}

// Action is the recommended action for a running job.
type Action uint8

// The actions.
const (
	Keep Action = iota
	Expand
	Shrink
)

// String returns the action as a word.
func (a Action) String() string {
	switch a {
	case Expand:
		return "expand"
	case Shrink:
		return "shrink"
	}
	return "keep"
}

// ActionOf returns the action that changes a job from one size to another.
func ActionOf(from, to int) Action {
	switch {
	case to > from:
		return Expand
	case to < from:
		return Shrink
	}
	return Keep
}

// holding describes a running job that continues at its present size until it changes to another one.
type holding struct {
	procs    float64
	left     []float64 // seconds until its end at its present size, by node
	overhead float64
}

// outcome returns the finish of a job that gets its new size after the wait, and its processor-seconds. After the wait
// a share wait/left of the work is done. The rest takes the overhead, and the remaining share of the time that the new
// size would need for all of the work. A job that ends during the wait does not change its size.
func (h *holding) outcome(wait, run, procs float64, node int) (finish, procSeconds float64) {
	left := h.left[node]
	if wait >= left {
		return left, left * h.procs
	}
	rest := h.overhead + (1-wait/left)*run
	return wait + rest, wait*h.procs + rest*procs
}

// before returns how long a running job continues at its present size until it changes its size or ends. It is 0 for
// the candidate that keeps the size.
func (c *course) before(future, node int) float64 {
	if c.now == nil { // the job keeps its size
		return 0
	}
	wait := c.waits[0]
	if len(c.waits) > 1 {
		wait = c.waits[future]
	}
	return min(wait, c.now.left[node])
}

// Resize compares the options of a running job. The first answer is to keep its size, and gains are relative to that.
// One answer follows for each size, named by SizeName. The Wait of an answer is the time until the change. Run is the
// time that the present or the new size would need for all of the remaining work. Processor-hours and costs are those
// of the remaining work. More processors are a gain only as far as the job's runtimes decrease with them. Fewer
// processors are a gain only under the objective Cost, in which ProcHour expresses the demand of others. Errors are
// those of Choose.
func Resize(job Running, sizes []Size, objective Objective) (*Result, error) {
	if err := objective.check(); err != nil {
		return nil, err
	}
	candidates := []Candidate{{Name: SizeName(job.Procs), Procs: job.Procs, Run: job.Left, Billing: job.Billing}}
	for _, o := range sizes {
		c := Candidate{Name: SizeName(o.Procs), Procs: o.Procs, MaxProcs: o.MaxProcs, Wait: o.Wait, Run: o.Left,
			Billing: job.Billing}
		place := len(candidates) - 1
		if o.Procs < job.Procs && (o.Wait.Law != nil || o.Wait.Futures != nil) {
			return nil, c.fail(place, "wait", "a smaller size needs no wait", nil)
		}
		if !(o.Overhead >= 0) || math.IsInf(o.Overhead, 1) {
			return nil, c.fail(place, "overhead", fmt.Sprintf("%v s; want 0 or more", o.Overhead), nil)
		}
		candidates = append(candidates, c)
	}
	if err := check(candidates, noStep); err != nil {
		var bad *CandidateError
		if errors.As(err, &bad) {
			bad.Place-- // the caller's list lacks the candidate that keeps the size
		}
		return nil, err
	}
	s := newScene(candidates, objective)
	for i, o := range sizes {
		s.courses[i+1].now = &holding{float64(job.Procs), s.courses[0].runs, o.Overhead}
	}
	answers := make([]Answer, len(candidates))
	for i := range candidates {
		a, err := s.resized(i)
		if err != nil {
			return nil, candidates[i].fail(i-1, "wait", err.Error(), err)
		}
		answers[i] = a
	}
	return s.rank(answers, 0)
}

// SizeName returns the name of the answer for a size.
func SizeName(procs int) string { return fmt.Sprintf("%d processors", procs) }

// resized computes the answer for a size from all of its outcomes.
func (s *scene) resized(i int) (Answer, error) {
	c := &s.courses[i]
	wait, err := c.candidate.Wait.law()
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Name: c.candidate.Name, Procs: c.candidate.Procs, Wait: quantiles(wait), MeanWait: wait.Mean(),
		Run: quantiles(c.candidate.Run), MeanRun: c.candidate.Run.Mean()}
	inTime, n := 0., float64(len(c.waits)*s.nodes)
	for future := range c.waits {
		for node := range s.nodes {
			finish, procSeconds := c.outcome(future, node)
			a.MeanFinish += finish / n
			a.MeanBefore += c.before(future, node) / n
			a.ProcHours += procSeconds / 3600 / n
			if finish <= s.objective.Deadline {
				inTime += 1 / n
			}
		}
	}
	a.MeanAfter = a.MeanFinish - a.MeanBefore
	all := s.finishes(i)
	a.Finish = make([]float64, 0, len(waittime.Levels()))
	for _, p := range waittime.Levels() {
		a.Finish = append(a.Finish, quantile(all, p))
	}
	a.InTime = math.NaN()
	if s.objective.Deadline > 0 {
		a.InTime = min(inTime, 1)
	}
	s.score(&a, c.candidate.billing(), func(p float64) float64 { return quantile(all, p) })
	return a, nil
}
