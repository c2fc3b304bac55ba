package forward_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/simulator"
)

// sure is the law of a job whose residual lifetime is known.
type sure float64

func (s sure) Residual(float64, float64) float64 { return float64(s) }

// world draws states.
type world struct {
	capacity, running, waiting, most int // the largest value of each
	limits                           int // in seconds
	policies                         []forward.Policy
	known                            bool // all limits are known
	outages, past, blocked, ranks    bool // past: outages may have begun already
	gates, caps                      bool
	after                            bool // some jobs wait for the ends of others
}

func (w world) draw(t *rapid.T) forward.State {
	s := forward.State{Capacity: rapid.IntRange(1, w.capacity).Draw(t, "capacity")}
	s.Policy = rapid.SampledFrom(w.policies).Draw(t, "policy")
	size := rapid.IntRange(1, min(w.most, s.Capacity))
	seconds := rapid.IntRange(1, w.limits)
	limit := rapid.OneOf(seconds, seconds, seconds, rapid.Just(0))
	if w.known {
		limit = seconds
	}
	free := s.Capacity
	for range rapid.IntRange(0, w.running).Draw(t, "running") {
		n := size.Draw(t, "size")
		if n > free {
			break
		}
		free -= n
		s.Running = append(s.Running, forward.Running{
			Procs: n, Age: float64(rapid.IntRange(0, w.limits).Draw(t, "age")), Limit: float64(limit.Draw(t, "limit")),
			Law: sure(rapid.IntRange(0, w.limits).Draw(t, "residual")),
		})
	}
	for range rapid.IntRange(0, w.waiting).Draw(t, "waiting") {
		j := forward.Waiting{
			Procs: size.Draw(t, "size"), Limit: float64(limit.Draw(t, "limit")),
			Law: sure(rapid.IntRange(0, w.limits).Draw(t, "runtime")),
		}
		if w.blocked && rapid.IntRange(0, 2).Draw(t, "blocked") == 0 {
			j.Eligible = float64(seconds.Draw(t, "eligible"))
		}
		if n := len(s.Waiting); w.ranks && n > 0 {
			j.Rank = s.Waiting[n-1].Rank + max(0, rapid.IntRange(-2, 2).Draw(t, "rank"))
		}
		s.Waiting = append(s.Waiting, j)
	}
	if w.outages {
		for range rapid.IntRange(0, 3).Draw(t, "outages") {
			from := rapid.IntRange(1, 2*w.limits).Draw(t, "from")
			if w.past {
				from -= 6
			}
			s.Outages = append(s.Outages, forward.Outage{
				From: float64(from), Until: float64(from + seconds.Draw(t, "outage")),
				Procs: rapid.IntRange(1, max(1, s.Capacity/3)).Draw(t, "away"),
			})
		}
	}
	if w.gates {
		s.Gates = w.drawGates(t)
	}
	if w.caps {
		w.drawLimits(t, &s)
	}
	if w.after {
		drawAfter(t, &s)
	}
	return s
}

// drawAfter gives the jobs keys and makes some wait for the ends of jobs that run, wait ahead or wait behind, and of
// one that does not exist.
func drawAfter(t *rapid.T, s *forward.State) {
	for i := range s.Running {
		s.Running[i].Key = uint64(i) + 1
	}
	for i := range s.Waiting {
		s.Waiting[i].Key = uint64(len(s.Running)+i) + 1
	}
	for i := range s.Waiting {
		s.Waiting[i].After = keys(t, s)
	}
}

// keys draws up to three keys, nearly all of jobs of the state, or none.
func keys(t *rapid.T, s *forward.State) []uint64 {
	if rapid.IntRange(0, 2).Draw(t, "waits for others") > 0 {
		return nil
	}
	all := rapid.Uint64Range(1, uint64(len(s.Running)+len(s.Waiting))+1)
	return rapid.SliceOfN(all, 0, 3).Draw(t, "after")
}

