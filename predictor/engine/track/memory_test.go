package track

import (
	"fmt"
	"testing"
)

// TestUsersWithoutViews proves that a tracker without views, as in the replay of a history, keeps nothing of forgotten
// users. Views have all users, and no others, before and after.
func TestUsersWithoutViews(t *testing.T) {
	const most = 100
	tr := NewTracker([]float64{.5}, 64, Memory{Users: most})
	number := uint64(0)
	come := func(users int) {
		for range users {
			number++
			tr.Clock = float64(number)
			q, _, _ := tr.Queue("q")
			j := tr.Enter(number, tr.Clock, Request{Queue: "q", User: fmt.Sprint("u", number), Procs: 1}, q)
			tr.Wait(j)
			tr.Law(j, tr.Clock)
			tr.Compete(j)
			tr.Retire(j, Left)
			j.UserState.Waiting.Add(j, -1)
			tr.Forget(j)
			if n := len(j.UserState.Line.jobs); n != 0 {
				t.Fatalf("the line of a user without jobs has %d", n)
			}
		}
	}
	compare := func(when string) {
		t.Helper()
		table, n := tr.userTable(), 0
		for i := range table {
			n += len(table[i])
		}
		for name, u := range tr.Users {
			if f := table.Find(name); f == nil || f.Number != u.Number {
				t.Errorf("%s: the view has %v for user %s", when, f, name)
			}
		}
		if n != len(tr.Users) {
			t.Errorf("%s: the view has %d users, the tracker %d", when, n, len(tr.Users))
		}
	}
	come(50)
	compare("with few users")
	come(40 * most)
	if n := len(tr.frozen.changed); n > 2*most+shards {
		t.Errorf("%d users are kept for the next view, of %d", n, most)
	}
	compare("after very many")
	come(10)
	compare("after ten more")
	if f := tr.Forgotten(); f.UsersForRoom != int(number)-len(tr.Users) || f.UsersByAge != 0 {
		t.Errorf("%d users came and %d are there: %+v", number, len(tr.Users), f)
	}
}
