package users

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// profile is a user of a log, prepared for the generator. Weeks are the weeks of the first source.
type profile struct {
	*User
	source              int
	offset              float64 // added to times of the user's log to get times of the first source
	firstWeek, lastWeek int     // week of the user's first and last submission
	// Number of weeks between the beginnings of two passes through the user's jobs; 0 for a single pass.
	cycle  int
	weight float64
}

// firstFrom returns the index of the user's first job that is submitted at or after an instant, in the time of the
// first source. Such a job must exist.
func (p *profile) firstFrom(at float64) int {
	return sort.Search(len(p.Jobs)-1, func(i int) bool { return p.Jobs[i].Submit+p.offset >= at })
}

func (p *profile) weeks() int { return p.lastWeek - p.firstWeek + 1 }

// crowd is the part of a workload that comes from one source.
type crowd struct {
	source    int
	fit       func(int) int
	longTerm  []*profile
	temporary []*profile
	rare      []*profile
	count     int     // number of long-term users
	present   float64 // mean number of temporary users at the beginning
	weekly    float64 // mean number of temporary users that come in a week
}

func newCrowd(index int, s Source, first *Pools, cfg Config) (crowd, error) {
	p := s.Pools
	c := crowd{source: index, fit: s.Procs}
	// A difference of whole weeks between the logs does not matter. The offset makes weekdays and times of day equal.
	offset := first.Start - p.Start
	phase := p.Monday - first.Monday
	offset = phase + math.Round((offset-phase)/week)*week
	var err error
	profiles := func(users []*User, cycle bool) []*profile {
		out := make([]*profile, 0, len(users))
		for _, u := range users {
			w := 1.
			if cfg.Weight != nil {
				w = cfg.Weight(u)
			}
			if !(w >= 0) || math.IsInf(w, 1) {
				err = fmt.Errorf("the weight of user %d is %v; want 0 or more", u.ID, w)
			}
			q := &profile{User: u, source: index, offset: offset, weight: w}
			q.firstWeek = int(math.Floor((u.First + offset - first.Start) / week))
			q.lastWeek = int(math.Floor((u.Last + offset - first.Start) / week))
			if cycle {
				// A pass takes as long as the log: the user's activity and the time without it. It is rounded to
				// whole weeks, so that two passes do not overlap.
				q.cycle = max(1, int(math.Round(p.Weeks())), int(math.Ceil((u.Last-u.First)/week)))
			}
			out = append(out, q)
		}
		return out
	}
	c.longTerm, c.temporary, c.rare = profiles(p.LongTerm, true), profiles(p.Temporary, false), profiles(p.Rare, false)
	if err != nil {
		return c, err
	}
	longTerm, err := factor("LongTerm", s.LongTerm)
	if err != nil {
		return c, err
	}
	temporary, err := factor("Temporary", s.Temporary)
	if err != nil {
		return c, err
	}
	c.count = int(math.Round(cfg.Load * longTerm * float64(len(c.longTerm))))
	if total(c.longTerm) == 0 {
		c.count = 0
	}
	if total(c.temporary) > 0 {
		c.present, c.weekly = cfg.Load*temporary*p.Present, cfg.Load*temporary*p.Arrivals
	}
	return c, nil
}

// factor checks a factor of a Source and returns its value: 1 for 0, and 0 for a negative number.
func factor(name string, f float64) (float64, error) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return 0, fmt.Errorf("the factor %s of the source is %v; want a number", name, f)
	case f == 0:
		return 1, nil
	}
	return max(f, 0), nil
}

func total(profiles []*profile) float64 {
	var sum float64
	for _, p := range profiles {
		sum += p.weight
	}
	return sum
}

