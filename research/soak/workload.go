package soak

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/users"
)

const (
	daySeconds  = 86400.
	weekSeconds = 7 * daySeconds
	// serialKept is the share of one-processor jobs that keep their size when sizes are scaled up to a larger machine,
	// because large clusters have such jobs too.
	serialKept = .4
	// least and most are the limits of a random factor for the scaled size of a job, because one job of a small machine
	// stands for jobs of various sizes. The mean factor of 0.8 reduces the load of SDSC-SP2, 0.83, to 2/3, which leaves
	// time for downtimes.
	least, most = .6, 1.
)

// arrivals is a function that returns the next job in order of submission, and false at the end of the workload.
type arrivals func() (simulator.Job, bool)

// newArrivals returns a workload of the given numbers of jobs and days, for a machine of one-processor nodes, and a
// description of its origin. The jobs are drawn one by one. trace is a workload file whose users are resampled; if it
// is empty or does not exist, the jobs come from the model of Lublin and Feitelson.
func newArrivals(trace string, jobs, days, nodes int, seed uint64) (arrivals, string, error) {
	if trace != "" {
		next, about, err := resampled(trace, jobs, days, nodes, seed)
		if !errors.Is(err, os.ErrNotExist) {
			return next, about, err
		}
	}
	next, err := modeled(jobs, days, nodes, seed)
	return next, "the model of Lublin and Feitelson (no trace to resample users from)", err
}

// resampled returns a workload that resamples the users of a trace. It uses as many users as the number of jobs needs,
// and scales sizes so that the load is that of the trace, times the mean factor for sizes.
func resampled(trace string, jobs, days, nodes int, seed uint64) (arrivals, string, error) {
	records, procs, err := readTrace(trace)
	if err != nil {
		return nil, "", err
	}
	pools, err := users.Split(users.Trace{Name: trace, Jobs: records}, users.Options{})
	if err != nil {
		return nil, "", err
	}
	rate := float64(len(records)-pools.NeverRan-pools.NoProcs) / (pools.End - pools.Start)
	load := float64(jobs) / (rate * float64(days) * daySeconds)
	scale := float64(nodes) / float64(procs) / load
	rng := rand.New(rand.NewPCG(seed, 1))
	g, err := users.NewGenerator(
		users.Config{Seed: seed, Length: math.Inf(1), Load: load, Stationary: true},
		users.Source{Pools: pools, Procs: func(n int) int { return scaled(rng, n, scale, nodes) }})
	if err != nil {
		return nil, "", err
	}
	about := fmt.Sprintf("users of %s resampled: load %.2f, sizes x %.1f", trace, load, scale)
	left := jobs
	return func() (simulator.Job, bool) {
		a, ok := g.Next()
		if left--; left < 0 || !ok {
			return simulator.Job{}, false
		}
		return shaped(simulator.Job{ID: a.Serial, Submit: a.Submit, Procs: a.Procs, Runtime: a.Runtime,
			Limit: a.Estimate, User: a.User}, nodes), true
	}, about, nil
}

// scaled returns the size that a job of n processors gets on the large machine.
func scaled(rng *rand.Rand, n int, scale float64, nodes int) int {
	if n == 1 && rng.Float64() < serialKept {
		return 1
	}
	return min(max(1, int(math.Round(float64(n)*scale*(least+(most-least)*rng.Float64())))), nodes)
}

// readTrace returns the jobs in a workload file, and the number of processors of its machine.
func readTrace(path string) (jobs []users.Job, procs int64, err error) {
	file, err := swf.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for {
		var r swf.Record
		switch err := file.Next(&r); {
		case errors.Is(err, io.EOF):
			if procs = file.Header().MaxProcs; procs <= 0 {
				return nil, 0, fmt.Errorf("%s: its header does not tell MaxProcs", path)
			}
			return jobs, procs, nil
		case err != nil:
			return nil, 0, err
		}
		jobs = append(jobs, users.Job{
			Index: len(jobs), User: r.User, Queue: r.Queue, Procs: int(r.Procs()), Submit: float64(r.Submit),
			Wait: float64(r.Wait), Runtime: float64(r.Runtime), Estimate: float64(r.TimeLimit),
		})
	}
}

// sampleJobs is the number of jobs that are drawn to measure how many jobs the model submits per second, and how much
// work a job has.
const sampleJobs = 5000

// modeled returns a workload from the model of Lublin and Feitelson. It combines as many independent streams of the
// model as the number of jobs needs, and scales runtimes so that 2/3 of the machine are busy.
func modeled(jobs, days, nodes int, seed uint64) (arrivals, error) {
	set := hypergamma.ProgramAll(nodes)
	probe, err := hypergamma.New(rand.New(rand.NewPCG(seed, 2)), set)
	if err != nil {
		return nil, err
	}
	work, last := 0., 0.
	for range sampleJobs {
		j := probe.Next()
		work, last = work+float64(j.Procs)*j.Runtime, j.Submit
	}
	copies := float64(jobs) / (float64(days) * daySeconds) * last / sampleJobs
	sets := make([]hypergamma.Params, int(math.Ceil(copies)))
	for i := range sets {
		sets[i] = set
	}
	shorter := 2. / 3 * float64(nodes) * float64(days) * daySeconds / (work / sampleJobs * float64(jobs))
	keep := copies / float64(len(sets))
	rng := rand.New(rand.NewPCG(seed, 3))
	gen, err := hypergamma.New(rng, sets...)
	if err != nil {
		return nil, err
	}
	id := int64(0)
	return func() (simulator.Job, bool) {
		if id++; id > int64(jobs) {
			return simulator.Job{}, false
		}
		j := gen.Next()
		for rng.Float64() >= keep {
			j = gen.Next()
		}
		return shaped(simulator.Job{ID: id, Submit: j.Submit, Procs: min(j.Procs, nodes), Runtime: j.Runtime * shorter,
			User: 1 + int64(200*rng.Float64()*rng.Float64())}, nodes), true
	}, nil
}

// shaped returns a job with times in whole seconds, a time limit that is not below its runtime, and a queue that
// depends on its size and its limit.
func shaped(j simulator.Job, nodes int) simulator.Job {
	j.Submit, j.Runtime = math.Floor(j.Submit), max(1, math.Round(j.Runtime))
	if j.Limit < j.Runtime {
		j.Limit = 600 * math.Ceil(j.Runtime*1.5/600)
	}
	j.Limit = 60 * math.Ceil(j.Limit/60)
	j.Estimate = j.Limit
	switch {
	case j.Procs > nodes/4:
		j.Queue = "wide"
	case j.Limit <= 3600:
		j.Queue = "express"
	case j.Limit <= 4*3600:
		j.Queue = "short"
	default:
		j.Queue = "long"
	}
	return j
}

// queues returns the names of the queues that shaped uses.
func queues() []string { return []string{"express", "short", "long", "wide"} }
