package sizestudy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/waitcast/waitcast/predictor/residual"
	"github.com/waitcast/waitcast/simulator"
)

// futures is the number of futures from which a wait is forecast. In trials, 8 stratified futures were as good as 32.
const futures = 8

// deep is the maximum number of waiting jobs that are placed one by one in a future. The work of the waiting jobs after
// them is assumed to be spread evenly over the whole machine.
const deep = 48

// forecaster forecasts waits from the events of a run so far. Each waiting or running job has a law of its lifetime,
// which is learnt from the ends of its user's jobs and of all other jobs.
type forecaster struct {
	seed  uint64
	jobs  []simulator.Job
	model *residual.Model
	laws  map[int64]*fate
	spare []*fate

	ends    [futures][]release
	profile simulator.Profile
}

// fate has, for a waiting or running job, the law of its lifetime, and for each future the level of that law at which
// its lifetime is drawn.
type fate struct {
	procs  int // size for which the law was made, because a job may get another size
	law    residual.Law
	levels [futures]float64
}

// release is a number of processors that become free after the given time.
type release struct {
	after float64 // in seconds from now
	procs int
}

func newForecaster(w *Workload, seed uint64) *forecaster {
	return &forecaster{seed: seed, jobs: w.Jobs, model: residual.New(residual.Config{}), laws: map[int64]*fate{}}
}

// observe learns from an event of the simulator.
func (f *forecaster) observe(e simulator.Event) {
	switch e.Kind {
	case simulator.Started:
		f.model.Started(e.Job.ID, asked(e.Job), e.Time)
	case simulator.Ended:
		f.model.Ended(e.Job.ID, e.Time)
		if k := f.laws[e.Job.ID]; k != nil {
			f.spare = append(f.spare, k)
			delete(f.laws, e.Job.ID)
		}
	}
}

// asked returns the data of a job that a scheduler's log has at its start.
func asked(j *simulator.Job) residual.Job {
	return residual.Job{User: strconv.FormatInt(j.User, 10), Procs: j.Procs, Limit: j.Limit}
}

// fate returns the fate of a job. It is computed again only if the size of the job has changed, because ends of other
// jobs change its law little.
func (f *forecaster) fate(j *simulator.Job, now float64) *fate {
	k := f.laws[j.ID]
	if k != nil && k.procs == j.Procs {
		return k
	}
	if n := len(f.spare); k == nil && n > 0 {
		k, f.spare = f.spare[n-1], f.spare[:n-1]
	}
	if k == nil {
		k = new(fate)
	}
	k.procs = j.Procs
	f.model.LawInto(&k.law, asked(j), now)
	rng := rand.New(rand.NewPCG(f.seed, uint64(j.ID)))
	for i, p := range rng.Perm(futures) { // one level in each of the equal parts of (0, 1)
		k.levels[i] = (float64(p) + rng.Float64()) / futures
	}
	f.laws[j.ID] = k
	return k
}

// running sets f.ends to the releases by the running jobs in every future, sorted by time.
func (f *forecaster) running(p *simulator.Pool) {
	for i := range f.ends {
		f.ends[i] = f.ends[i][:0]
	}
	for r := range p.Running() {
		j := p.Job(r)
		k, age := f.fate(j, p.Now()), p.Now()-j.Start
		tail := k.law.Tail(age)
		for i := range f.ends {
			f.ends[i] = append(f.ends[i], release{k.law.Draw(age, tail, k.levels[i]), p.Held(r)})
		}
	}
	for i := range f.ends {
		slices.SortFunc(f.ends[i], func(a, b release) int { return cmp.Compare(a.after, b.after) })
	}
}

// head returns the waits of the first job of the queue, by size and future: the time until enough processors are free.
// sizes rise.
func (f *forecaster) head(p *simulator.Pool, sizes []size) [][]float64 {
	waits := table(len(sizes))
	if sizes[len(sizes)-1].procs <= p.Free() {
		return waits
	}
	f.running(p)
	for i := range f.ends {
		free, at, next := p.Free(), 0., 0
		for k, size := range sizes {
			for free < size.procs && next < len(f.ends[i]) {
				free, at = free+f.ends[i][next].procs, f.ends[i][next].after
				next++
			}
			waits[k][i] = at
		}
	}
	return waits
}

// joining returns the waits of a job that is submitted now, by size and future. In each future the job takes the first
// gap that the jobs before it leave, which have taken their first gaps in the same way. That is an approximation of
// EASY, under which the job may start sooner or later. If more than deep jobs wait, waits above 0 also include the time
// for the work of the jobs after the first deep. If no job waits, the result is that of head. sizes rise.
func (f *forecaster) joining(p *simulator.Pool, sizes []size) [][]float64 {
	if p.Waiting() == 0 {
		return f.head(p, sizes)
	}
	waits := table(len(sizes))
	f.running(p)
	for i := range f.ends {
		behind := f.place(p, i)
		for k, size := range sizes {
			wait := f.profile.Earliest(0, size.procs, size.run)
			if wait > 0 {
				wait += behind
			}
			waits[k][i] = wait
		}
	}
	return waits
}

// place sets f.profile to the free processors in a future, without those of the running and of the first deep waiting
// jobs. It returns the time in seconds that the work of the other waiting jobs takes on the whole machine.
func (f *forecaster) place(p *simulator.Pool, future int) (behind float64) {
	f.profile.Reset(0, p.Free())
	for _, e := range f.ends[future] {
		f.profile.Change(e.after, math.Inf(1), e.procs)
	}
	placed := 0
	for r := p.First(); r != simulator.None; r = p.After(r) {
		k := f.fate(p.Job(r), p.Now())
		run := k.law.Residual(0, k.levels[future])
		if placed++; placed > deep {
			behind += run * float64(p.Held(r)) / float64(p.Procs())
			continue
		}
		f.profile.Take(f.profile.Earliest(0, p.Held(r), run), run, p.Held(r))
	}
	return behind
}

func table(rows int) [][]float64 {
	waits, all := make([][]float64, rows), make([]float64, rows*futures)
	for i := range waits {
		waits[i] = all[i*futures : (i+1)*futures]
	}
	return waits
}
