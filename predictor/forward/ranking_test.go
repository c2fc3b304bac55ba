package forward_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/forward"
)

// rankEvery is the number of seconds between two computations of ranks here.
const rankEvery = 5

// busyLast is a ranker that puts a job later the more processors its owner's jobs have, and earlier the longer it has
// waited.
type busyLast struct{}

func (busyLast) Begin(int, forward.Ranking) forward.Ranking {
	return &busyRanking{next: rankEvery, running: map[int32]int{}, moved: map[int32]int{}}
}

type busyRanking struct {
	last, next     float64
	running, moved map[int32]int
}

func (k *busyRanking) Next() float64 { return k.next }
func (k *busyRanking) Compute() {
	k.last, k.next = k.next, k.next+rankEvery
	clear(k.moved)
	for owner, procs := range k.running {
		k.moved[owner] = procs
	}
}
func (k *busyRanking) Started(owner int32, procs int, _ float64)  { k.running[owner] += procs }
func (k *busyRanking) Ended(owner int32, procs int, _, _ float64) { k.running[owner] -= procs }
func (k *busyRanking) Rank(j forward.Ranked) int {
	return busyRank(j, k.moved[j.Owner], k.last)
}

// busyRank returns the rank of a job by the definition.
func busyRank(j forward.Ranked, procs int, last float64) int {
	return j.Rank + 2*procs - int(math.Max(0, last-j.Since)/7) + int(math.Max(0, -j.Since)/7)
}

// TestRanksAsDefined compares starts and blocked times under moving ranks with those of naive, which computes them from
// the definitions. There are also limits, jobs that are not eligible yet, and jobs that wait for the ends of others.
func TestRanksAsDefined(t *testing.T) {
	w := world{capacity: 8, running: 6, waiting: 12, most: 4, limits: 20, known: true, blocked: true, ranks: true,
		caps: true, after: true, policies: []forward.Policy{forward.PriorityFCFS, forward.PriorityEASY}}
	var sim forward.Sim
	moved := 0
	rapid.Check(t, func(t *rapid.T) {
		s := w.draw(t)
		owner := rapid.Int32Range(0, 2)
		for i := range s.Running {
			s.Running[i].Owner = owner.Draw(t, "owner of a running job")
		}
		for i := range s.Waiting {
			s.Waiting[i].Owner = owner.Draw(t, "owner")
			s.Waiting[i].Since = float64(-rapid.IntRange(0, 9).Draw(t, "waited"))
		}
		r := w.request(t, &s)
		r.Holds, r.Owner = w.holds(t, &s, r.Procs), owner.Draw(t, "owner of the request")
		r.Rank = rapid.IntRange(-1, 6).Draw(t, "rank of the request")
		r.Behind = s.Behind(r.Rank)
		frozen := newNaive(&s, r).play(400)
		n := newNaive(&s, r)
		n.ranks = func(j *waits, procs int, last float64) int {
			return busyRank(forward.Ranked{Rank: j.rank, Owner: j.owner, Since: j.since}, procs, last)
		}
		want := n.play(400)
		s.Ranker = busyLast{}
		got, err := sim.Futures(&s, r, 1, 1, nil)
		var never *forward.NeverError
		if errors.As(err, &never) {
			got = []forward.Future{{Wait: math.Inf(1), Blocked: n.blocked}}
		} else if err != nil {
			t.Fatal(err)
		}
		if got[0].Wait != want || got[0].Blocked != n.blocked {
			t.Fatalf("starts after %v s, %v of them blocked; want %v and %v", got[0].Wait, got[0].Blocked, want,
				n.blocked)
		}
		if want != frozen {
			moved++
		}
	})
	t.Logf("%d starts differ from those without a ranker", moved)
	if moved == 0 && !testing.Short() {
		t.Error("no start differs from those without a ranker: the states drawn are too easy")
	}
}

// still is a ranker that changes no rank.
type still struct{}

func (still) Begin(int, forward.Ranking) forward.Ranking { return &stillRanking{next: 3} }

type stillRanking struct{ next float64 }

func (k *stillRanking) Next() float64                    { return k.next }
func (k *stillRanking) Compute()                         { k.next += 3 }
func (*stillRanking) Started(int32, int, float64)        {}
func (*stillRanking) Ended(int32, int, float64, float64) {}
func (*stillRanking) Rank(j forward.Ranked) int          { return j.Rank }

// TestStillRanks proves that if computed ranks do not change, everything is as without a ranker: requests, surfaces and
// the pivots of starts, beside outages, gates, limits, arrivals and jobs that are not eligible yet.
func TestStillRanks(t *testing.T) {
	w := world{capacity: 12, running: 5, waiting: 9, most: 6, limits: 60, outages: true, past: true, blocked: true,
		ranks: true, gates: true, caps: true, after: true,
		policies: []forward.Policy{forward.PriorityFCFS, forward.PriorityEASY}}
	rapid.Check(t, func(t *rapid.T) {
		s := w.draw(t)
		s.Horizon = 5000
		if rapid.Bool().Draw(t, "arrivals") {
			s.Arrivals = arriving(t, w)
		}
		r := w.request(t, &s)
		r.Holds, r.After = w.holds(t, &s, r.Procs), keys(t, &s)
		r.Rank = rapid.IntRange(-1, 6).Draw(t, "rank of the request")
		r.Behind = s.Behind(r.Rank)
		want, wantErr := allOf(&s, r)
		s.Ranker = still{}
		got, gotErr := allOf(&s, r)
		if !slices.Equal(got, want) || (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%v, error %v; without a ranker %v, error %v", got, gotErr, want, wantErr)
		}
	})
}