// populate adds the long-term and temporary users that are active at the beginning of the workload.
func (g *Generator) populate(c *crowd) {
	for i, n := range g.copies(c.longTerm, c.count) {
		p := c.longTerm[i]
		span := p.weeks()
		if g.cfg.Stationary {
			span = max(span, p.cycle)
		}
		// Copies of a user start at different weeks of the user's activity.
		first := g.rng.IntN(span)
		for r := range n {
			g.join(p, c.source, 0, p.firstWeek+(first+r*span/n)%span)
		}
	}
	n := int(c.present)
	if g.rng.Float64() < c.present-float64(n) {
		n++
	}
	// Users with a longer stay have a higher probability of being present.
	present := newDraw(c.temporary, func(p *profile) float64 { return p.weight * float64(p.weeks()) })
	for range n {
		p := present.next(g.rng)
		g.join(p, c.source, 0, p.firstWeek+g.rng.IntN(p.weeks()))
	}
}

// admit starts the temporary users that come in the next week. Their number is binomial. So each user of the pool is
// selected with the probability that gives the right mean.
func (g *Generator) admit() {
	rare := newDraw(g.rare, func(p *profile) float64 { return p.weight })
	for i := range g.crowds {
		c := &g.crowds[i]
		if c.weekly == 0 {
			continue
		}
		trials := float64(len(c.temporary)) * math.Ceil(c.weekly/float64(len(c.temporary)))
		n := distuv.Binomial{N: trials, P: c.weekly / trials, Src: g.rng}.Rand()
		regular := newDraw(c.temporary, func(p *profile) float64 { return p.weight })
		for range int(n) {
			from := &regular
			if g.cfg.RarePerWeek > 0 && g.rng.Float64() < g.cfg.RarePerWeek/g.weekly {
				from = &rare
			}
			p := from.next(g.rng)
			g.join(p, p.source, g.week, p.firstWeek)
		}
	}
	g.week++
}

// copies returns how many times each of the users is selected for n places. The expected number for a user is n times
// the user's share of the weight. Each user gets the whole part of this number. So without weights no user is copied
// before all are selected. The remaining places are drawn at random. The paper draws all places at random. If a few
// users have most of the work, the load then differs from the target by 10 % and more. Here users with similar work
// compete for one place. Each user still has the same probability, and the load varies less.
func (g *Generator) copies(users []*profile, n int) []int {
	counts := make([]int, len(users))
	sum := total(users)
	if sum == 0 {
		return counts
	}
	rest := n
	for i, p := range users {
		counts[i] = int(float64(n) * p.weight / sum)
		rest -= counts[i]
	}
	// Systematic sampling fills exactly the remaining places, and each user's expected number stays the same.
	at, given := g.rng.Float64(), 0
	for _, i := range g.shuffled(users, rest) {
		_, fraction := math.Modf(float64(n) * users[i].weight / sum)
		before := math.Floor(at)
		at += fraction
		if math.Floor(at) > before && given < rest {
			counts[i]++
			given++
		}
	}
	return counts
}

// shuffled returns the indexes of the users, those with the most work first. Neighbors that compete for one place are
// in random order.
func (g *Generator) shuffled(users []*profile, places int) []int {
	work := make([]float64, len(users))
	order := make([]int, len(users))
	for i, p := range users {
		work[i], order[i] = p.Work(), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(work[b], work[a]) })
	block := (len(users) + places) / max(1, places)
	for neighbors := range slices.Chunk(order, max(2, block)) {
		g.rng.Shuffle(len(neighbors), func(i, j int) { neighbors[i], neighbors[j] = neighbors[j], neighbors[i] })
	}
	return order
}

// draw selects users at random, by their weights. It selects a user again only after all others with a weight above 0
// were selected.
type draw struct {
	users   []*profile
	weights []float64
	left    []float64
}

func newDraw(users []*profile, weight func(*profile) float64) draw {
	d := draw{users: users, weights: make([]float64, len(users))}
	for i, p := range users {
		d.weights[i] = weight(p)
	}
	return d
}

func (d *draw) next(rng *rand.Rand) *profile {
	var sum float64
	for _, w := range d.left {
		sum += w
	}
	if sum == 0 {
		d.left, sum = slices.Clone(d.weights), 0
		for _, w := range d.left {
			sum += w
		}
	}
	u, last := rng.Float64()*sum, 0
	for i, w := range d.left {
		if w == 0 {
			continue
		}
		last = i
		if u -= w; u < 0 {
			break
		}
	}
	d.left[last] = 0
	return d.users[last]
}
