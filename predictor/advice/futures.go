package advice

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/integrate/quad"
)

const (
	// strata is the number of futures that represent a law given by quantiles. The futures are the quantiles at the
	// middles of that many equal parts of the probability.
	strata = 100
	// A random runtime is represented by leastNodes to mostNodes values, which are the quantiles at the middles of
	// equal parts of the probability. Their number is chosen to give about mostAtoms combinations with the futures.
	leastNodes, mostNodes = 20, 400
	mostAtoms             = 2000
)

// scene has the candidates of a choice, with their waits in all futures.
type scene struct {
	objective Objective
	courses   []course
	pools     []pool
	nodes     int
	step      func() error // called at intervals during long computations
	// points and weights are those of Gauss-Legendre integration from 0 to 1.
	points, weights []float64
}

// pool is a group of candidates that share their futures.
type pool struct {
	members []int // indexes of courses
	futures int
}

// course is a candidate with its wait in every future and its runtime at every node. A node stands for an equal part of
// the runtime's probability.
type course struct {
	candidate *Candidate
	pool      int
	waits     []float64 // by future; one value if the wait is certain
	runs      []float64
	now       *holding // a running job until it changes its size; nil if it keeps the size or does not run
}

func (c *Candidate) billing() float64 {
	if c.Billing == 0 {
		return 1
	}
	return c.Billing
}

// newScene returns the scene of candidates that check has accepted.
func newScene(candidates []Candidate, objective Objective) *scene {
	s := &scene{objective: objective, step: noStep, courses: make([]course, len(candidates)), nodes: 1,
		points: make([]float64, points), weights: make([]float64, points)}
	quad.Legendre{}.FixedLocations(s.points, s.weights, 0, 1)
	index := map[string]int{}
	most := 1
	for i := range candidates {
		c := &candidates[i]
		p, known := index[c.Pool]
		if !known {
			p = len(s.pools)
			index[c.Pool] = p
			s.pools = append(s.pools, pool{futures: 1})
		}
		waits := c.Wait.futures()
		s.courses[i] = course{candidate: c, pool: p, waits: waits}
		s.pools[p].members = append(s.pools[p].members, i)
		s.pools[p].futures = max(s.pools[p].futures, len(waits))
		most = max(most, len(waits))
		if !constant(c.Run) {
			s.nodes = mostNodes
		}
	}
	if s.nodes > 1 {
		s.nodes = min(max(mostAtoms/most, leastNodes), mostNodes)
	}
	for i := range s.courses {
		s.courses[i].runs = middles(candidates[i].Run, s.nodes)
	}
	return s
}

// futures returns the wait in every future, or one value if the wait is certain.
func (w *Wait) futures() []float64 {
	switch {
	case w.Futures != nil:
		return w.Futures
	case w.Law == nil:
		return []float64{0}
	case constant(w.Law):
		return []float64{w.Law.Quantile(.5)}
	}
	return middles(w.Law, strata)
}

// middles returns the quantiles of a law at the middles of n equal parts of its probability.
func middles(l Law, n int) []float64 {
	q := make([]float64, n)
	if constant(l) {
		q[0] = l.Quantile(.5)
		for i := range q {
			q[i] = q[0]
		}
		return q
	}
	for i := range q {
		q[i] = l.Quantile((float64(i) + .5) / float64(n))
	}
	return q
}

// outcome returns the time at which the candidate finishes in a future with the runtime of a node, and its
// processor-seconds until then.
func (c *course) outcome(future, node int) (finish, procSeconds float64) {
	wait := c.waits[0]
	if len(c.waits) > 1 {
		wait = c.waits[future]
	}
	run, procs := c.runs[node], float64(c.candidate.Procs)
	if c.now != nil {
		return c.now.outcome(wait, run, procs, node)
	}
	return wait + run, procs * run
}

// finishes returns the finish of candidate i in every combination of a future and a runtime, sorted.
func (s *scene) finishes(i int) []float64 {
	c := &s.courses[i]
	all := make([]float64, 0, len(c.waits)*s.nodes)
	for future := range c.waits {
		for node := range s.nodes {
			finish, _ := c.outcome(future, node)
			all = append(all, finish)
		}
	}
	slices.Sort(all)
	return all
}

