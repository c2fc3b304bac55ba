package pools

import (
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/cluster/fairshare"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/background"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/forward/learn"
)

func codeOutage(s *codec.Codec, o *Outage) {
	s.Finite(&o.From)
	s.Int(&o.Procs)
	s.Any(&o.Until)
	s.Text(&o.Nodes)
	s.Flag(&o.Open)
	s.Text(&o.Users, &o.Accounts, &o.DeniedUsers, &o.DeniedAccounts)
	if s.Reading && (!(o.From < o.Until) || o.Procs > math.MaxInt32) {
		s.Fail()
	}
}

// codeTables reads or writes the tables of queues. A table of several queues is written once.
func codeTables(s *codec.Codec, all *map[string]*waitSurface) {
	var each []*waitSurface
	number := map[*waitSurface]int{}
	for _, queue := range slices.Sorted(maps.Keys(*all)) {
		if t := (*all)[queue]; number[t] == 0 {
			each = append(each, t)
			number[t] = len(each)
		}
	}
	codec.List(s, &each, func(t **waitSurface) { codeTable(s, t) })
	codec.Map(s, all, func(t **waitSurface) {
		n := number[*t]
		s.Int(&n)
		if !s.Reading {
			return
		}
		if n < 1 || n > len(each) {
			s.Fail()
			return
		}
		*t = each[n-1]
	})
}

// codeTable reads or writes a table and the tables for later ranks (waitSurface.next). All of them share one census.
func codeTable(s *codec.Codec, v **waitSurface) {
	codeOneTable(s, v)
	codeCensus(s, &(*v).census)
	for t := *v; ; t = t.next {
		more := t.next != nil
		if s.Flag(&more); !more || s.Bad {
			return
		}
		codeOneTable(s, &t.next)
		t.next.census = t.census
	}
}

func codeOneTable(s *codec.Codec, v **waitSurface) {
	if s.Reading {
		*v = &waitSurface{}
	}
	t := *v
	s.Finite(&t.At)
	s.Int(&t.most, &t.levels, &t.replays)
	codec.List(s, &t.sizes, func(n *int) { s.Int(n) })
	last := t.limits // the last one is infinite, and is not written
	if !s.Reading {
		last = last[:len(last)-1]
	}
	s.Reals(&last)
	if s.Reading {
		t.limits = append(last, math.Inf(1))
	}
	s.Singles(&t.cells)
	s.Singles(&t.waits)
	upTo := int64(t.upTo)
	s.Signed(&upTo)
	t.upTo = int(upTo)
	track.CodeAmount(s, &t.ahead)
	n := len(t.sizes) * len(t.limits)
	if s.Reading && (t.levels > 64 || t.replays > replicas || !slices.IsSorted(t.sizes) ||
		!slices.IsSorted(t.limits) || len(t.cells) != n*t.width() || len(t.waits) != n*t.replays) {
		s.Fail()
	}
}

