package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/memsize"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
)

// WaitRequest is a request for the wait of one job, as received.
type WaitRequest struct {
	// Cluster and Queue may be empty if there is only one. Queue may name several queues, separated by commas: the job
	// starts in one of them.
	Cluster, Queue     string
	Procs, Nodes, GPUs int
	// GPUType is the type of the GPUs; empty for any type.
	GPUType string
	// Memory and TimeLimit are as users write them; empty if not requested.
	Memory, TimeLimit  string
	User, Account, QOS string
	// By is a deadline for the start: an instant, or a duration from now. The answer has the probability that it is
	// met. Empty for no deadline.
	By string
	// Curve requests points of the distribution.
	Curve bool
	// Explain requests the causes of the wait, and options that would start sooner.
	Explain bool
	// Keep is the minimum part of the processors and of the time limit that the options of Explain keep; 0 means
	// readmodel.DefaultKeep.
	Keep float64
}

// request parses the request, and refuses it if that is possible without a forecast. If only nodes are requested, their
// processors are filled in.
func request(v *readmodel.View, in *WaitRequest) (job.Request, error) {
	req := job.Request{
		Queue: in.Queue, User: in.User, Account: in.Account, QOS: in.QOS, Procs: in.Procs, Nodes: in.Nodes,
		GPUs: in.GPUs, GPUType: in.GPUType,
	}
	req.QOS, _, _ = strings.Cut(in.QOS, ",")
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
		limit, err := timeLimit("time_limit", in.TimeLimit)
		if err != nil {
			return req, err
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
		first, _, _ := strings.Cut(req.Queue, ",")
		req.Procs = req.Nodes * int(max(1, v.Pool(first).Node[cluster.Procs]))
	}
	a := attributes(&req)
	err := fits(v, &a)
	req.Queue = cmp.Or(a.Queues, a.Queue)
	return req, err
}

// queue finds the requested queues, separated by commas, or the only one if none is named, and stores in req the names
// under which their jobs are counted. It refuses an unknown queue, and a request without a queue if there are several.
func queue(v *readmodel.View, req *job.Request) error {
	if req.Queue == "" {
		names := v.Queues()
		if len(names) != 1 {
			return Invalid("queue", "say which one: "+queueList(names))
		}
		req.Queue = names[0]
	}
	var found []string
	for name := range strings.SplitSeq(req.Queue, ",") {
		name = strings.TrimSpace(name)
		if err := FindQueue(v, &name); err != nil {
			return err
		}
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	if len(found) > engine.MostPlaces {
		return Invalid("queue", fmt.Sprintf("name at most %d queues", engine.MostPlaces))
	}
	req.Queue = strings.Join(found, ",")
	return nil
}
