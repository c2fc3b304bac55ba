package hypergamma

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
)

// A Live model counts the jobs of one queue as they are submitted and end. It can be fitted at any time without
// visiting the jobs again. Runtimes are counted in bins that are 5 % wide (0.05 of ln t), separately for each power of
// two of processors. With forgetting, a job has the weight of the next job times 1 - forget. The fit depends only on
// the calls. Only one goroutine may use a Live. Create it with [NewLive].
type Live struct {
	forget float64

	end     float64 // weight of the job that ended last
	n       float64 // sum of the weights of all ended jobs
	short   float64 // sum of the weights of the ended jobs of at most 1 s
	longest float64 // longest runtime in seconds; never forgotten
	sizes   map[int]float64
	bins    [sizeClasses]*[runtimeBins]float64 // histograms of ln runtime, by floor(log2 processors)

	submit float64 // weight of the job that was submitted last
	last   float64 // local time of that submission; NaN before the first
	gaps   gaps
	slots  [Slots]float64
}

const (
	sizeClasses = 31
	binWidth    = .05
	runtimeBins = 555 // up to e^27.7 s, or 35,000 years
	// rescale is the weight from which on all weights are scaled down. It is a power of two, so that the scaling
	// causes no rounding.
	rescale = 1 << 62
)

// NewLive returns an empty model. forget must be in [0, 1). 0 means that nothing is forgotten.
func NewLive(forget float64) (*Live, error) {
	if !(forget >= 0 && forget < 1) {
		return nil, fmt.Errorf("hypergamma: forgetting factor %v: %w (at least 0 and below 1 expected)",
			forget, ErrValue)
	}
	return newLive(forget), nil
}

func newLive(forget float64) *Live {
	return &Live{forget: forget, end: 1, submit: 1, last: math.NaN(), sizes: map[int]float64{}}
}

// Empty returns an empty model with the same forget.
func (l *Live) Empty() *Live { return newLive(l.forget) }

// Submitted counts a submission at a local time (see [LocalSeconds]). If local is before the last submission, it counts
// as the time of the last submission. The error wraps [ErrValue].
func (l *Live) Submitted(local float64) error {
	if math.IsNaN(local) || math.Abs(local) > maxLocal {
		return fmt.Errorf("hypergamma: submit time %v: %w", local, ErrValue)
	}
	l.submit /= 1 - l.forget
	if l.submit >= rescale {
		l.scaleSubmits()
	}
	if !math.IsNaN(l.last) {
		local = max(local, l.last)
		l.gaps.add(l.last, local, leastGap, l.submit)
	}
	l.last = local
	k, _ := halfHour(local, false)
	l.slots[k] += l.submit
	return nil
}

// Ended counts a job that ran for the given seconds. The error wraps [ErrValue].
func (l *Live) Ended(procs int, seconds float64) error {
	if procs < 1 || procs > 1<<30 {
		return fmt.Errorf("hypergamma: a job of %d processors: %w (1 to 2^30 expected)", procs, ErrValue)
	}
	if !(seconds >= 0 && seconds < 1<<40) {
		return fmt.Errorf("hypergamma: a job of %v s: %w (0 to 2^40 expected)", seconds, ErrValue)
	}
	l.end /= 1 - l.forget
	if l.end >= rescale {
		l.scaleEnds()
	}
	l.n += l.end
	l.sizes[procs] += l.end
	if seconds <= 1 {
		l.short += l.end
		return nil
	}
	l.longest = max(l.longest, seconds)
	class := bits.Len(uint(procs)) - 1
	if l.bins[class] == nil {
		l.bins[class] = new([runtimeBins]float64)
	}
	l.bins[class][min(int(math.Log(seconds)/binWidth), runtimeBins-1)] += l.end
	return nil
}

// scaleSubmits and scaleEnds multiply weights by 2^-62 as often as needed. If forget is near 1, a weight may pass the
// limit several times in one step. It may even become infinite; then only the new job counts.
func (l *Live) scaleSubmits() {
	down := scaleOf(&l.submit)
	l.gaps.each(func(x *float64) { *x *= down })
	for k := range l.slots {
		l.slots[k] *= down
	}
}

func (l *Live) scaleEnds() {
	down := scaleOf(&l.end)
	l.n *= down
	l.short *= down
	for procs := range l.sizes {
		l.sizes[procs] *= down
		if l.sizes[procs] == 0 {
			delete(l.sizes, procs)
		}
	}
	for _, b := range l.bins {
		if b != nil {
			for i := range b {
				b[i] *= down
			}
		}
	}
}

