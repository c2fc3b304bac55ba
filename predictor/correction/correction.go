// Package correction corrects quantile forecasts of waits when they are served, so that each level covers the share of
// waits that it promises: over all jobs, by length of the forecast, by queue and by user.
//
// A level is moved on the scale z = ln(wait + 60 s) by a number of spreads, which is the sum of the shifts of the job's
// groups. The spread is the slope of the raw forecast there: the change of z per unit of ln(p/(1-p)). So a narrow
// forecast is moved little. After each outcome the shift of every group moves by
//
//	shift -= step(n) weight (1{wait <= q} - p),   step(n) = rate (1 + 9/(1 + n/500)),
//
// where n is the number of the group's jobs. This is gradient descent on the pinball loss with one indicator for each
// group (A. Angelopoulos, M. Jordan and R. Tibshirani, "Gradient equilibrium in online learning", 2025). Shifts begin
// at 0, so a group differs from the wider ones only as far as its own outcomes have moved it. The shifts of users also
// decay. The weight is 1/sqrt(1 + (c-1)/10), where c is the number of the group's jobs that are undecided together:
// jobs that wait together miss together, and many of them say little more than one.
//
// # Bound
//
// If the shift of all jobs stays within [-b, b], the share of covered waits differs from p among any n decided jobs by
// at most
//
//	2 b / (n step(n)),
//
// if no level is at a limit (see farthest and dead) and steps only fall: divide the n updates by their steps, and sum
// by parts (A. Angelopoulos, R. Barber and S. Bates, "Online conformal prediction with decaying step sizes", ICML
// 2024, theorem 1).
//
// # Delay
//
// A level is a hit if the job starts up to q after its submission, and a miss as soon as the job has waited longer. So
// hits become known before misses of the same instant. If both were counted as they become known, the forecasts would
// become narrower just when a queue grows. Here the error 1{W <= q} - p of a level is split into steps. They are the
// steps of the martingale that the expected error forms while the job waits. If a job has waited past its own lower
// quantile q_j, of level p_j, it has a hit at level p_k > p_j only with probability (p_k - p_j)/(1 - p_j). By then
// level k has earned
//
//	(p_k - p_j)/(1 - p_j) - p_k = -(1 - p_k) p_j/(1 - p_j),
//
// and after q_k itself it has earned -p_k. If the job started up to q_j, level k has earned all of 1 - p_k. What a job
// earns is updated only at its submission + q_j, instants that are fixed at its submission. So under right forecasts
// the expectation is 0 at every instant, even if submissions come in bursts (J. Doob's decomposition).
//
// # Atoms and cancelled jobs
//
// On many machines half of the jobs start at once: P(W <= q) jumps over p at q = 0, or at whole minutes. A level then
// moves about the jump, so that the interval [P(W < q), P(W <= q)] contains p. A hit of a level served as 0 changes
// nothing, because the level cannot fall further. If a job is cancelled while it waits, what it earned is taken back:
// the levels cover the waits of the jobs that start.
package correction

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// MaxWait is the longest served quantile, in seconds. It is ten years.
const MaxWait = 10 * 365.25 * 86400

// Config configures a Correction. The zero value of a field other than Levels means its default.
type Config struct {
	// Levels are the quantile levels, rising within (0, 1); there is no default.
	Levels []float64
	// MaxPending is the maximum number of followed jobs, 200,000 by default. Further jobs are not followed.
	MaxPending int
}

const maxLevels = 16

func (c *Config) fill() error {
	last := 0.0
	for _, p := range c.Levels {
		if !(p > last && p < 1) {
			return fmt.Errorf("correction: levels %v: give rising numbers between 0 and 1", c.Levels)
		}
		last = p
	}
	if n := len(c.Levels); n == 0 || n > maxLevels {
		return fmt.Errorf("correction: %d levels: give 1 to %d", n, maxLevels)
	}
	if c.MaxPending == 0 {
		c.MaxPending = 200000
	}
	if c.MaxPending < 1 {
		return fmt.Errorf("correction: %d pending jobs: give 1 or more", c.MaxPending)
	}
	c.Levels = slices.Clone(c.Levels)
	return nil
}

