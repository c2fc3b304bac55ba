package ask

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// fits refuses a request if, by the configuration or the scheduler's facts, it can never start, or not before nodes
// that are down come back. A bound that was learned from use refuses nothing, see warnings. Of several queues it leaves
// out those that refuse the request, as long as one is left.
func fits(v *readmodel.View, req *job.Attributes) error {
	if req.Queues == "" {
		return fitsIn(v, req)
	}
	var kept []string
	var refused error
	for _, queue := range req.EachQueue() {
		in := *req
		in.Queue, in.Queues = queue, ""
		switch err := fitsIn(v, &in); {
		case err == nil:
			kept = append(kept, queue)
		case refused == nil:
			refused = err
		}
	}
	if kept == nil {
		return refused
	}
	setQueues(req, kept)
	return nil
}

// setQueues sets the queues that a request names.
func setQueues(req *job.Attributes, queues []string) {
	if req.Queue, req.Queues = queues[0], ""; len(queues) > 1 {
		req.Queues = strings.Join(queues, ",")
	}
}

func fitsIn(v *readmodel.View, req *job.Attributes) error {
	for _, refuse := range []func(*readmodel.View, *job.Attributes) error{
		overMachine, overNodes, overQueue, notAllowed, overCaps, overUpNodes,
	} {
		if err := refuse(v, req); err != nil {
			return err
		}
	}
	return nil
}

// amount is a resource that a request asks for.
type amount struct {
	dimension cluster.Dimension
	requested int64
}

// amounts returns the resources that a request asks for.
func amounts(req *job.Attributes) []amount {
	return []amount{
		{cluster.Nodes, int64(req.Nodes)}, {cluster.Procs, int64(req.Procs)}, // processors may follow from nodes
		{cluster.GPUs, int64(req.GPUs)}, {cluster.Memory, req.Memory},
	}
}

// write formats n of the amount's resource (not the requested number) with its unit: "16 processors", "64 GiB of
// memory".
func (a amount) write(n int64) string {
	if a.dimension == cluster.Memory {
		return gibibytes(n) + " of memory"
	}
	return count(int(n), unit(a.dimension))
}

// unit returns the word for one unit of a dimension. Memory has no such word: it is formatted with its own units.
func unit(d cluster.Dimension) string {
	return map[cluster.Dimension]string{cluster.Procs: "processor", cluster.Nodes: "node", cluster.GPUs: "GPU"}[d]
}

func gibibytes(n int64) string {
	return strconv.FormatFloat(float64(n)/(1<<30), 'f', -1, 32) + " GiB"
}

// overMachine refuses a request for more of a resource than the queue is known to have. Nodes that are down count.
func overMachine(v *readmodel.View, req *job.Attributes) error {
	pool := v.Pool(req.Queue)
	for _, a := range amounts(req) {
		if has, known := pool.Known(req.Queue, a.dimension); known && a.requested > has {
			return tooLarge(v, req, a, has)
		}
	}
	return nil
}

// overNodes refuses a request for more processors, GPUs or memory than the requested number of nodes can have. For each
// resource, a node counts as the queue's node with the most of it. Nothing is refused if the request has no number of
// nodes, or if the scheduler has not reported the nodes.
func overNodes(v *readmodel.View, req *job.Attributes) error {
	if v.Facts == nil || req.Nodes == 0 || v.Pool(req.Queue).Source != cluster.FromScheduler {
		return nil
	}
	var largest job.NodeResources
	for _, g := range v.Facts.Nodes {
		if slices.Contains(g.Queues, req.Queue) {
			largest.Procs, largest.GPUs = max(largest.Procs, g.Node.Procs), max(largest.GPUs, g.Node.GPUs)
			largest.Memory = max(largest.Memory, g.Node.Memory)
		}
	}
	for _, a := range []struct {
		amount
		node int64
	}{
		{amount{cluster.Procs, int64(req.Procs)}, int64(largest.Procs)},
		{amount{cluster.GPUs, int64(req.GPUs)}, int64(largest.GPUs)},
		{amount{cluster.Memory, req.Memory}, largest.Memory},
	} {
		if most := int64(req.Nodes) * a.node; a.node > 0 && a.requested > most {
			return noForecast(KindInvalid, headqueue.LargerThanMachine,
				fmt.Sprintf("%s on %s asked for, a node of queue %s has at most %s",
					a.write(a.requested), count(req.Nodes, "node"), req.Queue, a.write(a.node)),
				fmt.Sprintf("ask for at least %s, or for at most %s", count(int((a.requested+a.node-1)/a.node), "node"),
					a.write(most)))
		}
	}
	return nil
}

