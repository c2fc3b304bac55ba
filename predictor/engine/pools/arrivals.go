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

// Jobs that come later overtake a request by backfilling and by priority. A simulation therefore plays the submissions
// of an earlier time again, from the same instant of the week or the day on, so that hours and weekdays stay as they
// are (N. Zakay and D. Feitelson, "Workload resampling for performance evaluation of parallel job schedulers",
// Concurrency and Computation 2014, resample by weeks for this reason). Successive futures take successive weeks.

const (
	day  = 86400.
	week = 7 * day

	// mostWeeks is the number of newest weeks that futures draw from; after that many futures the newest comes again.
	mostWeeks = 8
	// A future has at most arrivalsPerJob arrivals for each job of the pool, or leastArrivals if that is more: by then
	// the pool has been filled several times.
	arrivalsPerJob = 4
	leastArrivals  = 500
	// youngJobs is how many of the newest submissions are drawn from before a day has been seen.
	youngJobs = 100
	// rateError is the standard deviation of the logarithm of the rate of arrivals in the next hours about that of the
	// last ones, beside the error of counting.
	rateError = .8
	// goesOn is the median, over the futures of a young cluster, of how long arrivals go on as they were, as a part of
	// the time seen: nobody can say that a load of minutes lasts for hours. The law u/(1-u) is that of what is met at a
	// random instant of its life (J. Gott, "Implications of the Copernican principle for our future prospects", Nature
	// 363, 1993), with a median of 1; a twentieth loses least on loads of 300 jobs on a real Slurm, which end.
	goesOn = .05
)

// comers is what futures draw their arrivals from.
type comers struct {
	past  []track.PastJob
	seen  uint64           // submissions ever, see track.PastJobs.Window
	ranks map[int]int      // of the pool's queues, by code
	users map[comerKey]int // ranks of users' jobs that wait, where priorities count
	most  int              // arrivals of a future
	whole bool             // all queues are the pool's
	waits map[int]float32  // means of ln(wait + 60 s) of the pool's queues, by code
	// rank is the place of an arrival so many seconds from now under a fitted priority, nil without one.
	rank func(j *track.PastJob, after float64) int
}

// comerKey is a user's jobs of a queue.
type comerKey struct {
	queue int
	user  uint64
}

func (k comerKey) compare(o comerKey) int {
	return cmp.Or(cmp.Compare(k.queue, o.queue), cmp.Compare(k.user, o.user))
}

// comersOf returns what arrivals of a pool are drawn from; nil is the whole machine.
func (m *Machine) comersOf(p *Pool, f *Facts) comers {
	all := &m.tracker.Past
	c := comers{past: all.Window(all.Seen), seen: all.Seen, whole: p == nil,
		most: max(leastArrivals, arrivalsPerJob*int(f.inUse.Jobs+f.ahead.Jobs))}
	c.waits = map[int]float32{}
	for _, q := range m.tracker.InOrder {
		if p == nil || m.At(q) == p {
			c.waits[q.Code] = queueWait(q.Recent.Slow.Value())
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

// prioritize ranks the arrivals of a pool whose jobs have priorities, once its waiting jobs are listed: a job of a user
// and a queue comes with the priority of the newest of them that waits, else with that of the queue's newest job.
func (c *comers) prioritize(f *Facts, t *track.Tracker) {
	newest := map[comerKey]uint64{}
	c.users = map[comerKey]int{}
	for i := range f.Waiting {
		w := &f.Waiting[i]
		q := t.Queues[w.Queue]
		if q == nil {
			continue
		}
		key := comerKey{q.Code, w.group}
		if w.key > newest[key] {
			newest[key], c.users[key] = w.key, w.rank
		}
	}
	all := c.whole
	if c.whole = false; all {
		c.ranks = make(map[int]int, len(t.Queues))
	}
	for name, q := range t.Queues {
		if _, here := c.ranks[q.Code]; here || all {
			c.ranks[q.Code] = f.likely(name)
		}
	}
}

// arrivals returns the arrivals of the futures after an instant; nil for none.
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

// arrivals returns the arrivals of a pool's futures after an instant; nil for none.
func (f *Facts) arrivals(at float64) forward.Arrivals {
	c := f.later // with the places of this instant
	if p := f.fitted; p != nil {
		c.rank = func(j *track.PastJob, after float64) int {
			return p.Rank(&rules.Job{Procs: int32(j.Procs), Own: int32(j.Own), Limit: float32(j.Limit),
				Expected: float32(j.Expected), Age: float32(-after), QueueWait: c.waits[j.Queue], Use: float32(j.Use)})
		}
	}
	return c.arrivals(at)
}

// comerStream is the arrivals of one future.
type comerStream struct {
	*comers
	past    []track.PastJob
	i       int     // the next
	from    int     // the first of the time that is played again
	last    float64 // instant of the one before, in the past
	lap     float64 // from the last of them to the first again
	stretch float64 // of the time between arrivals
	left    int
	ends    float64 // seconds until arrivals end
	now     float64 // seconds from the view's instant to the newest arrival
}

// begin chooses the time that a future plays again.
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

// beginYoung plays the newest submissions again, from another one in each future, at another pace and for another time:
// less than a day has been seen, so nothing is known of hours.
func (s *comerStream) beginYoung(at, span float64, replica int) {
	s.from = max(0, len(s.past)-youngJobs)
	n := len(s.past) - s.from
	s.lap = (at - s.past[s.from].At) / float64(n)
	s.i = s.from + int(uint64(replica)*2654435761%uint64(n)) // D. Knuth's multiplicative hash
	s.last = s.past[s.i].At - s.lap
	u := evenOf(replica + replicas/2) // not the one of the pace
	s.ends = goesOn * span * u / (1 - u)
	s.stretch = math.Exp(normalOf(replica) * math.Sqrt(rateError*rateError+1/float64(n)))
}

// normalOf returns a standard normal score for each future: those of any run of successive ones are nearly evenly
// spread.
func normalOf(replica int) float64 {
	return math.Sqrt2 * math.Erfinv(2*evenOf(replica)-1)
}

// evenOf spreads futures evenly over (0, 1).
func evenOf(replica int) float64 {
	_, part := math.Modf((float64(replica) + .5) * (math.Phi - 1))
	return part
}

// next returns the next arrival of the pool's queues.
func (s *comerStream) next() (forward.Arrival, bool) {
	gap := 0.
	for ; s.left > 0 && s.from < len(s.past); s.left-- {
		if s.i == len(s.past) { // from the beginning of that time again
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
			}, true
		}
	}
	return forward.Arrival{}, false
}

// rankOf returns the place of an arrival in the pool's order; false for one of another pool.
func (c *comers) rankOf(j *track.PastJob) (int, bool) {
	if c.whole {
		return 0, true
	}
	if rank, ok := c.users[comerKey{j.Queue, j.User}]; ok {
		return rank, true
	}
	rank, ok := c.ranks[j.Queue]
	return rank, ok
}

// code passes what a saved view needs; the submissions themselves are the engine's, see Facts.Attach.
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
}

// Attach gives the facts of a restored view the submissions that arrivals are drawn from.
func (f *Facts) Attach(all *track.PastJobs) { f.later.past = all.Window(f.later.seen) }
