package outlook

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/markov"
	"github.com/waitcast/waitcast/workload/shake"
	"github.com/waitcast/waitcast/workload/users"
)

// These are the models of arrivals.
const (
	markovChains = iota
	resampledUsers
	arrivalModels
)

// ArrivalModels are the names of the models of arrivals.
func ArrivalModels() []string { return []string{"markov", "users"} }

// arrival is an arriving job. At is in seconds from the beginning of its stream, or from now in the result of cut.
// Scope is the number of its queue's scope.
type arrival struct {
	At, Runtime, Limit float64
	Procs, Scope       int32
}

// stream is a generated workload of Span seconds, which is a whole number of periods (days or weeks). After its end it
// repeats from its beginning. Replicas use parts of it that begin at the present time of the day or week, see cut.
type stream struct {
	Jobs   []arrival
	Span   float64
	Period float64
	Origin float64 // the instant at which the stream's period begins, unless the period follows local time
	Local  bool
}

const (
	streamWeeks = 52     // maximum length of a stream, in weeks
	streamJobs  = 50_000 // number of jobs above which a stream is made shorter, down to two weeks
	leastJobs   = 200    // minimum number of jobs for fitting a model
)

// refit drops lifetimes that are older than Options.ForgetAfter. Then it generates the stream of each model again, from
// the jobs known at an instant. A stream stays as it was if there are too few jobs for its model, or if the model
// cannot be fitted.
func (f *Forecaster) refit(now float64) {
	f.s.Refitted = now
	if f.options.ForgetAfter > 0 {
		f.laws.Forget(now - f.options.ForgetAfter)
	}
	past := f.past(now)
	if len(past) < leastJobs || past[len(past)-1].Submit-past[0].Submit < 2*day {
		return
	}
	rng := rand.New(rand.NewPCG(f.options.Seed, math.Float64bits(now)))
	perWeek := float64(len(past)) / (now - past[0].Submit) * week
	weeks := min(streamWeeks, max(2, math.Floor(streamJobs/perWeek)))
	if s := f.drawMarkov(past, weeks*week, rng); s != nil {
		f.streams[markovChains] = s
	}
	// In the model, users return on their days of the week. With less than a week of data, no user would come on the
	// days of the week that are missing in the data.
	if now-past[0].Submit < week {
		return
	}
	if s := f.drawUsers(past, now, weeks*week, rng.Uint64()); s != nil {
		f.streams[resampledUsers] = s
	}
}

// past returns the jobs of the last Options.Weeks weeks in order of submission.
func (f *Forecaster) past(now float64) []record {
	from := now - f.options.Weeks*week
	out := make([]record, 0, len(f.s.Ring))
	for _, r := range f.s.Ring {
		if r.Submit >= from {
			if r.Runtime < 0 { // unknown: the job waits, runs or was lost. Half its limit replaces its runtime.
				r.Runtime = r.Limit / 2
			}
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b record) int { return cmp.Compare(a.Submit, b.Submit) })
	return out
}

// drawMarkov returns a stream with sizes and runtimes from Markov chains, and arrivals from the daily cycle. Limit and
// queue are copied from a past job of about the same size and runtime. It returns nil if the models cannot be fitted.
func (f *Forecaster) drawMarkov(past []record, span float64, rng *rand.Rand) *stream {
	local := make([]float64, len(past))
	chains, err := markov.New(0)
	if err != nil {
		return nil
	}
	for i := range past {
		local[i] = f.options.Local(past[i].Submit)
		if chains.Append(int(past[i].Procs), past[i].Runtime) != nil {
			return nil
		}
	}
	fit, err := hypergamma.FitArrivals(local, hypergamma.ArrivalOptions{})
	if err != nil {
		return nil
	}
	draw, err := markov.NewGenerator(chains.Chains(), rng, markov.WithJointSizes())
	if err != nil {
		return nil
	}
	s := &stream{Span: span, Period: day, Local: true}
	alike := newRelatives(past)
	clock := hypergamma.NewArrivals(fit.Params())
	for len(s.Jobs) < 2*streamJobs {
		at := clock.Next(rng)
		if !(at < span) {
			break
		}
		procs, runtime := draw.Next()
		like := alike.of(procs, runtime, rng)
		s.Jobs = append(s.Jobs, arrival{At: at, Procs: int32(min(procs, math.MaxInt32/2)), Runtime: runtime,
			Limit: max(like.Limit, 1), Scope: like.Queue})
	}
	return s
}

// relatives finds past jobs of about the same size and runtime.
type relatives struct{ bySize [32][]record }

