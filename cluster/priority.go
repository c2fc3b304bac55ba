package cluster

import (
	"cmp"
	"slices"
	"time"

	"github.com/waitcast/waitcast/job"
)

// Rules order the waiting jobs of one pool in the scheduler's order, as the scheduler reports it: by the tiers of
// their queues, then by their priorities.
type Rules struct {
	facts        *job.Facts
	procs, nodes float64 // of the whole machine
	factor       int     // the largest factor of a queue
	qos          int     // the largest priority of a QOS
	share        float64 // the median factor, for users without a reported one
}

// NewRules returns the rules in the scheduler's facts, nil if these have no priorities. Jobs then wait in the order
// of their submissions.
func NewRules(facts *job.Facts) *Rules {
	if facts == nil || facts.Weights == nil {
		return nil
	}
	r := &Rules{facts: facts, share: 1}
	for _, g := range facts.Nodes {
		r.procs += float64(g.Count * g.Node.Procs)
		r.nodes += float64(g.Count)
	}
	for _, q := range facts.Queues {
		r.factor = max(r.factor, q.Factor)
	}
	for _, l := range facts.Limits {
		r.qos = max(r.qos, l.Priority)
	}
	if n := len(facts.Shares); n > 0 {
		all := make([]float64, n)
		for i, s := range facts.Shares {
			all[i] = s.Factor
		}
		slices.Sort(all)
		r.share = all[n/2]
	}
	return r
}

// Priority returns the priority of a job after the given wait. It is the sum of the factors, each between 0 and 1,
// times their weights, as the manual of Slurm's multifactor plugin defines them
// (https://slurm.schedmd.com/priority_multifactor.html). The size factor is the mean of two parts, the job's part of
// the nodes and of the processors, or only the latter if the number of nodes is unknown. It is subtracted from 1 if
// small jobs come first. The nice value of the job is subtracted. The association factor, the site factor and TRES
// weights are not included.
func (r *Rules) Priority(a *job.Attributes, waited time.Duration) int64 {
	w := r.facts.Weights
	size := part(float64(a.Procs), r.procs)
	if a.Nodes > 0 {
		size = (size + part(float64(a.Nodes), r.nodes)) / 2
	}
	if w.SmallFirst {
		size = 1 - size
	}
	age := part(waited.Seconds(), w.MaxAge.Seconds())
	share := r.Share(a.Account, a.User)
	total := int64(float64(w.Age)*age) + int64(float64(w.FairShare)*share) + int64(float64(w.JobSize)*size)
	total += r.ofQueue(a.Queue)
	for _, l := range r.facts.Limits {
		if l.QOS != "" && l.QOS == a.QOS && l.Priority > 0 {
			total += int64(float64(w.QOS) * part(float64(l.Priority), float64(r.qos)))
			break
		}
	}
	return total - a.Lowered()
}

// ofQueue returns the part of a priority that comes from the queue.
func (r *Rules) ofQueue(queue string) int64 {
	for _, q := range r.facts.Queues {
		if q.Name == queue {
			return int64(float64(r.facts.Weights.Queue) * part(float64(q.Factor), float64(r.factor)))
		}
	}
	return 0
}

// firstPass is the maximum time until Slurm has tried a new job in all of its queues. By default a pass of its
// backfill scheduler begins every half minute.
const firstPass = time.Minute

// InEachQueue returns the priorities of a job in the queues that it requested, in the order of Attributes.EachQueue, by
// the one priority that the scheduler reported the given time after the submission. Slurm reports the priority in the
// queue that it tried last, which is the lowest one. Before it has tried any, it reports that in the first queue. A
// negative time is that of a request that is not submitted yet: its priority is that in the first queue, too. Without
// rules (nil), or without a reported priority, the priorities are the same.
func (r *Rules) InEachQueue(a *job.Attributes, waited time.Duration) []int64 {
	queues := a.EachQueue()
	out := make([]int64, len(queues))
	lowest := 0
	for i, queue := range queues {
		if r != nil && a.Priority > 0 {
			out[i] = r.ofQueue(queue)
		}
		if out[i] < out[lowest] {
			lowest = i
		}
	}
	of := lowest
	switch {
	case waited < 0:
		of = 0
	case waited < firstPass && out[0] > out[lowest]:
		in := *a
		in.Queue = queues[0]
		if first := r.Priority(&in, waited); 2*a.Priority > 2*first-out[0]+out[lowest] { // it is nearer to the first
			of = 0
		}
	}
	above := a.Priority - out[of]
	for i := range out {
		out[i] = max(out[i]+above, min(a.Priority, 1))
	}
	return out
}

// part returns x divided by whole, but at most 1. It returns 0 if whole is 0.
func part(x, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(1, max(0, x)/whole)
}

// Share returns the fair-share factor reported for a user in an account, or in any account if the account is empty.
// For a user without a reported factor it returns the median of all users.
func (r *Rules) Share(account, user string) float64 {
	share, found := r.share, false
	for _, s := range r.facts.Shares {
		if s.User == user && user != "" && (s.Account == account || !found && account == "") {
			share, found = s.Factor, true
		}
	}
	return share
}

// tier returns the tier of a queue; 0 if the facts do not name the queue.
func (r *Rules) tier(queue string) int {
	for _, q := range r.facts.Queues {
		if q.Name == queue {
			return q.Tier
		}
	}
	return 0
}

// Rank is a job's position in the order of waiting jobs at one instant; of two jobs the one with the higher tier, or in
// the same tier the higher priority, starts sooner.
type Rank struct {
	Tier     int
	Priority int64
}

// Rank returns a job's rank at an instant; of a job that requested several queues, the best of its ranks there. A
// priority reported by the scheduler takes precedence over one computed by the rules.
func (r *Rules) Rank(j *Job, now time.Time) Rank {
	a := j.Attributes
	if a.Priority <= 0 {
		a.Priority = r.Priority(&a, now.Sub(or(j.Eligible, j.Submit)))
	}
	if a.Queues == "" {
		return Rank{Tier: r.tier(j.Queue), Priority: a.Priority}
	}
	var best Rank
	for i, priority := range r.InEachQueue(&a, j.Updated.Sub(j.Submit)) {
		if rank := (Rank{r.tier(j.EachQueue()[i]), priority}); i == 0 || rank.Compare(best) < 0 {
			best = rank
		}
	}
	return best
}

// Compare orders two ranks. It returns a negative number if a goes before b, and 0 if the ranks are equal.
func (a Rank) Compare(b Rank) int {
	return cmp.Or(cmp.Compare(b.Tier, a.Tier), cmp.Compare(b.Priority, a.Priority))
}

// Sort sorts waiting jobs by their rank at an instant. The job that starts first comes first. Jobs of equal rank are
// ordered by submission.
func (r *Rules) Sort(jobs []*Job, now time.Time) {
	type ranked struct {
		Rank
		job *Job
	}
	all := make([]ranked, len(jobs))
	for i, j := range jobs {
		all[i] = ranked{r.Rank(j, now), j}
	}
	slices.SortFunc(all, func(a, b ranked) int { return cmp.Or(a.Compare(b.Rank), ByOrder(a.job, b.job)) })
	for i := range all {
		jobs[i] = all[i].job
	}
}
