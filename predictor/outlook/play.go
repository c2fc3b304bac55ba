package outlook

import (
	"fmt"
	"math"

	"github.com/waitcast/waitcast/predictor/residual"
	"github.com/waitcast/waitcast/simulator"
)

// Series is a forecast quantity.
type Series int

// These are the series. Work is requested work in processor-seconds. Arrivals are those from the instant of the
// forecast to the horizon.
const (
	QueuedWork Series = iota
	QueueLength
	Utilization
	ArrivedJobs
	ArrivedWork
	seriesCount
)

// String returns the name of the series as answers write it.
func (s Series) String() string {
	return [...]string{"queued_work", "queue_length", "utilization", "arrived_jobs",
		"arrived_work"}[min(max(s, 0), seriesCount-1)]
}

// values are the values of one scope's series at an instant, in natural units.
type values [seriesCount]float64

// player simulates the future of one State.
type player struct {
	f         *Forecaster
	state     *State
	procs     float64 // processors of all pools
	base      *simulator.Simulator
	initial   []values // by scope
	memo      map[residual.Job]*residual.CompactLaw
	laws      []*residual.CompactLaw // laws of remaining lifetimes, by ID of a job in the simulated machine
	groups    []int64                // numbers of the users, by the same ID
	counted   []bool                 // by the same ID: true for a stuck job, which initial already contains
	running   int                    // number of leading laws that belong to the running jobs
	later     []simulator.Job        // jobs that are held now; Submit is the time at which they become eligible
	stuck     []stuck                // jobs that wait although the policy would have started them
	poolOf    map[string]int         // index of each queue's pool
	names     []string               // names of the machine's pools
	nameOf    []string               // name of the pool, by scope
	standards []simulator.Job        // by pool and standard
	horizons  []float64              // horizons to simulate, in seconds from now
	past      map[float64][]total    // arrivals in a number of seconds before now (the key), by scope
	scratch   residual.Law           // scratch memory: the law of one job
	seed      uint64
}

// These are the IDs of jobs that are not in the state.
const (
	comes = -1 // a job that arrives later
	probe = -2 // a standard job, or the job of Futures.Waits
)

// course is the result of one replica. It has values by horizon and scope, and waits of standard jobs by horizon,
// pool and job.
type course struct {
	values []values
	waits  []float64
}

func (f *Forecaster) newPlayer(s *State) (*player, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	p := &player{f: f, state: s, procs: float64(s.Procs()), horizons: f.options.Horizons, past: map[float64][]total{},
		seed: f.options.Seed ^ math.Float64bits(s.Now)}
	for i := range s.Running { // so that every queue has a scope before values are summed up
		f.scope(s.Running[i].Queue)
	}
	for i := range s.Waiting {
		f.scope(s.Waiting[i].Queue)
	}
	p.initial = make([]values, 1+len(f.s.Queues))
	return p, p.prepare()
}

// prepare converts the jobs of the state, sums up their present values, and loads them into a machine. It does not load
// waiting jobs that are larger than their pool, and jobs that are held for more than a week.
func (p *player) prepare() error {
	cfg := p.machine()
	load := simulator.State{Now: p.state.Now}
	for i := range p.state.Running {
		j := &p.state.Running[i]
		r := p.job(j)
		r.Start = min(max(j.Start, 0), p.state.Now)
		load.Running = append(load.Running, r)
		p.add(int(r.User), Utilization, float64(j.Procs)/p.procs)
	}
	p.running = len(load.Running)
	for i := range p.state.Waiting {
		j := &p.state.Waiting[i]
		w := p.job(j)
		fits := j.Procs <= cfg.Pools[p.poolOf[j.Queue]].Procs
		if j.Eligible > p.state.Now {
			if w.Submit = j.Eligible; fits && j.Eligible <= p.state.Now+week {
				p.later = append(p.later, w)
			}
			continue
		}
		p.add(int(w.User), QueueLength, 1)
		p.add(int(w.User), QueuedWork, float64(w.Procs)*w.Limit)
		if fits {
			load.Waiting = append(load.Waiting, w)
		}
	}
	return p.load(cfg, load)
}

