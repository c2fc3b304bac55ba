package residual

import (
	"math"
	"slices"
)

// The kinds of classes, the widest first.
const (
	kindAll   = iota
	kindQueue // those of a queue and class
	kindRatio // those of them with a limit, by the ratio of lifetime and limit: cell ratioCell begins with the limit
	kindLimit // those of them with one limit
	kinds
)

const ratioCell = 130

// classKey is a class of jobs; that of all is the zero key.
type classKey struct {
	queue  string
	kind   uint8
	serial bool
	limit  int32 // cell of the limit, a quarter of the others' width
}

// class is what is known of a class's lifetimes.
type class struct {
	counts  [Bins]float64 // ended jobs by lifetime, faded
	total   float64
	pending int           // ended since the last refresh
	hazard  [Bins]float64 // of the product-limit estimate, at the last refresh
	weight  float64       // ended jobs in it
	running map[int64]alive
	n       uint64 // jobs ended
	used    uint64 // the model's count of ended jobs when the last one did, 0 before
}

// alive is a running job of a class.
type alive struct {
	start float64
	since uint64  // the class's n at its start
	limit float64 // in a class by ratio
}

// ratio returns the cell of a lifetime in a class by ratio.
func ratio(seconds, limit float64) int {
	x := math.Log(max(1, seconds)/limit)*perUnit + ratioCell
	return int(max(0, min(x, Bins-1)))
}

// weight is that of a job that started when since jobs of the class had ended, now that n have. It is by the start, so
// that the window favors no short jobs, and in whole units, so that sums are exact and do not depend on the order of a
// map.
func weight(n, since uint64, memory float64) float64 {
	const unit = 1 << 20
	if since >= n {
		return 1
	}
	return math.Round(math.Exp(-float64(n-since)/memory)*unit) / unit
}

// keys returns the classes of a job, the widest first. Without a limit that by ratio is left out.
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

// chain returns the classes of a job, the widest first; new ones where there are none. That by ratio is nil without a
// limit.
func (m *Model) chain(j Job) [kinds]*class {
	var out [kinds]*class
	keys := j.keys()
	if len(m.classes)+len(keys) > m.config.Classes && m.classes[keys[kindLimit]] == nil {
		forget(m.classes, func(c *class) (uint64, bool) { return c.used, len(c.running) > 0 })
	}
	for i, key := range keys {
		c := m.classes[key]
		if c == nil && j.has(i) {
			c = &class{running: map[int64]alive{}}
			m.classes[key] = c
		}
		out[i] = c
	}
	return out
}

// forget deletes the least recently used quarter of what need not stay in a map. Equal ones go together, so that the
// map's order does not matter.
func forget[K comparable, V any](all map[K]V, state func(V) (used uint64, stays bool)) {
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
			delete(all, k)
		}
	}
}

// add counts an ended job that started when since jobs had ended.
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

// due reports whether enough has ended since the last refresh for another.
func (c *class) due() bool { return float64(c.pending) >= min(16, 1+c.total/16) }

// refresh works out the product-limit estimate of the hazard in each cell at an instant; jobs that run count in the
// cells that they have lived through.
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
		risk += censored[i] // one that is in this cell has not lived through it
	}
	c.weight = c.total
}

// mixInto replaces the prior in pmf by its mixture with the class's law, against which the prior weighs so many runs.
// What the product-limit estimate leaves beyond its last end is spread as the prior is there.
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
		pmf[last] += alive // rounding
		return
	}
	factor := rest + alive/beyond
	for i := last + 1; i < Bins; i++ {
		pmf[i] *= factor
	}
}

// last returns the last cell in which a job has ended.
func (c *class) last() int {
	last := Bins - 1
	for last > 0 && c.hazard[last] == 0 {
		last--
	}
	return last
}

// mixRatio is mixInto for a class by ratio: its cells lie where they do for the limit. What it leaves beyond its last
// end, or cannot place, ends at the limit.
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
