package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/workload/hypergamma"
)

// These define the jobs of the simulated users. Sizes and runtimes are drawn from the model; the runtimes are
// shortened. If a job is too large for this machine, another one is drawn. All numbers are a free choice.
const (
	maxSize      = 64               // in processors of a job
	maxWork      = 3 * nodes * 3600 // in processor seconds of a job
	runtimeScale = 0.2              // factor on the model's runtimes
	// Processor time that users request, as a share of the processor time of the machine.
	load       = 1.3
	users      = 24
	sampleJobs = 20_000 // number of jobs from which the mean work is estimated
)

// Users hold jobs back while much work waits, as people do. If they did not, a busy week would leave a queue that lasts
// over the nights. The waiting work is measured in hours that the whole machine needs for it. The share of the jobs
// that users hold back rises linearly, from 0 at heldFrom hours towards 1 at heldMost hours, but only up to maxHeld.
const (
	heldFrom = 5.0
	heldMost = 11.0
	maxHeld  = 0.9
)

// limits returns the time limits that users of the simulated cluster request. The time limit determines the queue of
// a job.
func limits() []time.Duration {
	return []time.Duration{
		10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour,
		24 * time.Hour,
	}
}

// job gives a generated job a user and a time limit. The limit is a round number well above the runtime, as users
// often request.
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
		Limit: limit.Seconds(), Queue: queueOf(limit), User: int64(users * c.rng.Float64() * c.rng.Float64()),
	}
}

// userName is the name of a user in the log. User 0 submits the most jobs.
func userName(number int64) string { return fmt.Sprintf("user%02d", number) }

// program returns the job name for a time limit in seconds, because people often give one name to similar jobs.
func program(limit float64) string {
	switch {
	case limit <= time.Hour.Seconds():
		return "test"
	case limit <= (4 * time.Hour).Seconds():
		return "relax"
	}
	return "sweep"
}

// wanted returns the next job that its user does not hold back, of those that are submitted at or after c.from.
func (c *cluster) wanted(arrivals *stream) hypergamma.Job {
	for {
		j := arrivals.next()
		held := min(max((c.backlog()-heldFrom)/(heldMost-heldFrom), 0), maxHeld)
		if c.rng.Float64() >= held && j.Submit >= c.from {
			return j
		}
	}
}

// stream draws jobs from the model of Lublin and Feitelson, with its parameters for all jobs (batch and interactive).
// The load of the jobs is the constant load.
type stream struct {
	gen  *hypergamma.Generator
	rng  *rand.Rand
	keep float64
	set  hypergamma.Params
}

// newStream combines as many copies of the model's arrivals as the load needs. It then drops random arrivals until
// the load matches. This keeps the daily cycle, which a changed time between arrivals would stretch.
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

// shape changes a job of the model so that it fits the machine.
func (s *stream) shape(j hypergamma.Job) (procs int, runtime float64) {
	procs = j.Procs
	longest := limits()[len(limits())-1].Seconds()
	scaled := math.Max(1, math.Round(j.Runtime*runtimeScale))
	for procs > maxSize || scaled > longest || float64(procs)*scaled > maxWork {
		procs = s.set.Size.Rand(s.rng)
		scaled = math.Max(1, math.Round(s.set.Runtime.Rand(s.rng, procs)*runtimeScale))
	}
	return procs, scaled
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