// TestStillRanksOnNodes proves that a ranker that changes no rank changes no wait, for requests in a pool whose jobs
// are placed on nodes.
func TestStillRanksOnNodes(t *testing.T) {
	var sim forward.Sim
	rapid.Check(t, func(t *rapid.T) {
		s, r := drawNodes(t)
		s.Policy = rapid.SampledFrom([]forward.Policy{forward.PriorityEASY, forward.PriorityFCFS}).Draw(t, "by rank")
		if r.Rank = s.Behind(0); len(s.Waiting) > 0 {
			r.Rank = s.Waiting[rapid.IntRange(0, len(s.Waiting)-1).Draw(t, "beside")].Rank
		}
		r.Behind = s.Behind(r.Rank)
		want, wantErr := sim.Futures(&s, r, 1, 1, nil)
		s.Ranker = still{}
		got, gotErr := sim.Futures(&s, r, 1, 1, nil)
		if !slices.Equal(got, want) || (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%v, error %v; without a ranker %v, error %v", got, gotErr, want, wantErr)
		}
	})
}

// arriving draws later arrivals.
func arriving(t *rapid.T, w world) forward.Arrivals {
	var all []forward.Arrival
	for range rapid.IntRange(1, 12).Draw(t, "number of arrivals") {
		all = append(all, forward.Arrival{After: float64(rapid.IntRange(0, 20).Draw(t, "after")),
			Procs: rapid.IntRange(1, w.most).Draw(t, "procs"), Limit: float64(rapid.IntRange(1, 60).Draw(t, "limit")),
			Runtime: float64(rapid.IntRange(1, 60).Draw(t, "runtime")), Rank: rapid.IntRange(-1, 6).Draw(t, "rank")})
	}
	return func(int, uint64) func() (forward.Arrival, bool) {
		i := -1
		return func() (forward.Arrival, bool) {
			if i++; i < len(all) {
				return all[i], true
			}
			return forward.Arrival{}, false
		}
	}
}

// allOf returns the outcomes of a request in a few replicas with their pivots, and the same from a surface.
func allOf(s *forward.State, r forward.Request) (out []float64, err error) {
	var sim forward.Sim
	futures, err := sim.Futures(s, r, 3, 1, nil)
	for _, f := range futures {
		out = append(out, f.Wait, f.Blocked)
	}
	var roots []int32
	if !slices.ContainsFunc(futures, func(f forward.Future) bool { return f.Wait >= s.Horizon }) { // all have started
		roots, _ = sim.Pivots(s, r, 3, 1, nil)
	}
	plan, _ := sim.Plan(s, r)
	out = append(out, plan)
	surface, surfaceErr := forward.NewSurface(context.Background(), s, forward.SurfaceOptions{Replicas: 3, Workers: 1,
		Seed: 1, Ranked: forward.Ranked{Rank: r.Rank}, Behind: r.Behind, Plain: true, Starts: 4})
	if surfaceErr != nil {
		return out, err
	}
	waits, _ := surface.WaitsByReplica(r.Procs, r.Limit, nil)
	out = append(out, waits...)
	for i := range s.Waiting {
		roots = append(roots, surface.StartPivots(i, nil)...)
	}
	for _, p := range roots {
		out = append(out, float64(p))
	}
	return out, err
}

// TestFairShareOvertakes proves that a computation of ranks changes the order. ann's jobs go first until the
// computation counts what ann runs. From then on bob's later request goes first, and starts with the first processors
// that become free. With fixed ranks it would wait for ann's last job.
func TestFairShareOvertakes(t *testing.T) {
	const ann, bob = 1, 2
	s := forward.State{Capacity: 4, Policy: forward.PriorityEASY,
		Running: []forward.Running{{Procs: 4, Limit: 22, Law: sure(22), Owner: ann}}}
	for range 3 {
		s.Waiting = append(s.Waiting, forward.Waiting{Procs: 4, Limit: 30, Law: sure(30), Rank: 5, Owner: ann})
	}
	r := forward.Request{Procs: 4, Limit: 10, Rank: 6, Owner: bob}
	var sim forward.Sim
	for name, c := range map[string]struct {
		ranker forward.Ranker
		want   float64
	}{"ranks stay": {nil, 112}, "ranks move": {busyLast{}, 22}} {
		s.Ranker = c.ranker
		waits, err := sim.Waits(&s, r, 1, 1, nil)
		if got := one(t, waits, err); got != c.want {
			t.Errorf("%s: bob's request starts after %v s, want %v", name, got, c.want)
		}
		surface, err := forward.NewSurface(t.Context(), &s, forward.SurfaceOptions{Replicas: 1,
			Ranked: forward.Ranked{Rank: 6, Owner: bob}})
		check(t, err)
		waits, err = surface.Waits(4, 10, nil)
		if got := one(t, waits, err); got != c.want {
			t.Errorf("%s: by a surface after %v s, want %v", name, got, c.want)
		}
	}
}

// byMovedRank compares two waiting jobs of the naive simulation by their newest ranks, and then by their places.
func byMovedRank(a, b waits) int {
	return cmp.Or(cmp.Compare(a.moved, b.moved), cmp.Compare(a.place, b.place))
}
