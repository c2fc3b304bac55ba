package study

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/swfload"
	"github.com/waitcast/waitcast/workload/shake"
	"github.com/waitcast/waitcast/workload/users"
)

// MaxCells is the maximum number of cells of a grid.
const MaxCells = 1_000_000

// Grid is a set of experiments on one trace. It combines each policy with each kind of estimates and each load. Each
// combination is run for the trace itself and, for each seed, for a number of shaken copies.
type Grid struct {
	Policies  []string
	Estimates []string  // empty means only limits
	Loads     []float64 // 0 leaves the times between submissions unchanged; empty means only 0
	// Shakes is the number of shaken traces for each seed. 0 means only the trace itself; then nothing is random, and
	// there are no seeds. A shaken trace depends only on its seed and number. All policies, estimates and loads use
	// the same shaken traces, so that they can be compared in pairs.
	Shakes int
	Seeds  []uint64
	Shake  shake.Config // MaxProcs is set to the size of the machine

	// Kill, WarmUp and SubmitsFirst are the settings of all experiments.
	Kill         bool
	WarmUp       float64
	SubmitsFirst bool
}

// Cell is one experiment of a grid.
type Cell struct {
	Index     int // index in the order of the grid, from 0
	Policy    string
	Estimates string
	Load      float64 // requested load; 0 means the load of the trace
	Seed      uint64  // 0 for the trace itself
	Shake     int     // number of the shaken trace, from 1; 0 for the trace itself
}

// Plan is a grid with its trace. Several goroutines may use it.
type Plan struct {
	grid   Grid
	trace  *swfload.Trace
	cells  []Cell
	id     string
	jobs   []users.Job   // jobs of the trace, for the shaker
	shaker *shake.Shaker // nil if nothing is shaken
	reuse  sync.Pool     // holds *shaken values
}

// shaken is memory that is reused by one cell after the other.
type shaken struct {
	jobs  []users.Job
	trace swfload.Trace
}

// NewPlan returns the plan of a grid. The error is an *OptionError for a setting that is not allowed, or an error of
// shake.New. The trace must not be changed afterwards.
func NewPlan(grid Grid, trace *swfload.Trace) (*Plan, error) {
	if len(grid.Estimates) == 0 {
		grid.Estimates = []string{"limits"}
	}
	if len(grid.Loads) == 0 {
		grid.Loads = []float64{0}
	}
	if err := grid.check(); err != nil {
		return nil, err
	}
	p := &Plan{grid: grid, trace: trace, cells: grid.cells()}
	if grid.Shakes > 0 {
		p.jobs = make([]users.Job, len(trace.Jobs))
		for i, j := range trace.Jobs {
			p.jobs[i] = users.Job{Index: i, User: j.User, Procs: j.Procs, Submit: j.Submit, Wait: -1,
				Runtime: j.Runtime, Estimate: j.Limit}
		}
		grid.Shake.MaxProcs = trace.Procs
		var err error
		if p.shaker, err = shake.New(p.jobs, grid.Shake); err != nil {
			return nil, err
		}
	}
	p.reuse.New = func() any { return new(shaken) }
	p.id = p.fingerprint()
	return p, nil
}

