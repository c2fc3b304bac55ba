package pools

import (
	"maps"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster/fairshare"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// TestOwnersOfForgottenUsers proves that a user who is forgotten has no owner any more, also if no other user comes. A
// machine that was restored since does not know the user either.
func TestOwnersOfForgottenUsers(t *testing.T) {
	tr := track.NewTracker([]float64{.5}, 100, track.Memory{Age: 2 * track.Day})
	queue, _, _ := tr.Queue("q")
	tr.Clock = 0
	for id, user := range []string{"ann", "bob"} {
		j := tr.Enter(uint64(id), 0, track.Request{Queue: "q", User: user, Procs: 1}, queue)
		if user == "ann" { // she has no job any more
			j.UserState.LastSubmit = 0
			tr.Release(j)
		}
	}
	m := New(Config{Levels: []float64{.5}}, tr)
	m.SetPriorities(0, fairshare.NewPriorities(&job.Facts{
		Weights:       &job.Weights{FairShare: 1, MaxAge: time.Hour, HalfLife: time.Hour, Period: time.Minute},
		AccountShares: []job.Share{{Account: "lab", Raw: 1}},
		Shares:        []job.Share{{Account: "lab", User: "ann", Raw: 1}, {Account: "lab", User: "bob", Raw: 1}},
	}))
	f := m.Freeze(nil)
	both := maps.Clone(m.ownersOf(f))
	tr.Clock = 4 * track.Day
	tr.Expire(0)
	left := m.ownersOf(f)
	if len(both) != 2 || len(left) != 1 || left[2] != both[2] {
		t.Errorf("owners by the number of the user: %v, after ann was forgotten %v", both, left)
	}
}

// TestRankingOfLaterComputation proves that a computation that a bad clock reports from the far future does not make
// replicas compute ranks at every period: a month is simulated in few steps, in the order of time.
func TestRankingOfLaterComputation(t *testing.T) {
	const month = 30 * 86400
	r := &ranker{PriorityMoves: &PriorityMoves{
		priorities: &fairshare.Priorities{Age: 1000, MaxAge: 7 * 86400, Period: 1}, last: 1e12}}
	k := r.Begin(0, nil)
	last, steps := 0., 0
	for ; k.Next() <= month; steps++ {
		if k.Next() < last || steps > 200 { // 24 periods, then each is 15 % later
			t.Fatalf("computation %d is at %v s, after one at %v s", steps, k.Next(), last)
		}
		last = k.Next()
		k.Compute()
	}
	if steps < eachPeriod {
		t.Errorf("%d computations in a month, want at least %d", steps, eachPeriod)
	}
}