// overUpNodes refuses, for now, a request that fits only when nodes that are down come back. If an outage of the pool
// is known, it refuses nothing, because the nodes may be down only for that outage.
func overUpNodes(v *readmodel.View, req *job.Attributes) error {
	pool := v.Pool(req.Queue)
	d := pool.Dimension(req)
	if _, known := pool.Known(req.Queue, d); !known || len(pool.Outages) > 0 {
		return nil
	}
	size, limit := pool.Size(req, d), pool.Limit(req.Queue, d)
	if limit <= 0 || size <= limit {
		return nil
	}
	what := count(size, unit(d))
	if d == cluster.Memory {
		what = fmt.Sprintf("memory of %s", count(size, "processor"))
	}
	return noForecast(KindUnavailable, headqueue.NeverEnough,
		fmt.Sprintf("%s asked for, queue %s has %d on nodes that are up", what, req.Queue, limit),
		"ask again when the nodes that are down are up, or ask for less")
}

// overQueue refuses a request that can never start by the queue's rules, as the scheduler lists them.
func overQueue(v *readmodel.View, req *job.Attributes) error {
	q := queueFacts(v, req.Queue)
	switch {
	case q.MaxTime > 0 && req.TimeLimit > q.MaxTime:
		return queueLimitRefusal(req.Queue, "a time limit of "+duration.Format(req.TimeLimit),
			"at most "+duration.Format(q.MaxTime))
	case q.MaxNodes > 0 && req.Nodes > q.MaxNodes:
		return queueLimitRefusal(req.Queue, fmt.Sprintf("%d nodes", req.Nodes), fmt.Sprintf("at most %d", q.MaxNodes))
	case q.MinNodes > 1 && req.Nodes > 0 && req.Nodes < q.MinNodes:
		return queueLimitRefusal(req.Queue, fmt.Sprintf("%d nodes", req.Nodes), fmt.Sprintf("at least %d", q.MinNodes))
	}
	return nil
}

// queueFacts returns the rules of a queue as the scheduler lists them, the zero value if it does not list them.
func queueFacts(v *readmodel.View, queue string) job.QueueFacts {
	if v.Facts != nil {
		if i := slices.IndexFunc(v.Facts.Queues, func(q job.QueueFacts) bool { return q.Name == queue }); i >= 0 {
			return v.Facts.Queues[i]
		}
	}
	return job.QueueFacts{}
}

// reasonNotAllowed means that the account or the quality of service does not exist or may not use the queue, or that
// the user does not belong to the account.
const reasonNotAllowed headqueue.Reason = "not_allowed"

// notAllowed refuses an account or a quality of service (QOS) that may not use the queue, a QOS that does not exist if
// the scheduler enforces QOSs, and the accounts that notAssociated refuses.
func notAllowed(v *readmodel.View, req *job.Attributes) error {
	if v.Facts == nil {
		return nil
	}
	q, f := queueFacts(v, req.Queue), v.Facts
	for _, c := range []struct {
		what, name      string
		allowed, denied []string
	}{{"account", req.Account, q.Accounts, q.DeniedAccounts}, {"QOS", req.QOS, q.QOSs, q.DeniedQOSs}} {
		switch {
		case c.name == "":
		case len(c.allowed) > 0 && !has(c.allowed, c.name):
			return noForecast(KindInvalid, reasonNotAllowed,
				fmt.Sprintf("queue %s does not take %s %s", req.Queue, c.what, c.name),
				"it takes "+queueList(c.allowed))
		case len(c.allowed) == 0 && has(c.denied, c.name):
			return noForecast(KindInvalid, reasonNotAllowed,
				fmt.Sprintf("queue %s refuses %s %s", req.Queue, c.what, c.name),
				"use another queue or another "+c.what)
		}
	}
	if f.Enforced.QOS && req.QOS != "" && len(f.QOSs) > 0 && !has(f.QOSs, req.QOS) {
		return noForecast(KindInvalid, reasonNotAllowed, fmt.Sprintf("there is no QOS %s", req.QOS),
			"known are "+queueList(f.QOSs))
	}
	return notAssociated(v, req)
}