// CodePool reads or writes the facts of a pool.
func CodePool(s *codec.Codec, v **Facts) {
	if s.Reading {
		*v = &Facts{}
	}
	f := *v
	s.Int(&f.Procs)
	codePolicy(s, &f.policy)
	codec.List(s, &f.order, func(n *string) { s.Text(n) })
	codec.List(s, &f.outages, func(o *Outage) { codeOutage(s, o) })
	track.CodeAmount(s, &f.inUse)
	track.CodeAmount(s, &f.ahead)
	ranked := f.ranks != nil
	if s.Flag(&ranked); ranked {
		codec.Map(s, &f.ranks, func(a *track.Amount) { track.CodeAmount(s, a) })
	}
	if s.Flag(&f.prioritized); f.prioritized {
		codec.Map(s, &f.newest, func(rank *int) { s.Int(rank) })
	}
	s.Flag(&f.Large)
	if f.Large {
		codeTables(s, &f.Surfaces)
	}
	codec.List(s, &f.Running, func(j *Member) { codeJob(s, j) })
	codec.List(s, &f.Waiting, func(j *Member) { codeJob(s, j) })
	same := len(f.queued) == len(f.Waiting)
	switch s.Flag(&same); {
	case !same:
		codec.List(s, &f.queued, func(j *Member) { codeJob(s, j) })
	case s.Reading:
		f.queued = f.Waiting
	}
	codec.List(s, &f.elsewhere, func(j *Member) { codeJob(s, j) })
	s.Flag(&f.limited)
	f.later.code(s)
	rules.Code(s, &f.fitted)
	codeMoves(s, &f.moves)
	codec.List(s, &f.others, func(r *ownerRate) {
		codec.Number(s, &r.owner)
		s.Finite(&r.rate)
	})
	rules.CodeGates(s, &f.gates)
	nodes := f.nodes.Nodes
	if codeNodes(s, &nodes); s.Reading && !s.Bad {
		f.later.nodes = nodes
		f.findNeeds(nodes)
	}
	s.Check(f.Procs <= math.MaxInt32, "a pool of %d processors", f.Procs)
}

func codePolicy(s *codec.Codec, p *forward.Policy) {
	codec.Number(s, p)
	s.Check(*p <= forward.PriorityEASY, "policy %d", *p)
}

func codeJob(s *codec.Codec, j *Member) {
	s.Uint(&j.key, &j.group)
	s.Int(&j.Procs, &j.rank)
	s.Finite(&j.Start, &j.Limit, &j.Submit, &j.Expected)
	track.CodeLaw(s, &j.Law)
	s.Text(&j.Queue)
	codec.List(s, &j.also, func(name *string) { s.Text(name) })
	s.Finite(&j.use.Value, &j.use.Last)
	s.Single(&j.queueWait)
	codec.Number(s, &j.own)
	s.Uint(&j.number)
	s.Finite(&j.eligible)
	codeBounds(s, &j.bounds)
	j.asks.Code(s)
	s.Text(&j.nodeNames)
	s.Int(&j.tasks, &j.runs)
	s.Text(&j.name, &j.array)
	j.belongs.code(s)
	codec.List(s, &j.after, func(key *uint64) { s.Uint(key) })
	codec.Number(s, &j.owner)
	s.Finite(&j.reported)
}

func codeCauses(s *codec.Codec, tables map[string]*waitSurface, jobs map[uint64]*track.Job) {
	done := map[*waitSurface]bool{}
	for _, queue := range slices.Sorted(maps.Keys(tables)) {
		if t := tables[queue]; t != nil && !done[t] {
			done[t] = true
			for ; t != nil; t = t.next {
				codeCausesOf(s, &t.pivotCounts, len(t.sizes)*len(t.limits), jobs)
			}
		}
	}
}

func codeCausesOf(s *codec.Codec, c *pivotCounts, cells int, jobs map[uint64]*track.Job) {
	s.Int(&c.futures)
	codec.List(s, &c.jobs, func(h *blockingJob) {
		s.Uint(&h.id)
		s.Int(&h.procs)
		s.Finite(&h.start)
		if j := jobs[h.id]; s.Reading && j != nil && j.State == track.Running {
			h.law = j.Law
		}
	})
	codec.List(s, &c.requests, func(all *[]share) { codeShares(s, all, c) })
	ids := slices.Sorted(maps.Keys(c.starts))
	if s.Reading {
		c.starts = map[uint64][]share{}
	}
	codec.List(s, &ids, func(id *uint64) {
		s.Uint(id)
		all := c.starts[*id]
		codeShares(s, &all, c)
		if s.Reading { // saving must not write the map, because views may read it
			c.starts[*id] = all
		}
	})
	if s.Reading && (len(c.requests) != 0 && len(c.requests) != cells || len(c.starts) != len(ids)) {
		s.Fail()
	}
}

