package ask

import (
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/memsize"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// WaitRequest is a question about the wait of one job, as it was asked.
type WaitRequest struct {
	// Cluster and Queue may be empty where there is only one.
	Cluster, Queue     string
	Procs, Nodes, GPUs int
	// Memory and TimeLimit are as users write them; empty where nothing is asked for.
	Memory, TimeLimit  string
	User, Account, QOS string
	// By is an instant or a duration from now; empty where no probability of a start by then is asked for.
	By string
	// Curve asks for points of the distribution.
	Curve bool
	// Explain asks for what the job would wait for, and what would start sooner.
	Explain bool
	// Keep is the part of the processors and of the time limit that what would start sooner keeps at least; 0 for
	// readmodel.DefaultKeep.
	Keep float64
}

// request reads a question, and refuses what can be refused without a forecast.
func request(v *readmodel.View, in *WaitRequest) (job.Request, error) {
	req := job.Request{
		Queue: in.Queue, User: in.User, Account: in.Account, QOS: in.QOS, Procs: in.Procs, Nodes: in.Nodes,
		GPUs: in.GPUs,
	}
	if req.Procs == 0 && req.Nodes == 0 {
		return req, Invalid("procs", "say how many processors (or nodes) the job asks for, at least 1")
	}
	if in.Memory != "" {
		memory, err := memsize.Parse(in.Memory)
		if err != nil {
			return req, Invalid("memory", err.Error())
		}
		req.Memory = memory
	}
	if in.TimeLimit != "" {
		limit, err := duration.Parse(in.TimeLimit)
		if err != nil {
			return req, Invalid("time_limit", err.Error())
		}
		if limit < 0 {
			return req, Invalid("time_limit", "must not be negative")
		}
		req.TimeLimit = limit
	}
	if v.At.IsZero() {
		return req, nothingRead(v)
	}
	if err := queue(v, &req); err != nil {
		return req, err
	}
	if req.Procs == 0 {
		req.Procs = req.Nodes * int(max(1, v.Pool(req.Queue).Node[cluster.Procs]))
	}
	a := attributes(&req)
	return req, fits(v, &a)
}

// queue finds the queue that is asked about.
func queue(v *readmodel.View, req *job.Request) error {
	if req.Queue == "" {
		names := v.Queues()
		if len(names) != 1 {
			return Invalid("queue", "say which one: "+queueList(names))
		}
		req.Queue = names[0]
	}
	return FindQueue(v, &req.Queue)
}
