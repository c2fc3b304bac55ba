package backtest

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// replicates is the number of bootstrap samples of days. seed is the seed of their generator, so that equal logs give
// equal intervals.
const (
	replicates = 1000
	seed       = 0x6461797362
)

// quantile sorts values and returns their p-quantile, NaN if there are none.
func quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return stat.Quantile(p, stat.Empirical, values, nil)
}

// compare sets in out the comparisons of waitcast with the rivals and with the best constant, and the number of days.
// If there are at least MinimumDays days, it also sets the intervals of the bootstrap over days.
func (c *collector) compare(out *DetailResult, constant Constant) {
	last := int((out.Period.Last - out.Period.First) / day)
	rivals := c.rivals
	constants, seconds := c.constants(last + 1)
	rivals = append(slices.Clone(rivals), constants)
	rows, present := c.rows(rivals, last+1)
	out.Days = len(present)
	var total []float64
	if len(present) > 0 {
		total = sumOf(rows, present)
	}
	layout := columns{len(rivals)}
	for k, r := range rivals {
		comparison := r.comparison(total, layout, k)
		if r == constants {
			comparison.Seconds, comparison.Within2 = seconds, constant.Within2
		}
		if r == constants || r.name == "limits" { // these two have the same number at every level
			comparison.BoundRatio = nil
		}
		out.Comparisons = append(out.Comparisons, comparison)
	}
	if len(present) < MinimumDays {
		return
	}
	out.CoverageChance = map[string][2]float64{}
	draw(rows, present, layout, out)
}

// constants returns a rival that forecasts the best constant of each level in hindsight, and these constants in seconds
// by name of the level. The best constant of a level is the quantile of all waits at this level, because it has the
// least pinball loss.
func (c *collector) constants(days int) (r *rival, seconds map[string]float64) {
	r = &rival{name: BestConstant, days: make([]rivalDay, days)}
	seconds = map[string]float64{}
	waits := make([]float64, len(c.jobs))
	for i := range c.jobs {
		waits[i] = c.jobs[i].wait
	}
	var best []float64
	for _, level := range waittime.ScoredLevels() {
		q := quantile(waits, level)
		best = append(best, q)
		if len(waits) > 0 {
			seconds[LevelName(level)] = q
		}
	}
	for i := range c.jobs {
		j := &c.jobs[i]
		r.add(int(j.since/day), j.wait, j.served[:], best)
	}
	return r, seconds
}

// columns is the layout of the sums of a day. For each rival it has the number of jobs, and by level the losses of
// waitcast and of the rival. Then follow the number of scored jobs, and by level the numbers of waits below the
// quantile and at most the quantile.
type columns struct{ rivals int }

func (c columns) rival(k int) int { return k * 9 }
func (c columns) cover() int      { return c.rivals * 9 }
func (c columns) width() int      { return c.rivals*9 + 9 }

// rows returns the sums of each day in the layout of columns, nil for a day without scored jobs. present has the
// indices of the days with scored jobs.
func (c *collector) rows(rivals []*rival, days int) (rows [][]float64, present []int) {
	layout := columns{len(rivals)}
	rows = make([][]float64, days)
	for i := range c.jobs {
		j := &c.jobs[i]
		d := int(j.since / day)
		if rows[d] == nil {
			rows[d] = make([]float64, layout.width())
			present = append(present, d)
		}
		at := rows[d][layout.cover():]
		at[0]++
		for l, q := range j.served {
			below, upTo := coverage.Covered(j.wait, q, c.resolution)
			if below {
				at[1+l]++
			}
			if upTo {
				at[5+l]++
			}
		}
	}
	for k, r := range rivals {
		for d := range r.days {
			if of := &r.days[d]; of.n > 0 {
				at := rows[d][layout.rival(k):]
				at[0] = float64(of.n)
				copy(at[1:5], of.waitcast[:])
				copy(at[5:9], of.other[:])
			}
		}
	}
	return rows, present
}

// sumOf returns the sum of some rows. which has their indices, at least one.
func sumOf(rows [][]float64, which []int) []float64 {
	sum := make([]float64, len(rows[which[0]]))
	addRows(sum, rows, which)
	return sum
}

func addRows(sum []float64, rows [][]float64, which []int) {
	for _, d := range which {
		for i, v := range rows[d] {
			sum[i] += v
		}
	}
}

// comparison returns the comparison of waitcast with r, the k-th rival, from the sums of all days. If no job was
// compared, N is 0 and there are no levels.
func (r *rival) comparison(total []float64, layout columns, k int) Comparison {
	out := Comparison{Method: r.name, N: r.n, Levels: map[string]LossRatio{}}
	if r.n == 0 {
		return out
	}
	n := float64(r.n)
	out.Within2, out.Within2Waitcast = float64(r.within)/n, float64(r.against)/n
	out.BoundRatio = number(r.ratios.median())
	at := total[layout.rival(k):]
	for l, level := range waittime.ScoredLevels() {
		ours, its := at[1+l]/n, at[5+l]/n
		out.Levels[LevelName(level)] = LossRatio{Waitcast: ours, Other: its, Ratio: number(ours / its)}
	}
	return out
}

// draw draws samples of the days with replacement, and sets the 95 % intervals of the coverage and of the loss ratios
// in out. It keeps the jobs of a day together (the block bootstrap, H. Kunsch, "The jackknife and the bootstrap for
// general stationary observations", Annals of Statistics 17, 1989).
func draw(rows [][]float64, present []int, layout columns, out *DetailResult) {
	rng := rand.New(rand.NewPCG(seed, 1))
	sample, sum := make([]int, len(present)), make([]float64, layout.width())
	ratios := make([][4][]float64, layout.rivals)
	var low, high [4][]float64
	for range replicates {
		for i := range sample {
			sample[i] = present[rng.IntN(len(present))]
		}
		clear(sum)
		addRows(sum, rows, sample)
		for k := range ratios {
			at := sum[layout.rival(k):]
			for l := range ratios[k] {
				if ratio := at[1+l] / at[5+l]; !math.IsNaN(ratio) && !math.IsInf(ratio, 0) {
					ratios[k][l] = append(ratios[k][l], ratio)
				}
			}
		}
		at := sum[layout.cover():]
		for l := range low {
			low[l], high[l] = append(low[l], at[1+l]/at[0]), append(high[l], at[5+l]/at[0])
		}
	}
	for l, level := range waittime.ScoredLevels() {
		name := LevelName(level)
		out.CoverageChance[name] = [2]float64{quantile(low[l], .025), quantile(high[l], .975)}
		for k := range ratios {
			c := &out.Comparisons[k]
			if r, ok := c.Levels[name]; ok && 10*len(ratios[k][l]) >= 9*replicates {
				r.Chance = &[2]float64{quantile(ratios[k][l], .025), quantile(ratios[k][l], .975)}
				c.Levels[name] = r
			}
		}
	}
}
