package moldable_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/swfload"
	"github.com/waitcast/waitcast/workload/moldable"
	"github.com/waitcast/waitcast/workload/speedup"
)

type fataler interface{ Fatal(args ...any) }

func maker(t fataler, r moldable.Rule, jobs ...moldable.Recorded) []moldable.Job {
	made, err := r.Make(jobs)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestLaws proves for any job and rule that the recorded size and runtime lie on the job's curve, with the efficiency
// of the rule there. Runtimes never rise with the size, and processor-seconds never fall.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machine := rapid.IntRange(1, 1024).Draw(t, "machine")
		rule := moldable.Rule{
			Machine: machine, Seed: rapid.Uint64().Draw(t, "seed"), Serial: rapid.Bool().Draw(t, "serial"),
			Down: rapid.IntRange(0, 8).Draw(t, "down"), Up: rapid.IntRange(0, 8).Draw(t, "up"),
			LeastEfficiency: rapid.SampledFrom([]float64{0, .3, .8}).Draw(t, "efficiency"),
		}
		rec := moldable.Recorded{
			Procs: rapid.IntRange(1, machine).Draw(t, "procs"), Runtime: rapid.Float64Range(1, 1e6).Draw(t, "runtime"),
			Limit: rapid.SampledFrom([]float64{0, 3600}).Draw(t, "limit"),
		}
		job := maker(t, rule, rec)[0]
		if got := job.Recorded(); got != rec {
			t.Fatalf("recorded %+v, want %+v", got, rec)
		}
		if r, l, err := job.At(rec.Procs); r != rec.Runtime || l != rec.Limit || err != nil {
			t.Errorf("at its recorded size it runs %v of %v s (%v), want %v of %v", r, l, err, rec.Runtime, rec.Limit)
		}
		if p, ok := job.Profile(); ok {
			least := max(rule.LeastEfficiency, .3)
			if e := p.Speedup(float64(rec.Procs)) / float64(rec.Procs); e < least {
				t.Errorf("efficiency %v at the recorded size", e)
			}
			curve, err := speedup.Through(p, rec.Procs, rec.Runtime)
			if err != nil {
				t.Fatal(err)
			}
			if r, _ := curve.Runtime(rec.Procs); math.Abs(r-rec.Runtime) > 1e-9*rec.Runtime {
				t.Errorf("the curve gives %v s at the recorded size, want %v", r, rec.Runtime)
			}
		} else if rec.Procs > 1 || rule.Serial {
			t.Error("it has no curve")
		}
		from, to := job.Range()
		last, work := math.Inf(1), 0.
		for n := from; n <= to; n++ {
			r, l, err := job.At(n)
			if err != nil || r > last*(1+1e-9) || r*float64(n) < work*(1-1e-9) {
				t.Fatalf("size %d: %v s (%v) after %v s", n, r, err, last)
			}
			if math.Abs(l*rec.Runtime-rec.Limit*r) > 1e-6*rec.Limit*r {
				t.Errorf("size %d: limit %v of %v s, recorded %v of %v s", n, l, r, rec.Limit, rec.Runtime)
			}
			last, work = r, r*float64(n)
		}
		checkSizes(t, &job)
	})
}

// checkSizes compares the named sizes of a job with a search of all sizes.
func checkSizes(t *rapid.T, job *moldable.Job) {
	from, to := job.Range()
	rec := job.Recorded()
	at := func(n int) float64 { r, _, _ := job.At(n); return r }
	thrift, power := math.Inf(1), 0.
	for n := from; n <= to; n++ {
		thrift = min(thrift, at(n)*float64(n))
		power = max(power, 1/(at(n)*at(n)*float64(n)))
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: %v, want %v, recorded %+v, sizes %d to %d", what, got, want, rec, from, to)
		}
	}
	near("thriftiest", at(job.Thriftiest())*float64(job.Thriftiest()), thrift)
	near("largest", at(job.Largest()), at(to))
	if n := job.Largest(); n > from && at(n-1) <= at(n)*(1+1e-12) && n != rec.Procs {
		t.Errorf("size %d gains nothing over one less", n)
	}
	k := job.Knee()
	near("knee", 1/(at(k)*at(k)*float64(k)), power)
	sizes := job.Sizes()
	if !slices.IsSorted(sizes) || !slices.Contains(sizes, rec.Procs) || !slices.Contains(sizes, k) || sizes[0] != from {
		t.Errorf("sizes %v", sizes)
	}
}

