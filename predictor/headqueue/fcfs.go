package headqueue

import (
	"math"
	"math/rand/v2"
	"slices"
)

// The bounds of the simulation behind a queue.
const (
	// fcfsWork is jobs * replicas, some 15 ms.
	fcfsWork = 256_000
	// Replicas; with fewer than smoothBelow the quantiles are those of a log-normal
	// law of the replicas' mean and deviation, not their order.
	mostReplicas, fewestReplicas, smoothBelow = 128, 12, 64
)

// fcfs is the scratch of the simulation of strict first come, first served.
type fcfs struct {
	laws     lawTables
	replicas int
	level    []float64 // one job's quantiles
	ends     []float64 // of the running jobs, replica by replica
	procs    []int     // of the running jobs
	lives    []float64 // of the jobs ahead, replica by replica
	random   rand.PCG
	order    []uint16  // a permutation of the replicas
	heap     []ending  // by instant
	starts   []float64 // the request's, ascending once all replicas have run

	share    float64 // of the replicas in which the request starts at all
	mean, sd float64 // of ln(1+t) of those
}

// ending is an instant at which procs processors are given back.
type ending struct {
	at    float64
	procs int
}

// simulate works out c.fcfs.starts: the instants at which a request for procs
// processors starts behind c.queue.jobs in replicas of strict first come, first served
// with random lifetimes. So a head that is wider than what is free leaves processors
// idle, and the variances of all lifetimes add up, as they do in the machine.
//
// Each job's lifetimes are stratified over the replicas: one from each of as many
// equally likely ranges of its law, at the same random place in all of them, in random
// order (Latin hypercube sampling: McKay, Beckman and Conover, Technometrics 21, 1979).
// They come from a fixed seed and depend on the job's place in the queue only, so that the
// same state gives the same answer, and a larger request, or one more job at the queue's
// end, makes no replica earlier (as long as there are no more than fcfsWork/mostReplicas
// jobs: beyond, there may be one replica fewer).
func (c *Calc) simulate(free, procs int) {
	f := &c.fcfs
	running, ahead := len(c.held), len(c.queue.jobs)
	f.replicas = max(fewestReplicas, min(mostReplicas, fcfsWork/(running+ahead)))
	f.laws.reset()
	f.level = grow(f.level, f.replicas)
	f.draw(c.held, c.queue.jobs)
	f.starts = f.starts[:0]
	for r := range f.replicas {
		f.starts = append(f.starts, f.run(r, free, procs, c.queue.jobs))
	}
	f.summarize()
}

// draw fills ends and lives.
func (f *fcfs) draw(held []held, ahead []Ahead) {
	n, m := f.replicas, len(held)
	f.ends = grow(f.ends, n*m)
	f.procs = grow(f.procs, m)
	f.random.Seed(1, 1)
	for i := range held {
		h := &held[i]
		f.procs[i] = h.procs
		f.remaining(h)
		for r, k := range f.shuffle() {
			f.ends[r*m+i] = f.level[k]
		}
	}
	m = len(ahead)
	f.lives = grow(f.lives, n*m)
	f.random.Seed(1, 2)
	parts := f.parts()
	for i := range ahead {
		a := &ahead[i]
		row, each := f.lifetimes(a.Law, f.below(parts))
		limit := math.Inf(1)
		if a.Limit > 0 {
			limit = a.Limit
		}
		for r, k := range f.shuffle() {
			f.lives[r*m+i] = min(row[int(k)*each], limit)
		}
	}
}

// remaining fills f.level with the quantiles of the instant at which h ends.
func (f *fcfs) remaining(h *held) {
	place := (float64(f.below(mostReplicas)) + .5) / mostReplicas
	cut := math.Inf(1)
	if h.cut >= 0 {
		cut = h.cut
	}
	if !(h.s0 > 0) {
		for k := range f.level {
			f.level[k] = cut
		}
		return
	}
	f.laws.quantiles(f.level, f.laws.of(h.law), min(h.s0, 1), place)
	for k, t := range f.level {
		f.level[k] = cut
		if !math.IsInf(t, 1) { // the age may be infinite too
			f.level[k] = max(0, min(t-h.shift, cut))
		}
	}
}

// parts is in how many parts each range of a law is split, from which one is drawn: with
// few replicas the middle of a wide range would be less than its mean.
func (f *fcfs) parts() int { return (mostReplicas + f.replicas - 1) / f.replicas }

// lifetimes are the quantiles of a law from the job's start on, one of each range, from its
// given part; they lie each apart in row. All parts of a law that comes twice are kept.
func (f *fcfs) lifetimes(law Lifetime, part int) (row []float64, each int) {
	if law == nil {
		for k := range f.level {
			f.level[k] = math.Inf(1)
		}
		return f.level, 1
	}
	l, parts := &f.laws, f.parts()
	table := l.of(law)
	if !table.seen {
		table.seen = true
		l.quantiles(f.level, table, 1, (float64(part)+.5)/float64(parts))
		return f.level, 1
	}
	n := f.replicas * parts
	if table.row < 0 {
		table.row = len(l.rows)
		l.rows = slices.Grow(l.rows, n)[:table.row+n]
		l.quantiles(l.rows[table.row:], table, 1, .5)
	}
	return l.rows[table.row+part : table.row+n], parts
}