// notAssociated refuses an account that does not exist, or to which the user does not belong. The scheduler may show
// only a part of the accounts to the daemon (Slurm's PrivateData). If the list is incomplete (see accountsComplete),
// nothing is refused.
func notAssociated(v *readmodel.View, req *job.Attributes) error {
	f := v.Facts
	if !f.Enforced.Associations || req.Account == "" || len(f.Accounts) == 0 {
		return nil
	}
	i := accountIndex(f.Accounts, req.Account)
	if i >= 0 && hasUser(&f.Accounts[i], req.User) || !accountsComplete(v) {
		return nil
	}
	if i < 0 {
		return noForecast(KindInvalid, reasonNotAllowed, fmt.Sprintf("there is no account %s", req.Account),
			"ask for an account that exists")
	}
	return noForecast(KindInvalid, reasonNotAllowed,
		fmt.Sprintf("user %s may not use account %s", req.User, req.Account),
		"ask for an account of the user's own")
}

// accountsComplete reports whether the list of accounts contains the account of each running and waiting job, with the
// job's user in it. A list with fewer than two users counts as incomplete: Slurm shows no other user to a daemon
// without the right to see them.
func accountsComplete(v *readmodel.View) bool {
	users := map[string]bool{}
	for _, a := range v.Facts.Accounts {
		for _, u := range a.Users {
			users[u] = true
		}
	}
	if len(users) < 2 {
		return false
	}
	for _, jobs := range [][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range jobs {
			if j.Account == "" {
				continue
			}
			i := accountIndex(v.Facts.Accounts, j.Account)
			if i < 0 || !hasUser(&v.Facts.Accounts[i], j.User) {
				return false
			}
		}
	}
	return true
}

func accountIndex(accounts []job.Account, name string) int {
	return slices.IndexFunc(accounts, func(a job.Account) bool { return strings.EqualFold(a.Name, name) })
}

// hasUser reports whether the user belongs to the account, or no user is named.
func hasUser(a *job.Account, user string) bool {
	_, found := slices.BinarySearch(a.Users, user)
	return found || user == ""
}

// has reports whether a list has a name. Upper and lower case do not matter, as in Slurm's names of accounts and
// QOSs.
func has(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}

// reasonOverLimit means that a limit of a QOS or an association never lets the requested job start.
const reasonOverLimit headqueue.Reason = "over_limit"

// overCaps refuses a request that alone exceeds a limit of a QOS or an association. By Slurm's order of precedence, a
// bound of an association (job_procs, for example) does not count if a QOS sets the same bound.
func overCaps(v *readmodel.View, req *job.Attributes) error {
	limits := enforced(v, req)
	bounded := map[string]bool{} // names of the bounds that a QOS sets
	for _, ofQOS := range []bool{true, false} {
		for _, l := range limits {
			if (l.QOS != "") != ofQOS {
				continue
			}
			for _, c := range caps(l, req) {
				if c.limit == 0 || !ofQOS && bounded[c.name] {
					continue
				}
				if limit := max(c.limit, 0); c.requested > limit { // job.NoneAllowed stands for a limit of 0
					hint := "ask for at most " + c.write(limit)
					if limit == 0 {
						hint = "use another QOS or another account, or ask for none"
					}
					return noForecast(KindInvalid, reasonOverLimit,
						fmt.Sprintf("%s asked for, %s allows %s", c.write(c.requested), owner(l), c.write(limit)), hint)
				}
				bounded[c.name] = bounded[c.name] || ofQOS
			}
		}
	}
	return nil
}

