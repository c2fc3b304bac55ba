// Package moldable makes moldable workloads from recorded ones. Each job gets a speedup curve of Downey's model that
// contains its recorded size and runtime. With the curve the job can be simulated at any other size. Logs do not show
// how the programs scale. The rule by which curves are drawn ([Rule]) is an assumption, on which every result
// depends.
package moldable

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/waitcast/waitcast/workload/speedup"
)

// Rule defines how the jobs of a trace become moldable.
//
// The average parallelism A is log-uniform between 1 and MaxA, as in A. Downey, "A parallel workload model and its
// implications for processor allocation", HPDC 1997. The variance sigma is uniform between 0 and MaxSigma. With the
// default MaxSigma both cases of the model have the same probability; this is a free choice. A and sigma are drawn
// together until the job has an efficiency S(n)/n of at least LeastEfficiency at the recorded size, because the user
// chose that size. The default is a half, which is the efficiency that the knee of any program reaches (D. Eager, J.
// Zahorjan and E. Lazowska, "Speedup versus efficiency in parallel systems", IEEE TC 38(3), 1989).
type Rule struct {
	Machine         int     // processors of the machine, at least 1
	MaxA            float64 // 0 means Machine
	MaxSigma        float64 // 0 means 2
	LeastEfficiency float64 // 0 means 0.5; must be below 1

	// Serial lets jobs that were recorded on one processor choose another size, too. Otherwise they keep their size,
	// because nothing shows that their programs are parallel. A third of the jobs of a log are serial.
	Serial bool
	// Down and Up limit the sizes of a job: from the recorded size divided by Down to the recorded size times Up. 0
	// means no limit. A reason for Down is memory that does not fit on fewer processors.
	Down, Up int

	// Seed and a job's index in the trace determine the job's curve. So the curve does not depend on the other jobs.
	Seed uint64
}

// Recorded is a job as it was recorded.
type Recorded struct {
	Procs   int
	Runtime float64 // seconds; a job of 0 s stays unchanged
	Limit   float64 // seconds; 0 means no limit
}

// Job is a moldable job. It never changes.
type Job struct {
	recorded Recorded
	curve    *speedup.Downey // nil for a job that is not changed
	from, to int
}

// JobError reports an invalid recorded job.
type JobError struct {
	Index   int
	Job     Recorded
	Problem string
}

// Error returns a message with the job.
func (e *JobError) Error() string {
	return fmt.Sprintf("job at index %d (%d processors, %v s): %s", e.Index, e.Job.Procs, e.Job.Runtime, e.Problem)
}

// check sets defaults and validates the rule. It returns a *speedup.ParameterError.
func (r *Rule) check() error {
	fill := func(x *float64, value float64) {
		if *x == 0 {
			*x = value
		}
	}
	fill(&r.MaxA, float64(r.Machine))
	fill(&r.MaxSigma, 2)
	fill(&r.LeastEfficiency, .5)
	finite := func(x float64) bool { return !math.IsInf(x, 0) }
	switch {
	case r.Machine < 1:
		return &speedup.ParameterError{Name: "Machine", Value: float64(r.Machine),
			Want: "the processors of the machine, 1 or more"}
	case !(r.MaxA >= 1) || !finite(r.MaxA):
		return &speedup.ParameterError{Name: "MaxA", Value: r.MaxA, Want: "1 or more"}
	case !(r.MaxSigma > 0) || !finite(r.MaxSigma):
		return &speedup.ParameterError{Name: "MaxSigma", Value: r.MaxSigma, Want: "above 0"}
	case !(r.LeastEfficiency > 0 && r.LeastEfficiency < 1):
		return &speedup.ParameterError{Name: "LeastEfficiency", Value: r.LeastEfficiency, Want: "above 0 and below 1"}
	case r.Down < 0 || r.Up < 0:
		return &speedup.ParameterError{Name: "Down or Up", Value: float64(min(r.Down, r.Up)),
			Want: "0 for no bound, or a factor from 1"}
	case r.MaxA < r.LeastEfficiency*float64(r.Machine):
		return &speedup.ParameterError{Name: "MaxA", Value: r.MaxA,
			Want: fmt.Sprintf("%v or more, else a job of the whole machine is never so efficient",
				r.LeastEfficiency*float64(r.Machine))}
	}
	return nil
}