// stuck is a job that waits for a reason that is not in the State: memory, a node of some kind, a priority, or the
// scheduler's next round. age is the number of seconds for which it has waited.
type stuck struct {
	job simulator.Job
	age float64
}

// mostRounds is the maximum number of rounds in the search for stuck jobs.
const mostRounds = 64

// load loads the state into a machine, except the stuck jobs, which it appends to p.stuck. A job is stuck if the policy
// would start it at the instant of the State, but the scheduler has not started it, for a reason that is not in the
// log.
func (p *player) load(cfg simulator.Config, state simulator.State) error {
	for round := 0; ; round++ {
		m, err := simulator.New(cfg)
		if err != nil {
			return err
		}
		if err := m.Load(state); err != nil {
			return err
		}
		started := map[int64]bool{}
		if p.base = m; round < mostRounds {
			if err := m.Clone().Advance(state.Now, func(e simulator.Event) {
				if e.Kind == simulator.Started {
					started[e.Job.ID] = true
				}
			}); err != nil {
				return err
			}
		}
		if len(started) == 0 {
			return nil
		}
		kept := state.Waiting[:0:0]
		for _, j := range state.Waiting {
			if !started[j.ID] {
				kept = append(kept, j)
				continue
			}
			p.counted[j.ID] = true
			p.stuck = append(p.stuck, stuck{j, state.Now - p.state.Waiting[j.ID-int64(p.running)].Submit})
		}
		state.Waiting = kept
	}
}

// machine returns the configuration of the machine. It also records the names of the machine's pools, the pool of
// each queue, and the standard jobs.
func (p *player) machine() simulator.Config {
	cfg := simulator.Config{Policy: new(simulator.EASY), Refused: func(simulator.Job, error) {}}
	p.poolOf, p.memo = map[string]int{}, map[residual.Job]*residual.CompactLaw{}
	for i, pool := range p.state.Pools {
		for _, q := range pool.Queues {
			p.poolOf[q] = i
		}
	}
	held := make([]int, len(p.state.Pools))
	for i := range p.state.Running {
		held[p.poolOf[p.state.Running[i].Queue]] += p.state.Running[i].Procs
	}
	for i, pool := range p.state.Pools {
		name := fmt.Sprint(i)
		// According to a log, the running jobs may hold more processors than the pool has.
		c := simulator.PoolConfig{Name: name, Procs: max(pool.Procs, held[i])}
		for _, o := range pool.Outages {
			c.Outages = append(c.Outages, simulator.Outage(o))
		}
		cfg.Pools = append(cfg.Pools, c)
		cfg.Queues = append(cfg.Queues, simulator.Queue{Name: name, Pool: name})
		p.names = append(p.names, name)
		for _, s := range p.f.options.Standards {
			procs := s.Procs
			if procs == 0 {
				procs = max(1, int(s.Share*float64(pool.Procs)))
			}
			p.standards = append(p.standards,
				simulator.Job{ID: probe, Procs: procs, Limit: s.Limit, Runtime: s.Limit, Queue: name, User: 1})
		}
	}
	p.nameOf = make([]string, len(p.initial))
	for scope := range p.nameOf {
		p.nameOf[scope] = p.names[0]
		if scope > 0 {
			p.nameOf[scope] = p.names[p.poolOf[p.f.s.Queues[scope-1]]]
		}
	}
	return cfg
}

// job converts a job of the state to a job of the simulator. The ID of the result is the index of its law, and its User
// is the number of the queue's scope.
func (p *player) job(j *Job) simulator.Job {
	k := j.law()
	if p.memo[k] == nil {
		p.f.laws.LawInto(&p.scratch, k, p.state.Now)
		p.memo[k] = p.scratch.Compact()
	}
	p.laws, p.groups, p.counted = append(p.laws, p.memo[k]), append(p.groups, hashOf(j.User)), append(p.counted, false)
	return simulator.Job{
		ID: int64(len(p.laws) - 1), Procs: j.Procs, Limit: p.f.plan(j, p.state.Now), User: int64(p.f.scope(j.Queue)),
		Queue: p.names[p.poolOf[j.Queue]],
	}
}

func (p *player) add(scope int, s Series, x float64) {
	p.initial[0][s] += x
	p.initial[scope][s] += x
}
