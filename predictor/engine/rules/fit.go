package rules

import (
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/waitcast/waitcast/internal/panics"
	"github.com/waitcast/waitcast/job/waittime"
)

// Situation is a pool at the submission of a job, and the wait that followed.
type Situation struct {
	Pool    // without gates
	At      float64
	Request Job
	Log     float64 // ln(wait + 60 s)
}

// A fit makes Tries random changes of the best weights so far. It judges them on the newest situations of a pool, at
// most Situations of them.
const (
	Tries      = 40
	Situations = 500
)

// starts returns the initial priorities of a fit, in addition to the present one. They are:
//
//   - first come, first served;
//   - the shortest limit first;
//   - a mixture: a shorter limit, fewer jobs of the same user ahead, and a queue with shorter waits come first;
//   - strictly first come, first served.
func starts() []Priority {
	return []Priority{
		{LogAge: 1}, {LogLimit: 1}, {LogLimit: 1, Own: .5, QueueWait: 1}, {LogAge: 1, Strict: true},
	}
}

// weight is a weight of a priority that a fit varies. of is the address of the weight, width is the standard deviation
// of the first changes, and least and most are the bounds.
type weight struct {
	of          *float64
	width       float64
	least, most float64
}

// weights returns the weights of a priority that a fit varies.
func (p *Priority) weights() []weight {
	const any = 1e3
	return []weight{
		{&p.LogAge, .4, -any, any}, {&p.AgeDays, .4, -any, any}, {&p.LogLimit, .4, -any, any},
		{&p.LogProcs, .4, -any, any}, {&p.LogExpected, .3, -any, any}, {&p.Own, .6, -any, any},
		{&p.QueueWait, .5, -any, any}, {&p.LogUse, .2, -any, any}, {&p.Lifetimes, .4, -2, 2}, {&p.Delay, 1.5, 0, 6},
		{&p.Capacity, .06, -.7, .2},
	}
}

// Fit returns the candidate with the lowest loss at level 0.5 on some situations, simplified by fit.simplify. The
// candidates are those in starts, the priority in force (nil for none), the best of these with some capacities, and
// random changes of the best one: a random search with decreasing steps. gates are used for all situations. Equal input
// gives equal output, for any number of workers. The result is nil without situations, or once cancelled is true.
func Fit(of []*Situation, inForce *Priority, gates *Gates, seed uint64, workers int, cancelled *atomic.Bool) *Priority {
	if len(of) == 0 {
		return nil
	}
	best, _ := newFit(of, gates, workers, cancelled).search(inForce, seed)
	return best
}

// Fitted is the result of the fits for a pool. Its pointers refer to immutable values.
type Fitted struct {
	// Learnt is the priority that was found last, nil before the first fit. Trial scores its order and the orders that
	// were learnt before.
	Learnt *Priority
	Trial  Trial
	// Priority is the priority in force. It is Learnt if Trial.holds, and otherwise Learnt with its order replaced by
	// first come, first served. Evidence is the evidence for it.
	Priority *Priority
	Evidence *Evidence
}

// Refit fits again and returns the new result. b does not change. unseen is the number of newest situations that are
// new since the previous fit. The result is nil without situations, or once cancelled is true. See Fit.
func (b *Fitted) Refit(of []*Situation, unseen int, gates *Gates, seed uint64, workers int,
	cancelled *atomic.Bool) *Fitted {
	if len(of) == 0 {
		return nil
	}
	f := newFit(of, gates, workers, cancelled)
	out := &Fitted{Trial: b.Trial}
	if b.Learnt != nil {
		out.Trial = f.try(b.Trial, b.Learnt, unseen)
	}
	var loss float64
	if out.Learnt, loss = f.search(b.Learnt, seed); out.Learnt == nil {
		return nil
	}
	if out.Priority = out.Learnt; !out.Trial.holds() {
		out.Priority = out.Learnt.firstCome()
		loss = f.loss(out.Priority, math.Inf(1))
	}
	if out.Evidence = f.evidence(out.Priority, loss); out.Evidence == nil {
		return nil
	}
	return out
}

