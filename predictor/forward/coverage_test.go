package forward_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/simulator"
)

// job draws a job of the machine. It runs for a uniformly distributed part of its limit.
func job(rng *rand.Rand, load float64) forward.Arrival {
	limit := math.Ceil(math.Exp(5 + 4*rng.Float64()))
	return forward.Arrival{
		After: rng.ExpFloat64() * 12.5 * 1050 / (load * procs), Procs: 1 + rng.IntN(24), Limit: limit,
		Runtime: limit * rng.Float64(),
	}
}

const procs = 64 // the processors of the machine

// TestForecastsOfARightModelCover proves that with the right laws and the right policy the quantiles of the waits cover
// their levels. Under EASY later arrivals may delay a job, and forecasts that do not know them cover a little less. (Of
// 60 waits the .9 quantile covers 54/61 = .885.)
func TestForecastsOfARightModelCover(t *testing.T) {
	for _, c := range []struct {
		name    string
		policy  forward.Policy
		machine simulator.Policy
		load    float64
		knows   bool
		near    float64
	}{
		{"fcfs", forward.FCFS, new(simulator.FCFS), .6, false, .03},
		{"easy", forward.EASY, new(simulator.EASY), .75, false, .05},
		{"easy with arrivals", forward.EASY, new(simulator.EASY), .75, true, .03},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 5))
			clock, n := 0., 0
			s, err := simulator.New(simulator.Config{Procs: procs, Policy: c.machine,
				Arrivals: func() (simulator.Job, bool) {
					n++
					j := job(rng, c.load)
					clock += j.After
					return simulator.Job{ID: int64(n), Submit: clock, Procs: j.Procs, Limit: j.Limit,
						Runtime: j.Runtime}, n <= 8000
				}})
			check(t, err)
			m := &watched{policy: c.policy, bounds: map[int64][2]float64{}}
			if c.knows {
				m.arrivals = func(replica int, _ uint64) func() (forward.Arrival, bool) {
					rng := rand.New(rand.NewPCG(uint64(replica), 77))
					return func() (forward.Arrival, bool) { return job(rng, c.load), true }
				}
			}
			check(t, s.Advance(math.Inf(1), func(e simulator.Event) { m.see(t, e) }))
			for i, level := range []float64{.5, .885} {
				got := float64(m.within[i]) / float64(m.all)
				t.Logf("level %v covers %.3f of %d that did not start at once", level, got, m.all)
				if math.Abs(got-level) > c.near {
					t.Errorf("level %v covers %.3f", level, got)
				}
			}
		})
	}
}

// watched makes a forecast for every job of a simulated machine.
type watched struct {
	policy           forward.Policy
	arrivals         forward.Arrivals
	running, waiting []simulator.Job
	bounds           map[int64][2]float64
	within           [2]int
	all              int
	sim              forward.Sim
	dst              []float64
}

func (m *watched) see(t *testing.T, e simulator.Event) {
	drop := func(jobs []simulator.Job) []simulator.Job {
		return slices.DeleteFunc(jobs, func(j simulator.Job) bool { return j.ID == e.Job.ID })
	}
	switch e.Kind {
	case simulator.Submitted:
		m.forecast(t, e)
		m.waiting = append(m.waiting, *e.Job)
	case simulator.Started:
		m.waiting, m.running = drop(m.waiting), append(m.running, *e.Job)
		if b := m.bounds[e.Job.ID]; e.Job.Wait() > 0 && e.Job.ID > 500 {
			m.all++
			for i, q := range b {
				if e.Job.Wait() <= q {
					m.within[i]++
				}
			}
		}
		delete(m.bounds, e.Job.ID)
	case simulator.Ended:
		m.running = drop(m.running)
	}
}

func (m *watched) forecast(t *testing.T, e simulator.Event) {
	s := &forward.State{Capacity: procs, Policy: m.policy, Arrivals: m.arrivals}
	for _, j := range m.running {
		s.Running = append(s.Running, forward.Running{Key: uint64(j.ID), Procs: j.Procs, Age: e.Time - j.Start,
			Limit: j.Limit, Law: part(j.Limit)})
	}
	for _, j := range m.waiting {
		s.Waiting = append(s.Waiting,
			forward.Waiting{Key: uint64(j.ID), Procs: j.Procs, Limit: j.Limit, Law: part(j.Limit)})
	}
	var err error
	m.dst, err = m.sim.Waits(s, forward.Request{Procs: e.Job.Procs, Limit: e.Job.Limit}, 60, 1, m.dst)
	check(t, err)
	m.bounds[e.Job.ID] = [2]float64{stat.Quantile(.5, stat.Empirical, m.dst, nil),
		stat.Quantile(.9, stat.Empirical, m.dst, nil)}
}
