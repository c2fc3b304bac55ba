package ask

import (
	"math"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// Queues describes the queues of some views, and their pools. With several clusters, the age of the
// answer is that of the view with the oldest newest record. It is stale if one of the clusters is.
func (s *Service) Queues(views []*readmodel.View) wire.Queues {
	out := wire.Queues{Queues: []wire.Queue{}, Pools: []wire.Pool{}}
	for i, v := range views {
		loads, typical := v.Loads(), typicalOf(v)
		for _, name := range v.Queues() {
			l := loads[name]
			q := wire.Queue{
				Cluster: v.Cluster, Name: name, RunningJobs: l.RunningJobs, RunningProcs: l.RunningProcs,
				QueuedJobs: l.QueuedJobs, QueuedProcs: l.QueuedProcs, HeldJobs: l.HeldJobs,
				HeldProcs: l.HeldProcs,
				Pool:      v.Pool(name).Name, Rules: startRules(v.StartRules(name)), Models: []wire.Model{},
				Typical: typical[name],
			}
			policy, known := v.Policy(name)
			q.Policy, q.PolicySource = policy.String(), known.String()
			if models := v.Models.Queue(name); models != nil {
				for class := range models.Lifetimes {
					q.Models = append(q.Models, lifetimes(&models.Lifetimes[class], name, class, false))
				}
			}
			out.Queues = append(out.Queues, q)
		}
		out.Pools = append(out.Pools, poolsOf(v)...)
		_, age, stale := s.AsOf(v)
		out.Stale = out.Stale || stale
		if i == 0 || v.At.Before(out.AsOf) {
			out.AsOf, out.AgeSeconds = s.AsOfInstant(v), age
		}
	}
	return out
}

// typicalOf returns the request of a typical job of each queue.
func typicalOf(v *readmodel.View) map[string]*wire.TypicalJob {
	out := map[string]*wire.TypicalJob{}
	// The typical jobs come in order of their numbers of jobs, the most frequent first.
	for _, t := range v.Typical(math.MaxInt) {
		if out[t.Queue] == nil {
			out[t.Queue] = &wire.TypicalJob{Procs: t.Procs, TimeLimitSeconds: t.TimeLimit.Seconds()}
		}
	}
	return out
}

// poolsOf describes the pools of a cluster.
func poolsOf(v *readmodel.View) []wire.Pool {
	amounts := func(a cluster.Vector) wire.Amounts {
		return wire.Amounts{Procs: a[cluster.Procs], Nodes: a[cluster.Nodes], GPUs: a[cluster.GPUs],
			MemoryBytes: a[cluster.Memory]}
	}
	var out []wire.Pool
	for _, p := range v.Pools {
		w := wire.Pool{
			Cluster: v.Cluster, Name: p.Name, Queues: append([]string{}, p.Queues...), Capacity: amounts(p.Has),
			Used: amounts(p.Used), Source: p.Source, Binds: p.Binds.String(), Outages: []wire.Outage{},
		}
		for _, o := range p.Outages {
			outage := wire.Outage{Name: o.Name, Maintenance: o.Maintenance, From: o.From, Procs: o.Procs,
				Nodes: o.Nodes}
			if !o.Until.IsZero() {
				outage.Until = &o.Until
			}
			w.Outages = append(w.Outages, outage)
		}
		out = append(out, w)
	}
	return out
}
