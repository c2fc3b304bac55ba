package clean_test

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/clean"
	"github.com/waitcast/waitcast/workload/users"
)

const (
	hour = 3600.
	day  = 24 * hour
)

// readTrace reads a log with the runtimes of jobs that ran, and the instant of its time 0.
func readTrace(t testing.TB, name string) ([]users.Job, time.Time) {
	t.Helper()
	f, err := swf.Open(refdata.Shared(t, "traces/"+name+".swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var jobs []users.Job
	var r swf.Record
	for {
		if err := f.Next(&r); errors.Is(err, io.EOF) {
			return jobs, f.Header().Start()
		} else if err != nil {
			t.Fatal(err)
		}
		j := users.Job{Index: int(r.ID), User: r.User, Procs: int(r.Procs()), Submit: float64(r.Submit),
			Wait: -1, Runtime: -1}
		if r.Ran() {
			j.Runtime = float64(r.Runtime)
		}
		jobs = append(jobs, j)
	}
}

func find(t testing.TB, jobs []users.Job, o clean.Options) *clean.Report {
	t.Helper()
	r, err := clean.Find(jobs, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Marks) != len(jobs) {
		t.Fatalf("%d marks of %d jobs", len(r.Marks), len(jobs))
	}
	return r
}

// marked returns the jobs that are marked with a reason.
func marked(jobs []users.Job, r *clean.Report, reason clean.Reason) []users.Job {
	var out []users.Job
	for i, m := range r.Marks {
		if m&reason != 0 {
			out = append(out, jobs[i])
		}
	}
	return out
}

// people returns a year of 20 users who submit in working hours, about 3 jobs a day each.
func people(seed uint64) []users.Job {
	rng := rand.New(rand.NewPCG(seed, 0))
	var jobs []users.Job
	for d := range 365 {
		for u := range int64(20) {
			for range rng.IntN(7) {
				jobs = append(jobs,
					users.Job{User: u, Procs: 1, Submit: float64(d)*day + 8*hour + rng.Float64()*10*hour, Runtime: 60})
			}
		}
	}
	return jobs
}

func add(jobs []users.Job, user int64, submits ...float64) []users.Job {
	for _, s := range submits {
		jobs = append(jobs, users.Job{User: user, Procs: 1, Submit: s, Runtime: 5})
	}
	return jobs
}

func TestPeopleAreNeitherFlurriesNorRobots(t *testing.T) {
	for seed := range uint64(6) {
		jobs := people(seed)
		if r := find(t, jobs, clean.Options{}); len(r.Findings) > 0 || len(marked(jobs, r, clean.Any)) > 0 {
			t.Errorf("seed %d: found %v", seed, r.Findings)
		}
	}
}

// TestFlurryIsFoundAsAWhole adds three days of 400 jobs of one user, and a smaller burst of another, to a year of
// people. The three days are one flurry, and nothing else is found.
func TestFlurryIsFoundAsAWhole(t *testing.T) {
	jobs := people(1)
	n := len(jobs)
	for i := range 1200 {
		jobs = add(jobs, 5, 100*day+float64(i)*216) // 400 a day
	}
	for i := range 150 {
		jobs = add(jobs, 6, 200*day+float64(i))
	}
	r := find(t, jobs, clean.Options{})
	if len(r.Findings) != 1 {
		t.Fatalf("found %v, want one flurry", r.Findings)
	}
	f := r.Findings[0]
	if f.Reason != clean.Flurry || f.User != 5 || f.Jobs < 1200 || f.Jobs > 1240 || f.From > 100*day ||
		f.Until < 103*day-216 {
		t.Errorf("flurry %+v", f)
	}
	for i := n; i < n+1200; i++ {
		if r.Marks[i] != clean.Flurry {
			t.Fatalf("job %d of the flurry is marked %v", i-n, r.Marks[i])
		}
	}
	if !strings.Contains(f.String(), "user 5") {
		t.Errorf("described as %q", f)
	}
	// users.Split takes the flurry out as a rare behavior.
	p, err := users.Split(users.Trace{Jobs: jobs}, users.Options{Rare: r.RareBehaviors()})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Rare) != 1 || len(p.Rare[0].Jobs) != f.Jobs {
		t.Errorf("rare pool %+v, want the %d jobs of the flurry", p.Rare, f.Jobs)
	}
}

func TestThresholdIsExact(t *testing.T) {
	// Every day has 10 jobs of all users, so that 3 times the median is 30. A flurry has more.
	for _, n := range []int{30, 31} {
		var jobs []users.Job
		for d := range 100 {
			for i := range int64(10) {
				jobs = add(jobs, 100+i, float64(d)*day+float64(i))
			}
		}
		for i := range n {
			jobs = add(jobs, 1, 50*day+float64(i))
		}
		r := find(t, jobs, clean.Options{FlurryJobs: 5})
		if got := len(marked(jobs, r, clean.Flurry)); n == 30 && got != 0 || n == 31 && got != 31 {
			t.Errorf("of %d jobs in a day %d are marked as a flurry", n, got)
		}
	}
}

// TestRobotKeepsItsHourThroughSummerTime adds the archive's robot of the San Diego Paragon, about 14 jobs a day around
// 3:30 local time, to a year of people, and proves that it is found.
func TestRobotKeepsItsHourThroughSummerTime(t *testing.T) {
	zone, err := time.LoadLocation("US/Pacific")
	if err != nil {
		t.Skipf("no time zones here: %v", err)
	}
	start := time.Date(1996, 1, 1, 0, 0, 0, 0, zone)
	jobs := people(2)
	n := len(jobs)
	for d := range 300 {
		at := time.Date(1996, 1, 1+d, 3, 30, 0, 0, zone).Sub(start).Seconds()
		for i := range 14 {
			jobs = add(jobs, 5, at+float64(i)*20)
		}
	}
	r := find(t, jobs, clean.Options{Start: start})
	if len(r.Findings) != 1 {
		t.Fatalf("found %v, want one robot", r.Findings)
	}
	f := r.Findings[0]
	if f.Reason != clean.Robot || f.User != 5 || f.Jobs != 14*300 || f.Days != 300 || f.Span != 300 ||
		f.Clock != 3.5*hour {
		t.Errorf("robot %+v", f)
	}
	for i, m := range r.Marks {
		if want := clean.Reason(0); i >= n && m != clean.Robot || i < n && m != want {
			t.Fatalf("job %d of %d is marked %v", i, n, m)
		}
	}
	if !strings.Contains(f.String(), "3:30") || !strings.Contains(f.String(), "300 of 300 days") {
		t.Errorf("described as %q", f)
	}
}

// TestRobotsAtMidnightAndOnWeekdays proves that a robot around midnight is one robot, and so is one that skips
// weekends.
func TestRobotsAtMidnightAndOnWeekdays(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var jobs []users.Job
	for d := range 100 {
		jobs = add(jobs, 1, float64(d+1)*day-120+240*rng.Float64())
		if d%7 < 5 {
			jobs = add(jobs, 2, float64(d)*day+6*hour)
		}
	}
	r := find(t, jobs, clean.Options{})
	if len(r.Findings) != 2 || r.Findings[0].Jobs != 100 || r.Findings[1].Jobs != 72 ||
		slices.Contains(r.Marks, clean.None) {
		t.Errorf("found %v", r.Findings)
	}
}

func TestJobsAllDayLongAreNoDailyRobot(t *testing.T) {
	var jobs []users.Job
	for i := range 100 * 24 * 4 {
		jobs = add(jobs, 1, float64(i)*900)
	}
	if r := find(t, jobs, clean.Options{FlurryJobs: 1000}); len(r.Findings) > 0 {
		t.Errorf("a job every quarter of an hour: found %v", r.Findings)
	}
}

func TestNeverRanIsNeverARuntime(t *testing.T) {
	jobs := people(3)
	for i := range jobs {
		switch i % 10 {
		case 3:
			jobs[i].Runtime = -1
		case 4:
			jobs[i].Runtime = math.NaN()
		case 5:
			jobs[i].Runtime = 0 // shorter than the clock's resolution
		}
	}
	r := find(t, jobs, clean.Options{})
	for _, out := range []clean.Reason{clean.None, clean.Any, clean.Robot} {
		var runtimes []float64
		for i := range jobs {
			if r.Marks[i]&(out|clean.NeverRan) == 0 {
				runtimes = append(runtimes, jobs[i].Runtime)
			}
		}
		if len(runtimes) != len(jobs)-r.NeverRan {
			t.Errorf("%d runtimes of %d jobs, %d never ran", len(runtimes), len(jobs), r.NeverRan)
		}
		if slices.ContainsFunc(runtimes, func(x float64) bool { return !(x >= 0) }) {
			t.Error("a runtime is negative or no number")
		}
	}
	if marked := len(marked(jobs, r, clean.NeverRan)); r.NeverRan != marked {
		t.Errorf("%d jobs never ran, %d are marked so", r.NeverRan, marked)
	}
}

// TestOrderDoesNotMatter proves that a shuffled log has the same marks.
func TestOrderDoesNotMatter(t *testing.T) {
	jobs := people(5)
	for i := range 500 {
		jobs = add(jobs, 5, 100*day+float64(i)*60)
	}
	for d := range 200 {
		jobs = add(jobs, 6, float64(d)*day+3.5*hour)
	}
	for i := range jobs {
		jobs[i].Index = i
	}
	want := find(t, jobs, clean.Options{})
	shuffled := slices.Clone(jobs)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(jobs), func(i, j int) {
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
	got := find(t, shuffled, clean.Options{})
	for i, j := range shuffled {
		if got.Marks[i] != want.Marks[j.Index] {
			t.Fatalf("job %d is marked %v, and %v in another order", j.Index, want.Marks[j.Index], got.Marks[i])
		}
	}
	if !slices.Equal(got.Findings, want.Findings) || len(want.Findings) != 2 {
		t.Errorf("found %v, and %v in another order", want.Findings, got.Findings)
	}
}

// TestKnownLogs finds in the cleaned logs what the cleaning had left. By an independent count, the users given as
// flurries are exactly those with more than 200 jobs, and more than three times the median day, within some 24 hours.
// Three users submit in the same ten minutes of the day on at least a third of the days: SDSC-Par's user 17 at
// midnight, LANL's user 43 from 6:00 to 7:00 and NASA's user 9 at 9:00 and 18:00. The traces' description says that
// 5,681 jobs of SDSC-SP2 never ran.
func TestKnownLogs(t *testing.T) {
	for name, want := range map[string]struct {
		neverRan int
		flurries []int64
		robots   []int64 // among others
	}{
		"KTH-SP2-1996-2.1-cln":   {0, nil, nil},
		"CTC-SP2-1996-3.1-cln":   {0, nil, nil},
		"SDSC-SP2-1998-4.2-cln":  {5681, []int64{24, 48, 99}, nil},
		"LANL-CM5-1994-4.1-cln":  {0, []int64{50, 60, 94}, []int64{43}},
		"SDSC-Par-1996-3.1-cln":  {0, []int64{3, 8, 29, 45, 51}, []int64{17}},
		"NASA-iPSC-1993-3.1-cln": {0, nil, []int64{9}},
	} {
		t.Run(name, func(t *testing.T) {
			jobs, start := readTrace(t, name)
			r := find(t, jobs, clean.Options{Start: start})
			var flurries, robots []int64
			for _, f := range r.Findings {
				t.Log(f)
				if f.Reason == clean.Robot {
					robots = append(robots, f.User)
				} else {
					flurries = append(flurries, f.User)
				}
			}
			if flurries = slices.Compact(flurries); r.NeverRan != want.neverRan ||
				!slices.Equal(flurries, want.flurries) {
				t.Errorf("%d never ran, flurries of users %v; want %d and %v", r.NeverRan, flurries, want.neverRan,
					want.flurries)
			}
			for _, user := range want.robots {
				if !slices.Contains(robots, user) {
					t.Errorf("robots of users %v, want %d among them", robots, user)
				}
			}
			if want.robots == nil && robots != nil {
				t.Errorf("robots of users %v, want none", robots)
			}
		})
	}
}

func TestFindRefuses(t *testing.T) {
	if _, err := clean.Find(nil, clean.Options{}); !errors.Is(err, clean.ErrNoJobs) {
		t.Errorf("no jobs: %v", err)
	}
	jobs := people(1)
	for _, o := range []clean.Options{
		{Window: -1}, {Factor: math.NaN()}, {FlurryJobs: 1}, {RobotDays: -4}, {RobotWidth: 2 * hour}, {RobotShare: -1},
		{RobotPeak: -1},
	} {
		if _, err := clean.Find(jobs, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	jobs[7].Submit = math.Inf(1)
	if _, err := clean.Find(jobs, clean.Options{}); err == nil {
		t.Error("an infinite submit time was taken")
	}
}

func BenchmarkFind(b *testing.B) {
	jobs, start := readTrace(b, "LANL-CM5-1994-4.1-cln")
	for b.Loop() {
		find(b, jobs, clean.Options{Start: start})
	}
	b.ReportMetric(float64(b.N*len(jobs))/b.Elapsed().Seconds(), "jobs/s")
}