// scaleOf scales a weight to below 2^62 and returns the factor.
func scaleOf(weight *float64) float64 {
	down := 1.0
	for *weight >= rescale {
		*weight = math.Ldexp(*weight, -62)
		down = math.Ldexp(down, -62)
	}
	return down
}

// each calls f with a pointer to every weighted sum.
func (g *gaps) each(f func(*float64)) {
	for _, x := range []*float64{
		&g.n, &g.sum, &g.dropped, &g.logs.n, &g.logs.sum, &g.logs.logs, &g.peak.n, &g.peak.sum, &g.peak.logs,
	} {
		f(x)
	}
}

// weighted returns the sums, scaled so that the latest job has the weight 1.
func (g gaps) weighted(latest float64) gaps {
	g.each(func(x *float64) { *x /= latest })
	return g
}

// Fit fits the model as [FitModel] does, but without the total work. machine is the number of processors; 0 means as
// many as the largest job. Here size groups are powers of two, and PeakKS is 0, because single gaps are not kept. The
// error joins the errors of the parts. Each part without an error is set.
func (l *Live) Fit(machine int) (ModelFit, error) {
	var f ModelFit
	var failed error
	var err error
	if f.Size, err = l.fitSizes(machine); err != nil {
		failed = errors.Join(failed, fmt.Errorf("sizes: %w", err))
	}
	if f.Runtime, err = l.fitRuntimes(); err != nil {
		failed = errors.Join(failed, fmt.Errorf("runtimes: %w", err))
	}
	g := l.gaps.weighted(l.submit)
	slots := l.slots
	for k := range slots {
		slots[k] /= l.submit
	}
	if err = errors.Join(f.Arrival.setGaps(&g, leastGap), f.Arrival.setDay(&slots)); err != nil {
		failed = errors.Join(failed, fmt.Errorf("arrivals: %w", err))
	}
	return f, failed
}

func (l *Live) fitSizes(machine int) (SizeFit, error) {
	if l.n/l.end < MinParallel-.5 {
		return SizeFit{}, fmt.Errorf("hypergamma: fit of %.0f sizes: %w (at least %d needed)",
			l.n/l.end, ErrTooFew, MinParallel)
	}
	var counts []sizeCount
	for _, p := range slices.Sorted(maps.Keys(l.sizes)) {
		counts = append(counts, sizeCount{p, l.sizes[p] / l.end})
	}
	return fitSizeCounts(counts, l.n/l.end, machine), nil
}

// spots returns the bins that are not empty. The value of a bin is its middle.
func (l *Live) spots(bins *[runtimeBins]float64) (out []spot, n float64) {
	for i, w := range bins {
		if w > 0 {
			x := (float64(i) + .5) * binWidth
			out = append(out, spot{x, math.Log(x), w / l.end})
			n += w / l.end
		}
	}
	return out, n
}

func (l *Live) fitRuntimes() (RuntimeFit, error) {
	var total [runtimeBins]float64
	for _, b := range l.bins {
		if b != nil {
			for i, w := range b {
				total[i] += w
			}
		}
	}
	spots, n := l.spots(&total)
	if n < MinSamples-.5 {
		return RuntimeFit{},
			fmt.Errorf("hypergamma: fit of %.0f runtimes: %w (at least %d needed)", n, ErrTooFew, MinSamples)
	}
	all, err := fitSpots(spots)
	if err != nil {
		return RuntimeFit{}, err
	}
	f := RuntimeFit{Fit: all}
	f.Dropped, f.Largest = int(math.Round(l.short/l.end)), math.Log(l.longest)
	var counts []sizeCount
	m := newMixture(f.Law)
	for class, b := range l.bins {
		if b == nil {
			continue
		}
		if group, n := l.spots(b); n > 0 {
			if sizes := l.sizesOf(class, n); len(sizes) > 0 {
				counts = append(counts, sizes...)
				f.Groups = append(f.Groups, m.group(sizes, group))
			}
		}
	}
	f.line()
	f.judge(counts, spots)
	return f, nil
}

// sizesOf returns the sizes of a class, scaled to n jobs. The scaling is needed because the bins leave out the jobs of
// at most 1 s.
func (l *Live) sizesOf(class int, n float64) (out []sizeCount) {
	sum := 0.0
	for _, p := range slices.Sorted(maps.Keys(l.sizes)) {
		if bits.Len(uint(p))-1 == class {
			out = append(out, sizeCount{p, l.sizes[p]})
			sum += l.sizes[p]
		}
	}
	for i := range out {
		out[i].n *= n / sum
	}
	return out
}
