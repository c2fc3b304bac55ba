package outlook

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"

	"github.com/waitcast/waitcast/predictor/residual"
	"github.com/waitcast/waitcast/simulator"
)

// actor plays one replica at a time.
type actor struct {
	p        *player
	machine  simulator.Simulator
	other    simulator.Simulator // a copy of the machine with a standard job
	arrivals []arrival
	shaker   shaker
	luck     *rand.Rand
	copula   residual.Copula
	law      residual.Law // scratch memory: the law of one job
	shared   map[int64]float64
	scopes   []values
	probes   int // number of replicas with standard jobs
	model    int
	turns    int
}

// yieldTurns is the number of draws in a replica after which the goroutine yields.
const yieldTurns = 32

// yield lets other goroutines run now and then. Otherwise answers to requests would wait for the end of the Go
// scheduler's 10 ms time slice.
func (a *actor) yield() {
	if a.turns++; a.turns%yieldTurns == 0 {
		runtime.Gosched()
	}
}

// play plays replicas with the arrivals of a model. In the first of them, as many as probes says, it also plays
// standard jobs.
func (p *player) play(ctx context.Context, replicas, probes, model int) ([]course, error) {
	return simulator.Replicas(ctx, replicas, p.f.options.Workers, p.seed,
		func() *actor { return p.actor(probes, model) },
		func(a *actor, replica int, rng *rand.Rand) (course, error) { return a.replica(replica, rng) })
}

func (p *player) actor(probes, model int) *actor {
	return &actor{p: p, copula: residual.NewCopula(residual.DefaultRho), shared: map[int64]float64{}, probes: probes,
		model: model}
}

// growth returns a function that plays a replica for some weeks. Its result is the weekly growth of the number of
// outstanding jobs, by scope.
func (p *player) growth(weeks int) func(a *actor, replica int, rng *rand.Rand) ([]float64, error) {
	return func(a *actor, _ int, rng *rand.Rand) ([]float64, error) {
		a.start(rng, float64(weeks)*week)
		outstanding := make([]int, len(p.initial))
		for _, list := range [][]Job{p.state.Running, p.state.Waiting} {
			for i := range list {
				outstanding[0]++
				outstanding[p.f.scope(list[i].Queue)]++
			}
		}
		counts := make([][]int, len(outstanding))
		for w := range weeks + 1 {
			for scope := range counts {
				counts[scope] = append(counts[scope], outstanding[scope])
			}
			if w == weeks {
				break
			}
			if err := a.machine.Advance(p.state.Now+float64(w+1)*week, func(e simulator.Event) {
				change := 0
				switch {
				case e.Kind == simulator.Submitted && e.Job.ID == comes:
					change = 1
				case e.Kind == simulator.Ended:
					change = -1
				}
				outstanding[0] += change
				outstanding[e.Job.User] += change
			}); err != nil {
				return nil, err
			}
		}
		slopes := make([]float64, len(counts))
		for scope := range counts {
			slopes[scope], _ = simulator.Saturation(counts[scope])
		}
		return slopes, nil
	}
}

// replica plays one replica and returns its values at each horizon. If number is less than a.probes, it also returns
// the waits of the standard jobs.
func (a *actor) replica(number int, rng *rand.Rand) (course, error) {
	p := a.p
	horizons := p.horizons
	a.start(rng, horizons[len(horizons)-1])
	a.scopes = append(a.scopes[:0], p.initial...)
	out := course{values: make([]values, 0, len(horizons)*len(a.scopes))}
	for _, h := range horizons {
		if err := a.machine.Advance(p.state.Now+h, a.observe); err != nil {
			return out, err
		}
		out.values = append(out.values, a.scopes...)
		if number >= a.probes {
			continue
		}
		for i := range p.standards {
			w, err := a.wait(p.state.Now+h, p.standards[i], uint64(number))
			if err != nil {
				return out, err
			}
			out.waits = append(out.waits, w)
		}
	}
	return out, nil
}

