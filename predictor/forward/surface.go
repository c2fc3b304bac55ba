package forward

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/simulator"
)

// SurfaceOptions define how a surface is made.
type SurfaceOptions struct {
	Replicas int             // 0 for 100
	Workers  int             // number of goroutines; 0 for the number of cores
	Hurry    <-chan struct{} // once it is closed, one more goroutine works, because a caller waits; nil for never
	Seed     uint64
	Ranked       // rank of the requests, for policies by priority, and the inputs that change it
	Behind   int // see Request.Behind

	// If Enough is not nil, it may end the simulation before all Replicas: they are simulated in batches of Batch, and
	// Enough gets the surface after each batch but the last, without the tables for Quantile. Its result should depend
	// on that surface only. Then the number of replicas does not depend on workers either.
	Enough func(s *Surface) bool

	// Most is the largest size that the queue accepts, 0 for all sizes that the pool ever has.
	Most int
	// If Coarse is true, only the sizes of CoarseSizes are simulated. Any other size has the wait of the next larger
	// one of these.
	Coarse bool
	// Sizes and Limits (seconds, above 0) are added to the sizes and limits at which Quantile is exact. Those are the
	// sizes up to 256 and sizes in steps of at most 4 % above, round limits from a minute to four weeks, and no
	// limit.
	Sizes  []int
	Limits []float64

	// If Plain is true, the tables for Quantile are not made. Making them takes longer than the replicas of a small
	// pool. Each quantile is then computed on demand. With gates, quantiles are always computed on demand.
	Plain bool
	// Starts is the number of first waiting jobs for which StartPivots has results.
	Starts int
}

// Surface has the waits of all requests, of any size and time limit, that join a queue now. It does not change, and
// is safe for concurrent use.
type Surface struct {
	capacity int
	policy   *State     // has only DefaultLimit and Gates
	courses  [][][]step // by gate (the first for requests without a gate) and by replica
	sizes    []int      // sizes of the grid, rising
	direct   int        // number of leading sizes that are 1, 2, 3 and so on
	limits   []float64  // rising, the last is +Inf
	grid     []float64  // sorted waits by limit, size and replica; +Inf for never; nil if the surface is plain
	starts   [][]int32  // pivots of the waiting jobs' starts, by replica
}

// NewSurface simulates the replicas of a state. The State must not change meanwhile. Its laws and arrivals are called
// concurrently. The error is one of Sim.Waits or the context's.
func NewSurface(ctx context.Context, state *State, o SurfaceOptions) (*Surface, error) {
	if o.Replicas == 0 {
		o.Replicas = 100
	}
	var c scene
	if err := c.prepare(state, nil); err != nil {
		return nil, err
	}
	probe := Request{Procs: 1, Rank: o.Rank, Behind: o.Behind}
	if err := probe.check(max(1, c.most), len(state.Waiting)); err != nil {
		return nil, err
	}
	if o.Replicas < 0 || o.Most < 0 {
		return nil, field(false, "replicas, or most,", -1, "", float64(min(o.Replicas, o.Most)), "0 or more")
	}
	most := c.most
	if o.Most > 0 {
		most = min(most, o.Most)
	}
	var coarse []int
	if o.Coarse {
		coarse = CoarseSizes(most)
	}
	s := &Surface{capacity: most, policy: &State{DefaultLimit: state.DefaultLimit, Gates: state.Gates},
		courses: make([][][]step, 1+len(state.Gates))}
	n := o.Replicas
	if o.Enough != nil {
		n = Batch
	}
	scratch := newPlayers(o.Workers)
	for {
		if err := s.addReplicas(ctx, &c, &o, coarse, scratch, min(n, o.Replicas-s.Replicas())); err != nil {
			return nil, err
		}
		if s.Replicas() == o.Replicas || o.Enough(s) {
			break
		}
	}
	// With gates there is no grid, because the next larger limit may have another gate.
	if !o.Plain && len(state.Gates) == 0 {
		s.choose(&o)
		s.fill()
	}
	return s, nil
}

// Batch is the number of replicas after which SurfaceOptions.Enough decides whether further ones are needed.
const Batch = 8

// addReplicas simulates the next n replicas, for requests without a gate and for those of each gate.
func (s *Surface) addReplicas(ctx context.Context, c *scene, o *SurfaceOptions, coarse []int, scratch *players,
	n int) error {
	from := s.Replicas()
	scratch.used.Store(0)
	all, err := simulator.HurriedReplicas(ctx, n*len(s.courses), o.Workers, o.Hurry, o.Seed, scratch.next,
		func(p *player, i int, _ *rand.Rand) (played, error) {
			gate := noGate + int8(i/n) //nolint:gosec // at most mostGates
			return p.play(c, o, s.capacity, coarse, from+i%n, gate)
		})
	if err != nil {
		return err
	}
	for i := range all {
		if s.courses[i/n] = append(s.courses[i/n], all[i].steps); i < n {
			s.starts = append(s.starts, all[i].starts)
		}
	}
	return nil
}

