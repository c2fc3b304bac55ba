// Package joblimits finds the limits that apply to a job, as the scheduler lists and enforces them. They are limits
// of qualities of service (QOS), of associations and of scopes (PBS, Grid Engine) on running jobs. The package also
// determines which jobs a job may preempt. If several limits are on the same amount, Slurm's hierarchy decides which
// one counts (https://slurm.schedmd.com/resource_limits.html): the QOS of the queue, the QOS of the job, the
// association of the user, the accounts above.
package joblimits

import (
	"slices"
	"strings"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
)

// Amounts are the amounts of limited resources that jobs have, or may have.
type Amounts [kinds]int64

// The kinds of amounts.
const (
	Jobs = iota
	Procs
	Nodes
	GPUs
	Memory // bytes
	Work   // processor-seconds that running jobs may still use by their time limits
	kinds
)

// Unbounded is the value of an amount without a bound.
const Unbounded = 1<<63 - 1

// Array is the value of Key.Limit for the tasks of an array, which are limited by the array itself.
const Array = -1

// Key identifies a group of jobs whose amounts are added up. It is one of three: the jobs that one limit bounds (its
// index in Facts.Limits); the jobs of one user or account, if the limit bounds each separately; or the tasks of an
// array.
type Key struct {
	Limit int
	Of    string
}

// Bound is a limit that applies to a job. The field Most has the amounts that the limit allows. Counts has the amounts
// of the job that count in the limit while it runs. Has has those of them that the limit bounds for this job: an amount
// of Has is 0 if another limit takes precedence for it.
type Bound struct {
	Key
	Most, Has, Counts Amounts
}

// Exempt returns the kinds of amounts that count in the limit, but do not keep the job from starting.
func (b *Bound) Exempt() (out Kinds) {
	for k, counts := range b.Counts {
		out[k] = counts > b.Has[k]
	}
	return out
}

// Set has the limits that a scheduler enforces, and its rules of preemption. It is immutable.
type Set struct {
	facts   *job.Facts
	ofQOS   map[string][]int // indices of limits by lower-case name
	ofAcct  map[string][]int
	ofScope []int             // indices of limits in their order
	parents map[string]string // the account above each account
	queues  map[string]string // the QOS of each queue
	whole   map[string]bool   // the queues whose jobs get whole nodes
	largest map[string]int    // number of processors of the largest node of each queue
	rules   map[string]*job.QOSRules
	users   map[[2]string]string // default QOS by account and user
}

// New returns the limits in the scheduler's facts, nil if no limit can keep a job from starting and no job may preempt
// others.
func New(facts *job.Facts) *Set {
	if facts == nil {
		return nil
	}
	limits := facts.Limits
	if !facts.Enforced.Limits {
		limits = nil
	}
	facts = &job.Facts{Limits: limits, Accounts: facts.Accounts, Queues: facts.Queues, QOSRules: facts.QOSRules,
		Associations: facts.Associations, Enforced: facts.Enforced, Preemption: facts.Preemption,
		Nodes: sizesOf(facts.Nodes)}
	s := &Set{facts: facts, ofQOS: map[string][]int{}, ofAcct: map[string][]int{}, parents: map[string]string{},
		queues: map[string]string{}, whole: map[string]bool{}, largest: map[string]int{},
		rules: map[string]*job.QOSRules{},
		users: map[[2]string]string{}}
	for i := range facts.Limits {
		l := &facts.Limits[i]
		switch {
		case l.Scope != nil: // even without bounds it may be the first match of its set
			s.ofScope = append(s.ofScope, i)
		case !bounds(l):
		case l.QOS != "":
			s.ofQOS[fold(l.QOS)] = append(s.ofQOS[fold(l.QOS)], i)
		case l.Account != "":
			s.ofAcct[fold(l.Account)] = append(s.ofAcct[fold(l.Account)], i)
		}
	}
	if len(s.ofQOS) == 0 && len(s.ofAcct) == 0 && len(s.ofScope) == 0 && facts.Preemption == nil {
		return nil
	}
	for _, a := range facts.Accounts {
		s.parents[fold(a.Name)] = fold(a.Parent)
	}
	for i := range facts.Queues {
		q := &facts.Queues[i]
		if s.whole[q.Name] = q.Whole; q.QOS != "" {
			s.queues[q.Name] = fold(q.QOS)
		}
	}
	for i := range facts.Nodes {
		for _, queue := range facts.Nodes[i].Queues {
			s.largest[queue] = max(s.largest[queue], facts.Nodes[i].Node.Procs)
		}
	}
	for i := range facts.QOSRules {
		s.rules[fold(facts.QOSRules[i].Name)] = &facts.QOSRules[i]
	}
	for i := range facts.Associations {
		if a := &facts.Associations[i]; a.DefaultQOS != "" && a.Queue == "" {
			s.users[[2]string{fold(a.Account), a.User}] = fold(a.DefaultQOS)
		}
	}
	return s
}

