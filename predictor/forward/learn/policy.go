package learn

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
)

// pool is the evidence of one pool.
type pool struct {
	queues   []int // sorted
	highest  int   // processors
	searched bool  // highest is from a search
	Finding
	prefers map[[2]int]*preference // by the queue of the job that started and that of the one left waiting
}

// preference counts starts of one queue's jobs while the other's oldest one, which would have fitted as well, waited
// on.
type preference struct{ older, younger int }

// Finding is which policy explains the starts of a pool best, and why.
type Finding struct {
	Policy forward.Policy
	// Order is the queues, the first one preferred most, where the policy is by priority.
	Order []string
	// Starts is the number of starts that left somebody waiting; the others are no evidence. Enough is whether that
	// suffices.
	Starts int
	Enough bool
	// Overtakes is how many of these passed an older job that waits, Inside how many one of their own queue, and
	// Fitting how many one that would have fitted: no rule of backfilling explains these.
	Overtakes, Inside, Fitting int
	// Checked is how many of those that passed a job that does not fit were checked against the rule of EASY
	// backfilling, and Legal how many obey it: expected to end before the oldest one's reservation, or to leave it
	// enough.
	Checked, Legal int
	// Choices is how often a start preferred a job to another queue's oldest one that would have fitted; ByAge in how
	// many of them it was the older one, ByQueue in how many it was of the queue that is preferred mostly.
	Choices, ByAge, ByQueue int
}

const (
	enough  = 50 // starts that leave somebody waiting
	choices = 30 // starts that prefer one queue to another
	// share of overtaking starts up to which the order is taken for strict: clocks are coarse, and jobs are held back
	// for other reasons
	overtaking = .03
	lead       = .1 // by how much the order of the queues must explain more of the choices than age does
	clear      = .8 // how much of them it must explain
)

// used returns what the pool's queues hold together.
func (p *pool) used(used []int) int {
	sum := 0
	for _, q := range p.queues {
		sum += used[q]
	}
	return sum
}

// judge examines a start of this instant: which jobs it left waiting.
func (l *Learner) judge(k *job) {
	p := l.pools[l.poolOf[k.queue]]
	instead := p.highest - p.used(l.used) + k.Procs // what another one could have had in its place
	if !k.running || l.jobs[k.ID] != k {            // it ended within the instant
		return
	}
	var oldest *job
	inside, fitting, anybody := false, false, false
	seen := make([]bool, len(l.queues))
	for i, w := range l.waiting {
		if i == deepest {
			break
		}
		if l.poolOf[w.queue] != l.poolOf[k.queue] || w.submit == l.now || w.held() {
			continue
		}
		anybody = true
		older := w.submit < k.submit
		if older {
			if oldest == nil {
				oldest = w
			}
			inside = inside || w.queue == k.queue
			if w.Procs <= instead {
				fitting = true
				w.passed++
			}
		}
		if !seen[w.queue] && w.queue != k.queue && w.Procs <= instead && k.submit < l.now-grace {
			p.prefer(k.queue, w.queue, older)
		}
		seen[w.queue] = true
	}
	if !anybody {
		return
	}
	p.Starts++
	if oldest == nil {
		return
	}
	p.Overtakes++
	if inside {
		p.Inside++
	}
	if fitting {
		p.Fitting++
	}
	if oldest.Procs > instead && (p.Overtakes)%(1+len(l.running)/crowd) == 0 {
		p.Checked++
		if l.legal(p, k, oldest) {
			p.Legal++
		}
	}
}

// prefer notes that a job of queue a was started while one of queue b waited on; older is set if the latter is older.
func (p *pool) prefer(a, b int, older bool) {
	if p.prefers == nil {
		p.prefers = map[[2]int]*preference{}
	}
	c := p.prefers[[2]int{a, b}]
	if c == nil {
		c = new(preference)
		p.prefers[[2]int{a, b}] = c
	}
	if older {
		c.younger++ // the younger one was started
	} else {
		c.older++
	}
}

// legal reports whether EASY backfilling would have allowed k, which has just started, to pass the oldest one.
func (l *Learner) legal(p *pool, k, oldest *job) bool {
	type ending struct {
		at    float64
		procs int
	}
	free := p.highest - p.used(l.used) + k.Procs
	var all []ending
	for _, r := range l.running {
		if r != k && l.poolOf[r.queue] == l.poolOf[k.queue] {
			all = append(all, ending{max(l.now, r.start+r.plan()), r.Procs})
		}
	}
	slices.SortFunc(all, func(a, b ending) int { return cmp.Compare(a.at, b.at) })
	shadow := math.Inf(1)
	for i, e := range all {
		if free >= oldest.Procs && e.at > shadow {
			break
		}
		if free += all[i].procs; free >= oldest.Procs {
			shadow = e.at
		}
	}
	return l.now+k.plan() <= shadow*(1+faster) || k.Procs <= free-oldest.Procs
}

// find reports which policy explains the evidence best.
func (p *pool) find(names []string) Finding {
	f := p.Finding
	wins := map[int]int{}
	for pair, c := range p.prefers {
		f.Choices += c.older + c.younger
		f.ByAge += c.older
		mine, theirs := c.older+c.younger, 0
		if o := p.prefers[[2]int{pair[1], pair[0]}]; o != nil {
			theirs = o.older + o.younger
		}
		if mine > theirs || mine == theirs && pair[0] < pair[1] {
			f.ByQueue += mine
			wins[pair[0]]++
		}
	}
	f.Enough = f.Starts >= enough
	byQueue := f.Choices >= choices && float64(f.ByQueue) >= clear*float64(f.Choices) &&
		float64(f.ByQueue) >= float64(f.ByAge)+lead*float64(f.Choices)
	overtakes := f.Overtakes
	if byQueue {
		overtakes = f.Inside
	}
	backfills := float64(overtakes) > overtaking*float64(max(1, f.Starts))
	switch {
	case byQueue && backfills:
		f.Policy = forward.PriorityEASY
	case byQueue:
		f.Policy = forward.PriorityFCFS
	case backfills:
		f.Policy = forward.EASY
	}
	if byQueue {
		order := slices.Clone(p.queues)
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(wins[b], wins[a]) })
		for _, q := range order {
			f.Order = append(f.Order, names[q])
		}
	}
	return f
}
