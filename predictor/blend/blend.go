// Package blend combines the quantile forecasts of several experts into one. In the long run the result is not much
// worse than the best fixed convex combination of the experts. Each level is treated separately, by the pinball loss
// of z = ln(wait + 60 s).
//
// Each level has a Bernstein Online Aggregation with one rate per expert (O. Wintenberger, "Optimal learning with
// Bernstein online aggregation", Machine Learning 106, 2017, sec. 3) on linearized losses. Let g be a subgradient of
// the loss at the combination f, and r_k = g (f - z_k). A weight w_k is multiplied by exp(eta_k r_k - eta_k^2 r_k^2). f
// is the mean of the z_k weighted by eta_k w_k, so that sum eta_k w_k r_k = 0. Since exp(x - x^2) <= 1 + x for x >=
// -1/2, the sum of the weights never grows. At steady rates
//
//	sum over rounds of r_k <= ln(1/pi_k)/eta_k + eta_k V_k,   V_k = sum of r_k^2,
//
// where pi are the prior weights. The pinball loss is convex, so its excess over any fixed convex combination is at
// most the same combination of these sums. The rates are eta_k = min(1, 1/(2 E_k), sqrt(ln K / V_k)), where E_k is the
// largest |r_k| so far. With these rates the sum of r_k over T rounds is O(sqrt(V_k ln K)), so O(sqrt(T ln K)). Changes
// of the rates cost terms of lower order in the paper. The paper recomputes all weights at each rate, which is not
// possible with fixed share (below). An expert without a forecast (NaN) sleeps: the others divide its weight, and its
// own weight does not change. The bound counts only the forecasts at which the expert was awake (Y. Freund et al.,
// "Using and combining predictors that specialize", STOC 1997; P. Gaillard, G. Stoltz and T. van Erven, "A second-order
// bound with excess losses", COLT 2014).
//
// The weights follow a change of regime, because they are mixed with the prior after each step (fixed share: M.
// Herbster and M. Warmuth, "Tracking the best expert", Machine Learning 32, 1998). Compared with a sequence of
// combinations that changes m times, this adds O(m ln(K/share)) / eta to the bound. E_k and V_k are discounted, so that
// they cover about the last Config.Memory outcomes.
//
// A group (a queue, a size class) has weights of its own. They start at the common weights, and fixed share mixes them
// with the common weights. A second aggregation chooses between the common combination and the groups' combinations.
// Outcomes are learnt in any order and after any delay. The bound then holds for the forecasts that the combination
// would have made when the outcomes were learnt. Each outstanding outcome costs at most one step more (P. Joulani, A.
// Gyorgy and C. Szepesvari, "Online learning under delayed feedback", ICML 2013).
package blend

import (
	"fmt"
	"math"
	"slices"
)

// Config defines what a Blend combines. The zero value of a field means its default.
type Config struct {
	// Levels are the quantile levels, rising within (0, 1); there is no default.
	Levels []float64
	// Priors are the weights of the experts before anything is learnt, relative to each other, all above 0. Their
	// number is the number of experts.
	Priors []float64
	// Share is the part of the weights that returns to the prior after each outcome. It is 1/2000 by default, and
	// must be below 1.
	Share float64
	// Memory is the number of past outcomes that determine the rates: 10,000 by default.
	Memory float64
	// MaxGroups is the maximum number of groups with weights of their own, 256 by default. The groups that are learnt
	// first get them; the others use the common weights.
	MaxGroups int
}

func (c *Config) fill() error {
	if len(c.Levels) == 0 || len(c.Priors) == 0 {
		return fmt.Errorf("blend: %d levels and %d priors: give at least one of each", len(c.Levels), len(c.Priors))
	}
	last := 0.0
	for _, p := range c.Levels {
		if !(p > last && p < 1) {
			return fmt.Errorf("blend: levels %v: give rising numbers between 0 and 1", c.Levels)
		}
		last = p
	}
	for k, p := range c.Priors {
		if !goodPrior(p) {
			return fmt.Errorf("blend: prior %g of expert %d: give a positive number", p, k)
		}
	}
	if c.Share == 0 {
		c.Share = 1. / 2000
	}
	if c.Memory == 0 {
		c.Memory = 10000
	}
	if c.MaxGroups == 0 {
		c.MaxGroups = 256
	}
	if !(c.Share > 0 && c.Share < 1 && c.Memory > 1 && !math.IsInf(c.Memory, 0) && c.MaxGroups > 0) {
		return fmt.Errorf("blend: share %g, memory %g, groups %d: out of range", c.Share, c.Memory, c.MaxGroups)
	}
	c.Levels, c.Priors = slices.Clone(c.Levels), slices.Clone(c.Priors)
	return nil
}