func codeShares(s *codec.Codec, all *[]share, c *pivotCounts) {
	sum := 0
	codec.List(s, all, func(x *share) {
		s.Int(&x.job, &x.futures)
		sum += x.futures
		if x.job >= len(c.jobs) || sum > c.futures {
			s.Fail()
		}
	})
	if s.Reading && *all == nil {
		*all = []share{}
	}
}

// CodePools reads or writes the configured and learned pools, with outages and nodes, the tables of large pools, and
// the learners of policies. It waits until tables that are being made are ready.
func (m *Machine) CodePools(s *codec.Codec) {
	p := m
	codec.Map(s, &p.configuredPools, func(t *PoolConfig) {
		s.Text(&t.Name)
		s.Int(&t.Procs)
		codePolicy(s, &t.Policy)
		s.Flag(&t.PolicyKnown)
		codec.List(s, &t.Order, func(n *string) { s.Text(n) })
		s.Check(t.Procs <= math.MaxInt32, "a pool of %d processors", t.Procs)
	})
	codec.Map(s, &p.outages, func(all *[]Outage) { codec.List(s, all, func(o *Outage) { codeOutage(s, o) }) })
	codec.Map(s, &p.highest, func(n *int) { s.Int(n) })
	codec.Map(s, &p.nodes, func(n **Nodes) { codeNodes(s, n) })
	codec.List(s, &p.Learnt, func(l *learn.Pool) {
		codec.List(s, &l.Queues, func(n *string) { s.Text(n) })
		s.Int(&l.Procs)
		codePolicy(s, &l.Finding.Policy)
		codec.List(s, &l.Finding.Order, func(n *string) { s.Text(n) })
		s.Flag(&l.Finding.Enough)
	})
	if s.Reading {
		m.regroup()
	}
	for _, b := range p.All {
		s.Flag(&b.made)
		s.Finite(&b.at)
		s.Int(&b.since)
	}
	codeTables(s, &m.Surfaces)
	making := m.Refresh != nil
	if s.Flag(&making); making {
		if s.Reading {
			m.Refresh = &refresh{job: background.New()}
			m.Refresh.job.Run(true, func() {})
		}
		m.Refresh.job.Wait()
		s.Uint(&m.Refresh.due)
		codeTables(s, &m.Refresh.tables)
	}
	m.codeRules(s)
}

// codeMoves reads or writes a PriorityMoves, without its rules (see Facts.AttachPriorities). It may be nil.
func codeMoves(s *codec.Codec, p **PriorityMoves) {
	codec.Optional(s, p, func(v *PriorityMoves) {
		s.Finite(&v.last)
		s.Flag(&v.seen)
		s.Reals(&v.factors)
		codec.Optional(s, &v.usage, func(u *fairshare.Usage) { u.Code(s) })
	})
}

func (m *Machine) codeRules(s *codec.Codec) {
	if codec.Hand(s, &m.PolicyLearner) {
		if s.Reading && !s.Bad {
			m.PolicyLearner = m.PolicyLearner.copied()
		}
		return
	}
	young := m.PolicyLearner.young != nil
	s.Flag(&young)
	if !s.Reading {
		m.PolicyLearner.each(func(h *policyHistory) { h.write(&s.Writer) })
		return
	}
	m.PolicyLearner.Old = readPolicyHistory(&s.Reader)
	if young {
		m.PolicyLearner.young = readPolicyHistory(&s.Reader)
	}
}

// CodeCauses reads or writes the pivots of requests and waiting jobs in all tables, including tables that are not in
// force yet. When it reads, it takes the laws of the pivots from the jobs that still run.
func (m *Machine) CodeCauses(s *codec.Codec) {
	codeCauses(s, m.Surfaces, m.tracker.Jobs)
	if m.Refresh != nil {
		codeCauses(s, m.Refresh.tables, m.tracker.Jobs)
	}
}
