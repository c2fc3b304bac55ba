package pools

import (
	"testing"

	"github.com/waitcast/waitcast/cluster/fairshare"
)

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
