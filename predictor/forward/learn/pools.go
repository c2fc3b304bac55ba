package learn

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext/prng"
)

// shots is a uniform random sample of the instants so far (J. Vitter's algorithm R, ACM TOMS 11(1), 1985).
type shots struct {
	sample []shot
	seen   uint64
	widest []int // size of the widest job that ran, by queue
	// partition has the partition of the first job of each queue.
	partition []string
	both      []int32 // scratch
	at        []int32 // scratch
	open      int     // index of the last sampled instant, if its duration is not known yet; otherwise -1
}

// shot describes an instant. It has the processors that every queue held, and the duration for which that did not
// change. It also has the processors that the oldest waiting job of each queue requests, apart from jobs that count as
// held (job.held); 0 if no such job has waited for the grace.
type shot struct {
	used, head []int32
	at, lasted float64
}

// rare is the part of the time in which more processors may be in use than a pool has. It is above 0, because ends
// and starts in logs are rounded, so that some jobs overlap.
const rare = .005

// take adds the present instant to the sample, or leaves it out at random.
func (s *shots) take(l *Learner) {
	i := uint64(len(s.sample))
	s.seen++
	if i < most {
		s.sample = append(s.sample, l.shot())
	} else if i = prng.NewSplitMix64(s.seen).Uint64() % s.seen; i < most {
		s.sample[i] = l.shot()
	} else {
		return
	}
	s.open = int(i)
}

// close records for how long the use of the last sampled instant lasted.
func (s *shots) close(now float64) {
	if s.open >= 0 && s.open < len(s.sample) {
		s.sample[s.open].lasted = now - s.sample[s.open].at
	}
	s.open = -1
}

func (l *Learner) shot() shot {
	n := len(l.queues)
	both := make([]int32, 2*n)
	s := shot{used: both[:n], head: both[n:], at: l.now}
	for q, u := range l.used {
		s.used[q] = int32(min(u, math.MaxInt32))
	}
	for _, k := range l.waiting {
		if k.submit > l.now-grace {
			break
		}
		if s.head[k.queue] == 0 && !k.held() {
			s.head[k.queue] = int32(min(k.Procs, math.MaxInt32))
		}
	}
	return s
}

// highest returns the largest use, except for a rare part of the time. It divides the range from 0 to the maximum
// into levels, finds the highest level, and then searches that level.
func (s *shots) highest(used []int32) int {
	const levels = 128
	var lasted [levels + 1]float64
	top, total := int32(0), 0.
	for _, u := range used {
		top = max(top, u)
	}
	if top == 0 {
		return 0
	}
	for i, u := range used {
		d := s.sample[i].lasted
		lasted[int(u)*levels/int(top)] += d
		total += d
	}
	above, level := 0., levels
	for ; level > 0 && above+lasted[level] <= rare*total; level-- {
		above += lasted[level]
	}
	s.at = s.at[:0]
	for i, u := range used {
		if int(u)*levels/int(top) == level {
			s.at = append(s.at, int32(i))
		}
	}
	slices.SortFunc(s.at, func(a, b int32) int { return cmp.Compare(used[b], used[a]) })
	for _, i := range s.at {
		if above += s.sample[i].lasted; above > rare*total {
			return int(used[i])
		}
	}
	return 0
}

// group is a set of queues that are assumed to share a pool.
type group struct {
	queues []int
	used   []int32 // by shot
	heads  []waits
	procs  int // the largest use, except for a rare part of the time, but at least the size of the widest job
	widest int
	// partition is the partition of its queues. Groups of different partitions are never joined.
	partition string
	cost      float64
}

// waits is a waiting job that is the first of its queue in a shot.
type waits struct {
	shot  int
	procs int32
}

// tolerance is the part of the waiting jobs explained so far that a union of two groups may leave unexplained. In the
// available traces, a union of the partitions of the SDSC Paragon (interactive and batch) left a quarter unexplained.
// Unions of rarely used queues of one machine left 1 to 3 %.
const tolerance = .05

// union is the possible union of two groups: its cost (rise, see unite), and the number of first waiting jobs (heads).
type union struct {
	rise  float64
	heads int
}

// before reports whether union u is to be made before union o.
func (u union) before(o union) bool {
	return u.rise < o.rise || u.rise == o.rise && u.heads > o.heads
}

// crowding is the minimum result of clash from which on two groups are assumed to share processors. It is above 0,
// because by chance and by the time of day even separate pools reach a small part.
const crowding = .02