// OfSubmissions returns the limits, in the scheduler's facts, on the number of running and waiting jobs. Beyond them
// the scheduler refuses a submission. In the returned set they are the limits on the amount Jobs. The set is nil if
// there are none.
func OfSubmissions(facts *job.Facts) *Set {
	if facts == nil {
		return nil
	}
	of := *facts
	of.Preemption, of.Limits = nil, make([]job.Limit, len(facts.Limits))
	for i := range facts.Limits {
		l := &facts.Limits[i]
		of.Limits[i] = job.Limit{QOS: l.QOS, Account: l.Account, User: l.User, Queue: l.Queue, PerUser: l.PerUser,
			PerAccount: l.PerAccount, Scope: l.Scope, Jobs: l.Submitted}
	}
	return New(&of)
}

// sizesOf returns groups of nodes with nothing but their queues and processors.
func sizesOf(groups []job.NodeGroup) []job.NodeGroup {
	var out []job.NodeGroup
	for i := range groups {
		g := &groups[i]
		out = append(out, job.NodeGroup{Queues: g.Queues, Node: job.NodeResources{Procs: g.Node.Procs}})
	}
	return out
}

// Code encodes or decodes a set as the facts from which it was made.
func Code(c *codec.Codec, s **Set) {
	known := *s != nil
	if c.Flag(&known); !known {
		return
	}
	facts := &job.Facts{}
	if !c.Reading {
		facts = (*s).facts
	}
	c.JSON(facts)
	if c.Reading && !c.Bad {
		*s = New(facts)
	}
}

// fold returns a name in the form in which names are compared. It is lower case, because Slurm stores the names of
// accounts and QOSs in lower case.
func fold(name string) string { return strings.ToLower(name) }

// bounds reports whether a limit bounds the amounts that jobs hold while they run at the same time.
func bounds(l *job.Limit) bool {
	return l.Jobs != 0 || l.Procs != 0 || l.Nodes != 0 || l.GPUs != 0 || l.Memory != 0 || l.RunMinutes.Procs != 0
}

// Limit returns the limit of a key, nil for the key of an array.
func (s *Set) Limit(k Key) *job.Limit {
	if k.Limit == Array {
		return nil
	}
	return &s.facts.Limits[k.Limit]
}

// Counts reports whether a job belongs to the group of a key, even if a limit of higher precedence bounds the job. No
// job belongs to the key of an array.
func (s *Set) Counts(k Key, a *job.Attributes) bool {
	l := s.Limit(k)
	switch {
	case l == nil:
		return false
	case l.Scope != nil:
		return holds(l.Scope, a) && eachOf(l.Scope, a) == k.Of
	case l.QOS != "":
		_, of := groupOf(l, a)
		qos := fold(l.QOS)
		return of == k.Of && (qos == s.qosOf(a) || qos == s.queues[a.Queue])
	case l.User != "" && l.User != a.User, l.Queue != "" && l.Queue != a.Queue, l.PerUser && k.Of != a.User:
		return false
	}
	account, limited := fold(a.Account), fold(l.Account)
	for level := 0; account != limited && account != "" && level < mostLevels && l.User == "" && !l.PerUser; level++ {
		account = s.parents[account]
	}
	return account == limited
}

// OfArray returns the bound that an array sets on the number of its running tasks.
func OfArray(array string, throttle int) Bound {
	b := Bound{Key: Key{Limit: Array, Of: array}}
	for k := range b.Most {
		b.Most[k] = Unbounded
	}
	b.Most[Jobs], b.Has[Jobs], b.Counts[Jobs] = int64(throttle), 1, 1
	return b
}

// Of returns the limits that hold for a job. A nil set has none.
func (s *Set) Of(a *job.Attributes) []Bound {
	if s == nil {
		return nil
	}
	var out []Bound
	var taken [3]Kinds // by group of jobs (all, eachUser, eachAccount): the kinds that an earlier limit bounds
	own, ofQueue := s.qosOf(a), s.queues[a.Queue]
	first := []string{ofQueue, own}
	if r := s.rules[own]; r != nil && slices.Contains(r.Flags, "OverPartQOS") {
		first = []string{own, ofQueue}
	}
	for i, qos := range first {
		if qos == "" || i > 0 && qos == first[0] {
			continue
		}
		found := taken
		for _, l := range s.ofQOS[qos] {
			limit := &s.facts.Limits[l]
			group, of := groupOf(limit, a)
			out = s.add(out, l, of, a, &taken[group], &found[group])
		}
		taken = found
	}
	return s.ofScopes(s.ofAssociations(out, a, taken), a)
}

// qosOf returns the QOS of a job: that of its request. If the request has none, it is the default of the user in the
// account, or of the account.
func (s *Set) qosOf(a *job.Attributes) string {
	if a.QOS != "" {
		return fold(a.QOS)
	}
	if d := s.users[[2]string{fold(a.Account), a.User}]; d != "" {
		return d
	}
	return s.users[[2]string{fold(a.Account), ""}]
}