// below is a random number from 0 to n-1.
func (f *fcfs) below(n int) int { return int(f.random.Uint64() >> 32 * uint64(n) >> 32) }

// shuffle returns the next random order of the replicas (Fisher and Yates).
func (f *fcfs) shuffle() []uint16 {
	f.order = f.order[:0]
	for i := range f.replicas {
		j := f.below(i + 1)
		f.order = append(f.order, uint16(i))
		f.order[i], f.order[j] = f.order[j], uint16(i)
	}
	return f.order
}

// run is the request's start in one replica, +Inf where too few processors are ever
// given back.
func (f *fcfs) run(replica, free, procs int, ahead []Ahead) float64 {
	f.heap = f.heap[:0]
	m := len(f.procs)
	for i, at := range f.ends[replica*m : (replica+1)*m] {
		f.heap = append(f.heap, ending{at, f.procs[i]})
	}
	for i := (len(f.heap)+fan-2)/fan - 1; i >= 0; i-- {
		f.sink(i, f.heap[i])
	}
	m = len(ahead)
	lives := f.lives[replica*m : (replica+1)*m]
	now := 0.0
	for i, life := range lives {
		if now, free = f.await(now, free, ahead[i].Procs); math.IsInf(now, 1) {
			return now
		}
		free -= ahead[i].Procs
		f.push(ending{now + life, ahead[i].Procs})
	}
	now, _ = f.await(now, free, procs)
	return now
}

// await is the instant from now on at which procs processors are free, and how many
// then are.
func (f *fcfs) await(now float64, free, procs int) (at float64, then int) {
	for free < procs {
		if len(f.heap) == 0 {
			return math.Inf(1), free
		}
		now = max(now, f.heap[0].at)
		free += f.heap[0].procs
		last := len(f.heap) - 1
		e := f.heap[last]
		f.heap = f.heap[:last]
		if last > 0 {
			f.sink(0, e)
		}
	}
	return now, free
}

// fan is how many children a node of the heap has: as many as share a cache line.
const fan = 4

// sink puts e in the hole i of the heap, or below.
func (f *fcfs) sink(i int, e ending) {
	h := f.heap
	for {
		first := fan*i + 1
		if first >= len(h) {
			break
		}
		child, at := first, h[first].at
		for j := first + 1; j < min(first+fan, len(h)); j++ {
			if h[j].at < at {
				child, at = j, h[j].at
			}
		}
		if at >= e.at {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = e
}

func (f *fcfs) push(e ending) {
	f.heap = append(f.heap, e)
	h := f.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / fan
		if h[parent].at <= e.at {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

// mostLevel is the highest level, and 1 less it the lowest, that the replicas can give: levels beyond are answered as
// these.
const mostLevel = 1 - .5/mostReplicas

// quantile is the instant by which the request has started with probability q, +Inf
// where it does in too few replicas.
func (f *fcfs) quantile(q float64) float64 {
	if q <= 0 {
		return 0
	}
	if f.smooth() {
		if q > f.share {
			return math.Inf(1)
		}
		z := math.Sqrt2 * math.Erfinv(2*min(max(q/f.share, 1-mostLevel), mostLevel)-1)
		return max(0, math.Expm1(f.mean+f.sd*z))
	}
	at := min(max(q*float64(len(f.starts))-.5, 0), float64(len(f.starts)-1))
	i := int(at)
	a, part := f.starts[i], at-float64(i)
	if part == 0 {
		return a
	}
	b := f.starts[i+1]
	if math.IsInf(b, 1) {
		if part > .5 {
			return b
		}
		return a
	}
	return a + (b-a)*part
}

// roundings is by how much more of an instant is taken for passed, so that starts that differ only by roundings (a
// quantile between them cannot be written) count alike.
const roundings = 1e-13

// within is the probability that the request has started by x, the inverse of quantile.
func (f *fcfs) within(x float64) float64 {
	n := float64(len(f.starts))
	x *= 1 + roundings
	i, _ := slices.BinarySearchFunc(f.starts, x, func(start, x float64) int {
		if start <= x && !math.IsInf(start, 1) {
			return -1
		}
		return 1
	})
	switch {
	case !(x >= 0) || i == 0 && !f.smooth():
		return 0
	case f.smooth() && f.sd > 0:
		return f.share * normalTail(math.Log1p(x), f.sd*f.sd, f.mean)
	case i == len(f.starts) || math.IsInf(f.starts[i], 1):
		return float64(i) / n
	}
	a, b := f.starts[i-1], f.starts[i]
	return (float64(i) - .5 + (x-a)/(b-a)) / n
}

// smooth reports whether quantiles come from the log-normal law.
func (f *fcfs) smooth() bool { return len(f.starts) < smoothBelow }

// summarize sorts the starts and works out their moments in ln(1+t). The means of
// the strata are fixed, so that the deviation needs no degree of freedom for the mean.
func (f *fcfs) summarize() {
	slices.Sort(f.starts)
	var n, sum, squares float64
	for _, t := range f.starts {
		if !math.IsInf(t, 1) {
			n++
			sum += math.Log1p(t)
		}
	}
	f.share, f.mean, f.sd = n/float64(len(f.starts)), sum/n, 0
	for _, t := range f.starts {
		if !math.IsInf(t, 1) {
			d := math.Log1p(t) - f.mean
			squares += d * d
		}
	}
	f.sd = math.Sqrt(squares / n)
}