// drawLimits draws up to three limits, the jobs' amounts in them, and jobs in other pools that count in them.
func (w world) drawLimits(t *rapid.T, s *forward.State) {
	for range rapid.IntRange(0, 3).Draw(t, "limits") {
		l := forward.Limit{Most: forward.NoBounds()}
		for range rapid.IntRange(1, 2).Draw(t, "bounds") {
			l.Most[rapid.SampledFrom([]int{forward.Jobs, forward.Procs, forward.GPUs}).Draw(t, "bound")] =
				int64(rapid.IntRange(1, 5).Draw(t, "most"))
		}
		s.Limits = append(s.Limits, l)
	}
	for i := range s.Running {
		s.Running[i].Holds = w.holds(t, s, s.Running[i].Procs)
	}
	for range rapid.IntRange(0, 2).Draw(t, "elsewhere") {
		if h := w.holds(t, s, rapid.IntRange(1, 3).Draw(t, "size elsewhere")); h != nil {
			s.Running = append(s.Running, forward.Running{Holds: h,
				Limit: float64(rapid.IntRange(1, w.limits).Draw(t, "limit elsewhere")),
				Law:   sure(rapid.IntRange(0, w.limits).Draw(t, "residual elsewhere"))})
		}
	}
	for i := range s.Waiting {
		s.Waiting[i].Holds = w.holds(t, s, s.Waiting[i].Procs)
	}
}

// holds draws the amounts of a job of a size in the limits of a state.
func (w world) holds(t *rapid.T, s *forward.State, procs int) (out []forward.Holding) {
	gpus := int64(rapid.IntRange(0, 2).Draw(t, "gpus"))
	for l := range s.Limits {
		if rapid.Bool().Draw(t, "counts") {
			out = append(out, forward.Holding{Limit: int32(l), //nolint:gosec // at most three
				Amounts: forward.Amounts{forward.Jobs: 1, forward.Procs: int64(procs), forward.GPUs: gpus}})
		}
	}
	return out
}

// drawGates draws up to two gates. If the first gate is shut now, so is the second one, which is for longer limits. In
// the first week a gate that is shut now opens once, and a gate that is open now is shut once for some time.
func (w world) drawGates(t *rapid.T) []forward.Gate {
	var out []forward.Gate
	over, shut := 0, false
	for range rapid.IntRange(0, 2).Draw(t, "gates") {
		over += rapid.IntRange(1, w.limits/2).Draw(t, "over")
		shut = shut || rapid.Bool().Draw(t, "shut")
		first := rapid.IntRange(1, w.limits).Draw(t, "first flip")
		g := forward.Gate{Over: float64(over), Shut: shut, Flips: []float64{float64(first), forward.Week}}
		if !shut {
			g.Flips[1] = float64(first + rapid.IntRange(1, w.limits).Draw(t, "second flip"))
		}
		out = append(out, g)
	}
	return out
}

func (w world) request(t *rapid.T, s *forward.State) forward.Request {
	least := 0
	if w.known {
		least = 1
	}
	return forward.Request{
		Procs: rapid.IntRange(1, s.Capacity).Draw(t, "request procs"),
		Limit: float64(rapid.IntRange(least, w.limits).Draw(t, "request limit")),
	}
}

// simulated returns the wait of a request by package simulator, with the request really in the queue.
func simulated(t testing.TB, s *forward.State, r forward.Request) float64 {
	const now = 1e6
	cfg := simulator.Config{Procs: s.Capacity, Policy: new(simulator.FCFS)}
	if s.Policy == forward.EASY {
		cfg.Policy = new(simulator.EASY)
	}
	for _, o := range s.Outages {
		cfg.Outages = append(cfg.Outages, simulator.Outage{From: now + o.From, Until: now + o.Until, Procs: o.Procs})
	}
	sim, err := simulator.New(cfg)
	check(t, err)
	state := simulator.State{Now: now}
	for _, j := range s.Running {
		state.Running = append(state.Running, simulator.Job{
			Procs: j.Procs, Limit: j.Limit, Start: now - j.Age, Runtime: j.Age + j.Law.Residual(j.Age, .5),
		})
	}
	for _, j := range s.Waiting {
		state.Waiting = append(state.Waiting,
			simulator.Job{Procs: j.Procs, Limit: j.Limit, Runtime: j.Law.Residual(0, .5)})
	}
	check(t, sim.Load(state))
	check(t, sim.Submit(simulator.Job{ID: 7, Procs: r.Procs, Limit: r.Limit, Submit: now}))
	for {
		e, ok, err := sim.Next(math.Inf(1))
		check(t, err)
		if !ok {
			return math.Inf(1)
		}
		if e.Kind == simulator.Started && e.Job.ID == 7 {
			return e.Time - now
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type fataler interface{ Fatalf(string, ...any) }

// one returns the single wait of a state without random lifetimes.
func one(t fataler, waits []float64, err error) float64 {
	if err != nil || len(waits) != 1 {
		t.Fatalf("got waits %v, error %v; want one wait", waits, err)
	}
	return waits[0]
}