// sumQuantile returns the p-quantile of all sums of a wait and a runtime, to a relative precision of a millionth.
// Both lists are sorted. It counts along the boundary between smaller and larger sums, so that the sums need not be
// sorted.
func sumQuantile(waits, runs []float64, p float64) float64 {
	need := int(math.Ceil(p*float64(len(waits)*len(runs)) - 1e-9))
	last := len(waits)
	for last > 0 && math.IsInf(waits[last-1], 1) {
		last--
	}
	if last == 0 || need > last*len(runs) {
		return math.Inf(1)
	}
	upTo := func(t float64) (n int) {
		k := len(runs)
		for _, w := range waits[:last] {
			for k > 0 && w+runs[k-1] > t {
				k--
			}
			n += k
		}
		return n
	}
	low, high := waits[0], waits[last-1]+runs[len(runs)-1]
	for high-low > 1e-6*high {
		if middle := low + (high-low)/2; upTo(middle) >= need {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// probabilities are the probabilities that a candidate turns out better, or worse, than others.
type probabilities struct {
	best                                float64 // of all candidates; equally good ones share this
	betterThanRequest, worseThanRequest float64
}

// probabilities compares all candidates in all futures. Within a pool it compares future by future, and it combines the
// futures of different pools in all ways. Candidates that are equally good in a future share its probability, so that
// the probabilities of being best sum to 1.
func (s *scene) probabilities(request int) ([]probabilities, error) {
	out := make([]probabilities, len(s.courses))
	losses := make([][]float64, len(s.courses))
	for i := range losses {
		losses[i] = make([]float64, s.pools[s.courses[i].pool].futures)
	}
	least := make([][]winners, len(s.pools))  // by pool and future
	sorted := make([][]winners, len(s.pools)) // the same lists, sorted by loss
	for node := range s.nodes {
		if err := s.step(); err != nil {
			return nil, err
		}
		s.play(node, losses)
		for p := range s.pools {
			least[p] = s.winners(p, losses, least[p])
			sorted[p] = append(sorted[p][:0], least[p]...)
			slices.SortFunc(sorted[p], winners.compare)
		}
		for p, pool := range s.pools {
			for f, w := range least[p] {
				share := s.share(p, w, sorted) / float64(pool.futures)
				for _, i := range pool.members {
					if losses[i][f] == w.loss {
						out[i].best += share
					}
				}
			}
		}
		if request != NoRequest {
			s.compareWithRequest(request, losses, out)
		}
	}
	for i := range out {
		n := float64(s.nodes)
		out[i].best /= n
		out[i].betterThanRequest /= n
		out[i].worseThanRequest /= n
	}
	return out, nil
}

// winners describes the best candidates of a pool in one future of the pool: loss is the lowest loss of a candidate,
// and n is the number of candidates that have it.
type winners struct {
	loss float64
	n    int
}

func (w winners) compare(v winners) int {
	return cmp.Or(cmp.Compare(w.loss, v.loss), cmp.Compare(w.n, v.n))
}

// winners returns the winners of pool p in each of its futures. It reuses the memory of out.
func (s *scene) winners(p int, losses [][]float64, out []winners) []winners {
	out = out[:0]
	for f := range s.pools[p].futures {
		w := winners{loss: math.Inf(1)}
		for _, i := range s.pools[p].members {
			switch x := losses[i][f]; {
			case x < w.loss:
				w = winners{x, 1}
			case x == w.loss:
				w.n++
			}
		}
		out = append(out, w)
	}
	return out
}

// share returns the probability that a winner of one future of the pool own is best, averaged over all futures of the
// other pools. The probability is 0 if another pool has a lower loss. At equal loss it is 1 divided by the number of
// all best candidates. With n best candidates in this pool and n_1, n_2, ... in the others,
//
//	1/(n + n_1 + n_2 + ...) = integral from 0 to 1 of t^(n-1) t^n_1 t^n_2 ... dt,
//
// where each pool contributes one factor, because the pools are independent.
func (s *scene) share(own int, w winners, sorted [][]winners) float64 {
	share := 1.
	var ties []tie
	for p, all := range sorted {
		if p == own {
			continue
		}
		from := sort.Search(len(all), func(i int) bool { return all[i].loss >= w.loss })
		to := from + sort.Search(len(all)-from, func(i int) bool { return all[from+i].loss > w.loss })
		more := float64(len(all)-to) / float64(len(all))
		if from == to {
			share *= more
			continue
		}
		ties = append(ties, tie{more, all[from:to], float64(len(all))})
	}
	if len(ties) == 0 || share == 0 {
		return share / float64(w.n)
	}
	sum := 0.
	for i, t := range s.points {
		product := math.Pow(t, float64(w.n-1))
		for k := range ties {
			product *= ties[k].at(t)
		}
		sum += s.weights[i] * product
	}
	return share * sum
}

// points is the number of points at which polynomials are integrated. The result is exact for up to 64 equally good
// candidates.
const points = 32

// tie is another pool with some futures in which its winners have the same loss as the winner in question.
type tie struct {
	more    float64   // share of its futures in which the winners have a higher loss
	equal   []winners // winners of the futures with equal loss, sorted
	futures float64
}

// at returns the mean, over the pool's futures, of t to the power of the number of equally good winners. A future whose
// winners have a higher loss counts as 1, one whose winners have a lower loss as 0.
func (e *tie) at(t float64) float64 {
	sum, power := e.more, 0.
	for i, w := range e.equal {
		if i == 0 || w.n != e.equal[i-1].n {
			power = math.Pow(t, float64(w.n))
		}
		sum += power / e.futures
	}
	return sum
}

// play computes the loss of every candidate in every future, at one node of the runtimes.
func (s *scene) play(node int, losses [][]float64) {
	for i := range s.courses {
		c := &s.courses[i]
		billing := c.candidate.billing()
		for f := range losses[i] {
			finish, procSeconds := c.outcome(f, node)
			losses[i][f] = s.objective.loss(billing, procSeconds, finish)
		}
	}
}

// compareWithRequest adds the probabilities that candidates are better and worse than the request.
func (s *scene) compareWithRequest(request int, losses [][]float64, out []probabilities) {
	asked := losses[request]
	sorted := slices.Clone(asked)
	slices.Sort(sorted)
	for i := range out {
		better, worse := 0., 0.
		same := s.courses[i].pool == s.courses[request].pool
		for f, x := range losses[i] {
			switch {
			case !same:
				below := sort.SearchFloat64s(sorted, x)
				upTo := sort.Search(len(sorted), func(k int) bool { return sorted[k] > x })
				worse += float64(below) / float64(len(sorted))
				better += 1 - float64(upTo)/float64(len(sorted))
			case x < asked[f]:
				better++
			case x > asked[f]:
				worse++
			}
		}
		out[i].betterThanRequest += better / float64(len(losses[i]))
		out[i].worseThanRequest += worse / float64(len(losses[i]))
	}
}