// TestKnee proves that at the knee a program reaches at least half of both its efficiency and its largest possible
// speedup (Eager, Zahorjan and Lazowska 1989). Whole processors cost a little if A is small.
func TestKnee(t *testing.T) {
	jobs := maker(t, moldable.Rule{Machine: 512, MaxA: 256, Seed: 5},
		slices.Repeat([]moldable.Recorded{{Procs: 8, Runtime: 100}}, 500)...)
	for i := range jobs {
		p, _ := jobs[i].Profile()
		n := float64(jobs[i].Knee())
		if s := p.Speedup(n); n < 512 && (s/n < .5-1/n || s/p.A < .5-1/n) {
			t.Errorf("A %v, sigma %v: the knee is at %v with S = %v", p.A, p.Sigma, n, s)
		}
	}
}

// TestDrawnLaws proves that if the condition on efficiency excludes nothing, as on 2 processors, where S(2) is at least
// 1, A is log-uniform and sigma uniform.
func TestDrawnLaws(t *testing.T) {
	const n = 4000
	jobs := maker(t, moldable.Rule{Machine: 128, Seed: 7},
		slices.Repeat([]moldable.Recorded{{Procs: 2, Runtime: 100}}, n)...)
	var a, sigma, uniform []float64
	for i := range jobs {
		p, _ := jobs[i].Profile()
		a, sigma = append(a, math.Log(p.A)/math.Log(128)), append(sigma, p.Sigma/2)
		uniform = append(uniform, (float64(i)+.5)/n)
	}
	if r := stat.Correlation(a, sigma, nil); math.Abs(r) > 2.58/math.Sqrt(n) {
		t.Errorf("ln A and sigma have a correlation of %v", r)
	}
	for name, x := range map[string][]float64{"ln A": a, "sigma": sigma} {
		slices.Sort(x)
		if d := stat.KolmogorovSmirnov(x, nil, uniform, nil); d > 1.63/math.Sqrt(n) { // 1 % of samples are further away
			t.Errorf("%s: Kolmogorov-Smirnov distance %v from uniform", name, d)
		}
	}
}

// TestSeed proves that a job's curve depends only on the seed and its place, and on no other job.
func TestSeed(t *testing.T) {
	recs := []moldable.Recorded{{Procs: 4, Runtime: 10}, {Procs: 16, Runtime: 500, Limit: 600},
		{Procs: 16, Runtime: 500, Limit: 600}}
	rule := moldable.Rule{Machine: 64, Seed: 1}
	profile := func(j moldable.Job) speedup.Profile { p, _ := j.Profile(); return p }
	first := maker(t, rule, recs...)
	recs[0] = moldable.Recorded{Procs: 64, Runtime: 1}
	second := maker(t, rule, recs...)
	if profile(first[1]) != profile(second[1]) || profile(first[1]) == profile(first[2]) {
		t.Errorf("curves %v, %v, %v", profile(first[1]), profile(second[1]), profile(first[2]))
	}
	rule.Seed = 2
	if third := maker(t, rule, recs...); profile(third[1]) == profile(first[1]) {
		t.Error("another seed gives the same curve")
	}
}

// TestRigid proves that serial jobs and jobs of runtime 0 do not change, unless serial jobs are allowed to choose.
func TestRigid(t *testing.T) {
	recs := []moldable.Recorded{{Procs: 1, Runtime: 10}, {Procs: 8}}
	for _, serial := range []bool{false, true} {
		jobs := maker(t, moldable.Rule{Machine: 64, Serial: serial}, recs...)
		if _, ok := jobs[0].Profile(); ok != serial {
			t.Errorf("serial %v: the serial job has a curve: %v", serial, ok)
		}
		if from, to := jobs[1].Range(); from != 8 || to != 8 || jobs[1].Knee() != 8 || jobs[1].Thriftiest() != 8 ||
			jobs[1].Largest() != 8 {
			t.Errorf("the job of no time has sizes %d to %d", from, to)
		}
		var size *speedup.SizeError
		if _, _, err := jobs[1].At(9); !errors.As(err, &size) {
			t.Errorf("another size of it: %v, want a *speedup.SizeError", err)
		}
	}
}

