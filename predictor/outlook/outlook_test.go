package outlook

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/backtest"
)

// check reports what is wrong with a forecast: quantiles that cross, fall below 0, or are no numbers.
func check(t interface{ Errorf(string, ...any) }, fc *Forecast) {
	bad := func(what string, q Quantiles) {
		if !slices.IsSorted(q[:]) || !(q[0] >= 0) || slices.ContainsFunc(q[:], math.IsNaN) {
			t.Errorf("%s: quantiles %v", what, q)
		}
	}
	for _, l := range append([]Future{fc.Cluster}, fc.Queues...) {
		for i := range l.Points {
			for s := range seriesCount {
				bad(l.Queue+" "+s.String(), l.Points[i].Of(s))
			}
		}
	}
	for _, w := range fc.Waits {
		bad("wait of "+w.Standard, w.Seconds)
	}
}

// TestQuantilesRiseFromZero proves that for any state quantiles never cross and are never negative, and that equal
// states have equal forecasts.
func TestQuantilesRiseFromZero(t *testing.T) {
	c := newCluster(t, small(), 64, 8, 1)
	c.observe(t, 8*day)
	rapid.Check(t, func(t *rapid.T) {
		s := State{Now: c.machine.Now() + 10,
			Pools: []Pool{{Name: "a", Procs: rapid.IntRange(1, 128).Draw(t, "procs"), Queues: []string{"short"}},
				{Name: "b", Procs: 16}}}
		if rapid.Bool().Draw(t, "outage") {
			s.Pools[0].Outages = []Outage{{From: s.Now + 100, Until: s.Now + 7200, Procs: s.Pools[0].Procs / 2}}
		}
		job := rapid.Custom(func(t *rapid.T) Job {
			return Job{
				ID:    rapid.Uint64().Draw(t, "id"),
				Queue: rapid.SampledFrom([]string{"short", "long", "new"}).Draw(t, "queue"), User: "a",
				Procs:    rapid.IntRange(1, 200).Draw(t, "procs"),
				Limit:    rapid.SampledFrom([]float64{0, 60, 3600, 1e6}).Draw(t, "limit"),
				Submit:   s.Now - rapid.Float64Range(0, 1e5).Draw(t, "waited"),
				Start:    s.Now - rapid.Float64Range(0, 1e5).Draw(t, "age"),
				Eligible: rapid.SampledFrom([]float64{0, s.Now + 1800, math.Inf(1)}).Draw(t, "eligible"),
			}
		})
		s.Running, s.Waiting = rapid.SliceOfN(job, 0, 6).Draw(t, "running"),
			rapid.SliceOfN(job, 0, 6).Draw(t, "waiting")
		once, err := c.f.Forecast(context.Background(), &s)
		if err != nil {
			t.Fatal(err)
		}
		check(t, once)
		again, err := c.f.Forecast(context.Background(), &s)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(once, again); d != "" {
			t.Fatalf("the same state, another forecast:\n%s", d)
		}
	})
}

// TestWorkersChangeNothing proves that the number of goroutines that play replicas does not change a forecast.
func TestWorkersChangeNothing(t *testing.T) {
	var all []*Forecast
	for _, workers := range []int{1, 3} {
		o := small()
		o.Workers = workers
		c := newCluster(t, o, 64, 8, 1)
		all = append(all, forecast(t, c.f, c.observe(t, 4*day)))
	}
	if d := cmp.Diff(all[0], all[1]); d != "" {
		t.Fatal(d)
	}
}

// TestBandsOfASteadyMachineCover proves that for jobs that come by a steady Poisson process the band of queued work
// covers 90 %.
func TestBandsOfASteadyMachineCover(t *testing.T) {
	o := small()
	o.Standards = []Standard{}
	c := newCluster(t, o, 64, 14, 2)
	c.observe(t, 12*day)
	before := c.f.Scores()
	c.observe(t, 40*day)
	for i, s := range c.f.Scores() {
		if s.Queues || s.Series != QueuedWork && s.Series != ArrivedJobs {
			continue
		}
		n := s.N - before[i].N // as long as N is below scoreMemory, means are plain
		outside := ((s.Below+s.Above)*s.N - (before[i].Below+before[i].Above)*before[i].N) / n
		if n < 650 || s.N >= scoreMemory {
			t.Fatalf("%v: %v outcomes", s.Series, n)
		}
		// There are about 670 outcomes. At 6 h only about a sixth of them are independent. So three deviations are
		// 0.035 at 1 h and 0.085 at 6 h.
		slack := map[float64]float64{hour: .035, 6 * hour: .085}[s.Horizon]
		low := .1 - slack
		// With about 14 jobs per hour the whole numbers at the band's ends, each with several hundredths of
		// probability, count as covered.
		if s.Series == ArrivedJobs {
			low = .02
		}
		if outside < low || outside > .1+slack {
			t.Errorf("%v at %g h: %.3f of %v are outside the band", s.Series, s.Horizon/hour, outside, n)
		}
		if s.Mean(0) >= min(s.Mean(2), s.Mean(3)) {
			t.Errorf("%v at %g h: loss %.4f, present value %.4f, last week %.4f", s.Series, s.Horizon/hour, s.Mean(0),
				s.Mean(2), s.Mean(3))
		}
	}
}

