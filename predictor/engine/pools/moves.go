package pools

import (
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/cluster/fairshare"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// projection tracks the inputs of the scheduler's priorities: the usage of associations, and the times of the
// scheduler's computations. The owner of a job or user is the association whose usage counts for the priority.
type projection struct {
	priorities *fairshare.Priorities // nil if nothing is known
	usage      *fairshare.Usage      // nil if usage is not reported
	// last is the instant of the scheduler's newest computation, in seconds. seen is true if this instant is known from
	// a change of priorities. Otherwise it is assumed that the scheduler computed when SetPriorities was called.
	last float64
	seen bool
	// factors has the fair-share factors of the scheduler's last computation, by owner. It is empty without usage.
	factors []float64
	scratch *fairshare.Calculator
	frozen  *PriorityMoves
	// owners caches the result of ownersOf: the owner of each user, by the user's number. At that time users was the
	// number of users so far, and known the number of those that were not forgotten.
	owners map[uint64]int32
	users  uint64
	known  int
}

// SetPriorities sets the rules by which priorities change from now on; nil for none. The rules include the usage that
// the scheduler has reported. If they are the same as before, nothing changes.
func (m *Machine) SetPriorities(now float64, rules *fairshare.Priorities) {
	p := &m.projection
	if rules.Same(p.priorities) {
		return
	}
	if p.priorities != nil {
		p.advance(now, m.tracker.RunningJobs)
	}
	last, seen := p.last, p.seen && p.priorities != nil
	*p = projection{priorities: rules, last: now, seen: seen}
	if seen {
		p.last = last
	}
	if rules != nil && rules.Tree != nil {
		p.usage, p.scratch = fairshare.NewUsage(rules.Tree), fairshare.NewCalculator(rules.Tree)
		p.factors = slices.Clone(p.scratch.Factors(p.usage))
		// The scheduler computed its factors from earlier usage, and rounds them in reports. So a computed factor
		// counts only if it differs from the reported one no more than by rounding.
		for o := range p.factors[1:] {
			reported := rules.Tree.Reported(int32(o + 1)) //nolint:gosec // one of the owners
			if math.Abs(p.factors[o+1]-reported) > factorError {
				p.factors[o+1] = reported
			}
		}
	}
	m.TouchAll()
}

// factorError is the maximum difference between a reported factor and the true one. It is above 0.005 because factors
// are rounded to hundredths.
const factorError = .0051

// advance applies the computations of priorities that the scheduler has made by now, as one. It reports whether there
// was any.
func (p *projection) advance(now float64, running []*track.Job) bool {
	if p.priorities == nil {
		return false
	}
	periods := math.Floor((now - p.last) / p.priorities.Period)
	if !(periods >= 1) {
		return false
	}
	p.compute(p.last+periods*p.priorities.Period, running)
	return true
}

// compute applies a computation of priorities that the scheduler has made at an instant.
func (p *projection) compute(at float64, running []*track.Job) {
	if p.usage != nil {
		p.usage.Decay(at - p.last)
		for _, j := range running {
			p.grow(j, at, func(owner int32, rate, seconds float64) { p.usage.Grow(owner, rate, seconds) })
		}
		p.factors = slices.Clone(p.scratch.Factors(p.usage))
	}
	p.last, p.frozen = at, nil
}

// grow calls add with the usage of a running job since the last computation: the owner, the usage per second, and the
// seconds. It does nothing if the owner is unknown.
func (p *projection) grow(j *track.Job, now float64, add func(owner int32, rate, seconds float64)) {
	if owner := p.priorities.Owner(j.Account, j.User); owner != fairshare.None {
		add(owner, p.priorities.Tree.Rate(j.Procs, j.QOS), now-math.Max(j.Start, p.last))
	}
}

// Used records that a running job ends, or is gone. It counts the usage of the job since the last computation.
func (m *Machine) Used(now float64, j *track.Job) {
	if p := &m.projection; p.usage != nil {
		p.grow(j, now, func(owner int32, rate, seconds float64) {
			p.usage.GrowAt(owner, rate, seconds, now-p.last)
		})
		p.frozen = nil
	}
}

// Reprioritized records that the scheduler has changed the priority of a waiting job. The scheduler has then just
// computed all priorities.
func (m *Machine) Reprioritized(now float64) {
	p := &m.projection
	// This computation is known already from another job, or the change is reported late.
	if p.priorities == nil || p.seen && now-p.last <= p.priorities.Period/4 {
		return
	}
	p.seen = true
	p.compute(now, m.tracker.RunningJobs)
	m.TouchAll()
}

// ShareFactor returns the factor of fair share of a user in an account, NaN if it is unknown.
func (p *PriorityMoves) ShareFactor(account, user string) float64 {
	if p == nil || len(p.factors) == 0 {
		return math.NaN()
	}
	owner := p.priorities.Owner(account, user)
	if owner == fairshare.None {
		return math.NaN()
	}
	return p.factors[owner]
}

// Moves returns a copy of the present inputs of priorities; nil if no rules are known.
func (m *Machine) Moves() *PriorityMoves {
	p := &m.projection
	if p.priorities == nil {
		return nil
	}
	if p.frozen == nil {
		p.frozen = &PriorityMoves{priorities: p.priorities, last: p.last, seen: p.seen, factors: p.factors}
		if p.usage != nil {
			p.frozen.usage = &fairshare.Usage{}
			p.frozen.usage.CopyFrom(p.usage)
		}
	}
	return p.frozen
}

// PriorityMoves has the inputs of priorities at an instant: the usage, the factors and the time of the scheduler's last
// computation, and the rules by which priorities change. It is immutable.
type PriorityMoves struct {
	priorities *fairshare.Priorities
	usage      *fairshare.Usage
	last       float64
	seen       bool
	factors    []float64
}

// owner returns the association whose usage counts for a request's priority; fairshare.None if it is unknown.
func (p *projection) owner(r *track.Request) int32 {
	if p.usage == nil {
		return fairshare.None
	}
	return p.priorities.Owner(r.Account, r.User)
}

// share copies another projection. Later changes of one do not affect the other.
func (p *projection) share(of *projection) {
	*p = *of
	if of.usage != nil {
		p.usage, p.scratch = &fairshare.Usage{}, fairshare.NewCalculator(of.priorities.Tree)
		p.usage.CopyFrom(of.usage)
	}
}

// move lets the priorities of a pool change in simulations, unless the pool is large or no rules of the changes are
// known.
func (m *Machine) move(p *Pool, f *Facts) {
	if f.Large {
		return
	}
	if f.moves = m.Moves(); f.moves == nil || f.moves.usage == nil {
		return
	}
	rates := map[int32]float64{}
	for _, r := range m.tracker.RunningJobs {
		if owner := m.projection.owner(&r.Request); owner != fairshare.None && p != nil && m.At(r.QueueState) != p {
			rates[owner] += f.moves.priorities.Tree.Rate(r.Procs, r.QOS)
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(rates)) {
		f.others = append(f.others, ownerRate{owner, rates[owner]})
	}
}

// ownerOf returns the association whose usage counts for a request; fairshare.None if it is unknown, or if priorities
// do not change in the pool.
func (f *Facts) ownerOf(r *RankedRequest) int32 {
	if f.moves == nil || f.moves.usage == nil {
		return fairshare.None
	}
	return f.moves.priorities.Owner(r.Account, r.Request.User)
}

// newestOwner returns the owner of the newest waiting job of a queue, fairshare.None if no job waits.
func (f *Facts) newestOwner(queue string) int32 {
	owner, newest := fairshare.None, uint64(0)
	for i := range f.Waiting {
		if w := &f.Waiting[i]; w.Queue == queue && w.key > newest {
			owner, newest = w.owner, w.key
		}
	}
	return owner
}

// AttachPriorities sets, in the facts of a restored view, the rules by which priorities change. If there are no rules,
// or if they are about other associations, the priorities stay constant.
func (f *Facts) AttachPriorities(m *Machine) {
	v := f.moves
	if v == nil {
		return
	}
	rules := m.projection.priorities
	switch {
	case rules == nil, (rules.Tree == nil) != (v.usage == nil), v.usage != nil && !v.usage.Attach(rules.Tree),
		v.usage != nil && len(v.factors) != rules.Tree.Owners()+1:
		f.moves = nil
	default:
		v.priorities = rules
	}
	f.later.moves = f.moves
}

// ownersOf returns the owner of each user, by the user's number. The caller must not change the map. The owner of a
// user with waiting jobs in the pool is the owner of the newest of these jobs. Otherwise it is the user's association
// with the highest usage.
func (m *Machine) ownersOf(f *Facts) map[uint64]int32 {
	p := &m.projection
	if p.usage == nil {
		return nil
	}
	// Numbers changes when a user comes, and the number of known users when others are forgotten. A forgotten user must
	// not stay in the map: a restored engine would not know its owner.
	if t := m.tracker; p.owners == nil || p.users != t.Numbers || p.known != len(t.Users) {
		p.owners, p.users, p.known = make(map[uint64]int32, len(t.Users)), t.Numbers, len(t.Users)
		for name, u := range m.tracker.Users {
			if owner := p.priorities.Owner("", name); owner != fairshare.None {
				p.owners[u.Number] = owner
			}
		}
	}
	out, cloned := p.owners, false
	for i := range f.Waiting { // in the order of submission, so that the newest job counts
		w := &f.Waiting[i]
		if w.owner == fairshare.None || out[w.group] == w.owner {
			continue
		}
		if !cloned {
			out, cloned = maps.Clone(out), true
		}
		out[w.group] = w.owner
	}
	return out
}

// since returns the instant from which the age of a job counts.
func (w *Member) since() float64 { return math.Max(w.Submit, w.eligible) }

// ageIn returns the part of a job's priority that comes from its age, as of the last computation up to the instant at.
// The age counts from since.
func (p *PriorityMoves) ageIn(at, since float64) float64 {
	computed := p.last
	if at < computed {
		computed -= math.Ceil((computed-at)/p.priorities.Period) * p.priorities.Period
	}
	return p.priorities.Age * p.priorities.AgeFactor(computed-since)
}

// rankNow returns the rank of a waiting job as of the last computation. It follows from the reported priority and from
// the growth of the job's age between the report and that computation.
func (p *PriorityMoves) rankNow(w *Member) int {
	return w.rank - int(math.Round(p.ageIn(p.last, w.since())-p.ageIn(w.reported, w.since())))
}

// rankYoung returns the rank of a job like the given waiting one, but submitted now.
func (p *PriorityMoves) rankYoung(w *Member) int {
	return w.rank + int(math.Round(p.ageIn(w.reported, w.since())))
}

// between returns the rank that a job would have with the owner to, minus the rank that it has with the owner from. A
// positive result means a later start. The result is 0 if an owner or the factors are unknown.
func (p *PriorityMoves) between(from, to int32) int {
	if from == fairshare.None || to == fairshare.None || len(p.factors) == 0 {
		return 0
	}
	return -int(math.Round(p.priorities.FairShare * (p.factors[to] - p.factors[from])))
}

// ranker changes priorities in the futures of a pool from an instant on.
type ranker struct {
	*PriorityMoves
	at        float64
	elsewhere []ownerRate
}

// ownerRate is the usage per second that the jobs of one owner in other pools add. These jobs are simulated as if they
// ran forever.
type ownerRate struct {
	owner int32
	rate  float64
}

// ranking holds the priorities of one future. Its instants are in seconds from the instant of the ranker.
type ranking struct {
	of        *ranker
	usage     fairshare.Usage
	factors   *fairshare.Calculator
	moved     []float64 // by owner: the change of priorities that the owner's factor has caused
	rates     []float64 // by owner: usage per second of the jobs that began before the last computation
	young     []begun   // the jobs that began since the last computation
	first     float64   // the last computation before the future begins
	last      float64
	next      float64
	computed  int
	unchanged bool // true if no usage is known
}

// begun is a job that has started since the last computation.
type begun struct {
	owner int32
	procs int
	at    float64
}

// Begin implements forward.Ranker.
func (r *ranker) Begin(replica int, old forward.Ranking) forward.Ranking {
	k, ok := old.(*ranking)
	if !ok || k.of.priorities != r.priorities {
		k = &ranking{}
		if r.usage != nil {
			k.factors = fairshare.NewCalculator(r.priorities.Tree)
		}
	}
	k.of, k.young, k.computed = r, k.young[:0], 0
	k.first = math.Min(0, r.last-r.at) // a wrong clock may have reported a computation in the future
	k.last, k.next = k.first, k.first+r.priorities.Period
	if !r.seen { // the time of the computations is unknown, and differs between futures
		k.next = r.priorities.Period * evenOf(replica)
	}
	if k.unchanged = r.usage == nil; k.unchanged {
		return k
	}
	k.usage.CopyFrom(r.usage)
	owners := len(r.factors)
	k.rates, k.moved = resized(k.rates, owners), resized(k.moved, owners)
	for _, e := range r.elsewhere {
		k.rates[e.owner] += e.rate
	}
	return k
}

// resized returns a slice of n zeros. It reuses the memory of the given slice if that is large enough.
func resized(all []float64, n int) []float64 {
	if cap(all) < n {
		return make([]float64, n)
	}
	all = all[:n]
	clear(all)
	return all
}

// Next implements forward.Ranking.
func (k *ranking) Next() float64 { return k.next }

// A future simulates each computation of the scheduler at first, and then fewer and fewer. In a wait of days the order
// changes slowly, and weeks of computations every five minutes would cost too much.
const (
	eachPeriod   = 24  // number of computations that are simulated one by one
	periodGrowth = .15 // from then on, the time between two computations is this part of the time since the beginning
)

// Compute implements forward.Ranking.
func (k *ranking) Compute() {
	at := k.next
	if !k.unchanged {
		k.use(at)
	}
	k.last = at
	k.computed++
	periods := 1.
	if k.computed > eachPeriod {
		periods = math.Max(1, math.Floor(periodGrowth*(at-k.first)/k.of.priorities.Period))
	}
	k.next = at + periods*k.of.priorities.Period
}

// use adds the usage until a computation at an instant, and computes the factors.
func (k *ranking) use(at float64) {
	k.usage.Decay(at - k.last)
	for o, rate := range k.rates {
		if rate > 0 {
			k.usage.Grow(int32(o), rate, at-k.last) //nolint:gosec // one of the owners
		}
	}
	for _, j := range k.young {
		k.usage.Grow(j.owner, float64(j.procs), at-j.at)
		k.rates[j.owner] += float64(j.procs)
	}
	k.young = k.young[:0]
	for o, f := range k.factors.Factors(&k.usage) {
		k.moved[o] = k.of.priorities.FairShare * (f - k.of.factors[o])
	}
}

// Started implements forward.Ranking.
func (k *ranking) Started(owner int32, procs int, began float64) {
	switch {
	case k.unchanged || owner == fairshare.None:
	case began < k.last:
		k.rates[owner] += float64(procs)
	default:
		k.young = append(k.young, begun{owner, procs, began})
	}
}

// Ended implements forward.Ranking.
func (k *ranking) Ended(owner int32, procs int, began, now float64) {
	if k.unchanged || owner == fairshare.None {
		return
	}
	if i := slices.Index(k.young, begun{owner, procs, began}); i >= 0 {
		k.young = slices.Delete(k.young, i, i+1)
	} else {
		k.rates[owner] -= float64(procs)
	}
	k.usage.GrowAt(owner, float64(procs), now-math.Max(began, k.last), now-k.last)
}

// Rank implements forward.Ranking.
func (k *ranking) Rank(j forward.Ranked) int {
	rules := k.of.priorities
	up := rules.Age * (rules.AgeFactor(k.last-j.Since) - rules.AgeFactor(k.first-j.Since))
	if j.Owner != fairshare.None && !k.unchanged {
		up += k.moved[j.Owner]
	}
	if rules.Rising {
		up = math.Max(0, up)
	}
	return j.Rank - int(math.Round(up))
}

// CodePriorities reads or writes the inputs of future priorities.
func (m *Machine) CodePriorities(s *codec.Codec) {
	p := &m.projection
	fairshare.Code(s, &p.priorities)
	s.Real(&p.last)
	s.Flag(&p.seen)
	s.Reals(&p.factors)
	if s.Bad || p.priorities == nil || p.priorities.Tree == nil {
		return
	}
	if s.Reading {
		p.usage, p.scratch = fairshare.NewUsage(p.priorities.Tree), fairshare.NewCalculator(p.priorities.Tree)
	}
	p.usage.Code(s)
	s.Check(len(p.factors) == p.priorities.Tree.Owners()+1, "%d factors of fair share", len(p.factors))
}
