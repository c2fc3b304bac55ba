package advice

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// NoRequest means that no candidate is the user's own request.
const NoRequest = -1

// Answer is the result for a candidate. Times are in seconds from now.
type Answer struct {
	Name, Pool string
	Procs      int

	// Score is the value of the objective: seconds, the probability to miss the deadline, or a cost. Lower is better.
	Score float64
	// Best is the probability that the candidate is the best of all: that it finishes first, costs least, or makes
	// the deadline. Ties are shared, so that the probabilities of all candidates sum to 1.
	Best float64
	// Gain is the gain over the request, nil without a request.
	Gain *Gain

	// These are quantiles at the levels of answers (waittime.Levels), and means. The quantiles of the finish are exact
	// if the wait or the runtime is certain and the job does not run yet. Otherwise they are quantiles of about 2,000
	// combinations (more if there are over 100 futures), with an error of at most 2 %.
	Wait, Run, Finish             []float64
	MeanWait, MeanRun, MeanFinish float64
	// MeanBefore and MeanAfter are the two parts of the mean finish of a running job: the time before the change of
	// size, and the time after it, including the change itself. They are NaN for a job that is to be submitted. If the
	// job keeps its size, MeanBefore is 0.
	MeanBefore, MeanAfter float64
	InTime                float64 // probability to finish by the deadline, NaN without a deadline
	ProcHours             float64 // mean processor-hours
	Cost                  float64 // mean cost, NaN without prices
}

// Gain is the amount by which a candidate is better than the request. Score, MeanFinish and Finish are below 0 if the
// candidate is worse, and NaN if both values are infinite.
type Gain struct {
	Score      float64 // in units of the score
	MeanFinish float64 // seconds by which the mean finish is earlier
	Finish     float64 // seconds by which the median finish is earlier
	Better     float64 // probability that the candidate turns out better than the request
	Worse      float64 // probability that it turns out worse
}

// Result is the result of a choice.
type Result struct {
	Objective Objective
	Answers   []Answer // in the order of the candidates
	Order     []int    // indexes of Answers, the best first
}

// Best returns the best answer.
func (r *Result) Best() *Answer { return &r.Answers[r.Order[0]] }

// Choose ranks candidates by an objective. request is the index of the user's own request, or NoRequest. At equal
// scores the earlier mean finish is better, then the smaller size, then the lower index. Errors are ErrNoCandidates,
// a *CandidateError, *TooLargeError, *DeadlineError or *ObjectiveError, and ErrNever.
func Choose(candidates []Candidate, request int, objective Objective) (*Result, error) {
	return ChooseInSteps(candidates, request, objective, noStep)
}

func noStep() error { return nil }

// ChooseInSteps is Choose with a callback. It calls step at intervals, after the work for some candidates. If step
// returns an error, the work ends with that error.
func ChooseInSteps(candidates []Candidate, request int, objective Objective, step func() error) (*Result, error) {
	if err := objective.check(); err != nil {
		return nil, err
	}
	if err := check(candidates, step); err != nil {
		return nil, err
	}
	if request != NoRequest && (request < 0 || request >= len(candidates)) {
		return nil,
			&ObjectiveError{"request", float64(request), fmt.Sprintf("the index of a candidate, or %d", NoRequest)}
	}
	s := newScene(candidates, objective)
	s.step = step
	answers := make([]Answer, len(candidates))
	for i := range candidates {
		if err := stepAfter(i, step); err != nil {
			return nil, err
		}
		a, err := s.answer(i)
		if err != nil {
			return nil, candidates[i].fail(i, "wait", err.Error(), err)
		}
		answers[i] = a
	}
	return s.rank(answers, request)
}

// answer computes the figures of a candidate that do not depend on other candidates.
func (s *scene) answer(i int) (Answer, error) {
	c := s.courses[i].candidate
	wait, err := c.Wait.law()
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Name: c.Name, Pool: c.Pool, Procs: c.Procs, MeanWait: wait.Mean(), MeanRun: c.Run.Mean(),
		MeanBefore: math.NaN(), MeanAfter: math.NaN()}
	a.MeanFinish = a.MeanWait + a.MeanRun
	a.ProcHours = float64(c.Procs) * a.MeanRun / 3600
	a.Wait, a.Run = quantiles(wait), quantiles(c.Run)
	a.Finish = make([]float64, len(a.Wait))
	waitFixed, runFixed := c.Wait.certain(), constant(c.Run)
	finish := func(p float64) float64 { return wait.Quantile(p) + c.Run.Quantile(p) }
	if !waitFixed && !runFixed {
		sorted := slices.Sorted(slices.Values(s.courses[i].waits))
		finish = func(p float64) float64 { return sumQuantile(sorted, s.courses[i].runs, p) }
	}
	for k, p := range waittime.Levels() {
		a.Finish[k] = finish(p)
	}
	a.InTime = math.NaN()
	if d := s.objective.Deadline; d > 0 {
		a.InTime = s.inTime(i, wait, d)
	}
	s.score(&a, c.billing(), finish)
	return a, nil
}

// inTime returns the probability that a candidate finishes by a deadline.
func (s *scene) inTime(i int, wait Law, deadline float64) float64 {
	c := &s.courses[i]
	if c.candidate.Wait.certain() {
		return c.candidate.Run.CDF(deadline - wait.Quantile(.5))
	}
	sum := 0.
	for _, run := range c.runs {
		sum += wait.CDF(deadline - run)
	}
	return sum / float64(len(c.runs))
}

// score computes the score of an answer. finish is the quantile function of the answer's finish.
func (s *scene) score(a *Answer, billing float64, finish func(p float64) float64) {
	o := &s.objective
	a.Cost = math.NaN()
	if o.ProcHour > 0 || o.Hour > 0 {
		a.Cost = o.cost(billing, a.ProcHours*3600, a.MeanFinish)
	}
	switch o.Kind {
	case ExpectedFinish:
		a.Score = a.MeanFinish
	case FinishQuantile:
		a.Score = finish(o.Level)
	case ByDeadline:
		a.Score = 1 - a.InTime
	case Cost:
		a.Score = a.Cost
	}
}

// rank returns the result of a choice, with the order of the answers. In answers it sets the probabilities to be best,
// and the gains over the request. The error is ErrNever, or that of step.
func (s *scene) rank(answers []Answer, request int) (*Result, error) {
	r := &Result{Objective: s.objective, Answers: answers, Order: make([]int, len(answers))}
	for i := range r.Order {
		r.Order[i] = i
	}
	slices.SortStableFunc(r.Order, func(i, j int) int {
		a, b := &answers[i], &answers[j]
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.MeanFinish, b.MeanFinish),
			cmp.Compare(a.Procs, b.Procs))
	})
	if math.IsInf(r.Best().Score, 1) {
		return nil, ErrNever
	}
	chances, err := s.probabilities(request)
	if err != nil {
		return nil, err
	}
	for i := range answers {
		a := &answers[i]
		a.Best = chances[i].best
		if request == NoRequest {
			continue
		}
		asked := &answers[request]
		a.Gain = &Gain{
			Score: asked.Score - a.Score, MeanFinish: asked.MeanFinish - a.MeanFinish,
			Finish: asked.Finish[2] - a.Finish[2],
			Better: chances[i].betterThanRequest, Worse: chances[i].worseThanRequest,
		}
	}
	return r, nil
}

func quantiles(l Law) []float64 {
	levels := waittime.Levels()
	for i, p := range levels {
		levels[i] = l.Quantile(p)
	}
	return levels
}
