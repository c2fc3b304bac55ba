package hypergamma_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/workload/hypergamma"
)

// sample holds the values of one statistic in several runs.
type sample []float64

func (s *sample) add(x float64) { *s = append(*s, x) }
func (s sample) mean() float64  { return stat.Mean(s, nil) }
func (s sample) sd() float64    { return stat.StdDev(s, nil) }

// reference holds what lublin99.json says about 200,000 jobs of the authors' program.
type reference struct {
	Jobs          int                `json:"jobs"`
	Runtimes      map[string]float64 `json:"runtime_seconds_quantiles"`
	Interarrivals map[string]float64 `json:"interarrival_seconds_quantiles"`
	MeanGap       float64            `json:"mean_interarrival_seconds"`
	Sizes         map[string]float64 `json:"size_pmf_top"`
	Serial        float64            `json:"serial_fraction"`
	PowerOfTwo    float64            `json:"power_of_two_fraction_of_parallel"`
	Correlation   float64            `json:"size_runtime_correlation"`
	MeanSize      float64            `json:"mean_size"`
	MeanRuntime   float64            `json:"mean_runtime_seconds"`
	HalfHours     []float64          `json:"arrival_fraction_per_half_hour"`
	Queues        map[string]float64 `json:"queue_fraction"`
}

func readReference(t *testing.T, model string) reference {
	t.Helper()
	text, err := os.ReadFile(refdata.Shared(t, "reference/lublin99.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]reference
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	r, ok := all[model]
	if !ok || r.Jobs == 0 || len(r.HalfHours) != hypergamma.Slots {
		t.Fatalf("no %q in the reference", model)
	}
	return r
}

// run holds what the program would have printed for the jobs of our generator. The program cuts runtimes to whole
// seconds, and so does its clock after every job.
type run struct {
	procs, runtime, submit []float64
	first                  float64 // the fraction of class 0
	class                  []int   // by job, if it was kept
}

// remix returns the statistics of runtimes and sizes as they would be with the given fraction of jobs in class 0. The
// other statistics stay.
func (r run) remix(ref reference, first float64) stats {
	parts := [2]run{}
	for i, c := range r.class {
		parts[c].submit = append(parts[c].submit, r.submit[i])
		parts[c].procs = append(parts[c].procs, r.procs[i])
		parts[c].runtime = append(parts[c].runtime, r.runtime[i])
	}
	s, a, b := r.stats(ref), parts[0].stats(ref), parts[1].stats(ref)
	for name := range s {
		if strings.HasPrefix(name, "runtime") || strings.HasPrefix(name, "size") {
			s[name] = first*a[name] + (1-first)*b[name]
		}
	}
	return s
}

func simulate(t *testing.T, seed uint64, n int, cut bool, p []hypergamma.Params) run {
	t.Helper()
	g, err := hypergamma.New(rand.New(rand.NewPCG(seed, 99)), p...)
	if err != nil {
		t.Fatal(err)
	}
	var r run
	exact, clock := make([]float64, len(p)), make([]float64, len(p))
	for range n {
		j := g.Next()
		c := clock[j.Class] + j.Submit - exact[j.Class]
		if cut {
			c = math.Floor(c)
		}
		exact[j.Class], clock[j.Class] = j.Submit, c
		r.submit = append(r.submit, c)
		r.procs = append(r.procs, float64(j.Procs))
		r.runtime = append(r.runtime, math.Floor(j.Runtime))
		if j.Class == 0 {
			r.first += 1 / float64(n)
		}
	}
	slices.Sort(r.submit) // cutting shifts the classes' clocks a little against each other
	return r
}

// stats holds every statistic of the reference by its name.
type stats map[string]float64

func (r run) stats(ref reference) stats {
	n := float64(len(r.submit))
	s := stats{
		"first queue": r.first, "mean size": stat.Mean(r.procs, nil), "mean runtime": stat.Mean(r.runtime, nil),
		"correlation":       stat.Correlation(r.procs, r.runtime, nil),
		"mean interarrival": (r.submit[len(r.submit)-1] - r.submit[0]) / (n - 1),
	}
	var sizes [129]float64
	parallel, powers := 0.0, 0.0
	for _, v := range r.procs {
		procs := int(v)
		sizes[procs]++
		if procs > 1 {
			parallel++
			if procs&(procs-1) == 0 {
				powers++
			}
		}
	}
	for procs, count := range sizes {
		s["size "+strconv.Itoa(procs)] = count / n
	}
	s["power of two"] = powers / parallel
	var halfHours [hypergamma.Slots]float64
	gaps := make([]float64, 0, len(r.submit))
	for i, t := range r.submit {
		halfHours[int(math.Mod(t, 86400)/hypergamma.SlotSeconds)]++
		if i > 0 {
			gaps = append(gaps, t-r.submit[i-1])
		}
	}
	for k, count := range halfHours {
		s[halfHour(k)] = count / n
	}
	runtimes := slices.Clone(r.runtime)
	slices.Sort(runtimes)
	slices.Sort(gaps)
	for p, q := range ref.Runtimes {
		s["runtime "+p+" below"], s["runtime "+p+" upto"] = cdf(runtimes, q-1), cdf(runtimes, q)
	}
	for p, q := range ref.Interarrivals {
		s["interarrival "+p+" below"], s["interarrival "+p+" upto"] = cdf(gaps, q-1), cdf(gaps, q)
	}
	return s
}

func halfHour(k int) string { return fmt.Sprintf("half hour %02d", k) }

// cdf returns the fraction of sorted values up to q.
func cdf(sorted []float64, q float64) float64 {
	n, _ := slices.BinarySearch(sorted, math.Nextafter(q, math.Inf(1)))
	return float64(n) / float64(len(sorted))
}

// wanted returns the reference's value of each statistic for which it gives a number.
func (ref reference) wanted() stats {
	s := stats{
		"mean size": ref.MeanSize, "mean runtime": ref.MeanRuntime, "correlation": ref.Correlation,
		"mean interarrival": ref.MeanGap, "power of two": ref.PowerOfTwo, "size 1": ref.Serial,
	}
	for name, v := range ref.Sizes {
		s["size "+name] = v
	}
	for k, v := range ref.HalfHours {
		s[halfHour(k)] = v
	}
	if v, ok := ref.Queues["0"]; ok {
		s["first queue"] = v
	}
	return s
}

// compare returns, for each statistic, by how many standard errors the reference lies from the mean of our runs. The
// reference is one run, so the error of the difference is sd sqrt(1 + 1/runs), with the sd between our runs. This holds
// even if jobs depend on each other. For a quantile q at p the reference says F(q-1) < p <= F(q) in whole seconds, so
// compare uses the amount by which our F breaks one of these bounds. The sd of a probability is at least the binomial
// one.
func compare(ref reference, runs []stats) stats {
	z := stats{}
	gather := func(name string) (mean, sd float64) {
		var s sample
		for _, r := range runs {
			s.add(r[name])
		}
		return s.mean(), s.sd() * math.Sqrt(1+1/float64(len(runs)))
	}
	for name, want := range ref.wanted() {
		mean, sd := gather(name)
		z[name] = (want - mean) / sd
	}
	for kind, quantiles := range map[string]map[string]float64{
		"runtime ": ref.Runtimes, "interarrival ": ref.Interarrivals,
	} {
		for name := range quantiles {
			p, err := strconv.ParseFloat(name, 64)
			if err != nil {
				z[kind+name] = math.NaN()
				continue
			}
			least := math.Sqrt(p * (1 - p) / float64(ref.Jobs))
			below, sdBelow := gather(kind + name + " below")
			upto, sdUpto := gather(kind + name + " upto")
			z[kind+name] = max((p-upto)/max(sdUpto, least), (below-p)/max(sdBelow, least), 0)
		}
	}
	return z
}

func referenceZ(t *testing.T, model string, repeat uint64, cut bool, p ...hypergamma.Params) stats {
	t.Helper()
	ref := readReference(t, model)
	var runs []stats
	for seed := range repeat {
		runs = append(runs, simulate(t, seed, ref.Jobs, cut, p).stats(ref))
	}
	return compare(ref, runs)
}

func (z stats) worst() (string, float64) {
	name, most := "", 0.0
	for k, v := range z {
		if !(math.Abs(v) <= most) {
			name, most = k, math.Abs(v)
		}
	}
	return name, most
}

// meanSquare returns the mean of z^2 over the half hours, about 1 if the differences are chance.
func (z stats) meanSquare() (sum float64) {
	for k := range hypergamma.Slots {
		sum += z[halfHour(k)] * z[halfHour(k)] / hypergamma.Slots
	}
	return sum
}

const (
	allModel  = "all-jobs model"
	bothModel = "batch and interactive models"
)

// TestGeneratorAgreesWithTheAuthorsProgram compares all statistics with the program's own. With 16 runs a difference
// follows Student's t with 15 degrees of freedom, which exceeds 4.5 once in 2,300 times. There are 80 statistics.
func TestGeneratorAgreesWithTheAuthorsProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("draws millions of jobs; left out by -short")
	}
	for model, p := range map[string][]hypergamma.Params{
		allModel:  {hypergamma.ProgramAll(128)},
		bothModel: {hypergamma.ProgramInteractive(128), hypergamma.ProgramBatch(128)},
	} {
		t.Run(model, func(t *testing.T) {
			z := referenceZ(t, model, 16, true, p...)
			if len(z) < 75 {
				t.Fatalf("only %d statistics compared", len(z))
			}
			for name, v := range z {
				if !(math.Abs(v) < 4.5) {
					t.Errorf("%s: the reference is %.1f standard errors off", name, v)
				}
			}
			if m := z.meanSquare(); m > 2 {
				t.Errorf("half hours: mean square %.2f, want about 1", m)
			}
			name, v := z.worst()
			t.Logf("%d statistics, worst %s at %.1f standard errors; half hours' mean square %.2f", len(z), name, v,
				z.meanSquare())
		})
	}
}

