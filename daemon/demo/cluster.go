// Package demo runs waitcast without a scheduler: a simulated cluster writes a real PBS accounting log, and the very
// same daemon that runs in production follows it.
package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/workload/hypergamma"
)

// The simulated machine. Sizes above maxSize are drawn again and runtimes are shortened, so that strict first come,
// first served keeps up with the load on so few nodes.
const (
	nodes        = 128 // of one processor each
	maxSize      = 32
	runtimeScale = .2
	load         = .8 // share of the processors that are busy in the long run
	users        = 24
	sampleJobs   = 20_000 // from which the mean work of a job is estimated
)

// limits are the time limits that users of the simulated cluster ask for; the queue follows from the limit.
func limits() []time.Duration {
	return []time.Duration{
		10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour,
		24 * time.Hour,
	}
}

// queueOf returns the queue for a time limit.
func queueOf(limit time.Duration) string {
	switch {
	case limit <= time.Hour:
		return "short"
	case limit <= 4*time.Hour:
		return "medium"
	}
	return "long"
}

// Queues are the queues of the simulated cluster.
func Queues() []string { return []string{"short", "medium", "long"} }

// cluster is a simulated machine that writes its accounting log.
type cluster struct {
	dir   string
	epoch time.Time // midnight, instant 0 of the simulation
	sim   *simulator.Simulator
	rng   *rand.Rand
	buf   []byte
	file  *os.File
	day   string
	jobs  int64
}

// newCluster returns a machine that begins at the midnight epoch and writes date-named files into dir.
func newCluster(dir string, epoch time.Time, seed uint64) (*cluster, error) {
	c := &cluster{dir: dir, epoch: epoch, rng: rand.New(rand.NewPCG(seed, 1))}
	arrivals, err := newStream(seed)
	if err != nil {
		return nil, err
	}
	c.sim, err = simulator.New(simulator.Config{Procs: nodes, Arrivals: func() (simulator.Job, bool) {
		return c.job(arrivals.next()), true
	}})
	return c, err
}

// stream draws jobs of the all-jobs model at the load of the simulated machine.
type stream struct {
	gen  *hypergamma.Generator
	rng  *rand.Rand
	keep float64
	set  hypergamma.Params
}

// newStream makes as many copies of the model's stream of arrivals as the load needs, and thins the last bit away: so
// the daily cycle stays as it is, which scaling the time between arrivals would not leave.
func newStream(seed uint64) (*stream, error) {
	s := &stream{rng: rand.New(rand.NewPCG(seed, 2)), set: hypergamma.ProgramAll(nodes)}
	one, err := hypergamma.New(s.rng, s.set)
	if err != nil {
		return nil, err
	}
	var work, last float64
	for range sampleJobs {
		j := one.Next()
		last = j.Submit
		procs, runtime := s.shape(j)
		work += float64(procs) * runtime
	}
	copies := load * nodes * last / work
	sets := make([]hypergamma.Params, int(math.Ceil(copies)))
	for i := range sets {
		sets[i] = s.set
	}
	s.keep = copies / float64(len(sets))
	s.gen, err = hypergamma.New(s.rng, sets...)
	return s, err
}

// shape fits a job of the model to the machine.
func (s *stream) shape(j hypergamma.Job) (procs int, runtime float64) {
	procs, runtime = j.Procs, j.Runtime
	for procs > maxSize {
		procs = s.set.Size.Rand(s.rng)
		runtime = s.set.Runtime.Rand(s.rng, procs)
	}
	return procs, math.Max(1, math.Round(runtime*runtimeScale))
}

func (s *stream) next() hypergamma.Job {
	for {
		j := s.gen.Next()
		if s.rng.Float64() >= s.keep {
			continue
		}
		j.Procs, j.Runtime = s.shape(j)
		j.Submit = math.Floor(j.Submit)
		return j
	}
}

// job gives a generated job a user and a time limit: a round number some way above the runtime, as users ask for.
func (c *cluster) job(j hypergamma.Job) simulator.Job {
	c.jobs++
	wish := time.Duration(j.Runtime*(1.05+3*c.rng.Float64())) * time.Second
	all := limits()
	limit := all[len(all)-1]
	for _, l := range all {
		if wish <= l {
			limit = l
			break
		}
	}
	return simulator.Job{
		ID: c.jobs, Submit: j.Submit, Procs: j.Procs, Runtime: j.Runtime,
		Estimate: limit.Seconds(), Queue: queueOf(limit), User: int64(users * c.rng.Float64() * c.rng.Float64()),
	}
}

// advance lets the machine run up to an instant and writes what happens into its log.
func (c *cluster) advance(until time.Time) error {
	var failed error
	err := c.sim.Advance(until.Sub(c.epoch).Seconds(), func(e simulator.Event) {
		if failed == nil {
			failed = c.write(e)
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("simulated cluster: %w", err)
	}
	return c.flush()
}

func (c *cluster) at(seconds float64) time.Time {
	return c.epoch.Add(time.Duration(seconds * float64(time.Second)))
}

// write appends the record of one event; the file is named after the record's date, as PBS does.
func (c *cluster) write(e simulator.Event) error {
	at := c.at(e.Time)
	if day := at.Format("20060102"); day != c.day {
		if err := c.open(day); err != nil {
			return err
		}
	}
	j := e.Job
	user := fmt.Sprintf("user%02d", j.User)
	submit := c.at(j.Submit)
	rec := pbs.Record{
		ID: fmt.Sprintf("%d.demo", j.ID), User: user, Group: "users", Name: "job", Queue: j.Queue,
		Created: submit, Queued: submit, Eligible: submit, Procs: j.Procs, Nodes: j.Procs,
		TimeLimit: time.Duration(j.Estimate) * time.Second,
	}
	switch e.Kind {
	case simulator.Submitted:
		c.buf = pbs.AppendQueued(c.buf, rec)
	case simulator.Started:
		rec.Start = at
		c.buf = pbs.AppendStarted(c.buf, rec)
	case simulator.Ended:
		rec.Start, rec.End = c.at(j.Start), at
		c.buf = pbs.AppendEnded(c.buf, rec)
	}
	return nil
}

// open goes on to the next day's file.
func (c *cluster) open(day string) error {
	if err := c.close(); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(c.dir, day), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	c.file, c.day = file, day
	return err
}

func (c *cluster) flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	_, err := c.file.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}

func (c *cluster) close() error {
	if c.file == nil {
		return nil
	}
	err := c.flush()
	if cerr := c.file.Close(); err == nil {
		err = cerr
	}
	c.file = nil
	return err
}