// CoarseSizes returns rising sizes up to that of a machine: powers of two, one and a half times these, and the
// machine's own size.
func CoarseSizes(most int) (sizes []int) {
	for n := 1; n < most; n *= 2 {
		sizes = append(sizes, n)
		if half := n + n/2; n > 1 && half < most {
			sizes = append(sizes, half)
		}
	}
	return append(sizes, most)
}

// player is the scratch memory of one goroutine.
type player struct {
	machine machine
	probe   envelope
}

// players has the scratch memory of all goroutines. Successive batches use the same memory.
type players struct {
	all  []player
	used atomic.Int64 // number of goroutines of the present batch
}

// newPlayers returns the memory of that many workers (0 for the number of cores), and of one more for a hurry.
func newPlayers(workers int) *players {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return &players{all: make([]player, workers+1)}
}

// next returns the memory of one more goroutine.
func (p *players) next() *player { return &p.all[p.used.Add(1)-1] }

// played holds the results of a replica.
type played struct {
	steps  []step
	starts []int32
}

func (p *player) play(c *scene, o *SurfaceOptions, most int, sizes []int, replica int, gate int8) (played, error) {
	m := &p.machine
	m.reset(c, replica, o.Seed)
	m.follow()
	p.probe.reset(most, sizes)
	m.probe, m.ahead, m.gate = &p.probe, len(c.state.Waiting)-o.Behind, gate
	m.activate(gate)
	if m.rank = 0; c.state.Policy.ByRank() {
		m.rank = o.Rank
	}
	m.placeRanked(o)
	m.play()
	if m.failed != nil {
		return played{}, m.failed
	}
	if at := m.horizon; !math.IsInf(at, 1) && p.probe.least() < most {
		p.probe.root = none
		p.probe.raise(at, stair{math.Inf(1), most})
	}
	return played{slices.Clone(p.probe.steps), m.startRoots(o.Starts)}, nil
}

// Capacity returns the largest size that can ever start.
func (s *Surface) Capacity() int { return s.capacity }

// steps returns, by replica, the steps for requests of a planned runtime.
func (s *Surface) steps(plan float64) [][]step { return s.courses[1+s.policy.gateOf(plan)] }

// Replicas returns the number of replicas from which each answer comes.
func (s *Surface) Replicas() int { return len(s.starts) }

func (s *Surface) check(procs int, limit float64) error {
	r := Request{Procs: procs, Limit: limit}
	return r.check(s.capacity, 0)
}

// Waits appends to dst[:0] the sorted waits, in seconds, of a request in every replica, and returns it. limit is the
// time limit, 0 for unknown. The waits are exact for every size and limit. The error is a *TooLargeError, a
// *NeverError or a *FieldError.
func (s *Surface) Waits(procs int, limit float64, dst []float64) ([]float64, error) {
	dst, err := s.WaitsByReplica(procs, limit, dst)
	slices.Sort(dst)
	return dst, err
}

// WaitsByReplica returns Waits in the order of the replicas, not sorted. Element i belongs to the same future for
// every size and limit, and for every surface of the same State with the same seed.
func (s *Surface) WaitsByReplica(procs int, limit float64, dst []float64) ([]float64, error) {
	dst = dst[:0]
	if err := s.check(procs, limit); err != nil {
		return dst, err
	}
	plan := s.policy.plan(limit)
	for _, steps := range s.steps(plan) {
		w, ok := wait(steps, int32(procs), plan)
		if !ok {
			return dst[:0], &NeverError{Procs: procs, Limit: limit}
		}
		dst = append(dst, w)
	}
	return dst, nil
}

// Start is the start of a request in one replica: its wait in seconds, and the index in State.Running of its pivot (see
// Pivots).
type Start struct {
	Wait float64
	Root int32
}

