package pools

import (
	"cmp"
	"math"
	"sort"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// Later jobs overtake a request by backfilling and by priority. A simulation therefore replays the submissions of an
// earlier time. It begins at the same time of the week or of the day, so that hours and weekdays match. N. Zakay and D.
// Feitelson resample by weeks for this reason ("Workload resampling for performance evaluation of parallel job
// schedulers", Concurrency and Computation 2014). Future 0 repeats the newest week, future 1 the week before it, and so
// on; or days, if less than a week has been observed.

const (
	day  = 86400.
	week = 7 * day

	// mostWeeks is the maximum number of newest weeks that futures repeat. Further futures begin again with the newest
	// week.
	mostWeeks = 8
	// A future repeats at most arrivalsPerJob submissions for each job of the pool, or leastArrivals if that is more.
	// That is enough to fill the pool several times.
	arrivalsPerJob = 4
	leastArrivals  = 500
	// youngJobs is the number of newest submissions that futures repeat while less than a day has been observed.
	youngJobs = 100
	// rateError is the standard deviation of ln(rate of arrivals in the next hours / rate in the last hours). The error
	// of counting n arrivals, 1/sqrt(n), comes in addition.
	rateError = .8
	// goesOn is the median, over the futures of a young cluster, of the time for which arrivals continue as before,
	// divided by the time observed so far. A load that was observed for minutes need not last for hours. For u uniform
	// in (0, 1), u/(1-u) has the law of the remaining life, divided by the life so far, of something that is observed
	// at a random time of its life (J. Gott, "Implications of the Copernican principle for our future prospects",
	// Nature 363, 1993). Its median is 1. The value 1/20 had the least loss on loads of 300 jobs on a real Slurm, which
	// end after these jobs.
	goesOn = .05
)

// comers is the source from which futures draw their arrivals.
type comers struct {
	past  []track.PastJob
	seen  uint64           // number of all submissions so far, see track.PastJobs.Window
	ranks map[int]int      // ranks of arrivals, by code of the pool's queues
	users map[comerKey]int // rank of a user's newest waiting job in a queue, if priorities count
	most  int              // the maximum number of submissions that a future repeats, those to other pools included
	whole bool             // true if all submissions are to the pool, and their ranks are 0
	waits map[int]float32  // means of ln(wait + 60 s), by code of the pool's queues
	// owners has the owner (see projection) of each user, by the user's number, if priorities change. typical has, by
	// code of a queue, the owner of the job from which the queue's rank comes.
	owners  map[uint64]int32
	typical map[int]int32
	moves   *PriorityMoves
	// nodes has the pool's nodes, and names the names of its queues by code. Both are nil if nodes are not known.
	nodes *Nodes
	names map[int]string
	// rank returns the rank, under a fitted priority, of an arrival that comes after the given number of seconds. It is
	// nil without a fitted priority.
	rank func(j *track.PastJob, after float64) int
}

// comerKey identifies the jobs of a user in a queue.
type comerKey struct {
	queue int
	user  uint64
}

func (k comerKey) compare(o comerKey) int {
	return cmp.Or(cmp.Compare(k.queue, o.queue), cmp.Compare(k.user, o.user))
}

// comersOf returns the source of a pool's arrivals. A nil pool means the whole machine.
func (m *Machine) comersOf(p *Pool, f *Facts) comers {
	all := &m.tracker.Past
	c := comers{past: all.Window(all.Seen), seen: all.Seen, whole: p == nil,
		most: max(leastArrivals, arrivalsPerJob*int(f.inUse.Jobs+f.ahead.Jobs))}
	if c.nodes = m.nodesOf(p); c.nodes != nil {
		c.names = map[int]string{}
	}
	c.waits = map[int]float32{}
	for _, q := range m.tracker.InOrder {
		if p == nil || m.At(q) == p {
			if c.waits[q.Code] = queueWait(q.Recent.Slow.Value()); c.nodes != nil {
				c.names[q.Code] = q.Name
			}
		}
	}
	if p != nil {
		c.ranks = make(map[int]int, len(p.Queues))
		for _, name := range p.Queues {
			if q := m.tracker.Queues[name]; q != nil {
				c.ranks[q.Code] = p.rank(name)
			}
		}
	}
	return c
}

// withPast returns the facts with the newest submissions of all pools, which futures repeat. A submission to another
// pool does not invalidate the frozen facts of this one. Without withPast, the futures would depend on when this pool
// was frozen.
func (f *Facts) withPast(all *track.PastJobs) *Facts {
	if f.later.seen == all.Seen {
		return f
	}
	newer := *f
	newer.later.past, newer.later.seen = all.Window(all.Seen), all.Seen
	return &newer
}

// prioritize sets the ranks of arrivals in a pool whose jobs have priorities. f must have the waiting jobs already. An
// arrival has the priority of the newest waiting job of the same user and queue. If there is none, it has the priority
// of the queue's newest job.
func (c *comers) prioritize(f *Facts, t *track.Tracker) {
	newest := map[comerKey]uint64{}
	c.users = map[comerKey]int{}
	if c.moves = f.moves; c.moves != nil {
		c.typical = map[int]int32{}
	}
	for i := range f.Waiting {
		w := &f.Waiting[i]
		q := t.Queues[w.Queue]
		if q == nil {
			continue
		}
		key := comerKey{q.Code, w.group}
		if w.key > newest[key] {
			if newest[key], c.users[key] = w.key, w.rank; f.moves != nil {
				c.users[key] = f.moves.rankYoung(w)
			}
		}
	}
	all := c.whole
	if c.whole = false; all {
		c.ranks = make(map[int]int, len(t.Queues))
	}
	for name, q := range t.Queues {
		if _, here := c.ranks[q.Code]; here || all {
			c.ranks[q.Code] = f.likely(name)
			if f.moves != nil {
				c.typical[q.Code] = f.newestOwner(name)
			}
		}
	}
}

// arrivals returns the arrivals of the futures after an instant. It returns nil if fewer than two earlier submissions
// are known.
func (c *comers) arrivals(at float64) forward.Arrivals {
	n := sort.Search(len(c.past), func(i int) bool { return c.past[i].At >= at })
	if n < 2 {
		return nil
	}
	past := c.past[:n]
	return func(replica int, _ uint64) func() (forward.Arrival, bool) {
		s := &comerStream{comers: c, past: past, stretch: 1, left: c.most, ends: math.Inf(1)}
		s.begin(at, replica)
		return s.next
	}
}

// arrivals returns the arrivals of a pool's futures after an instant, nil if there are none. If byNode is true, the
// simulation places jobs on nodes, and the arrivals have needs of nodes.
func (f *Facts) arrivals(at float64, byNode bool) forward.Arrivals {
	c := f.later // a copy, because nodes and rank differ between simulations
	if !byNode {
		c.nodes = nil
	}
	if p := f.fitted; p != nil {
		c.rank = func(j *track.PastJob, after float64) int {
			return p.Rank(&rules.Job{Procs: int32(j.Procs), Own: int32(j.Own), Limit: float32(j.Limit),
				Expected: float32(j.Expected), Age: float32(-after), QueueWait: c.waits[j.Queue], Use: float32(j.Use)})
		}
	}
	return c.arrivals(at)
}

// comerStream yields the arrivals of one future.
type comerStream struct {
	*comers
	past    []track.PastJob
	i       int     // index of the next submission
	from    int     // index of the first submission of the repeated time
	last    float64 // instant of the previous submission
	lap     float64 // seconds from the last submission of the repeated time to the first one of the next round
	stretch float64 // the factor for the time between arrivals
	left    int     // how many more submissions the future may repeat
	ends    float64 // the seconds from the newest arrival to the end of all arrivals
	now     float64 // the seconds from the view's instant to the newest arrival
}

// begin chooses the past time that the future with the given number repeats.
func (s *comerStream) begin(at float64, replica int) {
	span := at - s.past[0].At
	unit, kinds := week, mostWeeks
	if span < week {
		unit, kinds = day, 7
	}
	if span < unit {
		s.beginYoung(at, span, replica)
		return
	}
	lag := unit * float64(1+replica%min(int(span/unit), kinds))
	s.from = sort.Search(len(s.past), func(i int) bool { return s.past[i].At >= at-lag })
	s.i, s.last = s.from, at-lag
	s.lap = 0
	if s.from < len(s.past) {
		s.lap = at - s.past[len(s.past)-1].At + s.past[s.from].At - (at - lag)
	}
}

// beginYoung repeats the newest submissions. In each future they have another starting point, rate and duration. With
// less than a day of observations nothing is known about hours of the day.
func (s *comerStream) beginYoung(at, span float64, replica int) {
	s.from = max(0, len(s.past)-youngJobs)
	n := len(s.past) - s.from
	mean := (at - s.past[s.from].At) / float64(n)
	s.lap = math.Max(mean, at-s.past[len(s.past)-1].At)      // the pause after the last submission is repeated, too
	s.i = s.from + int(uint64(replica)*2654435761%uint64(n)) // D. Knuth's multiplicative hash
	s.last = s.past[s.i].At - mean
	u := evenOf(replica + replicas/2) // independent of the score from which the rate is computed
	s.ends = goesOn * span * u / (1 - u)
	s.stretch = math.Exp(normalOf(replica) * math.Sqrt(rateError*rateError+1/float64(n)))
}

// normalOf returns a standard normal score for each future: the normal quantile at the level evenOf.
func normalOf(replica int) float64 {
	return math.Sqrt2 * math.Erfinv(2*evenOf(replica)-1)
}

// evenOf returns a number in (0, 1) for each future. The numbers of successive futures are nearly evenly spread.
func evenOf(replica int) float64 {
	_, part := math.Modf((float64(replica) + .5) * (math.Phi - 1))
	return part
}

// next returns the next arrival in the pool's queues, false after the last one.
func (s *comerStream) next() (forward.Arrival, bool) {
	gap := 0.
	for ; s.left > 0 && s.from < len(s.past); s.left-- {
		if s.i == len(s.past) { // begin the repeated time again
			s.i = s.from
			gap += s.lap
			s.last = s.past[s.i].At
		}
		j := &s.past[s.i]
		gap += math.Max(0, j.At-s.last)
		s.i, s.last = s.i+1, j.At
		if rank, here := s.rankOf(j); here {
			s.left--
			if s.ends -= gap * s.stretch; s.ends < 0 {
				break
			}
			if s.now += gap * s.stretch; s.rank != nil {
				rank = s.comers.rank(j, s.now)
			}
			return forward.Arrival{
				After: gap * s.stretch, Procs: j.Procs, Limit: j.Limit, Runtime: j.Runtime, Rank: rank,
				Owner: s.owners[j.User], Needs: s.needsOf(j),
			}, true
		}
	}
	return forward.Arrival{}, false
}

// needsOf returns the resources of nodes, other than processors, that an arrival needs; nil if nodes are not known.
func (c *comers) needsOf(j *track.PastJob) *forward.Needs {
	if c.nodes == nil {
		return nil
	}
	return c.nodes.needsOfPast(c.names[j.Queue], j)
}

// rankOf returns the place of an arrival in the pool's order. It returns false for an arrival of another pool.
func (c *comers) rankOf(j *track.PastJob) (int, bool) {
	if c.whole {
		return 0, true
	}
	if rank, ok := c.users[comerKey{j.Queue, j.User}]; ok {
		return rank, true
	}
	rank, ok := c.ranks[j.Queue]
	if c.moves != nil {
		rank += c.moves.between(c.typical[j.Queue], c.owners[j.User])
	}
	return rank, ok
}

// code reads or writes the data for a saved view. It omits the submissions, which belong to the engine (see
// Facts.Attach), the nodes (see CodePool) and the changes of priorities (see Facts.AttachPriorities).
func (c *comers) code(s *codec.Codec) {
	s.Uint(&c.seen)
	s.Int(&c.most)
	s.Flag(&c.whole)
	number := func(v *int) { s.Int(v) }
	codec.MapOf(s, &c.ranks, cmp.Compare[int], number, number)
	codec.MapOf(s, &c.waits, cmp.Compare[int], number, func(wait *float32) { s.Single(wait) })
	codec.MapOf(s, &c.users, comerKey.compare, func(key *comerKey) {
		s.Int(&key.queue)
		s.Uint(&key.user)
	}, number)
	owner := func(o *int32) { codec.Number(s, o) }
	codec.MapOf(s, &c.owners, cmp.Compare[uint64], func(user *uint64) { s.Uint(user) }, owner)
	codec.MapOf(s, &c.typical, cmp.Compare[int], number, owner)
	codec.MapOf(s, &c.names, cmp.Compare[int], number, func(name *string) { s.Text(name) })
}

// Attach connects the facts of a restored view to the past submissions from which arrivals are drawn.
func (f *Facts) Attach(all *track.PastJobs) { f.later.past = all.Window(f.later.seen) }
