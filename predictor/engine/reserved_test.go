package engine

import (
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/pools"
)

// TestReservedForTheRequest covers users who may use the nodes of a reservation without asking for it. It proves that
// their requests may start on these nodes, beside the jobs that run there, once the reservation has begun, if they end
// before the reservation does. Other requests wait.
func TestReservedForTheRequest(t *testing.T) {
	e := quick(t, Config{Capacity: 200})
	e.SetPool("q", pools.PoolConfig{Name: "q", Procs: 100, PolicyKnown: true})
	e.Submit(0, 2, of("bob", "q", 60))
	e.Start(0, 2, true)
	ask := func(user, account string, procs int) float64 {
		r := of(user, "q", procs)
		r.Account = account
		f := e.View(10).Forecast(&r)
		return simulated(t, &f)
	}
	reserve := func(from, until float64, a Access) {
		e.SetOutages("q", []Outage{{From: from, Until: until, Procs: 40, Access: a}})
	}
	reserve(5, 9000, Access{})
	if w := ask("ann", "lab", 40); w < 500 {
		t.Errorf("what is reserved for those who ask for it is free for a request after %v s", w)
	}
	for _, c := range []struct {
		name          string
		access        Access
		user, account string
		may           bool
	}{
		{"the user", Access{Open: true, Users: "cy,ann"}, "ann", "lab", true},
		{"another user", Access{Open: true, Users: "cy,ann"}, "an", "lab", false},
		{"the account", Access{Open: true, Accounts: "lab"}, "ann", "Lab", true},
		{"another account", Access{Open: true, Accounts: "lab"}, "ann", "x", false},
		{"the user, but not the account", Access{Open: true, Users: "ann", Accounts: "lab"}, "ann", "x", false},
		{"a user who is not denied", Access{Open: true, DeniedUsers: "bob"}, "ann", "lab", true},
		{"a user who is denied", Access{Open: true, DeniedUsers: "bob"}, "bob", "lab", false},
		{"an account that is denied", Access{Open: true, DeniedAccounts: "lab"}, "ann", "lab", false},
		{"nobody", Access{Open: true, Users: "ann"}, "", "lab", false},
	} {
		reserve(5, 9000, c.access)
		if w := ask(c.user, c.account, 40); (w == 0) != c.may {
			t.Errorf("%s: waits for %v s, may use it: %v", c.name, w, c.may)
		}
	}
	open := Access{Open: true, Users: "ann"}
	reserve(5, 9000, open)
	if w := ask("ann", "lab", 41); w < 500 {
		t.Errorf("more than is reserved starts after %v s", w)
	}
	e.Submit(6, 4, of("ann", "q", 30))
	e.Start(6, 4, true)
	if w := ask("ann", "lab", 40); w < 200 {
		t.Errorf("beside a job that runs in it, a request for all of it starts after %v s", w)
	}
	if w := ask("ann", "lab", 10); w != 0 {
		t.Errorf("a request for what is left of it starts after %v s", w)
	}
	e.End(9, 4)
	reserve(110, 9000, open)
	if w := ask("ann", "lab", 40); w > 100 {
		t.Errorf("in a reservation that begins in 100 s it waits for %v s", w)
	}
	reserve(5, 500, open)
	if w := ask("ann", "lab", 40); w == 0 {
		t.Error("a job of 1000 s starts in a reservation that ends before")
	}
	data, err := e.MarshalBinary()
	check(t, err)
	again := quick(t, Config{Capacity: 200})
	check(t, again.UnmarshalBinary(data))
	r := of("ann", "q", 40)
	if a, b := e.View(10).Forecast(&r), again.View(10).Forecast(&r); simulated(t, &a) != simulated(t, &b) {
		t.Errorf("restored: %v s, want %v", simulated(t, &b), simulated(t, &a))
	}
}