// TestBadInput proves that bad rules are refused with the name of the field, and bad jobs with their index.
func TestBadInput(t *testing.T) {
	for name, rule := range map[string]moldable.Rule{
		"Machine": {}, "MaxA": {Machine: 8, MaxA: math.NaN()}, "MaxSigma": {Machine: 8, MaxSigma: -1},
		"LeastEfficiency": {Machine: 8, LeastEfficiency: 1}, "Down or Up": {Machine: 8, Down: -1},
	} {
		var bad *speedup.ParameterError
		if _, err := rule.Make(nil); !errors.As(err, &bad) || bad.Name != name {
			t.Errorf("%+v: %v, want a *speedup.ParameterError of %s", rule, err, name)
		}
	}
	var bad *speedup.ParameterError
	if _, err := (moldable.Rule{Machine: 64, MaxA: 8}).Make(nil); !errors.As(err, &bad) || bad.Name != "MaxA" {
		t.Errorf("A too small for the machine: %v", err)
	}
	for _, rec := range []moldable.Recorded{
		{0, 1, 0}, {9, 1, 0}, {2, math.NaN(), 0}, {2, -1, 0}, {2, 1, math.NaN()}, {2, 1e15, 0},
	} {
		_, err := moldable.Rule{Machine: 8}.Make([]moldable.Recorded{{1, 1, 1}, rec})
		var job *moldable.JobError
		if !errors.As(err, &job) || job.Index != 1 {
			t.Errorf("%+v: %v, want a *moldable.JobError of index 1", rec, err)
		}
	}
}

// TestSimulated runs jobs of KTH-SP2 that choose their sizes through the simulator, with the runtimes of their curves.
// With the recorded sizes every wait is as without molding. In total the thriftiest sizes take less processor time than
// the recorded ones, and these less than the largest.
func TestSimulated(t *testing.T) {
	trace, err := swfload.Open(refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz"), swfload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	input := slices.Clone(trace.Jobs[:3000])
	recs := make([]moldable.Recorded, len(input))
	for i := range input {
		input[i].ID = int64(i)
		recs[i] = moldable.Recorded{Procs: input[i].Procs, Runtime: input[i].Runtime, Limit: input[i].Limit}
	}
	jobs := maker(t, moldable.Rule{Machine: trace.Procs, Seed: 1}, recs...)
	run := func(choose func(j *moldable.Job) int) (wait, work float64) {
		cfg := simulator.Config{Procs: trace.Procs, Policy: new(simulator.EASY), Arrivals: simulator.FromSlice(input)}
		if choose != nil {
			cfg.Mold = &simulator.Mold{When: simulator.AtHead, Choose: func(_ *simulator.Pool, j *simulator.Job) {
				m := &jobs[j.ID]
				j.Procs = choose(m)
				j.Runtime, j.Limit, _ = m.At(j.Procs)
				j.Estimate = max(j.Limit, j.Runtime)
			}}
		}
		s, err := simulator.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Advance(math.Inf(1), func(e simulator.Event) {
			if e.Kind == simulator.Ended {
				wait += e.Job.Wait()
				work += float64(e.Job.Procs) * e.Job.Runtime
			}
		}); err != nil {
			t.Fatal(err)
		}
		return wait, work
	}
	rigidWait, rigidWork := run(nil)
	wait, work := run(func(j *moldable.Job) int { return j.Recorded().Procs })
	if wait != rigidWait || work != rigidWork {
		t.Errorf("recorded sizes: waits of %v s in all, work %v; without molding %v, %v", wait, work,
			rigidWait, rigidWork)
	}
	_, least := run((*moldable.Job).Thriftiest)
	_, most := run((*moldable.Job).Largest)
	if !(least < work && work < most) {
		t.Errorf("work %v thriftiest, %v recorded, %v largest", least, work, most)
	}
}

// BenchmarkMake makes the jobs of a trace of 30,000 jobs.
func BenchmarkMake(b *testing.B) {
	recs := make([]moldable.Recorded, 30_000)
	for i := range recs {
		recs[i] = moldable.Recorded{Procs: 1 + i%100, Runtime: 1000, Limit: 3600}
	}
	for b.Loop() {
		maker(b, moldable.Rule{Machine: 100}, recs...)
	}
}
