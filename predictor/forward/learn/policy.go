package learn

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
)

// pool has the queues of a pool, and the evidence about its policy.
type pool struct {
	queues   []int // sorted
	highest  int   // processors
	searched bool  // true if highest comes from a search
	Finding
	prefers map[[2]int]*preference // by the queue of the job that started, and the queue of the job that kept waiting
}

// preference counts starts of one queue's jobs while the other queue's oldest job kept waiting, although it would also
// have fitted. older counts the starts of the older of the two jobs, and younger those of the younger.
type preference struct{ older, younger int }

// Finding is the policy that explains the starts of a pool best, with the evidence for it.
type Finding struct {
	Policy forward.Policy
	// Order lists the queues, most preferred first, for a priority policy.
	Order []string
	// Starts is the number of starts while other jobs waited. Other starts are no evidence. Enough is true if there are
	// at least 50 such starts.
	Starts int
	Enough bool
	// Overtakes is the number of starts that passed an older waiting job. Inside is the number that passed a job of
	// their own queue. Fitting is the number that passed a job that would have fitted, which backfilling does not
	// explain.
	Overtakes, Inside, Fitting int
	// Checked is the number of starts that passed a job that did not fit, and that were checked against the rule of
	// EASY backfilling. Legal is the number of those that obey the rule: either the job is expected to end before the
	// reservation of the oldest job, or it leaves that job enough processors.
	Checked, Legal int
	// Choices is the number of starts that preferred a job to another queue's oldest one, although that would have
	// fitted. ByAge counts those in which the older job was preferred. ByQueue counts those in which the job of the
	// usually preferred queue was.
	Choices, ByAge, ByQueue int
}

const (
	enough  = 50 // minimum of Starts for Finding.Enough
	choices = 30 // minimum of Choices for an order of the queues
	// overtaking is the share of overtaking starts up to which the order counts as strict. It is not 0, because
	// clocks are coarse and jobs are held for other reasons.
	overtaking = .03
	lead       = .1 // by how much the order of the queues must explain a larger share of the choices than age does
	clear      = .8 // minimum share of the choices that the order of the queues must explain
)

// used returns the number of processors that the pool's queues hold together.
func (p *pool) used(used []int) int {
	sum := 0
	for _, q := range p.queues {
		sum += used[q]
	}
	return sum
}

// judge adds the evidence of one start of this instant to the pool: which waiting jobs it passed.
func (l *Learner) judge(k *job) {
	p := l.pools[l.poolOf[k.queue]]
	instead := p.highest - p.used(l.used) + k.Procs // processors that another job could have had in place of k
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

// prefer records that a job of queue a was started while a job of queue b kept waiting. older is true if the job of
// queue b is the older one.
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
		c.younger++ // the younger job was started
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

// find returns the policy that explains the evidence best.
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
