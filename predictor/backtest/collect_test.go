package backtest

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine"
)

// fixed returns a function that returns these forecasts for waitcast and QBETS, and nil for other methods.
func fixed(served, qbets []float64) func(int) []float64 {
	return func(method int) []float64 {
		switch method {
		case 0:
			return served
		case 2:
			return qbets
		}
		return nil
	}
}

// methodsOfTest returns the methods, in the order that fixed uses.
func methodsOfTest() []string { return []string{Waitcast, Uncorrected, "qbets", "limits", "recent"} }

func flat(v float64) []float64 { return []float64{v, v, v, v} }

// started returns a job that was submitted and started after a wait, in seconds.
func started(submit, wait float64, queue string, procs int) Job {
	return Job{Submit: submit, Starts: true, Recorded: true, Start: submit + wait,
		Request: engine.Request{Queue: queue, Procs: procs}}
}

// TestPopulation proves that every submission is counted once, under the reason why it is scored or not.
func TestPopulation(t *testing.T) {
	never := started(5, 1, "a", 1)
	never.NeverRan = true
	unknown := started(6, 0, "a", 1)
	unknown.Recorded = false
	withAll := started(3, 1, "b", 1)
	withAll.User, withAll.Limit, withAll.Priority = "eve", 60, 7
	trace := &Trace{Name: "test", Jobs: []Job{
		started(0, 1, "a", 1), started(1, 1, "a", 1), started(2, 1, "a", 1), withAll,
		{Submit: 4, Cancelled: true, Recorded: true, End: 9}, never, unknown, {Submit: 7},
	}}
	c := newCollector(trace, 1, 1, methodsOfTest())
	for i := range trace.Jobs {
		served := flat(60)
		if i == 1 {
			served = nil
		}
		c.take(i, fixed(served, nil))
	}
	got := c.result(Constant{})
	want := Population{WarmUp: 1, Scored: 2, NoForecast: 1, Cancelled: 1, WaitUnknown: 1, NoStart: 2, WithLimit: 1,
		WithUser: 1, WithPriority: 1, Users: 1, Queues: 3}
	if diff := cmp.Diff(want, got.Population); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p := got.Population
	if n := p.WarmUp + p.Scored + p.NoForecast + p.Cancelled + p.WaitUnknown + p.NoStart; n != len(trace.Jobs) {
		t.Errorf("the counts add up to %d, want %d", n, len(trace.Jobs))
	}
	if diff := cmp.Diff(Period{First: 0, Last: 7}, got.Period); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGroups checks the figures of queues, sizes and lengths of forecasts, worked out by hand.
func TestGroups(t *testing.T) {
	trace := &Trace{Name: "test", Dated: true, Epoch: 1000, Jobs: []Job{
		started(0, 100, "long", 4), started(10, 300, "long", 4), started(20, 200, "long", 16),
		started(30, 0, "short", 1),
	}}
	c := newCollector(trace, 0, 1, methodsOfTest())
	for i, served := range []float64{150, 150, 150, 30} {
		c.take(i, fixed(flat(served), flat(2*served+60)))
	}
	got := c.result(Constant{})
	long, short := got.Queues[0], got.Queues[1]
	if len(got.Queues) != 2 || long.Name != "long" || short.Name != "short" {
		t.Fatalf("queues are %+v, want long and short", got.Queues)
	}
	near(t, "median wait of long", long.Wait[1], 200)
	near(t, "median error of long", *long.MedianAbsError, 50)          // the errors are 50, 150, 50
	near(t, "median error of QBETS of long", *long.QBETSAbsError, 160) // the errors are 260, 60, 160
	near(t, "covered of long", long.Coverage["0.5"][1], 1./3)
	near(t, "within a factor 2 of long", long.Within2, 1) // the forecast is 210, and the waits are 160, 360, 260
	near(t, "median error of short", *short.MedianAbsError, 30)
	if len(got.Sizes) != 3 || got.Sizes[1].Name != "2-8" || got.Sizes[1].N != 2 {
		t.Errorf("sizes are %+v, want 1, 2-8 with two jobs, and 9-64", got.Sizes)
	}
	if l := got.Lengths; len(l) != 2 || l[0].To != 60 || l[0].N != 1 || l[1].From != 60 || l[1].To != 600 ||
		l[1].N != 3 {
		t.Errorf("by forecast %+v, want one up to 60 s and three up to 600 s", got.Lengths)
	}
	if got.All.N != 4 || len(got.Spans) != 1 || got.Spans[0].From != 1000 || got.Spans[0].To != 1000+86400 {
		t.Errorf("all %+v, spans %+v; want 4 jobs on one day from 1000", got.All, got.Spans)
	}
	// QBETS' bound is (420, 420, 420, 180) with 60 s added, and that of waitcast (210, 210, 210, 90): the ratio is 2.
	if r := *got.Comparisons[0].BoundRatio; math.Abs(r-2) > .02 {
		t.Errorf("QBETS' bound is %v times as long, want 2 to 1 %%", r)
	}
}

// TestSteps proves that steps end at 100, 300, 1000 and 3000, and include the jobs of the warm-up.
func TestSteps(t *testing.T) {
	trace := &Trace{Name: "test"}
	for i := range 3500 {
		trace.Jobs = append(trace.Jobs, started(float64(i), 60, "a", 1))
	}
	c := newCollector(trace, 3400, 1, methodsOfTest())
	for i := range trace.Jobs {
		served := flat(60)
		if i < 50 {
			served = nil
		}
		c.take(i, fixed(served, flat(180)))
	}
	var ends []int
	for _, s := range c.result(Constant{}).Learning {
		ends = append(ends, s.To)
		if n := s.Served.N + s.NoForecast; n != s.To-s.From+1 {
			t.Errorf("step to %d has %d jobs, want %d", s.To, n, s.To-s.From+1)
		}
		near(t, "loss", s.Served.LogPinball["0.5"], 0)
		near(t, "loss of QBETS", s.QBETS.LogPinball["0.5"], .5*math.Ln2)
	}
	if diff := cmp.Diff([]int{100, 300, 1000, 3000, 3500}, ends); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManyQueues proves that the report shows the twenty queues with the most jobs, and all others together.
func TestManyQueues(t *testing.T) {
	trace := &Trace{Name: "test"}
	for i := range 300 { // queue k has the jobs i with k <= i % 25, so that the first has the most
		for k := range i%25 + 1 {
			trace.Jobs = append(trace.Jobs, started(float64(i), 1, string(rune('a'+k)), 1))
		}
	}
	c := newCollector(trace, 0, 1, methodsOfTest())
	for i := range trace.Jobs {
		c.take(i, fixed(flat(60), nil))
	}
	got, n := c.result(Constant{}).Queues, 0
	for _, g := range got {
		n += g.N
	}
	last := got[len(got)-1]
	if len(got) != 21 || got[0].Name != "a" || got[0].N != 300 || last.Queues != 5 || last.Name != "" ||
		n != len(trace.Jobs) {
		t.Errorf("%d groups of %d jobs, first %s, last of %d queues; want 21 of %d, a, 5", len(got), n, got[0].Name,
			last.Queues, len(trace.Jobs))
	}
}

// randomTrace returns a collector that has seen jobs of some days. The waits are log-normal, and each day has a median
// of its own. The forecast of waitcast knows the day's median, and that of QBETS does not.
func randomTrace(days, jobs int, seed uint64) *collector {
	rng := rand.New(rand.NewPCG(seed, 3))
	trace := &Trace{Name: "test"}
	var medians []float64
	for d := range days {
		median := math.Exp(6 + rng.NormFloat64())
		for i := range jobs {
			wait := median * math.Exp(rng.NormFloat64())
			trace.Jobs = append(trace.Jobs, started(float64(d)*day+float64(i), wait, "a", 1))
			medians = append(medians, median)
		}
	}
	c := newCollector(trace, 0, 1, methodsOfTest())
	scale := []float64{1, math.Exp(.6745), math.Exp(1.2816), math.Exp(1.6449)} // quantiles of the standard normal law
	for i := range trace.Jobs {
		var served, qbets []float64
		for _, s := range scale {
			served, qbets = append(served, medians[i]*s), append(qbets, math.Exp(6)*s)
		}
		c.take(i, fixed(served, qbets))
	}
	return c
}

// TestChance proves that the bootstrap's interval over days contains the estimate, and contains the truth in at least
// 80 % of 40 samples. The same log gives the same interval, and a log of few days gives none.
func TestChance(t *testing.T) {
	held, samples := 0, 40
	for seed := range samples {
		got := randomTrace(60, 20, uint64(seed)).result(Constant{}) //nolint:gosec // a small number
		r := got.Comparisons[0].Levels["0.5"]
		if !(r.Chance[0] <= *r.Ratio && *r.Ratio <= r.Chance[1]) || *r.Ratio >= 1 {
			t.Fatalf("seed %d: ratio %v with %v", seed, *r.Ratio, *r.Chance)
		}
		if c := got.CoverageChance["0.5"]; c[0] <= .5 && .5 <= c[1] {
			held++
		}
	}
	if held < samples*8/10 {
		t.Errorf("the interval of the median's coverage holds 0.5 in %d of %d samples", held, samples)
	}
	first, again := randomTrace(30, 5, 1).result(Constant{}), randomTrace(30, 5, 1).result(Constant{})
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same log again (-first +again):\n%s", diff)
	}
	if few := randomTrace(MinimumDays-1, 50, 1).result(Constant{}); few.CoverageChance != nil ||
		few.Comparisons[0].Levels["0.5"].Chance != nil || few.Days != MinimumDays-1 {
		t.Errorf("%d days have an interval of chance", few.Days)
	}
}

// TestBestConstantHasTheLeastLoss proves that no other constant has a lower loss, at any level.
func TestBestConstantHasTheLeastLoss(t *testing.T) {
	c := randomTrace(20, 30, 7)
	got := c.result(Constant{})
	best := got.Comparisons[len(got.Comparisons)-1]
	if best.Method != BestConstant || best.N != 600 {
		t.Fatalf("the last comparison is with %s on %d jobs", best.Method, best.N)
	}
	for _, level := range waittime.ScoredLevels() {
		name := LevelName(level)
		for factor := .25; factor < 4; factor += .05 {
			sum := 0.
			for _, j := range c.jobs {
				sum += waittime.Pinball(level, waittime.Log(factor*best.Seconds[name]), waittime.Log(j.wait))
			}
			if other := sum / 600; other < best.Levels[name].Other-1e-12 {
				t.Errorf("at %s %.0f s lose %v, less than %v", name, factor*best.Seconds[name], other,
					best.Levels[name].Other)
			}
		}
	}
}

// TestMillionJobs proves that a report of many jobs over 35 years has no more groups than one of a few jobs, and that a
// job takes at most 100 bytes. There are 100,000 jobs, and a million with WAITCAST_LONG.
func TestMillionJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("many jobs; left out by -short")
	}
	jobs := 100_000
	if os.Getenv("WAITCAST_LONG") != "" {
		jobs = 1_000_000
	}
	const days = 35 * 365
	trace := &Trace{Name: "test", Jobs: make([]Job, jobs)}
	for i := range trace.Jobs {
		trace.Jobs[i] = started(float64(i)*days*day/float64(jobs), float64(i%5000), string(rune('a'+i%26)), 1+i%64)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := newCollector(trace, 0, 1, methodsOfTest())
	served, qbets := []float64{1000, 2000, 3000, 4000}, []float64{2000, 3000, 4000, 5000}
	for i := range trace.Jobs {
		c.take(i, fixed(served, qbets))
	}
	c.jobs = slices.Clip(slices.Clone(c.jobs))
	runtime.GC()
	runtime.ReadMemStats(&after)
	if per := float64(after.HeapAlloc-before.HeapAlloc) / float64(jobs); per > 100 {
		t.Errorf("%.0f bytes for a job", per)
	}
	got := c.result(Constant{})
	if len(got.Times) > mostTimes || len(got.Spans) > mostSpans || len(got.Queues) > shownQueues+1 ||
		len(got.Learning) > 10 || len(got.Sizes) > 6 {
		t.Errorf("%d times, %d spans, %d queues, %d steps, %d sizes", len(got.Times), len(got.Spans), len(got.Queues),
			len(got.Learning), len(got.Sizes))
	}
	n := 0
	for _, g := range got.Times {
		n += g.N
	}
	if n != jobs || got.All.N != jobs {
		t.Errorf("the times have %d jobs, all %d", n, got.All.N)
	}
}
