package engine

import (
	"math"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster/fairshare"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// sharing returns the facts of a scheduler that computes priorities every minute. It has two users of equal shares,
// each in an account. bob has used a little and ann nothing, so ann's factor is 1 and bob's a half.
func sharing(age, fairShare int) *job.Facts {
	return &job.Facts{
		Weights: &job.Weights{Age: age, FairShare: fairShare, MaxAge: 24 * time.Hour, HalfLife: 10 * time.Minute,
			Period: time.Minute},
		AccountShares: []job.Share{{Account: "annlab", Raw: 1}, {Account: "boblab", Raw: 1, Usage: 100}},
		Shares: []job.Share{{Account: "annlab", User: "ann", Raw: 1, Factor: 1},
			{Account: "boblab", User: "bob", Raw: 1, Usage: 100, Factor: .5}},
		Enforced: job.Enforced{Limits: true},
	}
}

func ranked(user string, priority float64) track.Request {
	r := of(user, "q", 4)
	r.Priority = priority
	return r
}

// overtaken returns an engine of 4 processors. A job of ann's has all of them for at most 1,000 s, and three more of
// ann's jobs wait.
func overtaken(t *testing.T, facts *job.Facts) *Engine {
	e := quick(t, Config{Capacity: 4})
	e.SetPool("q", pools.PoolConfig{Name: "q", Procs: 4})
	e.SetPriorities(0, fairshare.NewPriorities(facts))
	e.Submit(0, 1, ranked("ann", 1000))
	e.Start(0, 1, true)
	for id := uint64(2); id < 5; id++ {
		e.Submit(1, id, ranked("ann", 1000))
	}
	return e
}

// TestFairShareFalls proves that ann's jobs go before bob's, and that ann's fair share falls while one of them runs. So
// if fair share counts, bob's later job starts before ann's other jobs, at the first end instead of the last one, and
// ann's jobs wait longer.
func TestFairShareFalls(t *testing.T) {
	ask := func(facts *job.Facts, r track.Request) []float64 {
		f := overtaken(t, facts).View(2).Forecast(&r)
		return f.Experts[ensemble.Simulation]
	}
	bob, ann := ranked("bob", 500), ranked("ann", 1000)
	frozen, moves := ask(nil, bob), ask(sharing(0, 1000), bob)
	if half := len(moves) / 2; !(moves[half] <= 1000 && frozen[half] > 1.5*moves[half]) {
		t.Errorf("bob's job starts after %v, want after ann's first one; after %v if ranks stay", moves, frozen)
	}
	without := ask(sharing(0, 0), bob)
	for i := range without {
		if without[i] != frozen[i] {
			t.Errorf("weights of 0: %v, want %v as without any", without, frozen)
			break
		}
	}
	small := ask(sharing(0, 400), bob) // too little to make up for 500
	if small[len(small)/2] != frozen[len(frozen)/2] {
		t.Errorf("with a small weight after %v, want %v as if ranks stayed", small, frozen)
	}
	if a, b := ask(nil, ann), ask(sharing(0, 1000), ann); !(b[len(b)/2] >= a[len(a)/2]) {
		t.Errorf("ann's next job starts after %v, want not before %v, as if ranks stayed", b, a)
	}
}

// TestUsageIsFollowed proves that between two reports the engine follows the usage: the factor of an owner with running
// jobs falls at the next computation, also in a restored engine and in a copy. A new report replaces the result.
func TestUsageIsFollowed(t *testing.T) {
	e := overtaken(t, sharing(0, 1000))
	factors := func(e *Engine, at float64) [2]float64 {
		v := e.View(at)
		return [2]float64{v.ShareFactor("annlab", "ann"), v.ShareFactor("", "bob")}
	}
	if got := factors(e, 2); got != [2]float64{1, .5} {
		t.Errorf("at first %v", got)
	}
	e.Submit(61, 9, ranked("bob", 500))
	if got := factors(e, 61); got != [2]float64{.5, 1} {
		t.Errorf("after a minute of ann's %v", got)
	}
	data, err := e.MarshalBinary()
	check(t, err)
	restored := quick(t, Config{Capacity: 4})
	check(t, restored.UnmarshalBinary(data))
	copied, err := e.Copy()
	check(t, err)
	defer copied.Close()
	for _, other := range []*Engine{restored, copied} {
		other.End(100, 1)
		if got := factors(other, 100); got != [2]float64{.5, 1} {
			t.Errorf("in another engine %v", got)
		}
	}
	again := sharing(0, 1000)
	again.AccountShares[1].Usage, again.Shares[1].Usage, again.SharesAt = 1e5, 1e5, time.Unix(90, 0)
	e.SetPriorities(90, fairshare.NewPriorities(again))
	if got := factors(e, 90); got != [2]float64{1, .5} {
		t.Errorf("after a report of much usage of bob's %v", got)
	}
	e.SetPriorities(91, nil)
	if got := factors(e, 91); !math.IsNaN(got[0]) {
		t.Errorf("without shares %v", got)
	}
}

// TestComputationsAreSeen proves that when the priority of a waiting job changes, all priorities have just been
// computed, so that the next computation is a period later.
func TestComputationsAreSeen(t *testing.T) {
	e := overtaken(t, sharing(0, 1000))
	e.Update(30, 2, ranked("ann", 500))
	if got := e.View(30).ShareFactor("annlab", "ann"); got != .5 {
		t.Errorf("a factor of %v when priorities change, want one that was just computed", got)
	}
	e.End(31, 1)
	e.Start(31, 2, true)
	e.Submit(89, 9, ranked("bob", 500))
	before := e.pools.Moves()
	e.Submit(91, 10, ranked("bob", 500))
	if after := e.pools.Moves(); before == after {
		t.Error("nothing was computed a minute after priorities had changed")
	}
}

// TestAgeCounts proves that a job that has waited goes before a later one of a slightly higher priority if age counts
// for priorities.
func TestAgeCounts(t *testing.T) {
	waits := func(age int) float64 {
		e := overtaken(t, sharing(age, 0))
		e.Submit(600, 9, ranked("bob", 900))
		r := ranked("bob", 1001)
		f := e.View(601).Forecast(&r)
		return f.Experts[ensemble.Simulation][2]
	}
	if young, old := waits(1), waits(86400); !(old > 1.5*young) {
		t.Errorf("a later job waits for %v s where age counts, %v s where it hardly does", old, young)
	}
}