func newFit(of []*Situation, gates *Gates, workers int, cancelled *atomic.Bool) *fit {
	f := &fit{players: make([]Player, max(1, workers)), losses: make([]float64, len(of)), cancelled: cancelled}
	for _, s := range of {
		gated := *s
		gated.Gates = gates.At(s.At)
		f.of = append(f.of, &gated)
	}
	return f
}

// search returns the best priority that it found, simplified, and its loss. It returns nil once the fit is cancelled.
func (f *fit) search(inForce *Priority, seed uint64) (*Priority, float64) {
	candidates := starts()
	if inForce != nil {
		candidates = append([]Priority{*inForce}, candidates...)
	}
	best, least := candidates[0], math.Inf(1)
	try := func(p Priority) {
		if loss := f.loss(&p, least); loss < least {
			best, least = p, loss
		}
	}
	for _, p := range candidates {
		try(p)
	}
	for _, c := range [...]float64{-.45, -.3, -.2, -.1, 0} {
		p := best
		p.Capacity = c
		try(p)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for k := range Tries {
		p := best
		all := p.weights()
		for range 1 + rng.IntN(3) {
			w := &all[rng.IntN(len(all))]
			*w.of += w.width * rng.NormFloat64() * math.Pow(2, -2*float64(k)/Tries)
			*w.of = math.Max(w.least, math.Min(*w.of, w.most))
		}
		try(p)
	}
	best, least = f.simplify(best, least)
	if f.isCancelled() {
		return nil, 0
	}
	return &best, least
}

// spare is the relative increase of the loss that is accepted for a simpler priority.
const spare = .01

// simplify removes weights from a priority while its loss increases by at most spare in total. A search on 500
// situations finds small weights that fit only these situations: under strict first come, first served they would order
// jobs wrongly.
func (f *fit) simplify(best Priority, least float64) (Priority, float64) {
	most, loss := least*(1+spare), least
	for i, w := range best.weights() {
		if *w.of == 0 {
			continue
		}
		p := best
		*p.weights()[i].of = 0
		if got := f.loss(&p, most); got <= most {
			best, loss = p, got
		}
	}
	return best, loss
}

func (f *fit) isCancelled() bool { return f.cancelled != nil && f.cancelled.Load() }

// fit is the state of one Fit.
type fit struct {
	of        []*Situation
	players   []Player
	losses    []float64
	cancelled *atomic.Bool
}

// part is the number of situations that are judged before the fit checks whether a candidate can still win.
const part = 100

// loss returns the mean loss of a priority's forecasts. It returns +Inf once the mean is certain to exceed least, or
// once the fit is cancelled.
func (f *fit) loss(p *Priority, least float64) float64 {
	sum := 0.
	for from := 0; from < len(f.of); from += part {
		to := min(len(f.of), from+part)
		f.judge(p, from, to)
		for _, l := range f.losses[from:to] { // in order, so that the sum is the same for any number of workers
			sum += l
		}
		if f.isCancelled() || sum > least*float64(len(f.of)) {
			return math.Inf(1)
		}
	}
	return sum / float64(len(f.of))
}

// judge writes the losses of a priority on the situations f.of[from:to] into f.losses[from:to].
func (f *fit) judge(p *Priority, from, to int) {
	var next atomic.Int64
	next.Store(int64(from))
	work := func(player *Player) {
		for i := int(next.Add(1)) - 1; i < to; i = int(next.Add(1)) - 1 {
			s := f.of[i]
			player.Load(&s.Pool, p.Processors(s.Capacity), math.Exp(p.Lifetimes))
			wait := p.Late(player.Wait(&s.Pool, &s.Request, p.Strict, p.Score))
			f.losses[i] = math.Abs(waittime.Log(wait)-s.Log) / 2
		}
	}
	var all panics.Group
	for i := 1; i < len(f.players); i++ {
		all.Go(func() { work(&f.players[i]) })
	}
	work(&f.players[0])
	all.Wait()
}