// These are the groups of jobs that a limit adds up.
const (
	all = iota
	eachUser
	eachAccount
)

// groupOf returns the group of jobs that a limit adds up, and the user or account of the job in it.
func groupOf(l *job.Limit, a *job.Attributes) (group int, of string) {
	switch {
	case l.PerUser:
		return eachUser, a.User
	case l.PerAccount:
		return eachAccount, fold(a.Account)
	}
	return all, ""
}

// ofAssociations adds the limits of a job's association and of the accounts above it. Bounds on all jobs together apply
// at every level. The limits of a user, and the limits of an account per user, apply only for the job's own account:
// the scheduler lists those that are inherited from the accounts above with that account too.
func (s *Set) ofAssociations(out []Bound, a *job.Attributes, taken [3]Kinds) []Bound {
	lowest := true
	account := fold(a.Account)
	for level := 0; account != "" && level < mostLevels; level++ {
		for _, l := range s.ofAcct[account] {
			limit := &s.facts.Limits[l]
			named := limit.User != "" || limit.PerUser
			if named && !lowest || limit.User != "" && limit.User != a.User ||
				limit.Queue != "" && limit.Queue != a.Queue || limit.PerUser && s.hasOwn(account, a) {
				continue
			}
			group, of := groupOf(limit, a)
			if limit.User != "" {
				group = eachUser
			}
			ignored := taken[group]
			out = s.add(out, l, of, a, &ignored, new(Kinds))
		}
		lowest, account = false, s.parents[account]
	}
	return out
}

// hasOwn reports whether a user's own association in an account has limits, which replace the account's limits per
// user.
func (s *Set) hasOwn(account string, a *job.Attributes) bool {
	return a.User != "" && slices.ContainsFunc(s.ofAcct[account], func(l int) bool {
		return s.facts.Limits[l].User == a.User
	})
}

// mostLevels is the maximum number of accounts that are followed upwards. It ends a cycle of accounts.
const mostLevels = 32

// Kinds is a set of kinds of amounts.
type Kinds [kinds]bool

// add appends the bound that a limit sets for a job. In Has it leaves out the kinds in the set `bounded`, which an
// earlier limit bounds. It adds the kinds that this limit bounds to the set `now`. It appends nothing if the job has
// none of the bounded amounts, or if the limit is for another type of GPU.
func (s *Set) add(out []Bound, limit int, of string, a *job.Attributes, bounded, now *Kinds) []Bound {
	l := &s.facts.Limits[limit]
	if l.GPUType != "" && !strings.EqualFold(l.GPUType, a.GPUType) {
		return out
	}
	b := Bound{Key: Key{limit, of}, Most: mostOf(l)}
	any, amounts := false, s.amountsOf(a)
	if l.Scope != nil { // PBS adds up the requests of jobs
		amounts[Nodes] = int64(a.Nodes)
	}
	for k, has := range amounts {
		if b.Most[k] == Unbounded {
			continue
		}
		if now[k] = true; has > 0 {
			b.Counts[k], any = has, true
			if !bounded[k] {
				b.Has[k] = has
			}
		}
	}
	if !any {
		return out
	}
	return append(out, b)
}

// HasNodesAlone reports whether no other job runs on the nodes of a job. That is so if the job gets whole nodes, or
// requests for each of its nodes at least as many processors as the largest node of its queue has. It is false for a
// nil set.
func (s *Set) HasNodesAlone(a *job.Attributes) bool {
	if s == nil {
		return false
	}
	largest := s.largest[a.Queue]
	return a.Whole || s.whole[a.Queue] || a.Nodes > 0 && largest > 0 && a.Procs/a.Nodes >= largest
}

// amountsOf returns the amounts that a job has while it runs. Nodes count only if no other job runs on them, because
// Slurm counts a node that several jobs share once.
func (s *Set) amountsOf(a *job.Attributes) Amounts {
	procs, nodes := int64(max(1, a.Procs)), 0
	if s.HasNodesAlone(a) {
		nodes = a.Nodes
	}
	return Amounts{Jobs: 1, Procs: procs, Nodes: int64(nodes), GPUs: int64(a.GPUs), Memory: a.Memory, Work: procs}
}

// mostOf returns the maximum that a limit allows.
func mostOf(l *job.Limit) Amounts {
	out := Amounts{Jobs: int64(l.Jobs), Procs: int64(l.Procs), Nodes: int64(l.Nodes), GPUs: int64(l.GPUs),
		Memory: l.Memory, Work: l.RunMinutes.Procs}
	for k, most := range out {
		switch {
		case most == 0:
			out[k] = Unbounded
		case most < 0: // job.NoneAllowed
			out[k] = 0
		case k == Work && most > Unbounded/60:
			out[k] = Unbounded
		case k == Work:
			out[k] = most * 60
		}
	}
	return out
}