// limitCap is one bound of a limit, with the requested amount.
type limitCap struct {
	name             string
	requested, limit int64
	write            func(int64) string
}

func caps(l *job.Limit, req *job.Attributes) []limitCap {
	procs, nodes := amount{dimension: cluster.Procs}.write, amount{dimension: cluster.Nodes}.write
	gpus, memory := amount{dimension: cluster.GPUs}.write, amount{dimension: cluster.Memory}.write
	ofGPUs := []limitCap{
		{"job_gpus", int64(req.GPUs), int64(l.JobGPUs), gpus}, {"gpus", int64(req.GPUs), int64(l.GPUs), gpus},
	}
	switch {
	case l.GPUType == "":
	case strings.EqualFold(l.GPUType, req.GPUType): // the limit bounds only GPUs of its type
		return ofGPUs
	default:
		return nil
	}
	jobs := func(n int64) string { return count(int(n), "job") }
	return append([]limitCap{
		{"jobs", 1, int64(l.Jobs), jobs}, {"submitted", 1, int64(l.Submitted), jobs},
		{"time", int64(req.TimeLimit), int64(l.MaxTime), func(n int64) string {
			return "a time limit of " + duration.Format(time.Duration(n))
		}},
		{"job_procs", int64(req.Procs), int64(l.JobProcs), procs},
		{"job_nodes", int64(req.Nodes), int64(l.JobNodes), nodes},
		{"procs", int64(req.Procs), int64(l.Procs), procs}, {"nodes", int64(req.Nodes), int64(l.Nodes), nodes},
		{"job_memory", req.Memory, l.JobMemory, memory}, {"memory", req.Memory, l.Memory, memory},
	}, ofGPUs...)
}

// enforced returns the limits that certainly apply to a request: those of a QOS that the request names or the queue
// has, and those of associations that match account, user and queue. It returns none if the scheduler does not enforce
// limits.
func enforced(v *readmodel.View, req *job.Attributes) []*job.Limit {
	if v.Facts == nil || !v.Facts.Enforced.Limits {
		return nil
	}
	ofQueue := queueFacts(v, req.Queue).QOS
	var out []*job.Limit
	for i := range v.Facts.Limits {
		l := &v.Facts.Limits[i]
		holds := l.Account != "" && strings.EqualFold(l.Account, req.Account) &&
			(l.User == "" || l.User == req.User) && (l.Queue == "" || l.Queue == req.Queue)
		if l.QOS != "" {
			holds = strings.EqualFold(l.QOS, req.QOS) || strings.EqualFold(l.QOS, ofQueue)
		}
		if holds {
			out = append(out, l)
		}
	}
	return out
}

func owner(l *job.Limit) string {
	switch {
	case l.Scope != nil:
		return l.Scope.Where
	case l.QOS != "":
		return "QOS " + l.QOS
	case l.User != "":
		return "account " + l.Account + " of user " + l.User
	}
	return "account " + l.Account
}

// warnings describes what may prevent a request from starting, but not certainly: bounds that were learned from use,
// more nodes than processors, and a queue that is closed now.
func warnings(v *readmodel.View, req *job.Attributes) []string {
	var out []string
	pool := v.Pool(req.Queue)
	for _, a := range amounts(req) {
		if _, known := pool.Known(req.Queue, a.dimension); !known && pool.Has[a.dimension] > 0 &&
			a.requested > pool.Has[a.dimension] {
			key := "procs of the cluster"
			if a.dimension != cluster.Procs {
				key = a.dimension.String() + " of its pool"
			}
			out = append(out, fmt.Sprintf("%s asked for, the highest use of %s seen so far is %s: set %s in the "+
				"configuration if its size is known",
				a.write(a.requested), where(v, req.Queue), a.write(pool.Has[a.dimension]), key))
		}
	}
	if v.Incomplete() {
		out = append(out, "the scheduler hides jobs or facts from the daemon (see /readyz): the forecast may be far "+
			"too short")
	}
	if req.Nodes > req.Procs {
		out = append(out, fmt.Sprintf("%s asked for with %s: the scheduler refuses such a job, or gives it fewer nodes",
			count(req.Nodes, "node"), count(req.Procs, "processor")))
	}
	switch q := queueFacts(v, req.Queue); {
	case q.Closed:
		out = append(out, "queue "+req.Queue+" takes no jobs now")
	case q.Down:
		out = append(out, "queue "+req.Queue+" starts no jobs now")
	}
	return out
}

