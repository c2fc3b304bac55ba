package outlook

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

type failer interface {
	Errorf(format string, args ...any)
}

// checkFutures checks every replica of a player: the jobs that wait at a horizon are at most as many as wait now,
// become eligible by then, or arrive by then. The same holds for their work.
func checkFutures(t failer, p *player, courses []course) {
	for i := range courses {
		for k, h := range p.horizons {
			for scope := range p.initial {
				v := courses[i].values[k*len(p.initial)+scope]
				jobs, work := p.known(k, scope, QueueLength), p.known(k, scope, QueuedWork)
				if v[QueueLength] < 0 || v[QueueLength] > jobs+v[ArrivedJobs] {
					t.Errorf("replica %d, scope %d, +%g h: %v jobs wait; %v were known and %v came", i, scope, h/hour,
						v[QueueLength], jobs, v[ArrivedJobs])
				}
				if most := work + v[ArrivedWork]; v[QueuedWork] < 0 || v[QueuedWork] > most+1e-9*most {
					t.Errorf("replica %d, scope %d, +%g h: %v processor seconds wait; at most %v can", i, scope, h/hour,
						v[QueuedWork], most)
				}
			}
		}
	}
}

// eligibleBy returns how many of the waiting jobs of a queue (of all queues for "*") are eligible at an instant, and
// their requested work.
func eligibleBy(f *Forecaster, s *State, queue string, at float64) (jobs, work float64) {
	for i := range s.Waiting {
		if j := &s.Waiting[i]; (queue == "*" || j.Queue == queue) && j.Eligible <= at {
			jobs++
			work += float64(j.Procs) * f.plan(j, s.Now)
		}
	}
	return jobs, work
}

// checkServed checks the served forecast: each level is at most the present value, plus what becomes eligible, plus
// that level of the arrivals.
func checkServed(t failer, f *Forecaster, s *State, fc *Forecast) {
	for _, l := range append([]Future{fc.Cluster}, fc.Queues...) {
		queue := l.Queue
		if queue == "" {
			queue = "*"
		}
		for i := range l.Points {
			p := &l.Points[i]
			jobs, work := eligibleBy(f, s, queue, s.Now+p.Horizon)
			for level := range levels {
				if come := p.JobsPerHour[level] * (p.Horizon / hour); p.QueueLength[level] > jobs+come {
					t.Errorf("queue %q, +%g h, level %d: %v jobs wait of %v and %v that come", queue, p.Horizon/hour,
						level, p.QueueLength[level], jobs, come)
				}
				come := p.WorkPerHour[level] * (p.Horizon / hour)
				if most := work + come; p.QueuedWork[level] > most+1e-9*most {
					t.Errorf("queue %q, +%g h, level %d: work %v of %v and %v that comes", queue, p.Horizon/hour, level,
						p.QueuedWork[level], work, come)
				}
			}
		}
	}
}

// burst submits many jobs at once to a cluster's Picture and Forecaster, so that the Forecaster learns from an hour
// with many arrivals.
func (c *cluster) burst(jobs int) {
	for range jobs {
		c.next++
		j := Job{ID: uint64(c.next) | 1<<40, Queue: "short", User: "burst", Procs: 1, Limit: hour,
			Submit: c.machine.Now()}
		c.picture.Submitted(j)
		c.told.Submitted(j)
	}
}

// TestWaitingJobsCameFromSomewhere proves that no simulated future and no served level has more waiting jobs, or more
// waiting work, than exist and arrive. The states are random. The forecasters, one for each of four seeds, have learnt
// little before: from a few days in which hundreds of jobs may come at once.
func TestWaitingJobsCameFromSomewhere(t *testing.T) {
	for seed := range uint64(4) {
		o := small()
		o.Seed = seed
		c := newCluster(t, o, 64, 8, seed)
		rng := rand.New(rand.NewPCG(seed, 9))
		for range 6 {
			c.observe(t, c.machine.Now()+float64(4+rng.IntN(24))*hour)
			c.burst(rng.IntN(400))
		}
		c.observe(t, c.machine.Now()+4*hour)
		rapid.Check(t, func(t *rapid.T) { checkState(t, c) })
	}
}

// checkState draws a state and checks its futures and its forecast.
func checkState(t *rapid.T, c *cluster) {
	s := State{Now: c.machine.Now() + 10,
		Pools: []Pool{{Name: "a", Procs: rapid.IntRange(1, 128).Draw(t, "procs"), Queues: []string{"short"}},
			{Name: "b", Procs: 16}}}
	id := uint64(1 << 50)
	job := rapid.Custom(func(t *rapid.T) Job {
		id++
		return Job{
			ID: id, Queue: rapid.SampledFrom([]string{"short", "long", "new"}).Draw(t, "queue"), User: "a",
			Procs:    rapid.IntRange(1, 16).Draw(t, "procs"),
			Limit:    rapid.SampledFrom([]float64{0, 60, 3600, 1e6}).Draw(t, "limit"),
			Submit:   s.Now - rapid.Float64Range(0, 1e5).Draw(t, "waited"),
			Start:    s.Now - rapid.Float64Range(0, 1e5).Draw(t, "age"),
			Eligible: rapid.SampledFrom([]float64{0, s.Now + 1800, math.Inf(1)}).Draw(t, "eligible"),
		}
	})
	s.Running, s.Waiting = rapid.SliceOfN(job, 0, 6).Draw(t, "running"), rapid.SliceOfN(job, 0, 20).Draw(t, "waiting")
	p, err := c.f.newPlayer(&s)
	if err != nil {
		t.Fatal(err)
	}
	for model := range arrivalModels {
		if c.f.streams[model] == nil {
			continue
		}
		courses, err := p.play(context.Background(), 8, 0, model)
		if err != nil {
			t.Fatal(err)
		}
		checkFutures(t, p, courses)
	}
	fc, err := c.f.Forecast(context.Background(), &s)
	if err != nil {
		t.Fatal(err)
	}
	checkServed(t, c.f, &s, fc)
}

// TestWaitingJobsOfATraceCameFromSomewhere checks the served levels on a recorded trace, at every hour of its first
// three weeks except the first day.
func TestWaitingJobsOfATraceCameFromSomewhere(t *testing.T) {
	r := openTrace(t, "SDSC-Par-1996-3.1-cln.swf.gz")
	o := small()
	o.Local = r.local
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.learner = f
	const until = 3 * week
	for x := hour + .5; x < until; x += hour {
		r.instants = append(r.instants, x)
	}
	forecasts := 0
	r.at = func(now float64) {
		s := r.picture.State(now)
		if err := f.Observe(context.Background(), &s); err != nil {
			t.Fatal(err)
		}
		if now < day || t.Failed() {
			return
		}
		forecasts++
		checkServed(t, f, &s, forecast(t, f, s))
	}
	for i := range r.trace.Jobs {
		if r.trace.Jobs[i].Submit > until {
			r.trace.Jobs = r.trace.Jobs[:i]
			break
		}
	}
	r.run()
	if forecasts < 450 {
		t.Errorf("%d forecasts", forecasts)
	}
}
