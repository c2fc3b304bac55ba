package hypergamma

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

// GroupLaw is the law of the runtimes of one group of sizes (paper, section 6.2, Table 4).
type GroupLaw struct {
	To    int     `json:"to"`    // largest number of processors of the group; the last group also has all larger sizes
	Short float64 `json:"short"` // share of its jobs that run for at most 1 s, for which the law has no place
	Law   Law     `json:"law"`   // law of ln seconds of the other jobs
	// MaxLog is the longest runtime in ln seconds. A longer runtime is drawn again. If Ends is true, it ends at
	// MaxLog instead, like a job that its time limit ends.
	MaxLog float64 `json:"max_log"`
	Ends   bool    `json:"ends,omitempty"`
}

// KeepWork returns parameters with which the mean work of a job is the log's. The parameters of [ModelFit.Params] are
// the paper's: a law of sizes and a law of runtimes. Even if each of these fits well, the work can be far from the
// log's, because few large and long jobs determine it.
//
//   - Sizes have the form of the paper. h is the log2 of the largest job's size instead of the machine's, or up to 2
//     less. l, m and p also have to give the log's mean size.
//   - Runtimes have a law of their own in each of the 8 groups of sizes, as in the paper's Table 4. They replace the
//     weight p(s) of two laws for all sizes. The law of a group is the fitted law, changed so that its mean is the
//     mean runtime of the group's jobs, weighted by their processors. There are three ways to change it: a lower cap,
//     a cap at which longer runtimes end, or a factor e^(theta x) on its density, with which it is still hyper-Gamma.
//     The way with the smallest KS is used.
//   - If the change worsens KS more than it improves the work, as in groups of many small jobs, the mean is one
//     between the log's mean and that of the fitted law.
//   - If the law of sizes and these groups still differ from the mean work by more than 5 %, the mean runtimes of all
//     groups are multiplied by one factor.
//   - Jobs of at most 1 s, for which the paper's law has no place, have the same share as in the log.
//
// j are the jobs to which f was fitted. The error wraps [ErrTooFew] or [ErrValue].
func (f *ModelFit) KeepWork(j Jobs) (Params, error) {
	if len(j.Procs) == 0 || len(j.Procs) != len(j.Seconds) {
		return Params{}, fmt.Errorf("hypergamma: %d sizes, %d runtimes: %w", len(j.Procs), len(j.Seconds), ErrTooFew)
	}
	counts, err := countSizes(j.Procs)
	if err != nil {
		return Params{}, err
	}
	p := f.Params()
	p.Size = keepMeanSize(p.Size, counts, float64(len(j.Procs)))
	groups := newGroupLogs(groupSizes(counts), j, f.Runtime.Law)
	groups.aim()
	p.Runtime.Groups = groups.laws(1)
	off := groups.work / p.meanWork()
	if factor := off / min(max(off, 1-meanSlack), 1+meanSlack); factor != 1 {
		p.Runtime.Groups = groups.laws(factor)
	}
	return p, nil
}

// meanWork returns the mean work of a job in processor seconds. It uses a fixed sample of sizes.
func (p *Params) meanWork() (mean float64) {
	const sample = 1 << 16
	rng := rand.New(rand.NewPCG(1, 1))
	seconds := make([]float64, len(p.Runtime.Groups))
	for i := range seconds {
		g := &p.Runtime.Groups[i]
		seconds[i] = g.Short + (1-g.Short)*g.mean()
	}
	for range sample {
		procs := p.Size.Rand(rng)
		mean += float64(procs) * seconds[p.Runtime.at(procs)] / sample
	}
	return mean
}

// meanWeight is the weight of the error of the mean size relative to KS. Errors below meanSlack do not count, so that
// the error of the sample itself is not fitted. Both are shares of the log's mean.
const meanWeight, meanSlack = .5, .05

// mostBelow is the maximum distance in log2 between the largest job's size and the end of the law of sizes.
const mostBelow = 2.

// keepMeanSize returns the size law with the smallest loss. The loss is KS plus meanWeight times the error of the
// mean beyond meanSlack.
func keepMeanSize(fitted SizeParams, counts []sizeCount, n float64) SizeParams {
	mean := 0.0
	for _, c := range counts {
		mean += c.n / n * float64(c.procs)
	}
	largest := counts[len(counts)-1].procs
	if counts[0].procs == 1 {
		counts = counts[1:]
	}
	parallel, powers := 0.0, 0.0
	for _, c := range counts {
		parallel += c.n
		if c.procs&(c.procs-1) == 0 {
			powers += c.n
		}
	}
	if parallel < MinParallel || len(counts) < 2 {
		return fitted
	}
	least := math.Log2(float64(counts[0].procs))
	top := math.Log2(float64(largest))
	best, bestLoss := fitted, math.Inf(1)
	for below := 0.0; below <= mostBelow && top-below > least+.1; below += .5 {
		start := fitted
		start.High = top - below
		edges := thin(sizeEdges(counts, parallel, start.High), 512)
		loss := func(s SizeParams) (SizeParams, float64) {
			s.PowerOfTwo = s.roundedFor(powers / parallel)
			return s, s.distance(edges) + meanWeight*max(0, math.Abs(s.Mean()/mean-1)-meanSlack)
		}
		s := searchStages(start, least, loss)
		if _, d := loss(s); d < bestLoss {
			best, bestLoss = s, d
		}
	}
	return best
}

