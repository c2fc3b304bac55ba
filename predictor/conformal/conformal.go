// Package conformal corrects quantile forecasts of waits when they are served. With the correction each level covers
// the share of waits that it promises, overall and in each group of jobs, even when the errors of the forecasts
// change.
//
// A correction moves the level. Level p is served as the raw forecast's quantile of another level, whose logit is
// ln(p/(1-p)) + shift. The quantile is interpolated in z = ln(wait + 60 s), and z itself is moved a little
// (Config.Slope). So a narrow forecast is moved little and a wide one much, and a forecast of an immediate start stays
// 0. The shift is the sum of one number beta for each group to which the job belongs (all jobs are one group). Each
// outcome moves beta by a step: up by rate times p after a miss, down by rate times 1-p after a hit. This is adaptive
// conformal inference (I. Gibbs and E. Candes, "Adaptive conformal inference under distribution shift", NeurIPS 2021,
// eq. 2, where p itself is moved). The sum over several groups, which may overlap, follows I. Gibbs, J. Cherian and E.
// Candes, "Conformal prediction with conditional guarantees", JRSS B 2025.
//
// Consider a steady rate without forgetting. By summing the steps, the share of hits among the N decided jobs of a
// group differs from p by |beta| / (rate N), whatever the data. Two changes limit overshooting, which occurs because
// jobs that wait together miss together. The served shift is bounded by Bound tanh(sum/Bound) (a saturation as in A.
// Angelopoulos, E. Candes and R. Tibshirani, "Conformal PID control for time series prediction", NeurIPS 2023, sec.
// 2.2). And beta decays, with Config.Memory, towards its own running mean m. The share may then differ from p by the
// mean of |beta - m| / (rate Memory) more.
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
//	D = (p_k - p_j)/(1 - p_j) - p_k = -(1 - p_k) p_j/(1 - p_j),
//
// and after q_k itself it has earned -p_k. If the job started up to q_j, level k has earned all of 1 - p_k. A job's
// account is updated only at its submission + q_j, instants that are fixed at its submission. So under right forecasts
// the account's expectation is 0 at every instant, even if submissions come in bursts (J. Doob's decomposition). In the
// end its sum is the plain error. A miss is counted when it happens, and partly before. A hit is counted at the next
// q_j after the start.
//
// # Cancelled jobs
//
// A job that is cancelled while it waits is a miss at each level whose q has passed. At the other levels it is
// censored: its account stops at the sum that it has earned at its age. That is a partial miss, as probable as the
// forecast implies, as when a censored observation is redistributed to the right (B. Efron, "The two sample problem
// with censored data", Berkeley Symposium 1967). The levels then cover the waits that there would be if no job was
// cancelled. The jobs that do start wait less. If those are scored, the account is reverted when the job is
// cancelled. Config.KeepCancelled chooses between the two. (On SDSC-SP2 one job in ten is cancelled. With the whole
// account kept there, 0.528 of the started jobs are below the quantile 0.5, and 0.777 below 0.75.)
//
// # Atoms
//
// Waits of exactly 0, or of whole minutes, make P(W <= q) jump over p. A wait is a tie if it lies between q rounded
// down and q rounded up to the log's resolution. A tie counts as a hit, a miss or a value between, whichever brings
// beta nearest to 0. So the interval [P(W < q-), P(W <= q+)] is made to contain p, and a forecast whose interval
// contains p is not changed. Levels forecast as 0 have accounts of their own. They stay 0 until their shift exceeds
// Config.Dead, because more waits are above 0 than the level allows.
package conformal