func goodPrior(p float64) bool { return p > 0 && !math.IsInf(p, 1) }

// Blend is the combination. It keeps scratch memory between calls and is not safe for concurrent use.
type Blend struct {
	cfg    Config
	common []mixer // by level
	groups []group // in the order in which they were first learnt
	index  map[string]int

	grown  []float64                   // scratch, by expert
	outs   [1 + MaxGroupsOfJob]float64 // scratch: the common combination and each chosen group's
	chosen []int                       // scratch: the groups of a job
}

// MaxGroupsOfJob is the maximum number of groups of one forecast. Further groups are ignored.
const MaxGroupsOfJob = 3

// group has the weights of a queue or size class with weights of its own.
type group struct {
	name   string
	mixers []mixer // by level
	top    []mixer // by level: the weights of the common combination and of the group's own
}

// New returns a Blend.
func New(cfg Config) (*Blend, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	b := &Blend{cfg: cfg, index: map[string]int{}, chosen: make([]int, 0, MaxGroupsOfJob)}
	for range cfg.Levels {
		b.common = append(b.common, newMixer(cfg.Priors))
	}
	b.scratch()
	return b, nil
}

func (b *Blend) scratch() { b.grown = make([]float64, max(2, len(b.cfg.Priors))) }

// Experts returns the number of experts.
func (b *Blend) Experts() int { return len(b.cfg.Priors) }

// Grow adds an expert after the existing ones, with a prior weight relative to the initial priors. Its first weight,
// among the common weights and in every group, is the share of its prior in the sum of all priors.
func (b *Blend) Grow(prior float64) error {
	if !goodPrior(prior) {
		return fmt.Errorf("blend: prior %g of a new expert: give a positive number", prior)
	}
	sum := 0.0
	for _, p := range b.cfg.Priors {
		sum += p
	}
	b.cfg.Priors = append(b.cfg.Priors, prior)
	for l := range b.cfg.Levels {
		b.common[l].grow(prior / sum)
		b.common[l].normalize()
		for g := range b.groups {
			b.groups[g].mixers[l].grow(prior / sum)
			b.groups[g].mixers[l].normalize()
		}
	}
	b.scratch()
	return nil
}

// Combine combines the experts' forecasts x into out. x[l*K + k] is expert k's quantile of level l as z = ln(wait + 60
// s), NaN if the expert has none. out gets one number per level, in rising order. groups are the names of the job's
// groups; unknown groups are ignored, and without a known group the common weights are used. Combine returns false,
// with out unchanged, if no expert has a forecast at some level, or if x or out has a wrong length.
func (b *Blend) Combine(groups []string, x, out []float64) bool {
	if len(x) != len(b.cfg.Levels)*len(b.cfg.Priors) || len(out) != len(b.cfg.Levels) {
		return false
	}
	for l := range b.cfg.Levels {
		if !slices.ContainsFunc(b.row(x, l), awake) {
			return false
		}
	}
	b.find(groups)
	for l := range b.cfg.Levels {
		b.forecasts(x, l)
		out[l] = b.choose(l)
	}
	Rearrange(out)
	return true
}