// Mean returns the mean number of processors.
func (s SizeParams) Mean() float64 {
	// power returns the mean of 2^x for a uniform x
	power := func(from, to float64) float64 {
		if to-from < 1e-9 {
			return math.Exp2(from)
		}
		return (math.Exp2(to) - math.Exp2(from)) / ((to - from) * math.Ln2)
	}
	plain := s.Prob*power(s.Low, s.Medium) + (1-s.Prob)*power(s.Medium, s.High)
	rounded, below := 0.0, 0.0
	for e := 0.0; e <= math.Floor(s.High); e++ {
		upTo := 1.0
		if e < math.Floor(s.High) {
			upTo = s.stages(e + .5)
		}
		rounded += (upTo - below) * math.Exp2(e)
		below = upTo
	}
	return s.Serial + (1-s.Serial)*((1-s.PowerOfTwo)*plain+s.PowerOfTwo*rounded)
}

// groupLogs has a log's runtimes by groups of sizes.
type groupLogs struct {
	groups []GroupLaw  // laws fitted to the groups
	logs   [][]float64 // ln seconds of the jobs that are not short
	mean   []float64   // mean runtime of these jobs, weighted by their processors; aim changes it to the target
	share  []float64   // the group's share of the work of all jobs
	work   float64     // mean processor seconds of all jobs
}

// newGroupLogs fits the laws of the groups. A group gets a Gamma law if it has too few jobs for a mixture, or if its
// runtimes are all equal. A group without a job of more than 1 s gets the law of all jobs, from which nothing is
// drawn.
func newGroupLogs(groups [][]sizeCount, j Jobs, common Law) *groupLogs {
	n := len(groups)
	out := &groupLogs{groups: make([]GroupLaw, n), logs: make([][]float64, n), mean: make([]float64, n),
		share: make([]float64, n)}
	procs := make([]float64, n)
	for i, g := range groups {
		out.groups[i].To = g[len(g)-1].procs
	}
	sizes := RuntimeParams{Groups: out.groups}
	for k, t := range j.Seconds {
		i, p := sizes.at(j.Procs[k]), float64(j.Procs[k])
		out.work += p * max(t, 1) / float64(len(j.Seconds))
		if t <= 1 {
			out.groups[i].Short++
			continue
		}
		out.logs[i] = append(out.logs[i], math.Log(t))
		out.mean[i], procs[i] = out.mean[i]+p*t, procs[i]+p
	}
	for i := range out.groups {
		out.groups[i].Short /= max(1, out.groups[i].Short+float64(len(out.logs[i])))
		out.share[i] = out.mean[i] / max(1, out.work*float64(len(j.Seconds)))
		out.mean[i] /= max(1, procs[i])
		out.groups[i].Law, out.groups[i].MaxLog = common, max(common.First.Mean(), common.Second.Mean())
		if f, err := FitLaw(out.logs[i]); err == nil {
			out.groups[i].Law = f.Law
		} else if len(out.logs[i]) > 0 {
			out.groups[i].Law = likeliestGamma(out.logs[i])
		}
	}
	return out
}

// likeliestGamma returns the Gamma law with the greatest likelihood as a Law. If all values are equal, the law is
// very narrow.
func likeliestGamma(values []float64) Law {
	var m moments
	for _, x := range values {
		m.add(x, math.Log(x), 1)
	}
	g, _ := m.fit()
	return Law{First: g, Second: g, P: 1}
}

// aim moves the target mean of each group towards the mean of its fitted law, to the one of five values with the least
// loss. The loss is the group's KS times its share of the jobs, plus meanWeight times the share of all work by which
// the target differs from the log.
func (l *groupLogs) aim() {
	const steps = 4
	jobs := 0.0
	for _, logs := range l.logs {
		jobs += float64(len(logs))
	}
	for i, logs := range l.logs {
		if len(logs) == 0 {
			continue
		}
		spots, n, limit := tally(logs), float64(len(logs)), slices.Max(logs)
		fitted := l.groups[i]
		fitted.MaxLog = limit
		most := fitted.mean() / l.mean[i]
		mean, least := l.mean[i], math.Inf(1)
		for step := range steps + 1 {
			part := math.Pow(most, float64(step)/steps)
			g := l.groups[i]
			ks := g.keepMean(part*l.mean[i], limit, spots, n)
			if loss := n/jobs*ks + meanWeight*math.Abs(part-1)*l.share[i]; loss < least {
				mean, least = part*l.mean[i], loss
			}
		}
		l.mean[i] = mean
	}
}