// TestFutureDoesNotLeak proves that a change of a trace's future, including the remaining runtimes of running jobs,
// does not change the forecast.
func TestFutureDoesNotLeak(t *testing.T) {
	const at = 12*day + .5
	var all []*Forecast
	for _, altered := range []bool{false, true} {
		r := openTrace(t, "KTH-SP2-1996-2.1-cln.swf.gz")
		for i := range r.trace.Jobs {
			j := &r.trace.Jobs[i]
			if !altered {
				continue
			}
			if j.Submit > at {
				j.Procs, j.User, j.Limit = 1+j.Procs/2, "other", 2*j.Limit+60
			}
			if j.Starts && j.Start > at {
				j.Start += 5 * hour
				j.End += 5 * hour
			}
			if j.End > at {
				j.End += 20 * hour
			}
		}
		o := small()
		o.Local = r.local
		f, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		r.learner = f
		for x := hour + .5; x <= at+30*hour; x += hour {
			r.instants = append(r.instants, x)
		}
		r.at = func(now float64) {
			s := r.picture.State(now)
			if err := f.Observe(context.Background(), &s); err != nil {
				t.Fatal(err)
			}
			if now == at || now == at+30*hour {
				all = append(all, forecast(t, f, s))
			}
		}
		r.trace.Jobs = r.trace.Jobs[:slices.IndexFunc(r.trace.Jobs, func(j backtest.Job) bool {
			return j.Submit > at+31*hour
		})]
		r.run()
	}
	if len(all) != 4 {
		t.Fatalf("%d forecasts", len(all))
	}
	if d := cmp.Diff(all[0], all[2]); d != "" {
		t.Errorf("the forecast knew the future:\n%s", d)
	}
	if cmp.Equal(all[1], all[3]) {
		t.Error("a changed past left the forecast as it was")
	}
}

// TestBlockedJobsWait proves that a job is not expected to start at once if the scheduler has left it waiting although
// there is room.
func TestBlockedJobsWait(t *testing.T) {
	c := newCluster(t, small(), 64, 8, 1)
	c.observe(t, 3*day)
	s := State{Now: c.machine.Now(), Pools: []Pool{{Name: "all", Procs: 64}}}
	s.Waiting = []Job{{ID: 1 << 40, Queue: "short", User: "z", Procs: 4, Limit: 3600, Submit: s.Now - day}}
	p, err := c.f.newPlayer(&s)
	if err != nil {
		t.Fatal(err)
	}
	courses, err := p.play(context.Background(), 200, 0, 1-c.f.model())
	if err != nil {
		t.Fatal(err)
	}
	waits := 0
	for _, x := range courses {
		if x.values[0][QueuedWork] >= 4*3600 {
			waits++
		}
	}
	if waits < 160 { // after an hour it still waits with probability 24/25, whether it is ahead of others or not
		t.Errorf("it waits after an hour in %d of 200 replicas", waits)
	}
}

// TestSaturationTellsLoads proves that Zakay's test reports a machine as saturated if it gets twice the work that it
// can do, and not if it gets half.
func TestSaturationTellsLoads(t *testing.T) {
	for _, x := range []struct {
		perHour  float64
		low, top float64
	}{{8, 0, .3}, {40, .9, 1}} {
		c := newCluster(t, small(), 64, x.perHour, 4)
		s := c.observe(t, 4*day)
		got, err := c.f.Saturation(context.Background(), &s)
		if err != nil {
			t.Fatal(err)
		}
		if got.Replicas == 0 || got.Probability < x.low || got.Probability > x.top {
			t.Errorf("%g jobs an hour: %+v, want a probability of %g to %g", x.perHour, got, x.low, x.top)
		}
	}
}