// Job has the attributes of a job that its groups depend on. An empty one is unknown.
type Job struct{ Queue, User string }

// The cells of the groups, by their kind: all jobs have one, forecasts one for each half unit of z, queues and users
// one for each hash of their name. So memory is bounded; names that share a cell share a correction.
const (
	lengths, queues, users = 32, 256, 1024

	cells = 1 + lengths + queues + users
	kinds = 4 // groups of one job
)

// rates and decays are by kind of group. They were chosen on the first halves of KTH-SP2 and Saliksik.
func rates() [kinds]float64  { return [...]float64{.01, .01, .005, .01} }
func decays() [kinds]float64 { return [...]float64{0, 0, 0, .001} }

const (
	// narrowest is the least spread, and widest the largest one before it is added.
	narrowest, widest = .02, 3
	// farthest is how far a level is raised at most, in spreads, and highest on the scale z.
	farthest, highest = 2.5, 1.3
	// least is the shortest wait above 0 that is served, in seconds. A shorter forecast is raised only by what its
	// shift exceeds dead, in spreads.
	least, dead = .5, .2
	// together is the number of undecided jobs above which outcomes count less, and forget the part of Crowd that a job
	// forgets.
	together, forget = 10, .001
)

// cell has the shifts of one group by level. It is changed only by the Correction that owns it.
type cell struct {
	owner  *byte
	N      float64 // submitted jobs
	Open   float64 // jobs with undecided levels
	Crowd  float64 // largest number of these, which is forgotten slowly
	Shifts []float64
}

// Correction corrects forecasts and learns from their outcomes. Correct may be called concurrently with itself, all
// other methods need exclusive use.
type Correction struct {
	cfg     Config
	median  int // index of the level nearest to the median
	cells   [cells]*cell
	owner   *byte
	jobs    ledger
	clock   float64
	observe func(queue string, earned float64, decided bool) // nil without an observer
}

// New returns a Correction that corrects nothing yet.
func New(cfg Config) (*Correction, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	c := &Correction{cfg: cfg, owner: new(byte), clock: math.Inf(-1), jobs: newLedger()}
	for l, p := range cfg.Levels {
		if math.Abs(p-.5) < math.Abs(cfg.Levels[c.median]-.5) {
			c.median = l
		}
	}
	return c, nil
}

// Observe sets a function f. It is called with the amount that a level of a job in a queue earns at an update. The unit
// is the deviation of a right forecast, sqrt(p (1-p)). An amount above 0 means that waits are shorter than forecast,
// below 0 that they are longer. Because updates are at fixed instants (see Delay in the package comment), the
// expectation of an amount is 0 at each of them, if forecasts are right and there are no ties. decided is true if the
// amount decides the level. f is called within the other methods, and must not call any of them. It is not saved, and
// stays set when the Correction is restored.
func (c *Correction) Observe(f func(queue string, earned float64, decided bool)) { c.observe = f }

// groups returns the cells of a job by kind, -1 for unknown ones. z is its raw forecast.
func (c *Correction) groups(j Job, z []float64) [kinds]int {
	length := int(2*z[c.median]) - 8 // z of a wait of 0 is 4.09
	at := [kinds]int{0, 1 + min(max(length, 0), lengths-1), -1, -1}
	if j.Queue != "" {
		at[2] = 1 + lengths + int(hash(j.Queue)%queues)
	}
	if j.User != "" {
		at[3] = 1 + lengths + queues + int(hash(j.User)%users)
	}
	return at
}

func hash(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it returns no error
	return h.Sum32()
}

// own returns the cell with an index, as one that c may change.
func (c *Correction) own(at int) *cell {
	x := c.cells[at]
	switch {
	case x == nil:
		x = &cell{owner: c.owner, Shifts: make([]float64, len(c.cfg.Levels))}
	case x.owner != c.owner:
		copied := *x
		x = &copied
		x.owner, x.Shifts = c.owner, slices.Clone(x.Shifts)
	}
	c.cells[at] = x
	return x
}

// scale writes the raw forecast on the scale z into the buffer, in rising order.
func (c *Correction) scale(raw []float64, buffer *[maxLevels]float64) []float64 {
	z := buffer[:len(raw)]
	for l, q := range raw {
		if !(q > 0) {
			q = 0
		}
		z[l] = waittime.Log(min(q, MaxWait))
	}
	slices.Sort(z)
	return z
}

