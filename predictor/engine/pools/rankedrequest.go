package pools

import (
	"math"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// RankedRequest is a request with the further inputs of a simulation: those of orders of starts, limits, and other
// jobs.
type RankedRequest struct {
	track.Request
	// User is the number of the request's user, 0 if unknown.
	User uint64
	// Expected is the expected runtime in seconds. QueueWait is the mean of ln(wait + 60 s) of the queue's newest
	// jobs (NaN if there are none). Use is the recent use by the user's jobs.
	Expected, QueueWait float64
	Use                 track.RecentUse
	// Bounds are the limits that apply to the request.
	Bounds []joblimits.Bound
	// Linked are the jobs on which the request depends, directly or indirectly, and which the frozen pool lacks.
	Linked []Member
	// Beside are waiting jobs that were submitted before the request and became known after the pool was frozen.
	Beside []Member
	// Preempts are the rules by which the request may preempt running jobs; nil if it may not.
	Preempts *joblimits.Set
}

// limitedBy holds the attributes of a request, beside those in Question, on which its limits, dependencies, preemption,
// begin and nodes depend.
type limitedBy struct {
	user, account, group, qos, gpuType, name, after string
	nodes, gpus, tasks                              int
	memory                                          int64
	begin                                           float64
	whole                                           bool
}

func (r *RankedRequest) limitedBy() limitedBy {
	return limitedBy{r.Request.User, r.Account, r.Group, r.QOS, r.GPUType, r.Name, r.After, r.Nodes, r.GPUs, r.Tasks,
		r.Memory, r.Begin, r.Whole}
}

// unknownQueueWait replaces the mean of ln(wait + 60 s) for a queue in which no job has started. It stands for a wait
// of about 6 minutes.
const unknownQueueWait = 6

func queueWait(mean float64) float32 {
	if math.IsNaN(mean) {
		return unknownQueueWait
	}
	return float32(mean)
}

// ruleJob converts the request in a pool at an instant to the form for rules.
func (r *RankedRequest) ruleJob(f *Facts, at float64) rules.Job {
	own := int32(0)
	for i := range f.Waiting {
		if r.User != 0 && f.Waiting[i].group == r.User {
			own++
		}
	}
	return rules.Job{Procs: int32(min(r.Procs, math.MaxInt32)), Own: own, Limit: float32(r.Limit),
		Expected: float32(r.Expected), QueueWait: queueWait(r.QueueWait), Use: float32(r.Use.At(at))}
}

// ruleJob converts a waiting job at an instant to the form for rules.
func (w *Member) ruleJob(at float64) rules.Job {
	return rules.Job{Procs: int32(w.Procs), Own: w.own, Limit: float32(w.Limit), Expected: float32(w.Expected),
		Age: float32(math.Max(0, at-w.Submit)), QueueWait: w.queueWait, Use: float32(w.use.At(at))}
}

// rulePool writes the pool at an instant into p, in the form for rules. It leaves out the gates.
func (f *Facts) rulePool(at float64, p *rules.Pool) {
	p.Capacity, p.Gates = f.Procs, nil
	p.Running, p.Waiting, p.Outages = p.Running[:0], p.Waiting[:0], p.Outages[:0]
	for i := range f.Running {
		r := &f.Running[i]
		p.Running = append(p.Running, rules.Running{Procs: int32(r.Procs), Age: float32(math.Max(0, at-r.Start)),
			Expected: float32(r.Expected), Limit: float32(r.Limit)})
	}
	for i := range f.Waiting {
		p.Waiting = append(p.Waiting, f.Waiting[i].ruleJob(at))
	}
	for _, o := range f.outages {
		if o.Until > at {
			p.Outages = append(p.Outages, forward.Outage{From: o.From - at, Until: o.Until - at, Procs: o.Procs})
		}
	}
}

// OrderCount returns the number of waits that PlayOrders returns: one for each order of rules.Orders, and one for the
// fitted priority.
func OrderCount() int { return len(rules.Orders()) + 1 }

// PlayOrders returns ln(wait + 60 s) of a request under each order of rules.Orders, and last under the fitted priority.
// In these simulations all jobs run as long as expected. NaN means that a simulation is impossible, or that there is no
// fitted priority.
func (f *Facts) PlayOrders(at float64, r *RankedRequest, c *Scratch) []float64 {
	out := make([]float64, OrderCount())
	for i := range out {
		out[i] = math.NaN()
	}
	if f.Large || r.Procs > f.most() {
		return out
	}
	f.rulePool(at, &c.pool)
	c.pool.Gates = c.gates.at(f.gates, at)
	job := r.ruleJob(f, at)
	c.player.Load(&c.pool, f.Procs, 1)
	for i, o := range rules.Orders() {
		out[i] = waittimeLog(c.player.Wait(&c.pool, &job, false, o.Score))
	}
	if p := f.fitted; p != nil {
		c.player.Load(&c.pool, p.Processors(f.Procs), math.Exp(p.Lifetimes))
		out[len(out)-1] = waittimeLog(p.Late(c.player.Wait(&c.pool, &job, p.Strict, p.Score)))
	}
	return out
}