// where returns the name of the cluster, or of the queue if the queue is only a part of the cluster, for messages.
func where(v *readmodel.View, queue string) string {
	pool := v.Pool(queue)
	if _, part := pool.Own[queue]; part || len(v.Pools) > 1 {
		return "queue " + queue + " of cluster " + v.Cluster
	}
	return "cluster " + v.Cluster
}

// notConsidered returns the requested resources that do not influence the forecast. The engine simulates processors
// and, if it knows the nodes, all their resources. Strict first come, first served simulates only the binding dimension
// of the pool. The result "limits" means that limits of a QOS or an association were not simulated. That is so in a
// large pool, before the engine has learnt enough, if the limits bound usage over time, or if they bound nodes and the
// job may share its nodes.
func notConsidered(v *readmodel.View, req *job.Attributes, method string, binds cluster.Dimension,
	learnt *engine.Forecast) []string {
	var out []string
	byEngine := method == accuracy.Waitcast
	for _, a := range amounts(req) {
		played := byEngine && learnt.Nodes || !byEngine && a.dimension == binds
		if a.requested > 0 && a.dimension != cluster.Procs && !played {
			out = append(out, a.dimension.String())
		}
	}
	for _, l := range enforced(v, req) {
		played := learnt.Blocked != nil && byEngine
		shared := l.Nodes != 0 && !hasNodesAlone(v, req)
		if !played && bindsAtOnce(l) || bindsOverTime(l) || shared {
			return append(out, "limits")
		}
	}
	return out
}

// hasNodesAlone reports whether no other job runs on the nodes of a request. Only such nodes are counted in limits.
func hasNodesAlone(v *readmodel.View, req *job.Attributes) bool {
	if v.Engine == nil {
		return queueFacts(v, req.Queue).Whole
	}
	return v.Engine.Limits.HasNodesAlone(req)
}

// bindsAtOnce reports whether a limit bounds what jobs hold while they run: their number, their resources, or the
// processor time that their time limits leave them.
func bindsAtOnce(l *job.Limit) bool {
	return l.Jobs != 0 || l.Procs != 0 || l.Nodes != 0 || l.GPUs != 0 || l.Memory != 0 || l.RunMinutes.Procs != 0
}

// bindsOverTime reports whether a limit bounds usage over time, which no forecast simulates.
func bindsOverTime(l *job.Limit) bool {
	r := l.RunMinutes
	return l.TotalMinutes != (job.Amounts{}) || l.TotalTime != 0 || r.Nodes != 0 || r.GPUs != 0 || r.Memory != 0
}

// tooLarge returns the refusal of a request for more of a resource than the queue has.
func tooLarge(v *readmodel.View, req *job.Attributes, a amount, has int64) *Refusal {
	hint := "ask for at most " + a.write(has)
	if has == 0 {
		hint = "ask in another queue"
	}
	return noForecast(KindInvalid, headqueue.LargerThanMachine,
		fmt.Sprintf("%s asked for, %s has %s", a.write(a.requested), where(v, req.Queue), bare(a, has)), hint)
}

// bare formats an amount without its unit, for texts that have named the unit before.
func bare(a amount, n int64) string {
	if a.dimension == cluster.Memory {
		return gibibytes(n)
	}
	return fmt.Sprint(n)
}

// attributes returns the attributes of a job with the given request.
func attributes(r *job.Request) job.Attributes {
	a := job.Attributes{
		User: r.User, Account: r.Account, QOS: r.QOS, Procs: r.Procs, Nodes: r.Nodes,
		Memory: r.Memory, GPUs: r.GPUs, GPUType: r.GPUType, TimeLimit: r.TimeLimit,
	}
	setQueues(&a, strings.Split(r.Queue, ","))
	return a
}
