package headqueue

import (
	"math"
	"math/rand/v2"
	"slices"
)

// These bound the simulation behind a queue.
const (
	// fcfsWork is the maximum of jobs * replicas, as long as there are more than fewestReplicas. It takes about 15 ms.
	fcfsWork = 256_000
	// mostReplicas is the default of [Calc].Replicas, and fewestReplicas their minimum. With fewer replicas than
	// smoothBelow, quantiles come from a log-normal law with the replicas' mean and deviation. Otherwise they come
	// from the order of the replicas.
	mostReplicas, fewestReplicas, smoothBelow = 128, 12, 64
)

// fcfs is the memory of the simulation of strict first come, first served.
type fcfs struct {
	laws     lawTables
	replicas int
	level    []float64 // quantiles of one job
	ends     []float64 // ends of the running jobs, replica by replica
	procs    []int     // processors of the running jobs
	lives    []float64 // lifetimes of the jobs ahead, replica by replica
	random   rand.PCG
	order    []uint16  // a permutation of the replicas
	heap     []ending  // heap by instant
	starts   []float64 // starts of the request, by replica; summarize sorts them

	share    float64 // share of the replicas in which the request starts at all
	mean, sd float64 // of ln(1+t) in those replicas
}

// ending is an instant at which procs processors are freed.
type ending struct {
	at    float64
	procs int
}

// simulate plays c.queue.jobs in replicas of strict first come, first served with random lifetimes, and stores the
// results in c.behind. A first job that is larger than the free processors leaves them idle, and the variances of all
// lifetimes add up. Both are as on the real machine.
//
// The lifetimes of each job are stratified over the replicas by Latin hypercube sampling (McKay, Beckman and Conover,
// Technometrics 21, 1979). The job's law is divided into as many ranges of equal probability as there are replicas. One
// value is drawn from each range, at the same random place in all of them, and the values are shuffled. The seed is
// fixed, and the draws depend only on the job's place in the queue. So the same state gives the same answer, and no
// replica starts earlier for a larger request or for one more job at the end of the queue. (For one more job this holds
// up to fcfsWork jobs divided by the number of replicas; with more jobs there may be one replica fewer.)
func (c *Calc) simulate(free int) {
	f, b := &c.fcfs, &c.behind
	running, ahead := len(c.held), len(c.queue.jobs)
	most := mostReplicas
	if c.Replicas > 0 {
		most = min(c.Replicas, math.MaxUint16)
	}
	f.replicas = max(fewestReplicas, min(most, fcfsWork/(running+ahead)))
	f.laws.reset()
	f.level = grow(f.level, f.replicas)
	f.draw(c.held, c.queue.jobs)
	b.now, b.free, b.heap, b.from = b.now[:0], b.free[:0], b.heap[:0], append(b.from[:0], 0)
	for r := range f.replicas {
		now, then := f.run(r, free, c.queue.jobs)
		if r == 0 { // in the other replicas about as many jobs hold processors at that start
			b.heap = slices.Grow(b.heap, f.replicas*(len(f.heap)+len(f.heap)/8))
		}
		b.now, b.free, b.heap = append(b.now, now), append(b.free, then), append(b.heap, f.heap...)
		b.from = append(b.from, len(b.heap))
	}
}

// draw fills f.ends and f.lives with random draws for all replicas.
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

// remaining fills f.level with quantiles of the instant at which h ends.
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
		if !math.IsInf(t, 1) { // an infinite age gives NaN otherwise
			f.level[k] = max(0, min(t-h.shift, cut))
		}
	}
}

// parts returns the number of parts into which each range of a law is divided. One part is drawn. With few replicas a
// range is wide, and without parts its middle would stand for it, which is less than its mean.
func (f *fcfs) parts() int { return (mostReplicas + f.replicas - 1) / f.replicas }

// lifetimes returns quantiles of a law, counted from the job's start; +Inf if law is nil. It returns one quantile of
// each range, from the given part of the range. Quantile k is row[k*each]. When a law occurs for the second time, the
// quantiles of all its parts are computed and kept.
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

// below returns a random number from 0 to n-1.
func (f *fcfs) below(n int) int { return int(f.random.Uint64() >> 32 * uint64(n) >> 32) }

// shuffle returns the next random order of the replicas (Fisher-Yates).
func (f *fcfs) shuffle() []uint16 {
	f.order = f.order[:0]
	for i := range f.replicas {
		j := f.below(i + 1)
		f.order = append(f.order, uint16(i))
		f.order[i], f.order[j] = f.order[j], uint16(i)
	}
	return f.order
}

// run plays the jobs ahead in one replica. now is the start of the last of them, +Inf if too few processors are ever
// freed. then is the number of processors that are free after that start. f.heap has the jobs that hold the other
// processors.
func (f *fcfs) run(replica, free int, ahead []Ahead) (now float64, then int) {
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
	for i, life := range lives {
		if now, free = f.await(now, free, ahead[i].Procs); math.IsInf(now, 1) {
			return now, free
		}
		free -= ahead[i].Procs
		f.push(ending{now + life, ahead[i].Procs})
	}
	return now, free
}

// await returns the first instant from now on at which procs processors are free, and the number that is free then. It
// is +Inf if so many are never free.
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

// fan is the number of children of a node of the heap. They share a cache line.
const fan = 4

// sink puts e into the free place i of the heap, or below it.
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

// mostLevel is the highest level at which the log-normal law of few replicas is evaluated, and 1 - mostLevel the
// lowest. A level beyond these gets the answer of the nearer one.
const mostLevel = 1 - .5/mostReplicas

// quantile returns the instant by which the request has started with probability q. It is +Inf if the request starts
// in too few replicas.
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

// sampled returns an interval that contains the q-quantile of the request's start with about 95 % certainty. It
// accounts only for the finite number of replicas. For independent replicas it holds for any law: the number of starts
// before the quantile is binomial, and the interval lies between the starts at the bounds of that number, 1.96 standard
// deviations from its mean. Stratified replicas vary less, so that the interval contains the quantile more often. For
// few replicas it is the interval of a log-normal law whose mean and deviation were measured on that number of values.
func (f *fcfs) sampled(q float64) (low, high float64) {
	const deviations = 1.96
	n := float64(len(f.starts))
	if q <= 0 {
		return 0, 0
	}
	if f.smooth() {
		at := f.quantile(q)
		if math.IsInf(at, 1) {
			return at, at
		}
		z := math.Sqrt2 * math.Erfinv(2*min(max(q/f.share, 1-mostLevel), mostLevel)-1)
		off := deviations * f.sd * math.Sqrt((1+z*z/2)/n)
		return math.Expm1(max(0, math.Log1p(at)-off)), math.Expm1(math.Log1p(at) + off)
	}
	off := deviations * math.Sqrt(n*q*(1-q))
	last := len(f.starts) - 1
	below, above := int(math.Floor(q*n-off)), int(math.Ceil(q*n+off))
	return f.starts[min(max(below-1, 0), last)], f.starts[min(max(above-1, 0), last)]
}

// roundings is the relative tolerance within which an instant counts as passed. So starts that differ only by
// rounding count as equal.
const roundings = 1e-13

// within returns the probability that the request has started by x. It is the inverse of quantile.
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

// summarize sorts the starts and computes their moments in ln(1+t). Stratification fixes the mean, so the variance is
// divided by n, not by n-1.
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
