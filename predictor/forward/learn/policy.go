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
	searched bool  // true if highest comes from a search
	Finding
	prefers map[[2]int]*preference // by the queue of the job that started and that of the job left waiting
}

// preference counts starts of one queue's jobs while the other queue's oldest job, which would also have fitted, kept
// waiting.
type preference struct{ older, younger int }

// Finding is which policy explains the starts of a pool best, and why.
type Finding struct {
	Policy forward.Policy
	// Order lists the queues, most preferred first, for a priority policy.
	Order []string
	// Starts is the number of starts while other jobs waited; others are no evidence. Enough is true if there are
	// enough of them.
	Starts int
	Enough bool
	// Overtakes is the number of starts that passed an older waiting job, Inside the number that passed one of their
	// own queue, and Fitting the number that passed a job that would have fitted, which backfilling does not explain.
	Overtakes, Inside, Fitting int
	// Checked is the number of starts that passed a job that did not fit and were checked against the rule of EASY
	// backfilling. Legal is the number that obey it: expected to end before the oldest one's reservation, or leaving it
	// enough processors.
	Checked, Legal int
	// Choices is the number of starts that preferred a job to another queue's oldest one that would have fitted. ByAge
	// counts those in which the older job was preferred, ByQueue those in which the usually preferred queue was.
	Choices, ByAge, ByQueue int
}

const (
	enough  = 50 // starts that leave a job waiting
	choices = 30 // starts that prefer one queue to another
	// the share of overtaking starts up to which the order counts as strict: clocks are coarse, and jobs are held back
	// for other reasons
	overtaking = .03
	lead       = .1 // by how much the order of the queues must explain more of the choices than age does
	clear      = .8 // the share of the choices that it must explain
)

// used returns what the pool's queues hold together.
func (p *pool) used(used []int) int {
	sum := 0
	for _, q := range p.queues {
		sum += used[q]
	}
	return sum
}

// judge examines which jobs a start of this instant left waiting.
func (l *Learner) judge(k *job) {
	p := l.pools[l.poolOf[k.queue]]
	instead := p.highest - p.used(l.used) + k.Procs // what another job could have had in its place
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

// prefer records that a job of queue a was started while one of queue b kept waiting. older is true if the latter is
// older.
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

// legal reports whether EASY backfilling would have allowed k, which has just started, to pass the oldest job.
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
