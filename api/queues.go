package api

import (
	"context"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline"
)

type queuesInput struct {
	Cluster     string `query:"cluster" doc:"only this cluster"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has: the answer is 304 if it is still one of them"`
}

type queuesOutput struct {
	ETag string `header:"ETag" doc:"weak validator: the same as long as the answer tells the same, age_seconds aside"`
	Body wire.Queues
}

func (s *Server) getQueues(ctx context.Context, in *queuesInput) (*queuesOutput, error) {
	views := s.views.Views()
	if in.Cluster != "" {
		v, err := s.view(in.Cluster)
		if err != nil {
			return nil, err
		}
		views = []*pipeline.View{v}
	}
	tag := s.tag(ctx, false, views...)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	out := &queuesOutput{ETag: tag, Body: wire.Queues{Queues: []wire.Queue{}, Pools: []wire.Pool{}}}
	for i, v := range views {
		loads := v.Loads()
		for _, name := range v.Queues() {
			l := loads[name]
			q := wire.Queue{
				Cluster: v.Cluster, Name: name, RunningJobs: l.RunningJobs, RunningProcs: l.RunningProcs,
				QueuedJobs: l.QueuedJobs, QueuedProcs: l.QueuedProcs, HeldJobs: l.HeldJobs,
				Pool: v.Pool(name).Name, Models: []wire.Model{},
			}
			policy, known := v.Policy(name)
			q.Policy, q.PolicySource = policy.String(), known.String()
			if models := v.Models.Queue(name); models != nil {
				for class := range models.Lifetimes {
					q.Models = append(q.Models, lifetimes(&models.Lifetimes[class], name, class, false))
				}
			}
			out.Body.Queues = append(out.Body.Queues, q)
		}
		out.Body.Pools = append(out.Body.Pools, pools(v)...)
		// With several clusters the oldest picture speaks for the answer.
		if _, age, stale := s.asOf(v); i == 0 || v.At.Before(out.Body.AsOf) {
			out.Body.AsOf, out.Body.AgeSeconds, out.Body.Stale = s.asOfInstant(v), age, stale
		}
	}
	return out, nil
}

// pools describes the pools of a cluster.
func pools(v *pipeline.View) []wire.Pool {
	amounts := func(a cluster.Vector) wire.Amounts {
		return wire.Amounts{Procs: a[cluster.Procs], Nodes: a[cluster.Nodes], GPUs: a[cluster.GPUs], MemoryBytes: a[cluster.Memory]}
	}
	var out []wire.Pool
	for _, p := range v.Pools {
		w := wire.Pool{
			Cluster: v.Cluster, Name: p.Name, Queues: append([]string{}, p.Queues...), Capacity: amounts(p.Has), Used: amounts(p.Used),
			Source: p.Source, Binds: p.Binds.String(), Outages: []wire.Outage{},
		}
		for _, o := range p.Outages {
			outage := wire.Outage{Name: o.Name, Maintenance: o.Maintenance, From: o.From, Procs: o.Procs, Nodes: o.Nodes}
			if !o.Until.IsZero() {
				outage.Until = &o.Until
			}
			w.Outages = append(w.Outages, outage)
		}
		out = append(out, w)
	}
	return out
}

// lifetimes describes one class of a queue. The KS distance is a pass over the window: only where it is asked for.
func lifetimes(l *pipeline.LifetimeView, queue string, class int, ks bool) wire.Model {
	m := model(&l.Law)
	m.Queue, m.Class = queue, pipeline.Classes()[class]
	m.N = l.Sample.N()
	if ks && l.Err == nil {
		d := l.Sample.KS(l.Law.Model)
		m.KS = &d
	}
	return m
}