// spread returns the slope of z over ln(p/(1-p)) at level l: between its neighbours, but on its side of the median.
func (c *Correction) spread(z []float64, l int) float64 {
	if len(z) == 1 {
		return 1
	}
	low, high := max(l-1, 0), min(l+1, len(z)-1)
	switch {
	case l >= c.median && c.median < len(z)-1:
		low = max(low, c.median)
	case l < c.median:
		high = min(high, c.median)
	}
	p, q := c.cfg.Levels[low], c.cfg.Levels[high]
	return narrowest + min((z[high]-z[low])/math.Log(q/(1-q)*(1-p)/p), widest)
}

// Correct writes the corrected quantiles of raw into out. Both are in seconds, with one for each level. The results are
// in rising order, within [0, MaxWait] and never NaN (a raw NaN counts as 0). out and raw may be the same slice. If a
// length is wrong, Correct returns false and writes nothing.
func (c *Correction) Correct(j Job, raw, out []float64) bool {
	if len(raw) != len(c.cfg.Levels) || len(out) != len(raw) {
		return false
	}
	var buffer [maxLevels]float64
	z := c.scale(raw, &buffer)
	at := c.groups(j, z)
	for l := range out {
		by := c.shift(at, l)
		if z[l] < waittime.Log(least) {
			by = max(0, by-dead)
		}
		out[l] = min(waittime.Unlog(z[l]+min(by*c.spread(z, l), limit(z, l))), MaxWait)
		if out[l] < least {
			out[l] = 0
		}
	}
	for l := c.median + 1; l < len(out); l++ {
		out[l] = max(out[l], out[l-1])
	}
	for l := c.median - 1; l >= 0; l-- {
		out[l] = min(out[l], out[l+1])
	}
	return true
}

// limit returns how far level l is raised at most on the scale z. It may always reach the next level's forecast.
func limit(z []float64, l int) float64 {
	return max(highest, z[min(l+1, len(z)-1)]-z[l])
}

func (c *Correction) shift(at [kinds]int, l int) float64 {
	sum := 0.0
	for _, i := range at {
		if i >= 0 && c.cells[i] != nil {
			sum += c.cells[i].Shifts[l]
		}
	}
	return min(sum, farthest)
}

// step returns the step of a group of the kind with n jobs.
func step(kind int, n float64) float64 {
	const fast, jobs = 9, 500
	return rates()[kind] * (1 + fast*jobs/(jobs+n))
}

// earn sets to d what job j has earned at level l, and moves the shifts of its groups by the difference. decided is
// true if the level is decided.
func (c *Correction) earn(j *pending, l int, d float64, decided bool) {
	by := d - j.Earned[l]
	j.Earned[l] = d
	if c.observe != nil {
		p := c.cfg.Levels[l]
		c.observe(j.Queue, by/math.Sqrt(p*(1-p)), decided)
	}
	if by < 0 && (j.Full&(1<<l) != 0 || c.shift(j.Groups, l) >= farthest) { // it cannot rise, so nothing must wind up
		return
	}
	for kind, i := range j.Groups {
		if i < 0 {
			continue
		}
		x := c.own(i)
		to := x.Shifts[l] - step(kind, x.N)*j.Weights[kind]*by
		if j.Q[l] == 0 && by > 0 { // it cannot fall below 0
			to = max(to, min(x.Shifts[l], 0))
		}
		if decided {
			to *= 1 - decays()[kind]
		}
		x.Shifts[l] = to
	}
}

// At returns a Correction that corrects as c will at the event time now, and learns nothing. It copies only the cells
// that will have changed by then.
func (c *Correction) At(now float64) *Correction {
	c.owner = new(byte) // both copy shared cells before they change them
	out := &Correction{
		cfg:    c.cfg,
		median: c.median,
		cells:  c.cells,
		owner:  new(byte),
		clock:  c.clock,
		jobs:   newLedger(),
	}
	c.jobs.copyDue(0, now, &out.jobs)
	out.Advance(now)
	out.jobs = newLedger()
	return out
}