// Learn learns from the outcome y = ln(wait + 60 s) of a forecast. groups and x are those that were passed to
// Combine. Outcomes that are not finite, and slices of a wrong length, are ignored.
func (b *Blend) Learn(groups []string, x []float64, y float64) {
	if len(x) != len(b.cfg.Levels)*len(b.cfg.Priors) || !awake(y) {
		return
	}
	for _, name := range groups[:min(len(groups), MaxGroupsOfJob)] {
		b.add(name)
	}
	b.find(groups)
	even := [2]float64{1, 1}
	for l, p := range b.cfg.Levels {
		row := b.row(x, l)
		if !slices.ContainsFunc(row, awake) {
			continue
		}
		b.forecasts(x, l)
		for i, g := range b.chosen {
			pair := [2]float64{b.outs[0], b.outs[1+i]}
			b.groups[g].top[l].learn(pair[:], y, p, even[:], &b.cfg, b.grown)
		}
		b.common[l].learn(row, y, p, b.cfg.Priors, &b.cfg, b.grown)
		for _, g := range b.chosen {
			b.groups[g].mixers[l].learn(row, y, p, b.common[l].w, &b.cfg, b.grown)
		}
	}
}

// Forget moves the common weights by a part, 0 to 1, towards the prior. For a group it moves the group's weights
// towards the common ones, and the group's choice between both towards equal weights. It shortens the memory of the
// rates by the same part, so that the weights then change as fast as after fewer outcomes. group "" means the common
// weights. Unknown groups and other values of part are ignored.
func (b *Blend) Forget(group string, part float64) {
	if !(part > 0 && part <= 1) {
		return
	}
	if group == "" {
		for l := range b.common {
			b.common[l].forget(b.cfg.Priors, part)
		}
		return
	}
	g, ok := b.index[group]
	if !ok {
		return
	}
	for l := range b.common {
		b.groups[g].mixers[l].forget(b.common[l].w, part)
		b.groups[g].top[l].forget([]float64{1, 1}, part)
	}
}

// Weights writes the common weights of the experts at the level with the given index into w. They sum to 1 and are not
// multiplied by the rates. If there is no such level, or w is too short, nothing is written.
func (b *Blend) Weights(level int, w []float64) {
	if level < 0 || level >= len(b.common) || len(w) < len(b.cfg.Priors) {
		return
	}
	copy(w, b.common[level].w)
}

func (b *Blend) row(x []float64, l int) []float64 {
	k := len(b.cfg.Priors)
	return x[l*k : (l+1)*k]
}

// find fills chosen with the known groups among names.
func (b *Blend) find(names []string) {
	b.chosen = b.chosen[:0]
	for _, name := range names[:min(len(names), MaxGroupsOfJob)] {
		if g, ok := b.index[name]; ok {
			b.chosen = append(b.chosen, g)
		}
	}
}

// add creates a group with the given name and the common weights.
func (b *Blend) add(name string) {
	if _, ok := b.index[name]; ok || len(b.groups) >= b.cfg.MaxGroups {
		return
	}
	g := group{name: name}
	for l := range b.common {
		g.mixers = append(g.mixers, mixer{
			w: slices.Clone(b.common[l].w), scale: slices.Clone(b.common[l].scale), v: slices.Clone(b.common[l].v),
			eta: slices.Clone(b.common[l].eta),
		})
		g.top = append(g.top, newMixer([]float64{1, 1}))
	}
	b.index[name] = len(b.groups)
	b.groups = append(b.groups, g)
}

// forecasts fills outs with the combinations of level l: the common one, and each chosen group's.
func (b *Blend) forecasts(x []float64, l int) {
	row := b.row(x, l)
	b.outs[0], _ = b.common[l].mix(row)
	for i, g := range b.chosen {
		b.outs[1+i], _ = b.groups[g].mixers[l].mix(row)
	}
}

// choose returns the combination of the forecasts in outs. It is the mean, over the groups, of each group's choice
// between the common combination and its own.
func (b *Blend) choose(l int) float64 {
	if len(b.chosen) == 0 {
		return b.outs[0]
	}
	sum := 0.0
	for i, g := range b.chosen {
		pair := [2]float64{b.outs[0], b.outs[1+i]}
		f, _ := b.groups[g].top[l].mix(pair[:])
		sum += f
	}
	return sum / float64(len(b.chosen))
}

// Rearrange sorts quantiles, so that those of rising levels rise. That never raises the mean pinball loss over levels
// (V. Chernozhukov, I. Fernandez-Val and A. Galichon, "Quantile and probability curves without crossing",
// Econometrica 78, 2010). It does not allocate.
func Rearrange(q []float64) { slices.Sort(q) }
