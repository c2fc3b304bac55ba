package outlook

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waitcast/waitcast/simulator"
)

// listener receives the events of jobs.
type listener interface {
	Submitted(Job)
	Started(uint64, float64)
	Ended(uint64, float64)
	Gone(uint64)
	Lost(uint64)
}

// chorus passes all events on to several listeners.
type chorus []listener

func (c chorus) each(f func(listener)) {
	for _, l := range c {
		f(l)
	}
}
func (c chorus) Submitted(j Job)               { c.each(func(l listener) { l.Submitted(j) }) }
func (c chorus) Started(id uint64, at float64) { c.each(func(l listener) { l.Started(id, at) }) }
func (c chorus) Ended(id uint64, at float64)   { c.each(func(l listener) { l.Ended(id, at) }) }
func (c chorus) Gone(id uint64)                { c.each(func(l listener) { l.Gone(id) }) }
func (c chorus) Lost(id uint64)                { c.each(func(l listener) { l.Lost(id) }) }

// cluster is an invented machine with one queue for short jobs and one for long ones. Jobs come by a Poisson process
// with the same rate at every hour, so that bands can be checked without a long trace. It reports all events to a
// Forecaster and a Picture.
type cluster struct {
	procs   int
	perHour float64
	rng     *rand.Rand
	machine *simulator.Simulator
	picture *Picture
	f       *Forecaster
	told    listener
	jobs    map[int64]Job
	next    int64
	at      float64
}

func newCluster(t testing.TB, o Options, procs int, perHour float64, seed uint64) *cluster {
	t.Helper()
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{procs: procs, perHour: perHour, rng: rand.New(rand.NewPCG(seed, 1)), f: f, told: f,
		jobs: map[int64]Job{}}
	c.picture = NewPicture(Pool{Name: "all", Procs: procs})
	c.machine, err = simulator.New(simulator.Config{Procs: procs, Policy: new(simulator.EASY), Arrivals: c.arrive})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// arrive draws the next job: 1 to 16 processors, a lognormal runtime with a median of about 20 minutes, and a limit of
// up to four times the runtime.
func (c *cluster) arrive() (simulator.Job, bool) {
	c.at += c.rng.ExpFloat64() * hour / c.perHour
	c.next++
	runtime := math.Exp(math.Log(1200) + .8*c.rng.NormFloat64())
	j := Job{
		ID: uint64(c.next), Queue: []string{"short", "long"}[c.rng.IntN(2)],
		User: string(rune('a' + c.rng.IntN(20))), App: "x", Procs: 1 << c.rng.IntN(5),
		Limit: math.Ceil(runtime*(1+3*c.rng.Float64())/600) * 600, Submit: c.at,
	}
	c.jobs[c.next] = j
	return simulator.Job{ID: c.next, Submit: c.at, Procs: j.Procs, Runtime: runtime, Limit: j.Limit}, true
}

// to runs the machine to an instant.
func (c *cluster) to(t testing.TB, at float64) State {
	t.Helper()
	if err := c.machine.Advance(at, func(e simulator.Event) {
		id := uint64(e.Job.ID)
		switch e.Kind {
		case simulator.Submitted:
			c.picture.Submitted(c.jobs[e.Job.ID])
			c.told.Submitted(c.jobs[e.Job.ID])
			delete(c.jobs, e.Job.ID)
		case simulator.Started:
			c.picture.Started(id, e.Time)
			c.told.Started(id, e.Time)
		case simulator.Ended:
			c.picture.Gone(id)
			c.told.Ended(id, e.Time)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return c.picture.State(at)
}

// observe runs to an instant and observes on the way.
func (c *cluster) observe(t testing.TB, until float64) State {
	t.Helper()
	every := c.f.options.Every
	for at := c.machine.Now() + every; at <= until; at += every {
		s := c.to(t, at)
		if err := c.f.Observe(context.Background(), &s); err != nil {
			t.Fatal(err)
		}
	}
	return c.picture.State(c.machine.Now())
}

func small() Options {
	return Options{Horizons: []float64{hour, 6 * hour}, Every: hour, Replicas: 16, Lessons: 6, Probes: 2, Seed: 3}
}

func forecast(t testing.TB, f *Forecaster, s State) *Forecast {
	t.Helper()
	fc, err := f.Forecast(context.Background(), &s)
	if err != nil {
		t.Fatal(err)
	}
	return fc
}