import (
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// zeroZ is z of a wait of 0: ln(60 s).
const zeroZ = 4.0943445622221004

// MaxWait is the longest served quantile, in seconds. It is ten years.
const MaxWait = 10 * 365.25 * 86400

// MaxGroupsOfJob is the maximum number of groups of one job besides the group of all jobs. Further groups are
// ignored.
const MaxGroupsOfJob = 3

// Config configures a Calibrator. The zero value of a field means its default.
type Config struct {
	// Levels are the quantile levels, rising within (0, 1); there is no default.
	Levels []float64
	// Resolution is the resolution of the waits, in seconds: 1 by default.
	Resolution float64
	// Rate is the lasting step of the level 0.5, in logits; 0.005 by default. The step of level p is larger by the
	// factor sqrt(0.25/(p (1-p))). At first all steps are five times as large.
	Rate float64
	// Memory is the number of a group's decided jobs over which its correction decays to its running mean, and over
	// which that mean is taken; 5,000 by default.
	Memory float64
	// Bound is the largest shift of the logit of a level, 2 by default. That moves the level 0.5 to 0.88.
	Bound float64
	// Slope is the distance by which a shift of 1 moves z in addition, 0.1 by default. Without it, forecasts with
	// equal quantiles could not be corrected.
	Slope float64
	// Dead is the shift, in logits, that a level forecast as 0 must reach before it is served above 0: 0.2 by default.
	Dead float64
	// KeepCancelled is the part of its account that a job keeps when it is cancelled before its start, 0 to 1. With 1
	// its misses count as misses. With 0 (the default) the levels cover the waits of the jobs that start, which are
	// the scored ones.
	KeepCancelled float64
	// MaxGroups is the maximum number of groups with corrections of their own, 256 by default. MaxPending is the
	// maximum number of followed jobs, 200,000 by default. Further groups and jobs are not followed.
	MaxGroups, MaxPending int
}

func (c *Config) fill() error {
	last := 0.0
	for _, p := range c.Levels {
		if !(p > last && p < 1) {
			return fmt.Errorf("conformal: levels %v: give rising numbers between 0 and 1", c.Levels)
		}
		last = p
	}
	if n := len(c.Levels); n == 0 || n > 64 {
		return fmt.Errorf("conformal: %d levels: give 1 to 64", n)
	}
	for _, f := range []struct {
		name string
		v    *float64
		d    float64
	}{
		{"resolution", &c.Resolution, 1}, {"rate", &c.Rate, .005}, {"memory", &c.Memory, 5000}, {"bound", &c.Bound, 2},
		{"slope", &c.Slope, .1}, {"dead", &c.Dead, .2},
	} {
		if *f.v == 0 {
			*f.v = f.d
		}
		if !(*f.v > 0) || math.IsInf(*f.v, 1) {
			return fmt.Errorf("conformal: %s %g: give a positive number", f.name, *f.v)
		}
	}
	if c.MaxGroups == 0 {
		c.MaxGroups = 256
	}
	if c.MaxPending == 0 {
		c.MaxPending = 200000
	}
	if !(c.KeepCancelled >= 0 && c.KeepCancelled <= 1) || c.Memory < 1 || c.MaxGroups < 1 || c.MaxPending < 1 {
		return fmt.Errorf("conformal: kept part %g, memory %g, %d groups, %d pending: out of range",
			c.KeepCancelled, c.Memory, c.MaxGroups, c.MaxPending)
	}
	c.Levels = slices.Clone(c.Levels)
	return nil
}

// account has the corrections of one group by level. Levels forecast above 0 (Above) and levels forecast as 0 (Zero)
// have separate corrections.
type account struct {
	Name        string
	Above, Zero []shift
}

// shift is the correction of one level of a group.
type shift struct {
	Beta float64 // sum of the steps; it decays towards Mean
	Mean float64 // running mean of Beta
	N    float64 // number of decided jobs
}

// Calibrator corrects forecasts and learns from their outcomes. It is not safe for concurrent use.
type Calibrator struct {
	cfg      Config
	accounts []account // the first is the account of all jobs
	index    map[string]int
	jobs     ledger
	clock    float64

	observe func(group string, earned float64, decided bool) // nil without an observer

	logit []float64 // by level
	step  []float64 // by level: the lasting step
	z     []float64 // scratch: the raw forecast
}

// New returns a Calibrator that corrects nothing yet.
func New(cfg Config) (*Calibrator, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	c := &Calibrator{cfg: cfg, index: map[string]int{}, clock: math.Inf(-1)}
	c.jobs.index = map[int64]int{}
	c.account("")
	c.z = make([]float64, len(cfg.Levels))
	for _, p := range c.cfg.Levels {
		c.logit = append(c.logit, math.Log(p/(1-p)))
		c.step = append(c.step, c.cfg.Rate*math.Sqrt(.25/(p*(1-p))))
	}
	return c, nil
}

// account returns the index of the group's account, which it creates if the limit allows that. Otherwise it returns
// 0, the account of all jobs.
func (c *Calibrator) account(name string) int {
	if a, ok := c.index[name]; ok {
		return a
	}
	if len(c.accounts) > c.cfg.MaxGroups {
		return 0
	}
	n := len(c.cfg.Levels)
	c.index[name] = len(c.accounts)
	c.accounts = append(c.accounts, account{Name: name, Above: make([]shift, n), Zero: make([]shift, n)})
	return len(c.accounts) - 1
}

// isZero reports whether a raw forecast is below half a second, so that the job is expected to start at once.
func isZero(raw float64) bool { return !(raw >= .5) }

// Correct writes the corrected quantiles of raw into out. Both are in seconds, with one for each level. groups are
// the names of the job's groups besides the group of all jobs. Unknown groups have no correction of their own. The
// results are in rising order, within [0, MaxWait] and never NaN (a raw NaN counts as 0). out and raw may be the same
// slice. If a length is wrong, Correct returns false and writes nothing.
func (c *Calibrator) Correct(groups []string, raw, out []float64) bool {
	if len(raw) != len(c.cfg.Levels) || len(out) != len(raw) {
		return false
	}
	var in [1 + MaxGroupsOfJob]int
	n := 1
	for _, name := range groups[:min(len(groups), MaxGroupsOfJob)] {
		if a, ok := c.index[name]; ok && a > 0 {
			in[n] = a
			n++
		}
	}
	for l, q := range raw {
		c.z[l] = zeroZ
		if !isZero(q) {
			c.z[l] = math.Log(min(q, MaxWait) + waittime.Shift)
		}
	}
	slices.Sort(c.z)
	for l := range out {
		out[l] = c.shifted(in[:n], l)
	}
	c.uncross(out)
	return true
}

// uncross makes q monotone. It starts from the level nearest to the median, and each level is limited by the levels
// closer to the median. It does not sort: sorting would serve one level's correction as another's, and neither
// account would learn from it.
func (c *Calibrator) uncross(q []float64) {
	m := 0
	for l, at := range c.logit {
		if math.Abs(at) < math.Abs(c.logit[m]) {
			m = l
		}
	}
	for l := m + 1; l < len(q); l++ {
		q[l] = max(q[l], q[l-1])
	}
	for l := m - 1; l >= 0; l-- {
		q[l] = min(q[l], q[l+1])
	}
}

// shifted returns the corrected quantile of level l in seconds. c.z is the raw forecast, and in has the indexes of the
// job's accounts.
func (c *Calibrator) shifted(in []int, l int) float64 {
	by := 0.0
	zero := c.z[l] <= zeroZ
	for _, a := range in {
		if zero {
			by += c.accounts[a].Zero[l].Beta
		} else {
			by += c.accounts[a].Above[l].Beta
		}
	}
	if zero {
		by -= c.cfg.Dead
		if by <= 0 {
			return 0
		}
	}
	by = c.cfg.Bound * math.Tanh(by/c.cfg.Bound)
	z := c.curve(c.logit[l] + by)
	if z > zeroZ || !zero {
		z += c.cfg.Slope * by
	}
	return min(max(math.Exp(z)-waittime.Shift, 0), MaxWait)
}

// curve returns z of the raw forecast at another level p, given as ln(p/(1-p)). It interpolates between levels. Beyond
// the lowest and the highest level it extends the line through the two nearest levels, with a slope of at most steepest
// above the highest. The result is at least zeroZ. With one level only, it is the same for all p.
func (c *Calibrator) curve(at float64) float64 {
	n := len(c.logit)
	if n == 1 {
		return c.z[0]
	}
	i := 1
	for i < n-1 && c.logit[i] < at {
		i++
	}
	slope := (c.z[i] - c.z[i-1]) / (c.logit[i] - c.logit[i-1])
	if over := at - c.logit[n-1]; over > 0 {
		return c.z[n-1] + over*min(slope, steepest)
	}
	return max(c.z[i-1]+(at-c.logit[i-1])*slope, zeroZ)
}

// steepest is the maximum slope of z over logit above the highest level, where the forecast has no quantiles. It was
// tuned, like the defaults of Config, on the first halves of five real logs.
const steepest = .4

// rate returns the step of an account of level l with n decided jobs. It is five times the lasting step at first, and
// twice the lasting step after 3,000 jobs. It is larger far from the median, where an error in p is a larger error in
// the logit.
func (c *Calibrator) rate(l int, n float64) float64 {
	const fast, jobs = 4, 1000
	return c.step[l] * (1 + fast*jobs/(jobs+n))
}

// earn sets to d the amount that job j has earned at level l. The corrections of all its groups decrease by the
// increase of that amount times their rate. final is set if the level is decided.
func (c *Calibrator) earn(j *pending, l int, d float64, final bool) {
	step := d - j.Earned[l]
	for _, a := range j.Groups[:j.NGroups] {
		c.notify(a, l, step, final)
		s := c.accounts[a].of(j, l)
		s.Beta -= c.rate(l, s.N) * step
		if final {
			c.decide(s)
		}
	}
	j.Earned[l] = d
}

// Observe sets a function f. It is called with the amount that a level of a job earns at an update of the job's
// account, once for each of its groups ("" is the group of all jobs). The unit is the deviation of a right forecast,
// sqrt(p (1-p)). An amount above 0 means that waits are shorter than forecast, below 0 that they are longer. A tie
// earns the same as a hit. Because accounts are updated at fixed instants (see Delay in the package comment), the
// expectation of an amount is 0 at each of them, if forecasts are right and there are no ties. decided is true if the
// amount decides the level. f is called within the other methods, and must not call any of them. It is not saved, and
// stays set when the Calibrator is restored.
func (c *Calibrator) Observe(f func(group string, earned float64, decided bool)) { c.observe = f }

func (c *Calibrator) notify(account, l int, step float64, decided bool) {
	if c.observe != nil {
		p := c.cfg.Levels[l]
		c.observe(c.accounts[account].Name, step/math.Sqrt(p*(1-p)), decided)
	}
}

// Hasten makes a group ("" is the group of all jobs) learn as fast as after the given number of decided jobs, if more
// of its jobs are decided already. The step is five times the lasting one after no job, three times after 1,000 jobs,
// and decreases further as at first. Learned corrections are kept. Unknown groups are ignored.
func (c *Calibrator) Hasten(group string, jobs float64) {
	a, ok := c.index[group]
	if !ok || !(jobs >= 0) {
		return
	}
	for l := range c.cfg.Levels {
		for _, s := range [...]*shift{&c.accounts[a].Above[l], &c.accounts[a].Zero[l]} {
			s.N = min(s.N, jobs)
		}
	}
}

// tie decides level l of job j. In each group the tie counts as the value between miss and hit that brings the group's
// correction nearest to 0.
func (c *Calibrator) tie(j *pending, l int) {
	p := c.cfg.Levels[l]
	for _, a := range j.Groups[:j.NGroups] {
		c.notify(a, l, 1-p-j.Earned[l], true)
		s := c.accounts[a].of(j, l)
		rate := c.rate(l, s.N)
		s.Beta -= rate * min(max(s.Beta/rate, -p-j.Earned[l]), 1-p-j.Earned[l])
		c.decide(s)
	}
}

// decide counts a decided job. It updates the running mean of the correction, and moves the correction a little towards
// that mean.
func (c *Calibrator) decide(s *shift) {
	s.N++
	s.Mean += (s.Beta - s.Mean) / c.cfg.Memory
	s.Beta += (s.Mean - s.Beta) / c.cfg.Memory
}

func (a *account) of(j *pending, l int) *shift {
	if j.Zero&(1<<l) != 0 {
		return &a.Zero[l]
	}
	return &a.Above[l]
}

// Shift returns the correction of the logit for the level with the given index, before it is bounded. It is for jobs
// of the groups, and for levels forecast above 0.
func (c *Calibrator) Shift(groups []string, level int) float64 {
	if level < 0 || level >= len(c.cfg.Levels) {
		return 0
	}
	sum := c.accounts[0].Above[level].Beta
	for _, name := range groups[:min(len(groups), MaxGroupsOfJob)] {
		if a, ok := c.index[name]; ok && a > 0 {
			sum += c.accounts[a].Above[level].Beta
		}
	}
	return sum
}