// laws returns the laws of the groups whose mean runtimes are the targets times factor.
func (l *groupLogs) laws(factor float64) []GroupLaw {
	out := slices.Clone(l.groups)
	for i := range out {
		if logs := l.logs[i]; len(logs) > 0 {
			out[i].keepMean(factor*l.mean[i], slices.Max(logs), tally(logs), float64(len(logs)))
		}
	}
	return out
}

// keepMean changes the law so that the mean of e^x has the given value and no runtime exceeds limit. There are three
// ways: a lower cap, above which a value is drawn again; a cap at which longer runtimes end, as if a scheduler ended
// them; and tilt. Of the possible ways it uses the one whose law is closest to the logs by KS, and returns that KS.
// If no way is possible, it uses the fitted law with limit as cap.
func (g *GroupLaw) keepMean(mean, limit float64, spots []spot, n float64) (distance float64) {
	fitted := *g
	fitted.MaxLog = limit
	best := fitted
	distance = math.Inf(1)
	try := func(low, high float64, change func(x float64) GroupLaw) {
		if c, ok := matchMean(mean, low, high, change); ok {
			if d := ksBelow(distance, spots, n, c.cdf()); d < distance {
				best, distance = c, d
			}
		}
	}
	for _, ends := range []bool{false, true} {
		try(spots[0].x/2, limit, func(x float64) GroupLaw {
			c := fitted
			c.MaxLog, c.Ends = x, ends
			return c
		})
		try(-20, .999/max(g.Law.First.Scale, g.Law.Second.Scale), func(theta float64) GroupLaw {
			c := fitted
			c.Law, c.Ends = g.Law.tilt(theta), ends
			return c
		})
	}
	*g = best
	if math.IsInf(distance, 1) {
		return ksSpots(spots, n, best.cdf())
	}
	return distance
}

// matchMean searches between change(low) and change(high) for the law with the given mean, which rises with the
// argument of change. It returns false if it finds no law whose mean is within 1 %, or if the cap of the law is too low
// (checkCap).
func matchMean(mean, low, high float64, change func(x float64) GroupLaw) (GroupLaw, bool) {
	if c := change(high); !(c.mean() >= mean) {
		return GroupLaw{}, false
	}
	for range 40 {
		mid := low + (high-low)/2
		if c := change(mid); c.mean() < mean {
			low = mid
		} else {
			high = mid
		}
	}
	c := change(high)
	return c, math.Abs(c.mean()/mean-1) < .01 && checkCap(c.MaxLog, c.Law.First, c.Law.Second) == nil
}

// cdf returns the function Pr{X <= x} for the ln seconds of the jobs that are not short.
func (g *GroupLaw) cdf() func(x float64) float64 {
	all := 1.0
	if !g.Ends {
		all = g.Law.CDF(g.MaxLog)
	}
	return func(x float64) float64 {
		if x >= g.MaxLog {
			return 1
		}
		return g.Law.CDF(x) / all
	}
}

// mean returns the mean runtime in seconds of the jobs that are not short.
func (g *GroupLaw) mean() float64 {
	const parts, points = 32, 8
	sum, logProb := 0.0, g.Law.logDensity()
	for i := range parts {
		from, to := g.MaxLog*float64(i)/parts, g.MaxLog*float64(i+1)/parts
		sum += quad.Fixed(func(x float64) float64 { return math.Exp(x + logProb(x)) }, from, to, points, nil, 0)
	}
	below := g.Law.CDF(g.MaxLog)
	if g.Ends {
		return sum + (1-below)*math.Exp(g.MaxLog)
	}
	return sum / below
}

// rand draws a runtime in seconds.
func (g *GroupLaw) rand(rng *rand.Rand) float64 {
	if g.Short > 0 && rng.Float64() < g.Short {
		return 1
	}
	for {
		x := g.Law.Rand(rng)
		switch {
		case x <= g.MaxLog:
			return math.Exp(x)
		case g.Ends:
			return math.Exp(g.MaxLog)
		}
	}
}

// tilt multiplies the density by e^(theta x) and normalizes it. theta must be below 1 / Scale of both Gamma laws. The
// result is again hyper-Gamma.
func (l Law) tilt(theta float64) Law {
	tilted := func(g Gamma) (Gamma, float64) {
		shrink := 1 - theta*g.Scale
		return Gamma{g.Shape, g.Scale / shrink}, -g.Shape * math.Log(shrink)
	}
	var first, second float64
	out := l
	out.First, first = tilted(l.First)
	out.Second, second = tilted(l.Second)
	if l.P > 0 && l.P < 1 {
		odds := math.Log(l.P) - math.Log1p(-l.P) + first - second
		out.P = 1 / (1 + math.Exp(-odds))
	}
	return out
}

// at returns the index of the group of a job with the given number of processors.
func (r *RuntimeParams) at(procs int) int {
	i, _ := slices.BinarySearchFunc(r.Groups, procs, func(g GroupLaw, procs int) int { return g.To - procs })
	return min(i, len(r.Groups)-1)
}
