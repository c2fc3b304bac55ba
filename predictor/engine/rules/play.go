package rules

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
)

// Running is a running job for a Player. Its times are in seconds; a Limit of 0 means none.
type Running struct {
	Procs                int32
	Age, Expected, Limit float32
}

// Pool is a pool at an instant. Waiting is in the order of submission.
type Pool struct {
	Capacity int
	Running  []Running
	Waiting  []Job
	Outages  []forward.Outage
	Gates    []forward.Gate
}

// Player simulates a pool in which all jobs run as long as expected. It reuses its memory. It is not safe for
// concurrent use.
type Player struct {
	sim    forward.Sim
	state  forward.State
	laws   []fixed
	scores []float64
	order  []int32
	waits  []float64
}

// fixed is the law of a job that runs for a fixed number of seconds more.
type fixed float64

// Residual returns the fixed number of seconds for every age and quantile.
func (f *fixed) Residual(float64, float64) float64 { return float64(*f) }

// farthest is the wait, in seconds, of a request that never starts in a simulation: 30 days.
const farthest = 30 * 86400.

// Load sets the pool, which must not change until the last simulation. The pool has the given number of processors, or
// the number in use if that is larger. factor multiplies the expected runtimes.
func (p *Player) Load(pool *Pool, capacity int, factor float64) {
	n := len(pool.Running) + len(pool.Waiting)
	p.laws = slices.Grow(p.laws[:0], n)[:n]
	p.state.Gates, p.state.Outages = pool.Gates, pool.Outages
	p.state.Running = p.state.Running[:0]
	used := 0
	for i := range pool.Running {
		r := &pool.Running[i]
		p.laws[i] = fixed(r.left(factor))
		p.state.Running = append(p.state.Running, forward.Running{Procs: int(r.Procs), Age: float64(r.Age),
			Limit: planned(r.Limit, r.Expected), Law: &p.laws[i]})
		used += int(r.Procs)
	}
	for i := range pool.Waiting {
		p.laws[len(pool.Running)+i] = fixed(pool.Waiting[i].runtime(factor))
	}
	p.state.Capacity = max(capacity, used)
}

// left returns the expected remaining runtime of a running job, at least a second. factor multiplies the expected
// runtime. After the expected end of the job, the result is a part of the time that is left to the end in the plan. If
// the job has passed that end, too, the time that it has run, but at least a minute, counts as the time that is left.
func (r *Running) left(factor float64) float64 {
	const part = .3 // the assumed part of the rest of the limit
	age := float64(r.Age)
	if left := float64(r.Expected)*factor - age; left > 0 {
		return math.Max(1, left)
	}
	end := planned(r.Limit, r.Expected)
	if end <= age {
		end = age + math.Max(60, age)
	}
	return math.Max(1, part*(end-age))
}

// runtime returns the expected runtime of a waiting job times factor, but at most 1.5 times the runtime in the plan.
func (j *Job) runtime(factor float64) float64 {
	return math.Min(float64(j.Expected)*factor, 1.5*j.plan())
}

// Wait returns the wait of a request, in seconds and at most 30 days. The jobs of the loaded pool start in order of
// decreasing scores, and at equal scores in order of submission. If strict is set, no job overtakes the first.
func (p *Player) Wait(pool *Pool, request *Job, strict bool, score func(*Job) float64) float64 {
	p.sort(pool, score)
	s := &p.state
	s.Policy = forward.EASY
	if strict {
		s.Policy = forward.FCFS
	}
	defer func(was int) { s.Capacity = was }(s.Capacity)
	s.Capacity = max(s.Capacity, int(request.Procs))
	mine, behind := score(request), 0
	s.Waiting = s.Waiting[:0]
	for _, i := range p.order {
		j := &pool.Waiting[i]
		if p.scores[i] < mine {
			behind++
		}
		s.Waiting = append(s.Waiting, forward.Waiting{Procs: int(j.Procs), Limit: j.plan(),
			Law: &p.laws[len(pool.Running)+int(i)]})
	}
	r := forward.Request{Procs: int(request.Procs), Limit: request.plan(), Behind: behind}
	waits, err := p.sim.Waits(s, r, 1, 1, p.waits)
	if p.waits = waits; err != nil {
		return farthest
	}
	return math.Min(waits[0], farthest)
}

// sort sorts the waiting jobs by falling scores.
func (p *Player) sort(pool *Pool, score func(*Job) float64) {
	p.scores, p.order = p.scores[:0], p.order[:0]
	sorted := true
	for i := range pool.Waiting {
		s := score(&pool.Waiting[i])
		sorted = sorted && (i == 0 || s <= p.scores[i-1])
		p.scores, p.order = append(p.scores, s), append(p.order, int32(i)) //nolint:gosec // jobs of a pool
	}
	if sorted {
		return
	}
	slices.SortStableFunc(p.order, func(a, b int32) int {
		switch x, y := p.scores[a], p.scores[b]; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
}
