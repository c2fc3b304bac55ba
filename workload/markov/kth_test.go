package markov_test

import (
	"bufio"
	"compress/gzip"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/workload/markov"
)

// jobsOf holds the columns of the jobs that ran, in the order of submission.
type jobsOf struct{ procs, runtime []float64 }

func readKTH(t testing.TB) jobsOf { return readTrace(t, "KTH-SP2-1996-2.1-cln") }

// readTrace reads processors (field 5) and runtime (field 4) of the jobs in which both are above 0.
func readTrace(t testing.TB, name string) jobsOf {
	t.Helper()
	f, err := os.Open(refdata.Shared(t, "traces/"+name+".swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var jobs jobsOf
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], ";") {
			continue
		}
		runtime, err := strconv.ParseFloat(fields[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		procs, err := strconv.ParseFloat(fields[4], 64)
		if err != nil {
			t.Fatal(err)
		}
		if runtime > 0 && procs > 0 {
			jobs.procs = append(jobs.procs, procs)
			jobs.runtime = append(jobs.runtime, runtime)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return jobs
}

func (j jobsOf) values() []ran {
	out := make([]ran, len(j.procs))
	for i := range out {
		out[i] = ran{procs: int(j.procs[i]), runtime: j.runtime[i]}
	}
	return out
}

func learn(t testing.TB, jobs jobsOf) *markov.Model {
	t.Helper()
	m := newModel(t, 0)
	for i, p := range jobs.procs {
		if err := m.Append(int(p), jobs.runtime[i]); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func autocorrelation(x []float64) float64 { return stat.Correlation(x[:len(x)-1], x[1:], nil) }

func ks(a, b []float64) float64 {
	return stat.KolmogorovSmirnov(slices.Sorted(slices.Values(a)), nil, slices.Sorted(slices.Values(b)), nil)
}

func squashedArea(j jobsOf) (area float64) {
	for i, p := range j.procs {
		area += p * j.runtime[i]
	}
	return area
}

// TestKTHChains compares with the KTH row of Table 3: 18 runtime states and, by eq. 3, 7 processor states (the table
// says 8); cor0 .037 and cor1 .142 there, .036 and .143 in an independent computation. Autocorrelations of the raw
// values in the order of submission are .29 both in Table 6, .287 and .293 independently. The correlation of the two is
// .011 in Table 5, .010 independently.
func TestKTHChains(t *testing.T) {
	jobs := readKTH(t)
	c := learn(t, jobs).Chains()
	if n := len(c.Runtime.States); n != 18 {
		t.Errorf("%d runtime states, want 18", n)
	}
	// 100 processors have the states 2^0 to 2^6.
	if want := []int64{1, 2, 4, 8, 16, 32, 64}; !slices.Equal(c.Procs.States, want) {
		t.Errorf("processor states %v, want %v", c.Procs.States, want)
	}
	near(t, "cor0", c.Cor0, 0.036, 0.002)
	near(t, "cor1", c.Cor1, 0.143, 0.002)
	near(t, "autocorrelation of processors", autocorrelation(jobs.procs), 0.287, 0.001)
	near(t, "autocorrelation of runtimes", autocorrelation(jobs.runtime), 0.293, 0.001)
	near(t, "correlation", stat.Correlation(jobs.procs, jobs.runtime, nil), 0.010, 0.001)
	compareChains(t, c, batch(jobs.values()))
}

// TestDimensionsOfTable3 compares the numbers of runtime and processor states of the logs at hand with Table 3. For
// more figures these versions of the logs differ too much from the paper's.
func TestDimensionsOfTable3(t *testing.T) {
	for name, want := range map[string][2]int{
		"NASA-iPSC-1993-3.1-cln": {16, 8}, "CTC-SP2-1996-3.1-cln": {17, 9}, "LANL-CM5-1994-4.1-cln": {18, 6},
		"SDSC-SP2-1998-4.2-cln": {19, 8},
	} {
		t.Run(name, func(t *testing.T) {
			c := learn(t, readTrace(t, name)).Chains()
			if got := [2]int{len(c.Runtime.States), len(c.Procs.States)}; got != want {
				t.Errorf("%d runtime and %d processor states, want %d and %d", got[0], got[1], want[0], want[1])
			}
		})
	}
}

// drawn holds the means over 20 runs of as many jobs as KTH has.
type drawn struct{ ksProcs, ksRuntime, acProcs, acRuntime, cor, area float64 }

func drawKTH(t *testing.T, jobs jobsOf, c *markov.Chains, options ...markov.Option) (mean drawn) {
	t.Helper()
	const runs = 20
	for seed := range uint64(runs) {
		g, err := markov.NewGenerator(c, rand.New(rand.NewPCG(seed, 1)), options...)
		if err != nil {
			t.Fatal(err)
		}
		var out jobsOf
		for range jobs.procs {
			p, r := g.Next()
			out.procs = append(out.procs, float64(p))
			out.runtime = append(out.runtime, r)
		}
		mean.ksProcs += ks(jobs.procs, out.procs) / runs
		mean.ksRuntime += ks(jobs.runtime, out.runtime) / runs
		mean.acProcs += autocorrelation(out.procs) / runs
		mean.acRuntime += autocorrelation(out.runtime) / runs
		mean.cor += stat.Correlation(out.procs, out.runtime, nil) / runs
		mean.area += (squashedArea(out)/squashedArea(jobs) - 1) / runs
	}
	return mean
}

// TestKTHGenerated proves that jobs drawn from KTH's chains come as near to it as those of an independent program: KS
// .033 (processors) and .030 (runtime), autocorrelation .294 +- .008 and .267 +- .022, correlation .027 to .036,
// squashed area +16 to +36 % depending on the rounding. The paper has KS .04 and .03, autocorrelation .29 and .30, area
// +15 % there and +38 % at worst (Tables 4 and 6). With every kind of rounding KS is at most .045 and .04,
// autocorrelations are within .03 and .05 of the trace's, and the area is off by at most 38 %. Rounding down keeps it
// below +20 %.
func TestKTHGenerated(t *testing.T) {
	jobs := readKTH(t)
	c := learn(t, jobs).Chains()
	least := math.Inf(1)
	for name, r := range map[string]markov.Rounding{"nearest": markov.Nearest, "down": markov.Down, "up": markov.Up} {
		m := drawKTH(t, jobs, c, markov.WithRounding(r))
		t.Logf("%s: %+v", name, m)
		if m.ksProcs > .045 || m.ksRuntime > .04 {
			t.Errorf("%s: KS %v and %v", name, m.ksProcs, m.ksRuntime)
		}
		near(t, name+", autocorrelation of processors", m.acProcs, autocorrelation(jobs.procs), 0.03)
		near(t, name+", autocorrelation of runtime", m.acRuntime, autocorrelation(jobs.runtime), 0.05)
		near(t, name+", squashed area", m.area, 0, 0.38)
		least = min(least, m.area)
		if r == markov.Nearest {
			near(t, "KS of processors", m.ksProcs, 0.033, 0.006)
			near(t, "KS of runtime", m.ksRuntime, 0.030, 0.004)
			near(t, "autocorrelation of processors", m.acProcs, 0.294, 0.015)
			near(t, "autocorrelation of runtime", m.acRuntime, 0.267, 0.02)
			near(t, "correlation", m.cor, 0.0315, 0.0065)
			near(t, "squashed area", m.area, 0.26, 0.10)
		}
	}
	if least > .20 {
		t.Errorf("squashed area %+.3f with the best rounding, want at most +20 %%", least)
	}
	t.Logf("without feedback: %+v", drawKTH(t, jobs, c, markov.WithoutFeedback()))
	t.Logf("without rules: %+v", drawKTH(t, jobs, c, markov.WithoutRules()))
}