// start sets the machine to the state, and draws the ends and, for the next length seconds, the arrivals of one
// replica.
func (a *actor) start(rng *rand.Rand, length float64) {
	p := a.p
	m := &a.machine
	a.luck = rng
	clear(a.shared)
	m.CopyFrom(p.base)
	m.Redraw(a.remaining)
	m.SetRuntime(a.runtime)
	a.arrivals = p.f.streams[a.model].cut(p.state.Now, length, p.f.options.Local, rng, a.arrivals)
	a.shaker.shake(a.arrivals, rng)
	i := 0
	m.SetArrivals(func() (simulator.Job, bool) {
		if i == len(a.arrivals) {
			return simulator.Job{}, false
		}
		x := &a.arrivals[i]
		i++
		scope := int(x.Scope)
		if scope >= len(p.nameOf) {
			scope = 1
		}
		return simulator.Job{
			ID: comes, Submit: p.state.Now + x.At, Procs: int(x.Procs), Runtime: x.Runtime, Limit: x.Limit,
			User: int64(scope), Queue: p.nameOf[scope],
		}, true
	})
	for _, j := range p.later {
		_ = m.Submit(j) // an error is ignored: it means that the job can never start, so that it does not compete
	}
	for _, s := range p.stuck {
		j := s.job
		j.Submit = p.state.Now + s.release(rng.Float64())
		_ = m.Submit(j)
	}
}

// release draws the time for which a stuck job stays stuck. It is longer than x with the probability age/(age + x),
// where an age below a minute counts as a minute, and is at most longestWait. That is the law of something that has
// lasted for age and of which nothing else is known (J. Gott, Nature 363, 1993).
func (s *stuck) release(u float64) float64 {
	return min(max(s.age, minute)*(1/max(1-u, 1e-9)-1), longestWait)
}

// level draws the quantile level of a job's lifetime. The levels of jobs of one user are correlated.
func (a *actor) level(id int64) float64 {
	group := a.p.groups[id]
	z, ok := a.shared[group]
	if !ok {
		z = a.luck.NormFloat64()
		a.shared[group] = z
	}
	u := a.copula.Level(z, a.luck.NormFloat64())
	return min(max(u, 1e-9), 1-1e-9)
}

func (a *actor) remaining(j *simulator.Job) float64 {
	a.yield()
	a.p.laws[j.ID].Into(&a.law)
	return a.law.Residual(a.p.state.Now-j.Start, a.level(j.ID))
}

func (a *actor) runtime(j *simulator.Job) float64 {
	a.yield()
	if j.ID < 0 {
		return j.Runtime
	}
	a.p.laws[j.ID].Into(&a.law)
	return a.law.Residual(0, a.level(j.ID))
}

// observe updates the values of the cluster and of an event's scope.
func (a *actor) observe(e simulator.Event) {
	scope := int(e.Job.User)
	work, busy := float64(e.Job.Procs)*e.Job.Limit, float64(e.Held)/a.p.procs
	for _, s := range [2]int{0, scope} {
		v := &a.scopes[s]
		switch e.Kind {
		case simulator.Submitted:
			if e.Job.ID >= 0 && a.p.counted[e.Job.ID] {
				continue
			}
			v[QueueLength]++
			v[QueuedWork] += work
			if e.Job.ID == comes {
				v[ArrivedJobs]++
				v[ArrivedWork] += work
			}
		case simulator.Started:
			v[QueueLength]--
			v[QueuedWork] = math.Max(0, v[QueuedWork]-work)
			v[Utilization] += busy
		case simulator.Ended:
			v[Utilization] -= busy
		}
	}
}

// longestWait is the maximum wait of a standard job, in seconds: 60 days. A simulation stops there.
const longestWait = 60 * day

// wait returns the wait of a standard job that is submitted to a copy of the present machine, without further arrivals.
// It is +Inf if the job is larger than its pool, and at most longestWait otherwise.
func (a *actor) wait(at float64, job simulator.Job, stream uint64) (float64, error) {
	o := &a.other
	o.CopyFrom(&a.machine)
	o.SetArrivals(nil)
	luck := a.luck
	// Separate random numbers, so that the replica's own draws do not change.
	a.luck = rand.New(rand.NewPCG(a.p.seed, stream))
	defer func() { a.luck = luck }()
	job.Submit = at
	if err := o.Submit(job); err != nil {
		return math.Inf(1), nil // the job is larger than the pool, so that it never starts
	}
	for {
		e, ok, err := o.Next(at + longestWait)
		switch {
		case err != nil:
			return 0, err
		case !ok:
			return longestWait, nil
		case e.Kind == simulator.Started && e.Job.ID == probe:
			return e.Time - at, nil
		}
	}
}