// TestStandardJobsWaitLonger proves that a job on a quarter of the machine waits at least as long as one on one
// processor, in the mean over the horizons of a busy machine.
func TestStandardJobsWaitLonger(t *testing.T) {
	o := small()
	o.Probes = 16
	c := newCluster(t, o, 64, 22, 5)
	fc := forecast(t, c.f, c.observe(t, 4*day))
	mean := map[string]float64{}
	for _, w := range fc.Waits {
		mean[w.Standard] += w.Seconds[median]
	}
	if len(fc.Waits) != 6 || mean["a quarter 4 h"] < mean["1 proc 1 h"] || mean["a quarter 4 h"] == 0 {
		t.Errorf("%d waits, sums of medians %v", len(fc.Waits), mean)
	}
}

// TestBadStatesAreNamed proves that an impossible state or option is refused with its name.
func TestBadStatesAreNamed(t *testing.T) {
	f, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	pools := []Pool{{Procs: 4}}
	for field, s := range map[string]State{
		"now":              {Now: math.NaN(), Pools: pools},
		"number of pools":  {},
		"pools[0].procs":   {Pools: []Pool{{}}},
		"running[0].procs": {Pools: pools, Running: []Job{{}}},
		"waiting[0].limit": {Pools: pools, Waiting: []Job{{Procs: 1, Limit: math.Inf(1)}}},
	} {
		_, err := f.Forecast(context.Background(), &s)
		var bad *StateError
		if !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, o := range []Options{
		{Horizons: []float64{2, 1}}, {Horizons: []float64{2 * week}}, {Every: 2 * hour}, {Replicas: -1},
		{Standards: []Standard{{Name: "x"}}}, {Refit: math.Inf(1)},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("options %+v are taken", o)
		}
	}
}

// TestHeldJobsDoNotCompete proves that a held job counts in no sum, and that a job that becomes eligible counts from
// then on.
func TestHeldJobsDoNotCompete(t *testing.T) {
	f, err := New(small())
	if err != nil {
		t.Fatal(err)
	}
	s := State{Now: 100, Pools: []Pool{{Name: "all", Procs: 4}}}
	s.Running = []Job{{ID: 9, Procs: 4, Limit: 1e6, Start: 90}}
	s.Waiting = []Job{{ID: 1, Procs: 2, Limit: 50, Eligible: math.Inf(1)},
		{ID: 2, Procs: 2, Limit: 10, Eligible: 100 + 2*hour}, {ID: 3, Procs: 3, Limit: 10}}
	p, err := f.newPlayer(&s)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.initial[0]; got[QueuedWork] != 30 || got[QueueLength] != 1 || got[Utilization] != 1 {
		t.Errorf("now %v, want 30 processor-seconds of one job, all processors in use", got)
	}
	courses, err := p.play(context.Background(), 100, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var most [2]float64
	for _, c := range courses {
		for k := range most {
			most[k] = max(most[k], c.values[k*len(p.initial)][QueueLength])
		}
		if last := c.values[len(p.initial)]; last[ArrivedJobs] != 0 || last[QueuedWork] > 50 {
			t.Errorf("%v jobs came and %v processor-seconds wait; none came, and 50 can wait", last[ArrivedJobs],
				last[QueuedWork])
		}
	}
	if most != [2]float64{1, 2} {
		t.Errorf("at most %v jobs wait after 1 h and 6 h; job 2 competes after 2 h, job 1 never", most)
	}
}

// TestMemoryIsBounded proves that the options bound the memory although no end of a job is reported, more and more
// queues appear, and forecasts are made for weeks.
func TestMemoryIsBounded(t *testing.T) {
	o := small()
	o.Jobs, o.Queues = 500, 4
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := State{Pools: []Pool{{Name: "all", Procs: 8}}}
	for i := range 3000 {
		at := float64(i) * 600
		f.Submitted(Job{ID: uint64(i), Queue: string(rune('A' + i%1000)), User: "a", Procs: 1, Limit: 60, Submit: at})
		if f.Started(uint64(i), at); i%6 == 0 {
			s.Now = at
			if err := f.Observe(context.Background(), &s); err != nil {
				t.Fatal(err)
			}
		}
	}
	awaited := 0
	for _, list := range f.s.Awaited {
		awaited = max(awaited, len(list))
	}
	for what, n := range map[string][2]int{
		"jobs": {len(f.s.Ring), o.Jobs}, "live jobs": {len(f.live), o.Jobs}, "their attributes": {len(f.jobs), o.Jobs},
		"lifetimes": {f.laws.Running(), o.Jobs},
		"queues":    {len(f.s.Queues), o.Queues}, "looks": {len(f.s.Trail), int((trailLength + day/2) / o.Every)},
		"awaited": {awaited, 50},
	} {
		if n[0] > n[1] || n[0] == 0 {
			t.Errorf("%s: %d, want 1 to %d", what, n[0], n[1])
		}
	}
	fc := forecast(t, f, s)
	if len(fc.Queues) != o.Queues {
		t.Errorf("%d queues are told of, want 3 and those that are not told apart", len(fc.Queues))
	}
}

// TestLimitsMakeWork proves that queued work is the processors times the limit. Without a limit it is the processors
// times the mean runtime by the law at the submission, as long as the job waits.
func TestLimitsMakeWork(t *testing.T) {
	f, err := New(small())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		id := uint64(1000 + i)
		f.Submitted(Job{ID: id, Queue: "q", User: "u", Procs: 2, Submit: float64(i)})
		f.Started(id, float64(i))
		f.Ended(id, float64(i)+300)
	}
	open, limited := Job{ID: 1, Queue: "q", User: "u", Procs: 2, Submit: 400},
		Job{ID: 2, Queue: "q", User: "u", Procs: 3, Limit: 70, Submit: 400}
	f.Submitted(open)
	f.Submitted(limited)
	s := State{Now: 500, Pools: []Pool{{Name: "all", Procs: 8}}, Waiting: []Job{limited}}
	work := func() float64 {
		p, err := f.newPlayer(&s)
		if err != nil {
			t.Fatal(err)
		}
		return p.initial[0][QueuedWork]
	}
	if got := work(); got != 210 {
		t.Errorf("3 processors for 70 s are %v", got)
	}
	s.Waiting = []Job{open}
	first := work()
	if !(first > 2*200 && first < 2*500) {
		t.Errorf("2 processors of a user whose jobs ran for 300 s are %v", first)
	}
	for i := range 50 { // what is learnt later does not change the work of this job
		id := uint64(2000 + i)
		f.Submitted(Job{ID: id, Queue: "q", User: "u", Procs: 2, Submit: 600})
		f.Started(id, 600)
		f.Ended(id, 90000)
	}
	if got := work(); got != first {
		t.Errorf("its work went from %v to %v while it waited", first, got)
	}
}

