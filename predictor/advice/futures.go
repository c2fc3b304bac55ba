package advice

import (
	"math"
	"slices"
	"sort"
)

const (
	// strata is how many futures stand for a law of which only quantiles are known: the middles of as many equal parts
	// of its probability.
	strata = 100
	// A runtime that is not certain has at least leastNodes values, the middles of equal parts too, and as many as make
	// some mostAtoms combinations with the futures, up to mostNodes.
	leastNodes, mostNodes = 20, 400
	mostAtoms             = 2000
)

// scene is the candidates in their futures.
type scene struct {
	objective Objective
	courses   []course
	pools     []pool
	nodes     int
}

// pool is the candidates that share their futures.
type pool struct {
	members []int // indexes of courses
	futures int
}

// course is a candidate with its wait in every future and its runtime at every node.
type course struct {
	candidate *Candidate
	pool      int
	waits     []float64 // one where it is certain
	runs      []float64
	now       *holding // what the job holds while it waits, nil for nothing
}

func (c *Candidate) billing() float64 {
	if c.Billing == 0 {
		return 1
	}
	return c.Billing
}

// newScene makes candidates ready that have been checked.
func newScene(candidates []Candidate, objective Objective) *scene {
	s := &scene{objective: objective, courses: make([]course, len(candidates)), nodes: 1}
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

// futures returns the wait in every future, one where it is certain.
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

// outcome returns when the candidate finishes in a future, and what it uses until then.
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

// finishes returns the finish in every combination of a future and a runtime, sorted.
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

// sumQuantile returns the least time that a share p of all sums of a wait and a runtime does not exceed, to a
// millionth; both lists rise. Counting along the staircase of the sums takes no sorting of them.
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

// odds are probabilities of one candidate against others.
type odds struct {
	best          float64 // no worse than any other
	better, worse float64 // than the request
}

// compare compares all candidates in all futures: one by one within a pool; the futures of different pools combine in
// all ways. Given the runtime,
//
//	Pr{i is best} = mean over the futures of its pool of
//		1{no other member has less} x product over the other pools of Pr{their least is no less}.
func (s *scene) compare(request int) []odds {
	out := make([]odds, len(s.courses))
	losses := make([][]float64, len(s.courses))
	for i := range losses {
		losses[i] = make([]float64, s.pools[s.courses[i].pool].futures)
	}
	least := make([][]float64, len(s.pools))  // of a pool, by future
	sorted := make([][]float64, len(s.pools)) // the same, sorted
	for p := range s.pools {
		least[p] = make([]float64, s.pools[p].futures)
		sorted[p] = make([]float64, s.pools[p].futures)
	}
	for node := range s.nodes {
		s.play(node, losses)
		for p, pool := range s.pools {
			for f := range least[p] {
				least[p][f] = math.Inf(1)
				for _, i := range pool.members {
					least[p][f] = min(least[p][f], losses[i][f])
				}
			}
			copy(sorted[p], least[p])
			slices.Sort(sorted[p])
		}
		for i := range out {
			out[i].best += s.best(i, losses[i], least, sorted)
		}
		if request != NoRequest {
			s.against(request, losses, out)
		}
	}
	for i := range out {
		n := float64(s.nodes)
		out[i].best /= n
		out[i].better /= n
		out[i].worse /= n
	}
	return out
}

// play fills in what every candidate loses in every future, at one node of the runtimes.
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

// best returns the probability that a candidate is no worse than any other.
func (s *scene) best(i int, loss []float64, least, sorted [][]float64) float64 {
	own := s.courses[i].pool
	sum := 0.
	for f, x := range loss {
		if x > least[own][f] {
			continue
		}
		share := 1.
		for p := range s.pools {
			if p != own {
				below := sort.SearchFloat64s(sorted[p], x)
				share *= 1 - float64(below)/float64(len(sorted[p]))
			}
		}
		sum += share
	}
	return sum / float64(len(loss))
}

// against adds the probabilities that candidates are better and worse than the request.
func (s *scene) against(request int, losses [][]float64, out []odds) {
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
		out[i].better += better / float64(len(losses[i]))
		out[i].worse += worse / float64(len(losses[i]))
	}
}