// check returns an error for an invalid grid.
func (g *Grid) check() error {
	if err := errors.Join(some("policy", g.Policies), some("estimates", g.Estimates),
		some("load", g.Loads)); err != nil {
		return err
	}
	if g.Shakes < 0 {
		return &OptionError{"shakes", fmt.Sprint(g.Shakes), "0 or more"}
	}
	if g.Shakes == 0 && len(g.Seeds) > 0 {
		return &OptionError{"seeds", fmt.Sprint(g.Seeds), "none without shakes: nothing else is random"}
	}
	if g.Shakes > 0 {
		if err := some("seeds", g.Seeds); err != nil {
			return err
		}
	}
	n := float64(len(g.Policies)) * float64(len(g.Estimates)) * float64(len(g.Loads)) *
		(1 + float64(len(g.Seeds))*float64(g.Shakes))
	if n > MaxCells {
		return &OptionError{"grid", fmt.Sprintf("%.0f cells", n), fmt.Sprintf("up to %d", MaxCells)}
	}
	for _, policy := range g.Policies {
		for _, estimates := range g.Estimates {
			for _, load := range g.Loads {
				e := g.experiment(&Cell{Policy: policy, Estimates: estimates, Load: load})
				if err := e.Check(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// some returns an error if there are no values, or if a value occurs twice.
func some[T comparable](name string, values []T) error {
	if len(values) == 0 {
		return &OptionError{name, "", "one or more"}
	}
	seen := map[T]bool{}
	for _, v := range values {
		if seen[v] {
			return &OptionError{name, fmt.Sprintf("%v, twice", v), "each value once"}
		}
		seen[v] = true
	}
	return nil
}

func (g *Grid) cells() []Cell {
	var out []Cell
	for _, policy := range g.Policies {
		for _, estimates := range g.Estimates {
			for _, load := range g.Loads {
				out = append(out, Cell{Index: len(out), Policy: policy, Estimates: estimates, Load: load})
				for _, seed := range g.Seeds {
					for n := range g.Shakes {
						out = append(out, Cell{len(out), policy, estimates, load, seed, n + 1})
					}
				}
			}
		}
	}
	return out
}

func (g *Grid) experiment(c *Cell) Experiment {
	return Experiment{Policy: c.Policy, Estimates: c.Estimates, Load: c.Load, Kill: g.Kill, WarmUp: g.WarmUp,
		SubmitsFirst: g.SubmitsFirst}
}

// fingerprint identifies this grid on this trace by a hash of both.
func (p *Plan) fingerprint() string {
	h, g := sha256.New(), p.grid
	if g.Shakes == 0 {
		g.Shake = shake.Config{}
	}
	// Neither call can fail: JSON can represent every value of the grid, and writing to a hash never fails.
	_ = json.NewEncoder(h).Encode(g)
	numbers := []float64{1 /* of this format */, float64(p.trace.Procs)}
	for i := range p.trace.Jobs {
		j := &p.trace.Jobs[i]
		numbers = append(numbers, j.Submit, j.Runtime, j.Limit, j.Estimate, float64(j.Procs), float64(j.User))
	}
	_ = binary.Write(h, binary.LittleEndian, numbers)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Cells returns the number of cells.
func (p *Plan) Cells() int { return len(p.cells) }

// Part is a part of the cells: the cell with the number Index, and every Of-th cell after it. The zero Part means all
// cells.
type Part struct{ Index, Of int }

func (t Part) has(cell int) bool { return t.Of == 0 || cell%t.Of == t.Index }

func (t Part) check() error {
	if t != (Part{}) && !(t.Index >= 0 && t.Index < t.Of) {
		return &OptionError{"part", fmt.Sprintf("%d/%d", t.Index, t.Of), "K/N with K from 0 up to N-1"}
	}
	return nil
}

// Options define how a plan is run.
type Options struct {
	Out     string // path of the CSV; cells whose rows it already has are not run again
	Workers int    // number of cells at once; 0 means one for each core
	Part    Part
	// Done, if set, is called at the beginning and after each cell with the number of cells that are done. It is never
	// called by two goroutines at once.
	Done func(done, of int)
}

// InterruptedError reports that the context ended before all cells were done. The CSV has the cells that were done.
type InterruptedError struct {
	Out      string
	Done, Of int
	Err      error // error of the context
}

// Error returns a message that also says how to continue.
func (e *InterruptedError) Error() string {
	return fmt.Sprintf("interrupted: %s has %d of %d runs; the same command goes on from there", e.Out, e.Done, e.Of)
}

// Unwrap returns the context's error.
func (e *InterruptedError) Unwrap() error { return e.Err }

// Run simulates the cells that the CSV does not have yet. It returns all rows, in the order of the grid. A row is on
// disk before it counts as done. Finally the rows of the file are put in order, so that the file does not depend on
// the number of workers and interruptions. When the context ends, the cells that have begun are finished, and Run
// returns an *InterruptedError.
func (p *Plan) Run(ctx context.Context, o Options) ([]Row, error) {
	if err := o.Part.check(); err != nil {
		return nil, err
	}
	file, err := p.openResults(o.Out)
	if err != nil {
		return nil, err
	}
	defer file.close()
	of, todo := 0, []Cell(nil)
	for _, c := range p.cells {
		if o.Part.has(c.Index) {
			of++
			if _, ok := file.rows[c.Index]; !ok {
				todo = append(todo, c)
			}
		}
	}
	done := of - len(todo)
	tell := func() {
		if o.Done != nil {
			o.Done(done, of)
		}
	}
	tell()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for r := range p.simulateAll(ctx, todo, o.Workers) {
		if r.err == nil && err == nil {
			r.err = file.add(r.row)
		}
		if r.err != nil {
			err = cmp.Or(err, r.err)
			stop()
			continue
		}
		done++
		tell()
	}
	switch {
	case err != nil:
		return nil, err
	case done < of:
		return nil, &InterruptedError{o.Out, done, of, ctx.Err()}
	}
	return file.finish()
}

type outcome struct {
	row Row
	err error
}

// simulateAll sends the results of cells when they are computed, until the context ends.
func (p *Plan) simulateAll(ctx context.Context, todo []Cell, workers int) <-chan outcome {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	out := make(chan outcome)
	var next atomic.Int64
	var work sync.WaitGroup
	for range min(workers, len(todo)) {
		work.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(todo) {
					return
				}
				row, err := p.simulate(&todo[i])
				out <- outcome{row, err}
			}
		})
	}
	go func() {
		work.Wait()
		close(out)
	}()
	return out
}

// simulate returns the result of one cell.
func (p *Plan) simulate(c *Cell) (Row, error) {
	trace := p.trace
	if c.Shake > 0 {
		memory := p.reuse.Get().(*shaken)
		defer p.reuse.Put(memory)
		trace = p.shake(memory, c)
	}
	e := p.grid.experiment(c)
	r, err := e.Simulate(trace)
	if err != nil {
		return Row{}, fmt.Errorf("policy %s, estimates %s, load %v, seed %d, shake %d: %w", c.Policy, c.Estimates,
			c.Load, c.Seed, c.Shake, err)
	}
	return Row{
		Cell: *c, Offered: simulator.OfferedLoad(trace.Jobs, trace.Procs) / r.Factor, Jobs: r.All.Jobs,
		Waiting:  r.Waiting,
		MeanWait: r.All.Wait.Mean, MedianWait: r.All.Wait.Median, P95Wait: r.All.Wait.P95,
		Slowdown: r.All.Slowdown.Mean, Bounded: r.All.Bounded.Mean,
		Utilization: r.Utilization, PerHour: 3600 * r.Throughput, MaxQueue: r.MaxQueue, Growth: r.Growth,
		Saturated: r.Saturated,
	}, nil
}

// shake returns the cell's shaken trace, in the given memory. If an estimate was shaken, it becomes the job's time
// limit, too. The estimate that policies use is at least the runtime, as in a trace that was read from a file.
func (p *Plan) shake(memory *shaken, c *Cell) *swfload.Trace {
	// with the same seeds as shake.Runs
	memory.jobs = p.shaker.Shake(memory.jobs, rand.New(rand.NewPCG(c.Seed, uint64(c.Shake-1))))
	t := &memory.trace
	t.Procs, t.Jobs = p.trace.Procs, t.Jobs[:0]
	for i := range memory.jobs {
		from := &memory.jobs[i]
		j := p.trace.Jobs[from.Index]
		j.Submit, j.Procs, j.Runtime = from.Submit, from.Procs, math.Max(0, from.Runtime)
		if from.Estimate != p.jobs[from.Index].Estimate {
			j.Limit, j.Estimate = from.Estimate, from.Estimate
		}
		j.Estimate = math.Max(j.Estimate, j.Runtime)
		t.Jobs = append(t.Jobs, j)
	}
	return t
}
