package simulator_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/simulator"
)

// measured runs jobs first come, first served on 4 processors and returns the measures.
func measured(t *testing.T, m simulator.Measure, jobs ...simulator.Job) *simulator.Collector {
	t.Helper()
	m.Procs = 4
	s, c := machine(t, simulator.Config{Procs: 4}), simulator.NewCollector(m)
	submit(t, s, jobs...)
	if err := s.Advance(math.Inf(1), c.Observe); err != nil {
		t.Fatal(err)
	}
	return c
}

// three returns jobs that run one after the other: 1000-1010, 1010-1015, 1015-1115; their waits are 0, 10 and 13.
func three() []simulator.Job {
	return []simulator.Job{
		{ID: 1, Submit: 1000, Procs: 4, Runtime: 10, Queue: "a", User: 1},
		{ID: 2, Submit: 1000, Procs: 3, Runtime: 5, Queue: "b", User: 2},
		{ID: 3, Submit: 1002, Procs: 4, Runtime: 100, Queue: "a", User: 2},
	}
}

// TestMeasuresByHand compares the measures with figures that were computed by hand from the definitions.
func TestMeasuresByHand(t *testing.T) {
	near := cmpopts.EquateApprox(1e-12, 0)
	r := measured(t, simulator.Measure{Until: 1100, Step: 50, Users: true}, three()...).Report()
	if d := cmp.Diff([]float64{
		1000, 1100, (40. + 15 + 4*85) / 400, 2. / 100, (10. + 13) / 100, 2, 3, 3,
		23. / 3, 10, 13, 13, (1 + 1.5 + 1.13) / 3, 1.13, 1.5, (1 + 3 + 1.13) / 3, 40 + 15 + 400,
	}, []float64{
		r.From, r.Until, r.Utilization, r.Throughput, r.MeanQueue, float64(r.MaxQueue), float64(r.All.Jobs),
		float64(len(r.Series)),
		r.All.Wait.Mean, r.All.Wait.Median, r.All.Wait.P95, r.All.Wait.Max, r.All.Bounded.Mean, r.All.Bounded.Median,
		r.All.Bounded.Max, r.All.Slowdown.Mean, r.All.Work,
	}, near); d != "" {
		t.Errorf("(-hand +collector):\n%s", d)
	}
	if d := cmp.Diff([]simulator.Point{
		{At: 1000, Queue: 23. / 50, Utilization: (40. + 15 + 4*35) / 200}, {At: 1050, Utilization: 1},
		{At: 1100, Utilization: 1},
	}, r.Series, near); d != "" {
		t.Errorf("series (-hand +collector):\n%s", d)
	}
	type row struct {
		Name string
		Jobs int
		Wait float64
	}
	var rows []row
	for _, g := range append(append(r.Queues, r.Sizes...), r.Users...) {
		rows = append(rows, row{g.Name, g.Jobs, g.Wait.Mean})
	}
	if d := cmp.Diff([]row{{"a", 2, 6.5}, {"b", 1, 10}, {"3-4", 3, 23. / 3}, {"1", 1, 0}, {"2", 2, 11.5}}, rows,
		near); d != "" {
		t.Errorf("groups (-hand +collector):\n%s", d)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// TestWarmUpIsCut leaves out the jobs submitted before 1001, and the time before it.
func TestWarmUpIsCut(t *testing.T) {
	c := measured(t, simulator.Measure{From: 1001, Until: 1011, Threshold: 200}, three()...)
	r := c.Report()
	if d := cmp.Diff([]float64{1, 13, 1, (36. + 3) / 40, 1. / 10, (9. + 9) / 10}, []float64{
		float64(r.All.Jobs), r.All.Wait.Mean, r.All.Bounded.Mean, r.Utilization, r.Throughput, r.MeanQueue,
	}, cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Errorf("(-hand +collector):\n%s", d)
	}
}

// TestMeasuresOfNothing proves that an empty schedule has measures that JSON can hold.
func TestMeasuresOfNothing(t *testing.T) {
	r := measured(t, simulator.Measure{Step: 10}).Report()
	if text, err := json.Marshal(r); err != nil || r.All.Jobs != 0 || r.Saturated {
		t.Errorf("%s, %v", text, err)
	}
}

// TestAveragesEndWithTheLastSubmit proves that if no end is given, the time in which the machine only empties does not
// count.
func TestAveragesEndWithTheLastSubmit(t *testing.T) {
	jobs := append(three(), simulator.Job{ID: 4, Submit: 1010, Procs: 1, Runtime: 5000})
	r := measured(t, simulator.Measure{}, jobs...).Report()
	if d := cmp.Diff([]float64{1010, 1, 1.8, 5115 + 1000}, []float64{r.Until, r.Utilization, r.MeanQueue, r.Makespan},
		cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Errorf("(-hand +collector):\n%s", d)
	}
}

func TestSizeClasses(t *testing.T) {
	for procs, want := range map[int]string{
		1: "1", 2: "2", 3: "3-4", 4: "3-4", 5: "5-8", 8: "5-8", 9: "9-16", 1000: "513-1024", 0: "1",
	} {
		if got := simulator.SizeClass(procs); got != want {
			t.Errorf("size class of %d: %s, want %s", procs, got, want)
		}
	}
}

// TestSaturationFollowsThePaper checks the paper's four steps on rows with an obvious result.
func TestSaturationFollowsThePaper(t *testing.T) {
	for name, c := range map[string]struct {
		weekly    []int
		slope     float64
		saturated bool
	}{
		"grows by 2 a week":               {[]int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}, 2, true},
		"grows by 1 a week: not above":    {[]int{0, 1, 2, 3, 4}, 1, false},
		"a crowd that goes away":          {[]int{1, 90, 80, 70, 1, 1, 1, 1, 50, 60}, 0, false},
		"only the last fifth grows":       {[]int{3, 3, 3, 3, 3, 3, 3, 3, 90, 900}, 0, false},
		"too short to tell":               {[]int{5}, 0, false},
		"nothing":                         {nil, 0, false},
		"empties while nobody submits":    {[]int{10, 20, 30, 0}, 0, false},
		"five weeks: the last is dropped": {[]int{0, 3, 6, 9, 9}, 3, true},
	} {
		slope, saturated := simulator.Saturation(c.weekly)
		if saturated != c.saturated || math.Abs(slope-c.slope) > 1e-9 {
			t.Errorf("%s: slope %v, saturated %v, want %v, %v", name, slope, saturated, c.slope, c.saturated)
		}
	}
}

// TestAnOverloadedMachineIsSaturated plays two workloads on a machine for one job: every day a job of 2 days, or one of
// half a day.
func TestAnOverloadedMachineIsSaturated(t *testing.T) {
	for days, saturated := range map[float64]bool{2: true, .5: false} {
		var jobs []simulator.Job
		for day := range 200 {
			jobs = append(jobs, simulator.Job{Submit: float64(day) * 86400, Procs: 4, Runtime: days * 86400})
		}
		r := measured(t, simulator.Measure{}, jobs...).Report()
		if r.Saturated != saturated || saturated && math.Abs(r.Growth-3.5) > .05 {
			t.Errorf("jobs of %v days: saturated %v, %v jobs a week", days, r.Saturated, r.Growth)
		}
	}
}

// TestConfidenceIntervals compares with Student's t from a table: t(.975, 4) = 2.776, t(.95, 1) = 6.314.
func TestConfidenceIntervals(t *testing.T) {
	got, err := simulator.Confidence([]float64{1, 2, 3, 4, 5}, .95)
	half := 2.776 * math.Sqrt(2.5/5)
	if d := cmp.Diff(simulator.Interval{Mean: 3, Low: 3 - half, High: 3 + half, N: 5}, got,
		cmpopts.EquateApprox(0, 1e-3)); d != "" || err != nil {
		t.Errorf("%v (-table +got):\n%s", err, d)
	}
	got, err = simulator.Confidence([]float64{2, 6}, .9)
	half = 6.314 * math.Sqrt(8./2)
	if d := cmp.Diff(simulator.Interval{Mean: 4, Low: 4 - half, High: 4 + half, N: 2}, got,
		cmpopts.EquateApprox(0, 1e-2)); d != "" || err != nil {
		t.Errorf("%v (-table +got):\n%s", err, d)
	}
	if one, err := simulator.Confidence([]float64{7}, .95); err != nil || !math.IsInf(one.High, 1) {
		t.Errorf("of one value: %+v, %v", one, err)
	}
	for _, f := range []func() (simulator.Interval, error){
		func() (simulator.Interval, error) { return simulator.Confidence(nil, .95) },
		func() (simulator.Interval, error) { return simulator.Confidence([]float64{1}, 1) },
	} {
		if got, err := f(); err == nil {
			t.Errorf("%+v without an error", got)
		}
	}
}

func TestLoadIsScaled(t *testing.T) {
	jobs := []simulator.Job{job(1, 100, 2, 10, 20), job(2, 200, 1, 30, 0), job(3, 300, 1, 50, 60)}
	jobs[2].Estimate = 55
	drawn := func(s simulator.Source) (out []simulator.Job) {
		for j, ok := s(); ok; j, ok = s() {
			out = append(out, j)
		}
		return out
	}
	closer := drawn(simulator.ScaleInterarrivals(simulator.FromSlice(jobs), .5))
	if closer[0].Submit != 100 || closer[1].Submit != 150 || closer[2].Submit != 200 || closer[1].Runtime != 30 {
		t.Errorf("interarrivals: %+v", closer)
	}
	if got := simulator.OfferedLoad(jobs, 2); got != 100./200/2 {
		t.Errorf("load %v, want .25", got)
	}
	if got := simulator.OfferedLoad(closer, 2); got != .5 {
		t.Errorf("twice the load: %v, want .5", got)
	}
	if simulator.OfferedLoad(nil, 1) != 0 || simulator.OfferedLoad(jobs[:1], 1) != 0 {
		t.Error("a load of one instant")
	}
}