// Starts appends to dst[:0] the starts of requests with one limit and rising sizes, by size and then by replica. They
// are the results of WaitsByReplica and Pivots. If these return an error for a size, Wait is NaN in all replicas of
// that size.
func (s *Surface) Starts(sizes []int, limit float64, dst []Start) []Start {
	n := s.Replicas()
	dst = slices.Grow(dst[:0], n*len(sizes))[:n*len(sizes)]
	plan := s.policy.plan(limit)
	never := Start{math.NaN(), none}
	for r, steps := range s.steps(plan) {
		i := 0
		for k := 0; k < len(steps) && i < len(sizes); k++ {
			if !(steps[k].within >= plan) {
				continue
			}
			for ; i < len(sizes) && sizes[i] <= int(steps[k].most); i++ {
				dst[i*n+r] = Start{steps[k].at, steps[k].root}
			}
		}
		for ; i < len(sizes); i++ {
			dst[i*n+r] = never
		}
	}
	for i, size := range sizes {
		row := dst[i*n : (i+1)*n]
		missing := slices.ContainsFunc(row, func(s Start) bool { return s.Wait != s.Wait })
		if missing || s.check(size, limit) != nil {
			for r := range row {
				row[r] = never
			}
		}
	}
	return dst
}

// Quantile returns the quantile, at a level from 0 to 1, of the wait of a request, in seconds. It is exact at the
// sizes and limits of the grid. For another request it is the quantile of the next larger size and limit of the grid,
// which is never less. Errors are those of Waits.
func (s *Surface) Quantile(procs int, limit, level float64) (float64, error) {
	if err := s.check(procs, limit); err != nil {
		return 0, err
	}
	if !(level >= 0 && level <= 1) {
		return 0, field(false, "level", -1, "", level, "0 to 1")
	}
	if s.grid == nil {
		waits, err := s.Waits(procs, limit, nil)
		if err != nil {
			return 0, err
		}
		return stat.Quantile(level, stat.Empirical, waits, nil), nil
	}
	q := stat.Quantile(level, stat.Empirical, s.cell(procs, s.policy.plan(limit)), nil)
	if math.IsInf(q, 1) {
		return 0, &NeverError{Procs: procs, Limit: limit}
	}
	return q, nil
}

// cell returns the sorted waits at the grid's point for a request.
func (s *Surface) cell(procs int, plan float64) []float64 {
	i := procs - 1
	if i >= s.direct {
		i, _ = slices.BinarySearch(s.sizes, procs)
	}
	j, _ := slices.BinarySearch(s.limits, plan)
	n := len(s.starts)
	from := (j*len(s.sizes) + i) * n
	return s.grid[from : from+n]
}

// choose sets the sizes and limits of the grid.
func (s *Surface) choose(o *SurfaceOptions) {
	const (
		direct = 256
		ratio  = 1.04
	)
	s.direct = min(direct, s.capacity)
	s.sizes = make([]int, 0, 512)
	for n := 1; n <= s.direct; n++ {
		s.sizes = append(s.sizes, n)
	}
	for n := s.direct; n < s.capacity; {
		n = min(s.capacity, max(n+1, int(float64(n)*ratio)))
		s.sizes = append(s.sizes, n)
	}
	for n := direct; n <= s.capacity/2; n *= 2 {
		s.sizes = append(s.sizes, n)
	}
	for _, n := range o.Sizes {
		if n > s.direct && n <= s.capacity {
			s.sizes = append(s.sizes, n)
		}
	}
	s.sizes = sorted(s.sizes)
	const minute, hour, day = 60, 3600, 86400
	s.limits = []float64{
		minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 20 * minute, 30 * minute, 45 * minute,
		hour, 1.5 * hour, 2 * hour, 3 * hour, 4 * hour, 5 * hour, 6 * hour, 8 * hour, 10 * hour, 12 * hour, 15 * hour,
		18 * hour, 20 * hour, day, 1.5 * day, 2 * day, 3 * day, 4 * day, 5 * day, 7 * day, 14 * day,
		28 * day, math.Inf(1),
	}
	if d := s.policy.DefaultLimit; d > 0 {
		s.limits = append(s.limits, d)
	}
	for _, l := range o.Limits {
		if isSeconds(l) && l > 0 {
			s.limits = append(s.limits, l)
		}
	}
	s.limits = sorted(s.limits)
}

func sorted[T int | float64](x []T) []T {
	slices.Sort(x)
	return slices.Compact(x)
}

// fill computes s.grid from the replicas.
func (s *Surface) fill() {
	n, sizes := len(s.starts), len(s.sizes)
	s.grid = make([]float64, len(s.limits)*sizes*n)
	for j, limit := range s.limits {
		plane := s.grid[j*sizes*n : (j+1)*sizes*n]
		for r, steps := range s.steps(limit) {
			i := 0
			for k := 0; k < len(steps) && i < sizes; k++ {
				if steps[k].within < limit {
					continue
				}
				for ; i < sizes && s.sizes[i] <= int(steps[k].most); i++ {
					plane[i*n+r] = steps[k].at
				}
			}
			for ; i < sizes; i++ {
				plane[i*n+r] = math.Inf(1)
			}
		}
		for i := range sizes {
			slices.Sort(plane[i*n : (i+1)*n])
		}
	}
}
