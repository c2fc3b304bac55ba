package hypergamma

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// Groups is the number of size groups to which p(s) is fitted (paper, section 6.3).
const Groups = 8

// SizeGroup is a group of jobs with similar sizes.
type SizeGroup struct {
	From int     `json:"from"` // smallest number of processors
	To   int     `json:"to"`   // largest number of processors
	N    int     `json:"n"`    // number of jobs
	Mean float64 `json:"mean"` // mean number of processors of its jobs
	P    float64 `json:"p"`    // weight of the first Gamma law that gives its jobs the greatest likelihood
}

// RuntimeFit is the runtime model of a log (paper, sections 5 and 6; Tables 2 and 5).
type RuntimeFit struct {
	Fit           // the fit of all runtimes together
	A     float64 `json:"a"`
	B     float64 `json:"b"`
	AllKS float64 `json:"all_ks"` // D of the model with p(s) = A s + B for all jobs (Table 5)
	// There are at most [Groups] Groups, and fewer if there are fewer sizes. If there is one group, A is 0 and B is P.
	Groups []SizeGroup `json:"groups"`
}

// Params returns the fitted runtime model. Its cap is the longest runtime of the log. The paper has no cap; the
// authors' program has one.
func (f *RuntimeFit) Params() RuntimeParams {
	return RuntimeParams{First: f.First, Second: f.Second, PA: f.A, PB: f.B, MaxLog: f.Largest}
}

// FitRuntimeModel fits the runtime model in three steps. First it fits two Gamma laws to all jobs with [FitRuntimes].
// Then it fits the weight of the first law in each of 8 size groups by EM, while the laws stay fixed. Then it fits
// the line p = A s + B through the groups by least squares. A group counts with its mean size and its number of jobs.
// So the mean weight of the model equals the mean weight of all jobs together. (If every group had the same weight,
// KTH's B would be 0.730, far from the paper's 0.649.)
//
// A size is never divided between groups (paper, section 6.3). Groups are filled from the smallest size up. A group
// ends where its number of jobs is closest to its part of the remaining jobs; the remaining groups have equal parts.
// So a size with more jobs than that, such as the serial jobs of KTH (34 %), is a group by itself, and the other
// groups share the rest equally. Jobs of at most 1 s are left out.
func FitRuntimeModel(procs []int, seconds []float64) (RuntimeFit, error) {
	if len(procs) != len(seconds) {
		return RuntimeFit{}, fmt.Errorf("hypergamma: %d sizes with %d runtimes: %w", len(procs), len(seconds), ErrValue)
	}
	all, err := FitRuntimes(seconds)
	if err != nil {
		return RuntimeFit{}, err
	}
	f := RuntimeFit{Fit: all}
	var kept []int
	bySize := map[int][]float64{}
	var x []float64
	for i, t := range seconds {
		if t > 1 {
			kept = append(kept, procs[i])
			x = append(x, math.Log(t))
			bySize[procs[i]] = append(bySize[procs[i]], math.Log(t))
		}
	}
	counts, err := countSizes(kept)
	if err != nil {
		return RuntimeFit{}, err
	}
	m := newMixture(f.Law)
	for _, g := range groupSizes(counts) {
		var logs []float64
		for _, c := range g {
			logs = append(logs, bySize[c.procs]...)
		}
		f.Groups = append(f.Groups, m.group(g, tally(logs)))
	}
	f.line()
	f.judge(counts, tally(x))
	return f, nil
}

// judge sets AllKS. For all jobs together, the weight of the first Gamma law is the mean of the model's weights for
// their sizes.
func (f *RuntimeFit) judge(counts []sizeCount, spots []spot) {
	mean, n := 0.0, 0.0
	r := f.Params()
	for _, c := range counts {
		n += c.n
		mean += c.n * r.Law(c.procs).P
	}
	f.AllKS = ksSpots(spots, n, Law{First: f.First, Second: f.Second, P: mean / n}.CDF)
}

// groupSizes divides ascending sizes into at most Groups groups.
func groupSizes(counts []sizeCount) (groups [][]sizeCount) {
	left := 0.0
	for _, c := range counts {
		left += c.n
	}
	for len(counts) > 0 {
		part := left / float64(Groups-len(groups))
		n, jobs := 1, counts[0].n
		last := len(groups) == Groups-1
		for n < len(counts) && (last || math.Abs(jobs+counts[n].n-part) <= math.Abs(jobs-part)) {
			jobs += counts[n].n
			n++
		}
		groups = append(groups, counts[:n])
		counts = counts[n:]
		left -= jobs
	}
	return groups
}

// group fits the weight of the first Gamma law to the logarithms of one group. It runs EM on this weight only. The
// likelihood then has a single maximum.
func (m *mixture) group(sizes []sizeCount, spots []spot) SizeGroup {
	n := 0.0
	for _, c := range sizes {
		n += c.n
	}
	g := SizeGroup{From: sizes[0].procs, To: sizes[len(sizes)-1].procs, N: int(math.Round(n)), P: m.P}
	for _, c := range sizes {
		g.Mean += float64(c.procs) * c.n / n
	}
	unit := *m
	logit := math.Log(m.P) - math.Log1p(-m.P)
	for range 500 {
		unit.a = m.a - logit + math.Log(g.P) - math.Log1p(-g.P)
		sum := 0.0
		for _, s := range spots {
			sum += s.w * unit.share(s)
		}
		next := sum / n
		if math.Abs(next-g.P) < 1e-9 || next <= 0 || next >= 1 {
			g.P = next
			break
		}
		g.P = next
	}
	return g
}

func (f *RuntimeFit) line() {
	if len(f.Groups) < 2 {
		f.A, f.B = 0, f.P
		return
	}
	var x, y, w []float64
	for _, g := range f.Groups {
		x, y, w = append(x, g.Mean), append(y, g.P), append(w, float64(g.N))
	}
	f.B, f.A = stat.LinearRegression(x, y, w, false)
}
