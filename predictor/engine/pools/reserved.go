package pools

import (
	"math"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/predictor/forward"
)

// Access defines who may use the nodes of a reservation (a kind of outage) without naming it in the request. The texts
// are names separated by commas.
type Access struct {
	// Open is true if everybody who meets the conditions below may use the nodes. Otherwise nobody may.
	Open bool
	// Users and Accounts may use the nodes; an empty text allows all. DeniedUsers and DeniedAccounts may not use them.
	// A job must meet both conditions, that of users and that of accounts.
	Users, Accounts, DeniedUsers, DeniedAccounts string
}

// opensTo reports whether jobs of a user in an account may use the nodes.
func (a *Access) opensTo(user, account string) bool {
	return a.Open && user != "" && allows(a.Users, a.DeniedUsers, user) &&
		allows(a.Accounts, a.DeniedAccounts, strings.ToLower(account))
}

// allows reports whether a name is allowed and not excluded.
func allows(may, mayNot, name string) bool {
	return (may == "" || among(may, name)) && !among(mayNot, name)
}

func among(names, name string) bool {
	return slices.Contains(strings.Split(names, ","), name) && name != ""
}

// isOpen reports whether an outage of the pool is a reservation that some users may use.
func (f *Facts) isOpen() bool {
	return slices.ContainsFunc(f.outages, func(o Outage) bool { return o.Open })
}

// reserved returns the nodes of an outage as a pool of its own, for requests that may use them. It returns nil if the
// request r may not use them, or if the outage is over.
func (f *Facts) reserved(at float64, outage int, r *RankedRequest) *Facts {
	o := &f.outages[outage]
	if o.Until <= at || !o.opensTo(r.Request.User, r.Account) {
		return nil
	}
	own := *f
	own.Procs, own.nodes, own.fitted, own.later = o.Procs, nodeUse{}, nil, comers{}
	if f.fitted != nil { // the jobs are in the order of submission, not of their ranks
		own.policy = forward.EASY
		if f.fitted.Strict {
			own.policy = forward.FCFS
		}
	}
	own.Running, own.queued, own.outages = nil, nil, nil
	own.inUse.Jobs, own.inUse.Procs = 0, 0
	if o.From > at {
		own.outages = append(own.outages, Outage{From: at - 1, Until: o.From, Procs: o.Procs})
	}
	if !math.IsInf(o.Until, 1) {
		own.outages = append(own.outages, Outage{From: o.Until, Until: math.Inf(1), Procs: o.Procs})
	}
	on := f.nodes.closedBy(outage)
	for i := range f.Running {
		j := &f.Running[i]
		inside := o.opensTo(j.belongs.user, j.belongs.account) && j.Start >= o.From
		if len(on) > 0 && len(j.on) > 0 {
			inside = slices.ContainsFunc(j.on, func(node int32) bool { return slices.Contains(on, node) })
		}
		if inside {
			own.Running = append(own.Running, *j)
			own.inUse.Jobs, own.inUse.Procs = own.inUse.Jobs+1, own.inUse.Procs+float64(j.Procs)
		}
	}
	for i := range f.queued {
		if w := &f.queued[i]; o.opensTo(w.belongs.user, w.belongs.account) {
			own.queued = append(own.queued, *w)
		}
	}
	return &own
}

// reserve lets a request start sooner in the futures in which the nodes reserved for it allow that.
func (f *Facts) reserve(at float64, r *RankedRequest, futures []forward.Future, c *Scratch) []forward.Future {
	if f.Large || !f.isOpen() {
		return futures
	}
	plain := *r
	plain.Preempts, plain.Linked, plain.Beside = nil, nil, nil
	for i := range f.outages {
		if own := f.reserved(at, i, r); own != nil && r.Procs <= own.Procs {
			futures = own.sooner(at, &plain, futures, 0, c)
		}
	}
	return futures
}

// sooner also simulates a request in the pool f. It compares the waits there, plus the given number of seconds, with
// those in the given futures. For each future it returns the outcome with the shorter wait.
func (f *Facts) sooner(at float64, r *RankedRequest, futures []forward.Future, later float64,
	c *Scratch) []forward.Future {
	before := slices.Clone(futures)
	after, _ := f.play(at, r, c)
	if len(after) != len(before) {
		return append(futures[:0], before...)
	}
	for i := range after {
		if after[i].Wait += later; before[i].Wait <= after[i].Wait {
			after[i] = before[i]
		}
	}
	return after
}
