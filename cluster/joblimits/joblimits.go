// Package joblimits finds the limits that hold for a job: those of qualities of service (QOS) and of associations on
// what runs at once, as the scheduler lists and enforces them. Which of several limits on the same counts follows
// Slurm's hierarchy (https://slurm.schedmd.com/resource_limits.html): the QOS of the queue, the QOS of the job, the
// association of the user, the accounts above.
package joblimits

import (
	"slices"
	"strings"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
)

// Amounts are what jobs have, or may have, of what limits bound.
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

// Unbounded stands for an amount that is not bounded.
const Unbounded = 1<<63 - 1

// Key tells whose jobs count together: those that a limit bounds, by its index in Facts.Limits, and of these the jobs
// of one user or account where it bounds each of them apart.
type Key struct {
	Limit int
	Of    string
}

// Bound is a limit that holds for a job, and what the job has of it while it runs. Amounts of the job that another
// limit takes the place of are 0.
type Bound struct {
	Key
	Most, Has Amounts
}

// Set is the limits that a scheduler enforces. It is immutable.
type Set struct {
	facts   *job.Facts
	ofQOS   map[string][]int // indices of limits by lower-case name
	ofAcct  map[string][]int
	parents map[string]string // of accounts
	queues  map[string]string // the QOS of a queue
	whole   map[string]bool   // the queues whose jobs get whole nodes
	rules   map[string]*job.QOSRules
	users   map[[2]string]string // default QOS by account and user
}

// New returns the limits in the scheduler's facts, nil if it enforces none that keep a job from starting.
func New(facts *job.Facts) *Set {
	if facts == nil || !facts.Enforced.Limits {
		return nil
	}
	facts = &job.Facts{Limits: facts.Limits, Accounts: facts.Accounts, Queues: facts.Queues, QOSRules: facts.QOSRules,
		Associations: facts.Associations, Enforced: facts.Enforced}
	s := &Set{facts: facts, ofQOS: map[string][]int{}, ofAcct: map[string][]int{}, parents: map[string]string{},
		queues: map[string]string{}, whole: map[string]bool{}, rules: map[string]*job.QOSRules{},
		users: map[[2]string]string{}}
	for i := range facts.Limits {
		l := &facts.Limits[i]
		switch {
		case !bounds(l):
		case l.QOS != "":
			s.ofQOS[fold(l.QOS)] = append(s.ofQOS[fold(l.QOS)], i)
		case l.Account != "":
			s.ofAcct[fold(l.Account)] = append(s.ofAcct[fold(l.Account)], i)
		}
	}
	if len(s.ofQOS) == 0 && len(s.ofAcct) == 0 {
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

// Code passes a set: the facts that it was made of.
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

// fold returns a name as it is compared: Slurm keeps accounts and QOSs in lower case.
func fold(name string) string { return strings.ToLower(name) }

// bounds reports whether a limit keeps jobs from running at once.
func bounds(l *job.Limit) bool {
	return l.Jobs != 0 || l.Procs != 0 || l.Nodes != 0 || l.GPUs != 0 || l.Memory != 0 || l.RunMinutes.Procs != 0
}

// Limit returns the limit of a key.
func (s *Set) Limit(k Key) *job.Limit { return &s.facts.Limits[k.Limit] }

// Of returns the limits that hold for a job. A nil set has none.
func (s *Set) Of(a *job.Attributes) []Bound {
	if s == nil {
		return nil
	}
	var out []Bound
	var taken [3]kindSet // by whose jobs count together
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
	return s.ofAssociations(out, a, taken)
}

// qosOf returns the QOS of a job: the one that it names, else its association's own.
func (s *Set) qosOf(a *job.Attributes) string {
	if a.QOS != "" {
		return fold(a.QOS)
	}
	if d := s.users[[2]string{fold(a.Account), a.User}]; d != "" {
		return d
	}
	return s.users[[2]string{fold(a.Account), ""}]
}

// Whose jobs count together.
const (
	all = iota
	eachUser
	eachAccount
)

// groupOf returns whose jobs count together for a limit, and of whom the job is.
func groupOf(l *job.Limit, a *job.Attributes) (group int, of string) {
	switch {
	case l.PerUser:
		return eachUser, a.User
	case l.PerAccount:
		return eachAccount, fold(a.Account)
	}
	return all, ""
}

// ofAssociations adds the limits of a job's association and of the accounts above it. Bounds on all jobs together hold
// at every level, those of each user at the lowest that has one.
func (s *Set) ofAssociations(out []Bound, a *job.Attributes, taken [3]kindSet) []Bound {
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
			out = s.add(out, l, of, a, &ignored, new(kindSet))
		}
		lowest, account = false, s.parents[account]
	}
	return out
}

// hasOwn reports whether a user's own association in an account has limits, which take the place of those of each user.
func (s *Set) hasOwn(account string, a *job.Attributes) bool {
	return a.User != "" && slices.ContainsFunc(s.ofAcct[account], func(l int) bool {
		return s.facts.Limits[l].User == a.User
	})
}

// mostLevels is how many accounts are looked at, each above the one before: a circle of them must end.
const mostLevels = 32

// kindSet is kinds of amounts that a limit with precedence bounds.
type kindSet [kinds]bool

// add adds a limit, but for the kinds that are bounded already, and notes those that it bounds.
func (s *Set) add(out []Bound, limit int, of string, a *job.Attributes, bounded, now *kindSet) []Bound {
	l := &s.facts.Limits[limit]
	if l.GPUType != "" && !strings.EqualFold(l.GPUType, a.GPUType) {
		return out
	}
	b := Bound{Key: Key{limit, of}, Most: mostOf(l)}
	any := false
	for k, has := range s.amountsOf(a) {
		if b.Most[k] == Unbounded {
			continue
		}
		if now[k] = true; !bounded[k] && has > 0 {
			b.Has[k], any = has, true
		}
	}
	if !any {
		return out
	}
	return append(out, b)
}

// amountsOf returns what a job has while it runs. Nodes count only where they are its own: Slurm counts a node once
// that several jobs share.
func (s *Set) amountsOf(a *job.Attributes) Amounts {
	procs, nodes := int64(max(1, a.Procs)), 0
	if a.Whole || s.whole[a.Queue] {
		nodes = a.Nodes
	}
	return Amounts{Jobs: 1, Procs: procs, Nodes: int64(nodes), GPUs: int64(a.GPUs), Memory: a.Memory, Work: procs}
}

// mostOf returns what a limit allows.
func mostOf(l *job.Limit) Amounts {
	out := Amounts{Jobs: int64(l.Jobs), Procs: int64(l.Procs), Nodes: int64(l.Nodes), GPUs: int64(l.GPUs),
		Memory: l.Memory, Work: l.RunMinutes.Procs}
	for k, most := range out {
		switch {
		case most == 0:
			out[k] = Unbounded
		case most < 0: // job.NoneAllowed
			out[k] = 0
		case k == Work:
			out[k] = most * 60
		}
	}
	return out
}
