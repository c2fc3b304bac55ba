package rules

import "math"

// Job is what an order of starts can depend on. Seconds and processors are those of the request.
type Job struct {
	Procs int32
	// Own is how many jobs of the same user wait ahead of it, by their submission.
	Own int32
	// Limit is 0 for none; Expected is the expected runtime; Age is how long it has waited.
	Limit, Expected, Age float32
	// QueueWait is the mean of ln(wait + 60 s) of the newest jobs of its queue.
	QueueWait float32
	// Use is what its user's jobs have used lately, in processor seconds.
	Use float32
}

// plan returns the runtime that the scheduler plans with: the limit, else twice the expected runtime.
func (j *Job) plan() float64 { return planned(j.Limit, j.Expected) }

func planned(limit, expected float32) float64 {
	if limit > 0 {
		return float64(limit)
	}
	return 2 * float64(expected)
}

// Lookahead is how far ahead of now the ages of jobs are taken when they are ordered, in seconds: the order is one for
// a whole simulation, in which the jobs grow older. On KTH-SP2 and SDSC-SP2 forecasts with such an order lose .9 % more
// and .6 % less at .5 than with one that is renewed as time goes on.
const Lookahead = 3600

// Priority orders the jobs that wait, the one with the highest score first, and says how long they run in a forecast.
// Its weights are found by the loss of the forecasts that follow from them.
type Priority struct {
	// LogAge counts ln(60 s + age), AgeDays the age in days.
	LogAge, AgeDays float64
	// LogLimit, LogProcs and LogExpected count against a job ln(60 s + limit), ln processors and ln(60 s + expected
	// runtime).
	LogLimit, LogProcs, LogExpected float64
	// Own counts against it ln(1 + the jobs of its user ahead), QueueWait its queue's mean wait, LogUse ln(10,000 s +
	// its user's use).
	Own, QueueWait, LogUse float64
	// Lifetimes is the logarithm of a factor of all expected runtimes, Delay the logarithm of seconds, less one, that a
	// start comes later than the simulated one if it is not at once.
	Lifetimes, Delay float64
	// Capacity is the logarithm of a factor of the pool's processors: some are kept free or for others.
	Capacity float64
	// Strict is whether nobody overtakes the first.
	Strict bool
}

const useScale = 1e4 // processor seconds that a user's use is compared with

// Score returns the place of a job Lookahead from now: the higher the sooner.
func (p *Priority) Score(j *Job) float64 {
	age := math.Max(0, float64(j.Age)+Lookahead)
	return p.LogAge*math.Log(60+age) + p.AgeDays*age/86400 - p.fixed(j)
}

// fixed is the part of the score that does not change with age.
func (p *Priority) fixed(j *Job) float64 {
	sum := 0.
	for _, term := range [...]struct{ weight, of float64 }{
		{p.LogLimit, 60 + j.plan()}, {p.LogProcs, float64(j.Procs)}, {p.LogExpected, 60 + float64(j.Expected)},
		{p.Own, 1 + float64(j.Own)}, {p.LogUse, useScale + float64(j.Use)},
	} {
		if term.weight != 0 {
			sum += term.weight * math.Log(term.of)
		}
	}
	return sum + p.QueueWait*float64(j.QueueWait)
}

// Late returns a simulated wait as it is served, in seconds: starts that are not at once come a little later.
func (p *Priority) Late(wait float64) float64 {
	if wait > 0 && p.Delay > 0 {
		return wait + math.Expm1(p.Delay)
	}
	return wait
}

// Processors returns how many processors the jobs of a pool get that has so many.
func (p *Priority) Processors(procs int) int {
	return max(1, int(math.Round(float64(procs)*math.Exp(p.Capacity))))
}

// rankUnit is the least difference of scores that counts where they become ranks.
const rankUnit = 1e-6

// Rank returns the score as a rank of package forward: the lower the sooner.
func (p *Priority) Rank(j *Job) int {
	r := -p.Score(j) / rankUnit
	return int(math.Max(-1e15, math.Min(r, 1e15)))
}

// Order is a fixed order of starts, of which it is not known whether a scheduler keeps it.
type Order struct {
	Name string
	// Score is the higher the sooner.
	Score func(j *Job) float64
}

// Orders returns the portfolio of orders: features of a forecast are what the wait would be under each. One of them is
// often close to what the scheduler does, and trees find out which, and when.
func Orders() []Order {
	limit := func(j *Job) float64 { return j.plan() }
	queue := func(j *Job) float64 { return math.Round(4*float64(j.QueueWait)) * 1e10 }
	return []Order{
		{"first_come", func(j *Job) float64 { return float64(j.Age) }},
		{"short_limit", func(j *Job) float64 { return -limit(j) }},
		{"own_rank", func(j *Job) float64 { return -1e10*float64(j.Own) - limit(j) }},
		{"expansion", func(j *Job) float64 { return float64(j.Age) / math.Max(600, limit(j)) }},
		{"queue", func(j *Job) float64 { return -queue(j) - limit(j) }},
		{"largest", func(j *Job) float64 { return float64(j.Procs) }},
		{"smallest", func(j *Job) float64 { return -float64(j.Procs) }},
	}
}
