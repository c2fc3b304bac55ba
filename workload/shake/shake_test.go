package shake_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/shake"
	"github.com/waitcast/waitcast/workload/users"
)

// load returns n jobs with round numbers, several users and sessions, and some unknown values.
func load(n int) []users.Job {
	rng := rand.New(rand.NewPCG(7, 7))
	jobs := make([]users.Job, n)
	at := 1000.
	for i := range jobs {
		jobs[i] = users.Job{
			Index: i, User: rng.Int64N(9), Procs: 1 + rng.IntN(64), Submit: at, Wait: -1,
			Runtime: float64(rng.IntN(20_000) - 100), Estimate: float64(rng.IntN(30_000) - 100),
		}
		at += math.Floor(rng.ExpFloat64() * 400)
	}
	return jobs
}

func shaker(t testing.TB, jobs []users.Job, cfg shake.Config) *shake.Shaker {
	t.Helper()
	s, err := shake.New(jobs, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// value returns the attribute of a job as the thesis' formula uses it, and whether the job has one.
func value(j users.Job, a shake.Attribute) (v float64, known bool) {
	switch a {
	case shake.Runtime:
		return j.Runtime, j.Runtime > 0
	case shake.Estimate:
		return j.Estimate, j.Estimate > 0
	case shake.Size:
		return float64(j.Procs), true
	}
	return j.Submit, true
}

// TestShakingIsTheFormula proves equations 4.2 and 4.3 for every attribute and any setting: no value moves by more than
// min(degree, share x original), rounded; nothing else of a job changes; unknown values stay; the order is that of
// submission; and the original does not change.
func TestShakingIsTheFormula(t *testing.T) {
	jobs := load(400)
	before := slices.Clone(jobs)
	rapid.Check(t, func(t *rapid.T) {
		cfg := shake.Config{
			Attribute: shake.Attribute(rapid.IntRange(1, 4).Draw(t, "attribute")),
			Degree:    rapid.Float64Range(1, 3000).Draw(t, "degree"),
			Relative:  rapid.SampledFrom([]float64{0, .05, .5}).Draw(t, "relative"),
			Fraction:  rapid.Float64Range(.01, 1).Draw(t, "fraction"),
			MaxProcs:  64,
		}
		s, err := shake.New(jobs, cfg)
		if err != nil {
			t.Fatal(err)
		}
		out := s.Shake(nil, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		if len(out) != len(jobs) || !slices.Equal(jobs, before) {
			t.Fatal("jobs were lost, or the original was changed")
		}
		last := 0.
		for _, j := range out {
			if j.Submit < last {
				t.Fatalf("job %d at %v after %v", j.Index, j.Submit, last)
			}
			last = j.Submit
			was := jobs[j.Index]
			old, known := value(was, cfg.Attribute)
			new, _ := value(j, cfg.Attribute)
			original := old
			if cfg.Attribute == shake.Interarrival {
				original = was.Submit - jobs[max(0, j.Index-1)].Submit
			}
			pert := cfg.Degree
			if cfg.Relative > 0 {
				pert = min(pert, cfg.Relative*original)
			}
			if moved := math.Abs(new - old); known && moved > pert+.5 || !known && moved != 0 {
				t.Fatalf("%v of job %d went from %v to %v; at most %v was to be", cfg.Attribute, j.Index,
					old, new, pert)
			}
			least := 1.
			if cfg.Attribute == shake.Interarrival {
				least = 0
			}
			if new != math.Round(new) || known && new < least || j.Procs > 64 {
				t.Fatalf("%v of job %d is %v", cfg.Attribute, j.Index, new)
			}
			if restore(&j, was, cfg.Attribute); j != was {
				t.Fatalf("shaking %v made %+v of %+v", cfg.Attribute, j, was)
			}
		}
	})
}

// restore gives a job its original attribute back.
func restore(j *users.Job, was users.Job, a shake.Attribute) {
	switch a {
	case shake.Interarrival:
		j.Submit = was.Submit
	case shake.Runtime:
		j.Runtime = was.Runtime
	case shake.Estimate:
		j.Estimate = was.Estimate
	case shake.Size:
		j.Procs = was.Procs
	}
}

// TestPerturbationsAreUniform proves that changes are symmetric and uniform, that they do not add up along the log, and
// that the requested share of jobs is shaken. With 20,000 jobs the standard errors are .0035 of the share, .4 s of the
// mean and .3 s of the mean size.
func TestPerturbationsAreUniform(t *testing.T) {
	jobs := make([]users.Job, 40_000)
	for i := range jobs {
		jobs[i] = users.Job{Index: i, Submit: 1000 + 10*float64(i), Procs: 1, Runtime: 5}
	}
	s := shaker(t, jobs, shake.Config{Attribute: shake.Interarrival, Degree: 100, Fraction: .5})
	moved, mean, size := 0., 0., 0.
	for _, j := range s.Shake(nil, rand.New(rand.NewPCG(1, 2))) {
		if d := j.Submit - jobs[j.Index].Submit; d != 0 {
			moved++
			mean += d
			size += math.Abs(d)
		}
	}
	if share := moved / 40_000; math.Abs(share-.5*.995) > .01 { // one in 200 is rounded to 0
		t.Errorf("%v of the jobs moved, want half", share)
	}
	if mean /= moved; math.Abs(mean) > 1.5 {
		t.Errorf("the mean change is %v s, want 0", mean)
	}
	if size /= moved; math.Abs(size-50) > 1.5 {
		t.Errorf("the mean size of a change is %v s, want 50", size)
	}
}

// TestSizesMoveByWholeProcessors checks the thesis' example: 10 % of 21 processors, at most 5, are 2.
func TestSizesMoveByWholeProcessors(t *testing.T) {
	jobs := make([]users.Job, 2000)
	for i := range jobs {
		jobs[i] = users.Job{Procs: 21}
	}
	seen := map[int]int{}
	s := shaker(t, jobs, shake.Config{Attribute: shake.Size, Degree: 5, Relative: .1, Fraction: 1})
	for _, j := range s.Shake(nil, rand.New(rand.NewPCG(1, 1))) {
		seen[j.Procs]++
	}
	if len(seen) != 5 || seen[19] == 0 || seen[23] == 0 || seen[20] < 400 || seen[22] < 400 {
		t.Errorf("sizes %v, want 19 to 23", seen)
	}
}

// TestSessionsAndUsersMoveAsOne proves that within a session, or a user's whole log, intervals and order stay.
func TestSessionsAndUsersMoveAsOne(t *testing.T) {
	jobs := load(3000)
	sessions := users.SessionNumbers(jobs, 0)
	for level, group := range map[shake.Level]func(i int) int{
		shake.Sessions: func(i int) int { return sessions[i] },
		shake.Users:    func(i int) int { return int(jobs[i].User) },
	} {
		for _, relative := range []float64{0, .2} {
			s := shaker(t, jobs, shake.Config{Attribute: shake.Interarrival, Level: level, Degree: 600,
				Relative: relative, Fraction: .6})
			shift, moved := map[int]float64{}, 0
			for _, j := range s.Shake(nil, rand.New(rand.NewPCG(3, 4))) {
				d, g := j.Submit-jobs[j.Index].Submit, group(j.Index)
				if was, ok := shift[g]; ok && was != d {
					t.Fatalf("jobs of %v %d move by %v and %v", level, g, was, d)
				}
				shift[g] = d
				if d != 0 {
					moved++
				}
			}
			if share := float64(moved) / float64(len(jobs)); share < .2 || share > .95 {
				t.Errorf("%v: %v of the jobs moved", level, share)
			}
		}
	}
}

func TestRunsAreTheSameOnAnyNumberOfCores(t *testing.T) {
	s := shaker(t, load(500), shake.Default())
	run := func() []float64 {
		out, err := shake.Runs(context.Background(), s, 40, 9, func(run int, jobs []users.Job) (float64, error) {
			sum := float64(run)
			for i, j := range jobs {
				sum += j.Submit * float64(i)
			}
			return sum, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	many := run()
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	if one := run(); !slices.Equal(one, many) {
		t.Error("one core gives other results than many")
	}
	if many[3]-3 == many[4]-4 {
		t.Error("two runs had the same workload")
	}
}

func TestRunsEndWithTheFirstError(t *testing.T) {
	s := shaker(t, load(50), shake.Default())
	boom := errors.New("boom")
	if _, err := shake.Runs(context.Background(), s, 20, 1, func(run int, _ []users.Job) (int, error) {
		if run == 3 {
			return 0, boom
		}
		return 1, nil
	}); !errors.Is(err, boom) {
		t.Errorf("%v, want the error of run 3", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := shake.Runs(ctx, s, 20, 1, func(int, []users.Job) (int, error) { return 1, nil }); !errors.Is(err,
		context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if _, err := shake.Runs(context.Background(), s, 0, 1, func(int, []users.Job) (int, error) {
		return 1, nil
	}); err == nil {
		t.Error("0 runs were taken")
	}
}

func TestSummaryIsSpanDistanceAndConcentration(t *testing.T) {
	var results []float64
	for i := range 100 {
		results = append(results, float64(101+i)) // 101 to 200
	}
	s, err := shake.Summarize(150, results)
	if err != nil {
		t.Fatal(err)
	}
	// The 5th and 95th percentiles are 105 and 195, and the mean is 150.5. Within 148.5 to 151.5 are 149, 150 and 151.
	want := shake.Summary{Original: 150, Mean: 150.5, Low: 105, High: 195, Span: .6, Distance: .5 / 150,
		Concentration: .03, Runs: 100}
	if math.Abs(s.Concentration-want.Concentration) > 1e-12 || math.Abs(s.Distance-want.Distance) > 1e-12 {
		t.Errorf("%+v, want %+v", s, want)
	}
	s.Concentration, s.Distance = want.Concentration, want.Distance
	if s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	for _, c := range []struct {
		original float64
		results  []float64
	}{{0, results}, {math.NaN(), results}, {1, nil}, {1, []float64{1, math.NaN()}}, {1, []float64{math.Inf(1)}}} {
		if _, err := shake.Summarize(c.original, c.results); err == nil {
			t.Errorf("%v with %d results was taken", c.original, len(c.results))
		}
	}
}

func TestNewRefuses(t *testing.T) {
	ok := shake.Default()
	for name, change := range map[string]func(c *shake.Config){
		"attribute": func(c *shake.Config) { c.Attribute = 0 }, "level": func(c *shake.Config) { c.Level = 9 },
		"degree": func(c *shake.Config) { c.Degree = 0 }, "nan": func(c *shake.Config) { c.Degree = math.NaN() },
		"relative": func(c *shake.Config) { c.Relative = -1 }, "fraction": func(c *shake.Config) { c.Fraction = 1.1 },
		"none": func(c *shake.Config) { c.Fraction = 0 },
	} {
		cfg := ok
		change(&cfg)
		if _, err := shake.New(load(10), cfg); err == nil {
			t.Errorf("%s: %+v was taken", name, cfg)
		}
	}
	if _, err := shake.New(nil, ok); err == nil {
		t.Error("no jobs were taken")
	}
	if _, err := shake.New([]users.Job{{Submit: 5}, {Submit: 4}}, ok); err == nil {
		t.Error("jobs out of order were taken")
	}
}

func TestNamesAreReadBack(t *testing.T) {
	for a := shake.Interarrival; a <= shake.Size; a++ {
		if got, err := shake.ParseAttribute(a.String()); got != a || err != nil {
			t.Errorf("%v is read as %v, %v", a, got, err)
		}
	}
	for l := shake.Jobs; l <= shake.Users; l++ {
		if got, err := shake.ParseLevel(l.String()); got != l || err != nil {
			t.Errorf("%v is read as %v, %v", l, got, err)
		}
	}
	if _, err := shake.ParseAttribute("memory"); err == nil {
		t.Error("attribute memory was taken")
	}
	if _, err := shake.ParseLevel("group"); err == nil {
		t.Error("level group was taken")
	}
}

func BenchmarkShake(b *testing.B) {
	for _, level := range []shake.Level{shake.Jobs, shake.Sessions} {
		b.Run(level.String(), func(b *testing.B) {
			cfg := shake.Default()
			cfg.Level = level
			s := shaker(b, load(100_000), cfg)
			rng := rand.New(rand.NewPCG(1, 1))
			var out []users.Job
			b.ReportAllocs()
			for b.Loop() {
				out = s.Shake(out, rng)
			}
		})
	}
}
