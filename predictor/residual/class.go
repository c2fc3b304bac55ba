package residual

import (
	"math"
	"slices"
)

// These are the kinds of classes, the widest first.
const (
	kindAll   = iota
	kindQueue // the jobs of a queue that use one processor, or that use several
	kindRatio // those of kindQueue with a limit, by the ratio of lifetime to limit; cell ratioCell begins at the limit
	kindLimit // the jobs of kindQueue with the same limit, or without one
	kinds
)

const ratioCell = 130

// classKey identifies a class of jobs. The class of all jobs has the zero key.
type classKey struct {
	queue  string
	kind   uint8
	serial bool
	limit  int32 // only in kindLimit: cell of the limit, -1 for none; a quarter as wide as a cell of lifetimes
}

// class has the observed lifetimes of a class of jobs.
type class struct {
	counts  [Bins]float64 // ended jobs by lifetime, with decaying weights
	total   float64
	pending int           // number of jobs that ended since the last refresh
	hazard  [Bins]float64 // hazards of the product-limit estimate at the last refresh
	weight  float64       // total at the last refresh
	running map[int64]alive
	n       uint64  // number of ended jobs
	used    uint64  // the model's count of ended jobs when a job of the class last ended, 0 before
	seen    float64 // instant at which one of its jobs last started or ended
}

// alive is a running job of a class.
type alive struct {
	start float64
	since uint64  // number of ended jobs of the class at its start
	limit float64 // the job's time limit; set only in a class of kindRatio
}

// ratio returns the cell of a lifetime in a class by ratio.
func ratio(seconds, limit float64) int {
	x := math.Log(max(1, seconds)/limit)*perUnit + ratioCell
	return int(max(0, min(x, Bins-1)))
}

// weight returns the weight of a job in its class when n jobs of the class have ended. since is the number of them that
// had ended when the job started. The weight depends on the start and not on the end, so that short jobs are not
// favored. It is a multiple of 2^-20, so that sums are exact and do not depend on the order of a map.
func weight(n, since uint64, memory float64) float64 {
	const unit = 1 << 20
	if since >= n {
		return 1
	}
	return math.Round(math.Exp(-float64(n-since)/memory)*unit) / unit
}

// keys returns the keys of a job's classes, the widest first. The key of kindRatio is not used for a job without a
// limit, see has.
func (j Job) keys() [kinds]classKey {
	in := classKey{queue: j.Queue, kind: kindQueue, serial: j.Procs == 1}
	ratio, limit := in, in
	ratio.kind, limit.kind = kindRatio, kindLimit
	limit.limit = -1
	if j.Limit > 0 {
		limit.limit = int32(math.Log(max(1, j.Limit)) * 4 * perUnit)
	}
	return [kinds]classKey{{}, in, ratio, limit}
}

// has reports whether the job has a class of this kind.
func (j Job) has(kind int) bool { return kind != kindRatio || j.Limit > 0 }

// chain returns the classes of a job, the widest first. It creates missing ones. The class by ratio is nil if the job
// has no limit. If they were not used later, the given instant becomes the time of their last use. If there are too
// many classes, it first forgets the least recently used.
func (m *Model) chain(j Job, at float64) [kinds]*class {
	var out [kinds]*class
	keys := j.keys()
	if len(m.classes)+len(keys) > m.config.Classes && m.classes[keys[kindLimit]] == nil {
		before := len(m.classes)
		forget(m.classes, func(c *class) (uint64, bool) { return c.used, len(c.running) > 0 },
			func(key classKey) { delete(m.classes, key) })
		m.forgotten.ClassesForRoom += before - len(m.classes)
	}
	for i, key := range keys {
		c := m.classes[key]
		if c == nil && j.has(i) {
			c = &class{running: map[int64]alive{}, seen: at}
			m.classes[key] = c
		}
		if out[i] = c; c != nil {
			c.seen = max(c.seen, at)
		}
	}
	return out
}

