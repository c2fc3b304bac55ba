package sizestudy

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/swfload"
	"github.com/waitcast/waitcast/workload/moldable"
)

// Trace has the jobs of a recorded log.
type Trace struct {
	Name  string
	Procs int
	Jobs  []simulator.Job // in order of submission
}

// Open reads a trace in the Standard Workload Format. Jobs that never ran or do not fit into the machine are left out.
func Open(name, path string) (*Trace, error) {
	t, err := swfload.Open(path, swfload.Options{})
	if err != nil {
		return nil, fmt.Errorf("trace %s: %w", name, err)
	}
	return &Trace{name, t.Procs, t.Jobs}, nil
}

// Part selects the part of a trace that is simulated.
type Part uint8

// The weights of advice.Considerate were chosen on the first halves of the traces. The figures about rules are measured
// on the second halves.
const (
	Whole Part = iota
	FirstHalf
	SecondHalf
)

// part returns the jobs of a part.
func (t *Trace) part(p Part) []simulator.Job {
	half := len(t.Jobs) / 2
	switch p {
	case FirstHalf:
		return t.Jobs[:half]
	case SecondHalf:
		return t.Jobs[half:]
	}
	return t.Jobs
}

// Workload is the workload of one seed: consecutive jobs of a trace, with submissions stretched to a load. Each job has
// a curve of runtimes by size.
type Workload struct {
	Procs  int
	Jobs   []simulator.Job // the ID is the index
	Molds  []moldable.Job  // by ID
	luck   []float64       // by ID, uniform in [0, 1): see Asks
	belief []float64       // by ID: the runtime in which the user believes, divided by the true one
	sizes  [][]size        // by ID: the sizes to consider, rising; nil if the job can have only one
}

// Model has assumptions about jobs and users for which logs have no data. The study uses the zero Model, unless it
// varies the assumptions.
type Model struct {
	Within   int     // the sizes of a job are within this factor of its recorded size; 0 for no bound
	MaxSigma float64 // see moldable.Rule; 0 for its default
	// Error is the standard deviation of ln(believed runtime / true runtime). Users give waitcast the runtime in which
	// they believe.
	Error float64
}

// size is a size that a job could have, with its runtime.
type size struct {
	procs int
	run   float64 // in seconds
}

// Make returns a workload of the given number of consecutive jobs from a part of a trace; 0, or a number above that of
// the part, means all jobs of the part. The seed determines the first job, the curves, the users' errors about
// runtimes, and which jobs ask. The times between submissions are stretched so that the load is as given with the
// recorded sizes; a load of 0 leaves the times unchanged. Errors come from package moldable, or mean that the trace is
// too short or the load invalid.
func (t *Trace) Make(part Part, jobs int, load float64, seed uint64, m Model) (*Workload, error) {
	from := t.part(part)
	rng := rand.New(rand.NewPCG(seed, 0x512e))
	if jobs > 0 && jobs < len(from) {
		at := rng.IntN(len(from) - jobs + 1)
		from = from[at : at+jobs]
	}
	offered := simulator.OfferedLoad(from, t.Procs)
	switch {
	case !(offered > 0):
		return nil, fmt.Errorf("trace %s: %d jobs offer no load; it is too short", t.Name, len(from))
	case !(load >= 0) || math.IsInf(load, 1):
		return nil, fmt.Errorf("load %v: want a number above 0, or 0 for the recorded one", load)
	}
	factor := 1.
	if load > 0 {
		factor = offered / load
	}
	w := &Workload{Procs: t.Procs, Jobs: make([]simulator.Job, 0, len(from)), luck: make([]float64, len(from)),
		belief: make([]float64, len(from))}
	records := make([]moldable.Recorded, len(from))
	first := from[0].Submit
	next := simulator.ScaleInterarrivals(simulator.FromSlice(from), factor)
	for i := range from {
		j, _ := next()
		j.ID, j.Submit = int64(i), j.Submit-first
		w.Jobs = append(w.Jobs, j)
		w.luck[i], w.belief[i] = rng.Float64(), math.Exp(m.Error*rng.NormFloat64())
		records[i] = moldable.Recorded{Procs: j.Procs, Runtime: j.Runtime, Limit: j.Limit}
	}
	var err error
	w.Molds, err = moldable.Rule{Machine: t.Procs, Seed: seed, MaxSigma: m.MaxSigma, Down: m.Within,
		Up: m.Within}.Make(records)
	if err == nil {
		err = w.think()
	}
	return w, err
}

// think computes the sizes that are considered for each job, with their runtimes.
func (w *Workload) think() error {
	w.sizes = make([][]size, len(w.Molds))
	for id := range w.Molds {
		m := &w.Molds[id]
		if !w.moldable(int64(id)) {
			continue
		}
		for _, n := range m.Sizes() {
			run, _, err := m.At(n)
			if err != nil {
				return fmt.Errorf("job %d: %w", id, err)
			}
			w.sizes[id] = append(w.sizes[id], size{n, run})
		}
	}
	return nil
}

// moldable reports whether a job can have more than one size.
func (w *Workload) moldable(id int64) bool {
	from, to := w.Molds[id].Range()
	return from < to
}

// Asks reports whether a job is among those that choose their size if the given share of the jobs does. A job that can
// have only one size never does.
func (w *Workload) Asks(id int64, share float64) bool { return w.moldable(id) && w.luck[id] < share }
