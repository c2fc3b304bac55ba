package headqueue_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// world is a machine with a mix of jobs whose laws are known.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	procs int
	laws  []uniformlog.Model
	size  func() int
}

// spec is a job of a world.
type spec struct {
	procs int
	limit float64
	law   uniformlog.Model
}

func newWorld(t *testing.T, rng *rand.Rand) *world {
	t.Helper()
	w := &world{t: t, rng: rng, procs: 64 << rng.IntN(5)}
	for range 1 + rng.IntN(3) {
		tmin := math.Exp(5 * rng.Float64())
		b1 := 1 / math.Log(3600*math.Exp(4*rng.Float64())/tmin)
		w.laws = append(w.laws, uniformlog.Model{B0: -b1 * math.Log(tmin), B1: b1})
	}
	widest := max(2, w.procs>>rng.IntN(4))
	switch rng.IntN(3) {
	case 0:
		w.size = func() int { return 1 + rng.IntN(max(1, widest/4)) }
	case 1:
		w.size = func() int { return int(math.Exp(rng.Float64() * math.Log(float64(widest)+.99))) }
	default:
		w.size = func() int { return 1 << rng.IntN(int(math.Log2(float64(widest)))+1) }
	}
	return w
}

func (w *world) job() spec {
	s := spec{procs: w.size(), law: w.laws[w.rng.IntN(len(w.laws))]}
	if w.rng.IntN(2) == 0 {
		s.limit = 600 * math.Exp(4*w.rng.Float64())
	}
	return s
}

// rest draws the remaining runtime of a job of the given age.
func (w *world) rest(s spec, age float64) float64 {
	left := s.law.QuantileRemaining(w.rng.Float64(), age)
	if s.limit > age {
		left = min(left, s.limit-age)
	}
	return left
}

// running is a running job with its start.
type running struct {
	spec
	start float64
}

// scene runs a machine with a long queue until about ahead jobs are left in the queue, and then for a while longer. It
// returns the running jobs with their starts, the waiting jobs and the instant.
func (w *world) scene(ahead int) (run []running, queued []spec, now float64) {
	jobs := make([]spec, 200+w.procs+ahead)
	sim, err := simulator.New(simulator.Config{Procs: w.procs, Runtime: func(j *simulator.Job) float64 {
		return w.rest(jobs[j.ID], 0)
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range jobs {
		jobs[i] = w.job()
		if err := sim.Submit(simulator.Job{ID: int64(i), Procs: jobs[i].procs}); err != nil {
			w.t.Fatal(err)
		}
	}
	alive := map[int64]running{}
	started, until := 0, math.Inf(1)
	for {
		e, ok, err := sim.Next(until)
		if err != nil {
			w.t.Fatal(err)
		}
		if !ok {
			break
		}
		switch e.Kind {
		case simulator.Started:
			started++
			alive[e.Job.ID] = running{jobs[e.Job.ID], e.Time}
			if math.IsInf(until, 1) && len(jobs)-started <= ahead {
				until = e.Time + 600*w.rng.Float64()
			}
		case simulator.Ended:
			delete(alive, e.Job.ID)
		}
	}
	for id := range int64(len(jobs)) {
		if j, ok := alive[id]; ok {
			run = append(run, j)
		}
	}
	return run, jobs[started:], sim.Now()
}

// wait draws lifetimes and returns the wait of the last job of the queue.
func (w *world) wait(run []running, queued []spec, now float64) float64 {
	var runtimes []float64
	sim, err := simulator.New(simulator.Config{Procs: w.procs})
	if err != nil {
		w.t.Fatal(err)
	}
	submit := func(procs int, runtime float64) {
		runtimes = append(runtimes, runtime)
		if err := sim.Submit(simulator.Job{ID: int64(len(runtimes)), Procs: procs, Runtime: runtime}); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, r := range run {
		submit(r.procs, w.rest(r.spec, now-r.start))
	}
	for _, q := range queued {
		submit(q.procs, w.rest(q, 0))
	}
	for {
		e, ok, err := sim.Next(math.Inf(1))
		if err != nil || !ok {
			w.t.Fatalf("the last job never starts: %v", err)
		}
		if e.Kind == simulator.Started && e.Job.ID == int64(len(runtimes)) {
			return e.Time
		}
	}
}

func state(procs int, run []running, ahead []spec, now float64) *headqueue.State {
	s := &headqueue.State{Capacity: procs, Free: procs}
	for _, r := range run {
		s.Free -= r.procs
		s.Running = append(s.Running, headqueue.Holder{Procs: r.procs, Age: now - r.start, Limit: r.limit, Law: r.law})
	}
	for _, a := range ahead {
		s.Ahead = append(s.Ahead, headqueue.Ahead{Procs: a.procs, Limit: a.limit, Law: a.law})
	}
	return s
}

// TestQueueCoverage compares the quantiles behind a queue with the waits that an independent simulation of strict first
// come, first served finds under the same laws. The machines and mixes are random, and the queues have 1 to 300 jobs.
// Each level is met within .01 (half a replica, and the effect of interpolating between replicas) and four standard
// errors, computed over the states, which are independent.
func TestQueueCoverage(t *testing.T) {
	cover(t, 1000, 10, func(w *world) int { return 1 + int(math.Exp(w.rng.Float64()*math.Log(300))) })
}

// TestLongQueueCoverage proves that the quantiles cover their levels within 0.03 for states with so many jobs that only
// a few replicas are affordable. These few give the standard deviation of the start only within 20 %.
func TestLongQueueCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("queues of thousands of jobs; left out by -short")
	}
	states := 30
	if os.Getenv("WAITCAST_LONG") != "" {
		states = 60
	}
	cover(t, states, 10, func(w *world) int { return 8000 + w.rng.IntN(8000) })
}

func cover(t *testing.T, states, draws int, length func(*world) int) {
	t.Helper()
	var all score
	var by [4]score
	var calc headqueue.Calc
	var squares [6]float64 // the states' deviations from the levels
	n := 0.0
	most := .01
	for seed := range uint64(states) {
		w := newWorld(t, rand.New(rand.NewPCG(seed, 1)))
		run, queued, now := w.scene(length(w))
		last := len(queued) - 1
		if last < 1 {
			continue
		}
		if last > 2000 {
			most = .03
		}
		r, err := calc.Forecast(state(w.procs, run, queued[:last], now), queued[last].procs, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Method == headqueue.MethodNow {
			continue
		}
		deep := min(3, int(math.Log2(1+float64(r.Need)/float64(w.procs))))
		var one score
		for range draws {
			wait := w.wait(run, queued, now)
			one.add(&r, wait)
			all.add(&r, wait)
			by[deep].add(&r, wait)
		}
		n++
		for i, q := range r.Levels {
			squares[i] += (one.coverage(i) - q) * (one.coverage(i) - q)
		}
	}
	for i := range by {
		if by[i].n > 0 {
			t.Logf("%d machines ahead or more: %v", 1<<i-1, &by[i])
		}
	}
	t.Logf("all: %v", &all)
	for i, q := range waittime.Levels() {
		se := math.Sqrt(squares[i]) / n
		if d := math.Abs(all.coverage(i) - q); d > most+4*se {
			t.Errorf("level %g covers %.3f, want within %.3f", q, all.coverage(i), most+4*se)
		}
	}
}