// forget calls drop with the keys of the least recently used quarter of the entries that may be removed from a map.
// It removes entries with equal use together, so that the order of the map does not matter.
func forget[K comparable, V any](all map[K]V, state func(V) (used uint64, stays bool), drop func(K)) {
	uses := make([]uint64, 0, len(all))
	for _, v := range all {
		if used, stays := state(v); !stays {
			uses = append(uses, used)
		}
	}
	if len(uses) == 0 {
		return
	}
	slices.Sort(uses)
	until := uses[len(uses)/4]
	for k, v := range all {
		if used, stays := state(v); used <= until && !stays {
			drop(k)
		}
	}
}

// add counts an ended job whose lifetime is in cell i. since is the number of jobs of the class that had ended when it
// started, and now is the model's count of ended jobs.
func (c *class) add(i int, since uint64, memory float64, now uint64) {
	keep := math.Exp(-1 / memory)
	for k := range c.counts {
		c.counts[k] *= keep
	}
	c.n++
	w := weight(c.n-1, since, memory)
	c.total = c.total*keep + w
	c.counts[i] += w
	c.pending++
	c.used = now
}

// due reports whether enough jobs have ended since the last refresh.
func (c *class) due() bool { return float64(c.pending) >= min(16, 1+c.total/16) }

// refresh computes the product-limit estimate of the hazard in each cell at an instant. Running jobs count in the cells
// that they have outlived.
func (c *class) refresh(at, memory float64) {
	c.pending = 0
	var censored [Bins]float64
	for _, a := range c.running {
		i := cell(at - a.start)
		if a.limit > 0 {
			i = ratio(at-a.start, a.limit)
		}
		censored[i] += weight(c.n, a.since, memory)
	}
	risk := 0.0
	for i := Bins - 1; i >= 0; i-- {
		risk += c.counts[i]
		c.hazard[i] = 0
		if risk > 0 && c.counts[i] > 0 {
			c.hazard[i] = c.counts[i] / risk
		}
		risk += censored[i] // a running job has not outlived its present cell
	}
	c.weight = c.total
}

// mixInto replaces the prior in pmf by a mixture of the prior and the class's law. The prior weighs as much as the
// given number of runs. The probability beyond the last end of the product-limit estimate is spread in proportion to
// the prior.
func (c *class) mixInto(pmf *[Bins]float64, prior float64) {
	if !(c.weight > 0) {
		return
	}
	share, rest := c.weight/(c.weight+prior), prior/(c.weight+prior)
	last := c.last()
	alive, beyond := share, 0.0
	for i := range pmf {
		if i > last {
			beyond += pmf[i]
			continue
		}
		d := alive * c.hazard[i]
		pmf[i] = rest*pmf[i] + d
		alive -= d
	}
	if last == Bins-1 {
		pmf[last] += alive // only rounding leads here
		return
	}
	factor := rest + alive/beyond
	for i := last + 1; i < Bins; i++ {
		pmf[i] *= factor
	}
}

// last returns the last cell in which a job has ended, 0 if there is none.
func (c *class) last() int {
	last := Bins - 1
	for last > 0 && c.hazard[last] == 0 {
		last--
	}
	return last
}

// mixRatio is mixInto for a class of kindRatio, whose cells depend on the limit. Probability beyond the last end, or
// outside the table, ends at the limit.
func (c *class) mixRatio(pmf *[Bins]float64, prior, limit float64) {
	if !(c.weight > 0) {
		return
	}
	share, rest := c.weight/(c.weight+prior), prior/(c.weight+prior)
	for i := range pmf {
		pmf[i] *= rest
	}
	shift := math.Log(limit)*perUnit - ratioCell
	alive := share
	for i, last := 0, c.last(); i <= last; i++ {
		if d := alive * c.hazard[i]; d > 0 {
			place(pmf, float64(i)+.5+shift, d)
			alive -= d
		}
	}
	place(pmf, ratioCell+1.5+shift, alive)
}