// TestArrivalsAreKnownBetweenSamples proves that a forecaster knows what came between two States, and does not take
// rare States for an empty time. While a history is read, States come only every six hours, which is longer than the
// shortest horizon. 80 jobs an hour come, and the forecast expects about as many.
func TestArrivalsAreKnownBetweenSamples(t *testing.T) {
	o := Options{Horizons: []float64{hour, 3 * hour, 6 * hour, 12 * hour, day}, Replicas: 16, Lessons: 6, Probes: 1,
		Seed: 3}
	c := newCluster(t, o, 256, 80, 1)
	for at := 6 * hour; at <= 3*day; at += 6 * hour {
		s := c.to(t, at)
		if err := c.f.Observe(t.Context(), &s); err != nil {
			t.Fatal(err)
		}
	}
	for _, later := range []float64{10 * minute, 100 * minute} {
		fc := forecast(t, c.f, c.to(t, 3*day+later))
		if fc.Arrivals == "" {
			t.Fatal("no model of arrivals")
		}
		if n := fc.Cluster.Now.JobsPerHour[median]; n < 55 || n > 105 {
			t.Errorf("%v s later %.0f jobs are said to have come in the last hour", later, n)
		}
		for _, p := range fc.Cluster.Points {
			if q := p.JobsPerHour; q[median] < 55 || q[median] > 105 {
				t.Errorf("%v s later, %v h ahead: %v jobs an hour", later, p.Horizon/hour, q)
			}
		}
	}
}

// TestArrivalsOfAYoungLog covers horizons that are longer than the log, so that the arrivals in an equally long past
// are not known. It proves that the forecast then takes the number of arrivals from the replicas.
func TestArrivalsOfAYoungLog(t *testing.T) {
	o := Options{Replicas: 16, Lessons: 6, Probes: 1, Seed: 3}
	c := newCluster(t, o, 256, 80, 1)
	fc := forecast(t, c.f, c.observe(t, 50*hour))
	check(t, fc)
	for _, p := range fc.Cluster.Points {
		if q := p.JobsPerHour; q[median] < 55 || q[median] > 105 {
			t.Errorf("%v h ahead: %v jobs an hour", p.Horizon/hour, q)
		}
	}
}