func newRelatives(past []record) *relatives {
	r := &relatives{}
	for _, p := range past {
		c := sizeClass(int(p.Procs))
		r.bySize[c] = append(r.bySize[c], p)
	}
	for _, of := range r.bySize {
		slices.SortStableFunc(of, func(a, b record) int { return cmp.Compare(a.Runtime, b.Runtime) })
	}
	return r
}

func sizeClass(procs int) int { return int(math.Log2(float64(max(1, procs)))) }

// of draws a job from the nine or fewer that are nearest in runtime, among those of the same size class (from one power
// of two to the next). If that class has no jobs, it uses the nearest class that has some.
func (r *relatives) of(procs int, runtime float64, rng *rand.Rand) record {
	c := sizeClass(procs)
	for d := 1; len(r.bySize[c]) == 0 && d < len(r.bySize); d++ {
		if k := c - d; k >= 0 && len(r.bySize[k]) > 0 {
			c = k
		} else if k := c + d; k < len(r.bySize) && len(r.bySize[k]) > 0 {
			c = k
		}
	}
	list := r.bySize[c]
	if len(list) == 0 {
		return record{Limit: runtime, Queue: 1}
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].Runtime >= runtime })
	i += rng.IntN(9) - 4
	return list[min(max(i, 0), len(list)-1)]
}

// drawUsers returns a stream of the resampled users of the past, or nil if they cannot be resampled.
func (f *Forecaster) drawUsers(past []record, now, span float64, seed uint64) *stream {
	t := users.Trace{Name: "live", Start: past[0].Submit, End: now, Jobs: make([]users.Job, len(past))}
	for i, p := range past {
		t.Jobs[i] = users.Job{
			Index: i, User: p.User, Queue: int64(p.Queue), Procs: int(p.Procs), Submit: p.Submit, Wait: p.Wait,
			Runtime: p.Runtime, Estimate: p.Limit,
		}
	}
	pools, err := users.Split(t, users.Options{Edge: -1})
	if err != nil {
		return nil
	}
	g, err := users.NewGenerator(users.Config{Seed: seed, Length: span, Stationary: true}, users.Source{Pools: pools})
	if err != nil {
		return nil
	}
	s := &stream{Span: span, Period: week, Origin: pools.Start}
	for len(s.Jobs) < 2*streamJobs {
		a, ok := g.Next()
		if !ok {
			break
		}
		if a.Submit < pools.Start {
			continue
		}
		s.Jobs = append(s.Jobs, arrival{
			At: a.Submit - pools.Start, Procs: int32(a.Procs), Runtime: max(0, a.Runtime), Limit: max(a.Estimate, 1),
			Scope: int32(a.Queue),
		})
	}
	return s
}

// cut returns the arrivals of a part of the stream, in the memory of dst. The part is length seconds long. It begins in
// a random period of the stream, at the time of the day or week that the instant now has. The times of the arrivals
// count from now.
func (s *stream) cut(now, length float64, local func(float64) float64, rng *rand.Rand, dst []arrival) []arrival {
	dst = dst[:0]
	if s == nil || len(s.Jobs) == 0 {
		return dst
	}
	begin := now - s.Origin
	if s.Local {
		begin = local(now)
	}
	periods := max(1, int(s.Span/s.Period))
	begin = math.Mod(math.Mod(begin, s.Period)+s.Period, s.Period) + float64(rng.IntN(periods))*s.Period
	i := sort.Search(len(s.Jobs), func(i int) bool { return s.Jobs[i].At >= begin })
	for round := 0.; ; {
		if i == len(s.Jobs) {
			i, round = 0, round+s.Span
		}
		a := s.Jobs[i]
		if a.At += round - begin; a.At > length {
			return dst
		}
		dst = append(dst, a)
		i++
	}
}

// shaker moves some arrivals a little. It keeps its memory between calls.
type shaker struct {
	jobs, shaken []users.Job
	moved        []arrival
}

// shake moves about a tenth of the arrivals in place, each by at most a tenth of the time since the arrival before it
// and at most 60 s, to a whole second. The arrivals stay in order of time. Of the kinds of shaking in Ouaknine's thesis
// (package shake), it uses the one with the least effect.
func (k *shaker) shake(jobs []arrival, rng *rand.Rand) {
	if len(jobs) == 0 {
		return
	}
	k.jobs = k.jobs[:0]
	for i, a := range jobs {
		k.jobs = append(k.jobs, users.Job{Index: i, Procs: 1, Submit: a.At})
	}
	cfg := shake.Default()
	cfg.Relative = .1
	sh, err := shake.New(k.jobs, cfg)
	if err != nil {
		return
	}
	k.moved, k.shaken = k.moved[:0], sh.Shake(k.shaken, rng)
	for _, j := range k.shaken {
		a := jobs[j.Index]
		a.At = max(0, j.Submit)
		k.moved = append(k.moved, a)
	}
	copy(jobs, k.moved)
}