// Make returns the moldable jobs for recorded ones, in the same order. The error is a *JobError or a
// *speedup.ParameterError.
func (r Rule) Make(recorded []Recorded) ([]Job, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	jobs := make([]Job, len(recorded))
	for i, rec := range recorded {
		var err error
		if jobs[i], err = r.job(i, rec); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

func (r *Rule) job(index int, rec Recorded) (Job, error) {
	fail := func(problem string) (Job, error) { return Job{}, &JobError{index, rec, problem} }
	switch {
	case rec.Procs < 1 || rec.Procs > r.Machine:
		return fail(fmt.Sprintf("want 1 to %d processors", r.Machine))
	case !(rec.Runtime >= 0) || math.IsInf(rec.Runtime, 1):
		return fail("want a runtime from 0")
	case !(rec.Limit >= 0) || math.IsInf(rec.Limit, 1):
		return fail(fmt.Sprintf("limit %v; want 0 for none, or more", rec.Limit))
	}
	job := Job{recorded: rec, from: rec.Procs, to: rec.Procs}
	if rec.Runtime == 0 || rec.Procs == 1 && !r.Serial {
		return job, nil
	}
	curve, err := speedup.Through(r.draw(index, float64(rec.Procs)), rec.Procs, rec.Runtime)
	if err != nil {
		return fail(err.Error())
	}
	job.curve, job.from, job.to = curve, 1, r.Machine
	if r.Down > 0 {
		job.from = (rec.Procs + r.Down - 1) / r.Down
	}
	if r.Up > 0 {
		job.to = min(r.Machine, rec.Procs*r.Up)
	}
	return job, nil
}

// draw draws the profile of a job from its recorded size.
func (r *Rule) draw(index int, procs float64) speedup.Profile {
	rng := rand.New(rand.NewPCG(r.Seed, uint64(index)))
	// At the size of the whole machine one draw in 15 succeeds; at smaller sizes more draws succeed.
	const patience = 100_000
	for range patience {
		p := speedup.Profile{A: math.Exp(rng.Float64() * math.Log(r.MaxA)), Sigma: rng.Float64() * r.MaxSigma}
		if p.Speedup(procs) >= r.LeastEfficiency*procs {
			return p
		}
	}
	return speedup.Profile{A: r.MaxA} // check ensures that this profile is efficient enough
}

// Recorded returns the job as it was recorded.
func (j *Job) Recorded() Recorded { return j.recorded }

// Range returns the smallest and the largest size that the job can have.
func (j *Job) Range() (from, to int) { return j.from, j.to }

// At returns the job's runtime and time limit at a size, in seconds. At the recorded size both are the recorded ones.
// At other sizes the limit is the same multiple of the runtime. A limit of 0 means that there is none. The error is a
// *speedup.SizeError for a size outside Range.
func (j *Job) At(procs int) (runtime, limit float64, err error) {
	switch {
	case procs < j.from || procs > j.to:
		return 0, 0, &speedup.SizeError{Procs: procs, From: j.from, To: j.to}
	case procs == j.recorded.Procs:
		return j.recorded.Runtime, j.recorded.Limit, nil
	}
	if runtime, err = j.curve.Runtime(procs); err != nil {
		return 0, 0, err
	}
	return runtime, j.recorded.Limit * (runtime / j.recorded.Runtime), nil
}

// Sizes returns the sizes that are worth considering, in ascending order: powers of two, the recorded size, the knee,
// and the smallest and largest useful sizes.
func (j *Job) Sizes() []int {
	from, to := j.from, j.Largest()
	sizes := []int{from, j.recorded.Procs, j.Knee(), to}
	for n := 1; n <= to; n *= 2 {
		if n >= from {
			sizes = append(sizes, n)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// Largest returns the largest size within Range at which the job is still faster than at smaller sizes.
func (j *Job) Largest() int {
	if j.curve == nil {
		return j.to
	}
	n := math.Ceil(j.curve.Profile().Saturation())
	return int(min(max(n, float64(j.from)), float64(j.to)))
}

// Thriftiest returns the size with the fewest processor seconds; of several, the largest. Unless the speedup is
// linear up to some size, that is the smallest possible size.
func (j *Job) Thriftiest() int {
	return j.best(func(n, speedup float64) float64 { return speedup / n })
}

// Knee returns the size with the highest efficiency per runtime, S(n)^2/n; of several, the largest (Eager, Zahorjan
// and Lazowska 1989). A system that considers both efficiency and runtime would choose it.
func (j *Job) Knee() int {
	return j.best(func(n, speedup float64) float64 { return speedup * speedup / n })
}

// best returns the size with the highest worth. Of sizes with equal worth, up to rounding, it returns the largest.
func (j *Job) best(worth func(n, speedup float64) float64) int {
	if j.curve == nil {
		return j.recorded.Procs
	}
	const equal = 1 - 1e-12
	profile := j.curve.Profile()
	best, most := j.from, 0.
	for n := j.from; n <= j.Largest(); n++ {
		if w := worth(float64(n), profile.Speedup(float64(n))); w >= most*equal {
			best, most = n, max(most, w)
		}
	}
	return best
}