// unite returns the union of two groups with its cost. The cost is the part of the waiting jobs that the groups explain
// and the union does not. If the union explains clearly more than the groups, the cost is minus the number of the
// additional jobs. Between -1 and 0 the cost tells how much the uses of the groups avoid each other. The lowest cost is
// the strongest evidence.
func (s *shots) unite(a, b *group) union {
	if a.partition != b.partition {
		return union{rise: math.Inf(1)}
	}
	s.both = s.both[:0]
	for i := range a.used {
		s.both = append(s.both, a.used[i]+b.used[i])
	}
	procs, cost := s.count(s.both, max(a.widest, b.widest), a.heads, b.heads)
	u := union{cost - a.cost - b.cost, len(a.heads) + len(b.heads)}
	if u.rise <= -max(1, tolerance*float64(u.heads)) {
		return u
	}
	u.rise = max(0, u.rise/max(1, float64(u.heads)-a.cost-b.cost))
	if c := s.clash(a, b, procs); c > crowding {
		u.rise = -c
	}
	return u
}

// clash returns the part of the time in which two groups would hold more than procs processors if their uses were
// independent. It combines the uses of one group with the uses of the other at different instants.
func (s *shots) clash(a, b *group, procs int) float64 {
	if a.procs+b.procs <= procs {
		return 0
	}
	const shifts = 4
	n, over, total := len(a.used), 0., 0.
	for k := 1; k <= shifts; k++ {
		shift := k * n / (shifts + 1)
		for i, u := range a.used {
			d := s.sample[i].lasted
			total += d
			if int(u)+int(b.used[(i+shift)%n]) > procs {
				over += d
			}
		}
	}
	return over / max(total, 1)
}

// cluster returns the queues in groups, each sorted. It begins with every queue alone. It joins two groups as long as
// their union explains about as many of the waiting jobs, or their uses avoid each other. Unions that explain more
// come first. Queues without any evidence join the group in which most jobs wait.
func (s *shots) cluster(queues int) []*group {
	groups := make([]*group, queues)
	for q := range groups {
		groups[q] = s.alone(q)
	}
	known := map[[2]*group]union{}
	for {
		best, pair := union{rise: tolerance}, [2]int{-1, -1}
		for i, a := range groups {
			for j := i + 1; j < len(groups); j++ {
				u, ok := known[[2]*group{a, groups[j]}]
				if !ok {
					u = s.unite(a, groups[j])
					known[[2]*group{a, groups[j]}] = u
				}
				if u.before(best) {
					best, pair = u, [2]int{i, j}
				}
			}
		}
		if pair[0] < 0 {
			break
		}
		groups[pair[0]] = s.join(groups[pair[0]], groups[pair[1]])
		groups = slices.Delete(groups, pair[1], pair[1]+1)
	}
	for _, g := range groups {
		slices.Sort(g.queues)
	}
	return groups
}

func (s *shots) alone(q int) *group {
	g := &group{
		queues: []int{q}, widest: s.widest[q], partition: s.partition[q], used: make([]int32, 0, len(s.sample)),
	}
	for i := range s.sample {
		used, head := int32(0), int32(0)
		if sh := &s.sample[i]; q < len(sh.used) {
			used, head = sh.used[q], sh.head[q]
		}
		g.used = append(g.used, used)
		if head > 0 {
			g.heads = append(g.heads, waits{i, head})
		}
	}
	g.procs, g.cost = s.count(g.used, g.widest, g.heads)
	return g
}

func (s *shots) join(a, b *group) *group {
	g := &group{
		queues: slices.Concat(a.queues, b.queues), widest: max(a.widest, b.widest), partition: a.partition,
		used: make([]int32, len(a.used)), heads: slices.Concat(a.heads, b.heads),
	}
	for i := range g.used {
		g.used[i] = a.used[i] + b.used[i]
	}
	g.procs, g.cost = s.count(g.used, g.widest, g.heads)
	return g
}

// count returns the number of processors of a group, and the number of times that a job waits although it is the
// first of its queue and fits.
func (s *shots) count(used []int32, widest int, heads ...[]waits) (procs int, cost float64) {
	procs = max(widest, s.highest(used))
	for _, list := range heads {
		for _, w := range list {
			if int(w.procs) <= procs-int(used[w.shot]) {
				cost++
			}
		}
	}
	return procs, cost
}