// TestReferenceTellsMisreadingsApart proves that the comparison above could fail: it fails for models with common
// misreadings of the paper.
func TestReferenceTellsMisreadingsApart(t *testing.T) {
	if testing.Short() {
		t.Skip("draws millions of jobs; left out by -short")
	}
	type params = hypergamma.Params
	for statistic, c := range map[string]struct {
		cut     bool
		misread func(p *params)
	}{
		"power of two": {true, func(p *params) { p.Size.PowerOfTwo = .576 }},
		"runtime 0.5": {true, func(p *params) {
			p.Runtime.First, p.Runtime.Second = p.Runtime.Second, p.Runtime.First
		}},
		"correlation":      {true, func(p *params) { p.Runtime.PA, p.Runtime.PB = 0, .71 }},
		"interarrival 0.5": {true, func(p *params) { p.Arrival.ARAR = 1 }},
		"interarrival 0.1": {true, func(p *params) { p.Arrival.Daily = hypergamma.Gamma{Shape: 40, Scale: .8} }},
		"half hour 27":     {false, func(*params) {}},
	} {
		t.Run(statistic, func(t *testing.T) {
			p := hypergamma.ProgramAll(128)
			c.misread(&p)
			if v := referenceZ(t, allModel, 4, c.cut, p)[statistic]; !(math.Abs(v) > 6) {
				t.Errorf("the misreading passes: %.1f standard errors", v)
			}
		})
	}
}
