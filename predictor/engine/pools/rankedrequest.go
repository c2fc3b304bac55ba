package pools

import (
	"math"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// RankedRequest is a request with what orders of starts can depend on.
type RankedRequest struct {
	track.Request
	// User is the number of its user, 0 where nothing is known of them.
	User uint64
	// Expected is the expected runtime in seconds, QueueWait the mean of ln(wait + 60 s) of the queue's newest jobs
	// (NaN for none), and Use what the user's jobs have used lately.
	Expected, QueueWait float64
	Use                 track.RecentUse
	// Bounds are the limits that hold for it.
	Bounds []joblimits.Bound
}

// limitedBy is what the limits that hold for a request depend on.
type limitedBy struct {
	user, account, qos, gpuType string
	nodes, gpus                 int
	memory                      int64
}

func (r *RankedRequest) limitedBy() limitedBy {
	return limitedBy{r.Request.User, r.Account, r.QOS, r.GPUType, r.Nodes, r.GPUs, r.Memory}
}

// unknownQueueWait stands for the mean of ln(wait + 60 s) of a queue in which no job has started: about 6 minutes.
const unknownQueueWait = 6

func queueWait(mean float64) float32 {
	if math.IsNaN(mean) {
		return unknownQueueWait
	}
	return float32(mean)
}

// ruleJob returns the request as the rules see it in a pool at an instant.
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

// ruleJob returns a job that waits as the rules see it at an instant.
func (w *Member) ruleJob(at float64) rules.Job {
	return rules.Job{Procs: int32(w.Procs), Own: w.own, Limit: float32(w.Limit), Expected: float32(w.Expected),
		Age: float32(math.Max(0, at-w.Submit)), QueueWait: w.queueWait, Use: float32(w.use.At(at))}
}

// rulePool writes the pool as the rules see it at an instant, without gates.
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

// OrderCount is how many features the portfolio of orders has: a wait under each, and one under the fitted priority
// with expected lifetimes.
func OrderCount() int { return len(rules.Orders()) + 1 }

// PlayOrders returns ln(wait + 60 s) of a request under each order of the portfolio, and under the fitted priority, if
// all jobs run as long as expected; NaN where that is not possible.
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
