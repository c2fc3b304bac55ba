package forward

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Ranker changes the ranks of waiting jobs during a simulation. Schedulers do so, too: they recompute priorities from
// the usage of users and the ages of jobs. A Ranker is safe for concurrent use.
type Ranker interface {
	// Begin returns the ranking at the beginning of a replica. old is the ranking of a finished replica, whose memory
	// may be reused; it may be nil.
	Begin(replica int, old Ranking) Ranking
}

// Ranking has the ranks in one replica. The simulator reports starts and ends in the order of time, and calls Compute
// at every Next. All instants are in seconds from the instant of the State.
type Ranking interface {
	// Next returns the instant at which ranks are computed next, +Inf for never.
	Next() float64
	// Compute computes the ranks as of Next.
	Compute()
	// Started reports that a job of the pool started at began, which may be before now. Ended reports that such a job
	// ends now. The starts of the jobs that run in the State are reported first.
	Started(owner int32, procs int, began float64)
	Ended(owner int32, procs int, began, now float64)
	// Rank returns the rank of a waiting job as of the newest computation.
	Rank(j Ranked) int
}

// Ranked has the inputs of a job's rank.
type Ranked struct {
	// Rank is the rank at the instant of the State; lower ranks start sooner.
	Rank int
	// Owner is the number of the association (a user in an account) whose usage counts for the job's rank; 0 for
	// unknown.
	Owner int32
	// Since is the instant from which the job's age counts, in seconds from now. It is negative for a job that waits
	// already.
	Since float64
}

// moving holds the ranks in a replica in which ranks move. All waiting jobs are then among the late ones, because the
// positions in the layout would be those of former ranks.
type moving struct {
	Ranking         // nil if ranks do not move
	spare   Ranking // ranking of an earlier replica, for reuse
	// place is the place of the request that the probe stands for.
	place late
}

// moves reports whether ranks move in this replica.
func (m *machine) moves() bool { return m.ranks.Ranking != nil }

// resetRanks lets the ranks of a machine that was reset move. It does so only if the state has a Ranker and a policy by
// rank, and if lifetimes are random.
func (m *machine) resetRanks(replica int) {
	s := m.state
	m.ranks = moving{spare: m.ranks.spare}
	if s.Ranker == nil || m.plans || !s.Policy.ByRank() {
		return
	}
	m.ranks.spare = s.Ranker.Begin(replica, m.ranks.spare)
	m.ranks.Ranking = m.ranks.spare
	for i := range s.Running {
		if r := &s.Running[i]; r.Procs > 0 {
			m.ranks.Started(r.Owner, r.Procs, -r.Age)
		}
	}
	m.waiting.none(&m.layout)
	for i := range m.gateNow {
		m.gateNow[i].parked = m.gateNow[i].parked[:0]
	}
	for i := range s.Waiting {
		if w := &s.Waiting[i]; m.mayCompete(i) && !(w.Eligible > 0) && !isAwaiting(m.needNow, i) {
			m.late.insert(len(m.late.jobs), m.rankedJob(i))
		}
	}
	m.sortRanks()
}

// rankedJob returns a waiting job of the state as a late job whose rank moves.
func (m *machine) rankedJob(i int) late {
	w := &m.state.Waiting[i]
	l := late{id: int32(len(m.state.Running) + i), procs: int32(w.Procs), plan: m.layout.plan[i], gate: noGate,
		needs: w.Needs, turn: 2 * int32(i),
		moves: Ranked{Rank: w.Rank, Owner: w.Owner, Since: w.Since}}
	if len(m.gateOf) > 0 {
		l.gate = m.gateOf[i]
	}
	l.rank = m.ranks.Rank(l.moves)
	return l
}

// goesFirst reports whether l goes ahead of another job whose rank moves. Jobs of one rank are in the order of their
// arrival.
func (l *late) goesFirst(o *late) bool { return l.rank < o.rank || l.rank == o.rank && l.turn < o.turn }

// sortRanks puts the jobs whose ranks move into order. It sorts only if the order has changed, because most
// computations of ranks do not change it.
func (m *machine) sortRanks() {
	jobs := m.late.jobs
	for i := 1; i < len(jobs); i++ {
		if jobs[i].goesFirst(&jobs[i-1]) {
			m.late.known = 0
			slices.SortStableFunc(jobs, func(a, b late) int {
				return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.turn, b.turn))
			})
			return
		}
	}
}

// nextRanks returns the next instant of an event. at is the next instant of all events except gates and ranks. The
// result is +Inf if only ranks would still change.
func (m *machine) nextRanks(at float64) float64 {
	idle := m.idle
	if at = m.orFlip(at); !m.moves() || math.IsInf(at, 1) {
		return at
	}
	if next := m.ranks.Next(); next < at {
		m.idle = idle // this instant is not a flip of a gate
		return next
	}
	return at
}

// rerank computes the ranks that are due, and sorts the waiting jobs by them.
func (m *machine) rerank() {
	if !m.moves() || m.ranks.Next() > m.now {
		return
	}
	for m.ranks.Next() <= m.now {
		m.ranks.Compute()
	}
	m.late.compact(true)
	for i := range m.late.jobs {
		l := &m.late.jobs[i]
		l.rank = m.ranks.Rank(l.moves)
	}
	m.sortRanks()
	m.ranks.place.rank = m.ranks.Rank(m.ranks.place.moves)
}

// joinRanked puts a job into the queue while ranks move.
func (m *machine) joinRanked(l late) {
	l.rank = m.ranks.Rank(l.moves)
	if l.id == m.requestID && m.now > 0 { // jobs of its rank that came in the meantime go before it
		l.turn = m.turnOfArrival(int32(len(m.jobs)))
	}
	m.late.compact(false)
	i := sort.Search(len(m.late.jobs), func(i int) bool { return l.goesFirst(&m.late.jobs[i]) })
	m.late.insert(i, l)
}

// goesBefore reports whether a job goes ahead of the request that the probe stands for.
func (m *machine) goesBefore(l *late) bool {
	if m.moves() {
		return l.goesFirst(&m.ranks.place)
	}
	return l.before(m.ahead, m.rank)
}

// turnOf returns the turn of a request that goes before the given number of waiting jobs, and before all later jobs.
// Among jobs of the same rank, the one with the lower turn goes first.
func (m *machine) turnOf(behind int) int32 {
	return int32(2*(len(m.state.Waiting)-behind) - 1) //nolint:gosec // as many as wait
}

func (m *machine) turnOfArrival(id int32) int32 { return int32(2*len(m.state.Waiting)) + id } //nolint:gosec // jobs

// placeRanked records the place of the requests for which a surface is made.
func (m *machine) placeRanked(o *SurfaceOptions) {
	if !m.moves() {
		return
	}
	m.ranks.place = late{moves: o.Ranked, turn: m.turnOf(o.Behind)}
	m.ranks.place.rank = m.ranks.Rank(m.ranks.place.moves)
}

// endRanked reports the end of a job that ran in the pool.
func (m *machine) endRanked(t *task) {
	if m.moves() && t.procs > 0 {
		m.ranks.Ended(t.owner, int(t.procs), t.start, m.now)
	}
}
