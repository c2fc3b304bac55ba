package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/cluster/fairshare"
	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

// engineFeeder passes the changes of a cluster to the engine as commands, in the order of a changes.Sequencer. A
// submission whose forecast is scored is not a command: the ledger itself passes it to the engine at the end of the
// instant, before the pending commands.
type engineFeeder struct {
	cfg    engine.Config
	engine *engine.Engine
	// order holds the commands that come after the submissions of the open instant.
	order *changes.Sequencer[uint64, engineCommand]
	// reported has, by the name of a queue, the pool that was last passed to the engine.
	reported map[string]engine.PoolConfig
	away     map[string][]engine.Outage
	// facts are the facts whose limits and priorities were last passed to the engine.
	facts *job.Facts
	// nodes has, by the name of a pool, the inputs from which the nodes passed to the engine were derived.
	nodes map[string]nodeSource
	// byHand are the configured policies of pools, by name.
	byHand map[string]engine.PoolConfig
}

// engineCommand is one change for the engine.
type engineCommand struct {
	Do commandKind `json:"do"`
	ID uint64      `json:"id"`
	// Learn is set for a start from which the engine learns the wait. At is the time of the start, which may be
	// reported late; for doUnseen it is the newest time at which the job is known to have waited.
	Learn bool      `json:"learn,omitempty"`
	At    time.Time `json:"at,omitzero"`
	// Queue is set for a start: the queue in which the job runs.
	Queue string `json:"queue,omitempty"`
	// Request is set for an update, and for a submission without a scored forecast.
	Request engine.Request `json:"request,omitzero"`
	// Hold is the reason for which a job is held.
	Hold engine.Hold `json:"hold,omitzero"`
	// Nodes are the names of the nodes of a running job.
	Nodes string `json:"nodes,omitempty"`
}

type commandKind uint8

const (
	doSubmit commandKind = iota + 1
	doStart
	doEnd
	doGone
	doLost
	doHold
	doRelease
	doUpdate
	doPlace
	doUnseen
)

// newEngineFeeder returns a feeder with a new engine for a cluster. shared is the configuration common to all clusters;
// its capacity, its policy and its order of queues are replaced by those of the cluster, its levels by waittime.Levels,
// and Downey is set. An error names the configuration key whose value was refused.
func newEngineFeeder(c *ClusterConfig, shared engine.Config) (*engineFeeder, error) {
	cfg := shared
	cfg.Capacity, cfg.Levels, cfg.Downey, cfg.Order = c.Procs, waittime.Levels(), true, c.Queues
	var err error
	if cfg.Policy, cfg.PolicyKnown, err = policyOf(c.Policy); err != nil {
		return nil, err
	}
	f := &engineFeeder{
		cfg: cfg, order: changes.NewSequencer(orderOf),
		reported: map[string]engine.PoolConfig{}, away: map[string][]engine.Outage{},
		nodes: map[string]nodeSource{},
	}
	if f.byHand, err = policies(c.Pools); err != nil {
		return nil, err
	}
	if f.engine, err = engine.New(cfg); err != nil {
		return nil, fmt.Errorf("clusters: the forecasting engine refuses its configuration: %w", err)
	}
	return f, nil
}

// clock converts a time to the clock of the engine: seconds since 1970.
func clock(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// restID returns the id under which the engine has all tasks of an array but the first.
func restID(j *cluster.Job) uint64 { return readmodel.EngineID(j) | 1 }

// engineRequest returns the request of a job for the engine. It includes the job's relations to other jobs: its id, its
// array and its dependencies.
func (l *ledger) engineRequest(j *cluster.Job) engine.Request {
	r := readmodel.EngineRequest(&j.Attributes)
	readmodel.AddQueues(&r, &j.Attributes, j.Updated.Sub(j.Submit), l.rules)
	r.Name, r.Array, r.Throttle = j.ID, cluster.ArrayOf(j.ID), max(0, j.Throttle)
	if j.After != job.UnknownAfter {
		r.After = j.After
	}
	return r
}

// orderOf returns the id of the job and the kind of a command. They determine its place in the order of an instant.
func orderOf(s engineCommand) (id uint64, kind changes.Kind) {
	switch s.Do {
	case doSubmit:
		return s.ID, changes.Submitted
	case doStart:
		return s.ID, changes.Started
	}
	return s.ID, changes.Other
}

// feed applies a command. If other changes of the instant must come first, feed keeps the command until endInstant.
func (f *engineFeeder) feed(instant time.Time, s engineCommand) {
	if f.order.Add(s) {
		do(f.engine, clock(instant), s)
	}
}

// endInstant applies the pending commands. It is called after the ledger has passed the submissions of the instant to
// the engine.
func (f *engineFeeder) endInstant(instant time.Time) {
	now := clock(instant)
	f.order.EndInstant(func(s engineCommand) { do(f.engine, now, s) })
}

// preview applies the pending commands to a copy of the engine, and keeps them. now is by the engine's clock.
func (f *engineFeeder) preview(copied *engine.Engine, now float64) {
	f.order.Each(func(s engineCommand) { do(copied, now, s) })
}

func do(e *engine.Engine, now float64, s engineCommand) {
	switch s.Do {
	case doSubmit:
		e.Submit(now, s.ID, s.Request)
	case doStart:
		e.StartsIn(now, s.ID, s.Queue)
		e.Start(math.Min(now, clock(s.At)), s.ID, s.Learn)
	case doEnd:
		e.End(now, s.ID)
	case doGone:
		e.Gone(now, s.ID)
	case doLost:
		e.Lost(now, s.ID)
	case doHold:
		e.Hold(now, s.ID, s.Hold)
	case doRelease:
		e.Release(now, s.ID)
	case doUpdate:
		e.Update(now, s.ID, s.Request)
	case doPlace:
		e.Place(now, s.ID, s.Nodes)
	case doUnseen:
		e.Unseen(now, s.ID, clock(s.At))
	}
}

// pools passes to the engine the named pools of the picture with their nodes and outages, and the reported limits and
// priorities, as far as they have changed. The engine learns all other pools itself.
func (f *engineFeeder) pools(s *cluster.State) {
	if facts := s.Facts(); facts != nil && facts != f.facts {
		f.facts = facts
		for _, q := range facts.Queues {
			f.engine.SetLimit(q.Name, q.MaxTime.Seconds())
		}
		f.engine.SetLimits(joblimits.New(facts))
		f.engine.SetPriorities(clock(s.Now()), fairshare.NewPriorities(facts))
	}
	for _, p := range s.Pools() {
		if p.Name == "" {
			continue
		}
		told := f.byHand[p.Name]
		told.Name = p.Name
		if p.Source != cluster.FromHighestUse {
			told.Procs = int(p.Has[cluster.Procs])
		}
		var away []engine.Outage
		for _, o := range p.Outages {
			until := math.Inf(1)
			if !o.Until.IsZero() {
				until = clock(o.Until)
			}
			// The capacity of the pool is already without the processors of an outage that has begun, so add them.
			if o.InForce(s.Now()) {
				told.Procs += o.Procs
			}
			away = append(away, engine.Outage{From: clock(o.From), Until: until, Procs: o.Procs,
				Nodes: strings.Join(o.Names, ","), Access: accessOf(&o)})
		}
		for _, q := range p.Queues {
			if before, ok := f.reported[q]; !ok || before.Name != told.Name || before.Procs != told.Procs {
				f.reported[q] = told
				f.engine.SetPool(q, told)
			}
		}
		if known := (nodeSource{f.facts, p.Source, p.Total}); f.nodes[p.Name] != known {
			f.nodes[p.Name] = known
			f.engine.SetNodes(p.Name, nodesOf(f.facts, p))
		}
		if before, ok := f.away[p.Name]; !slices.Equal(before, away) || !ok && len(away) > 0 {
			f.away[p.Name] = away
			f.engine.SetOutages(p.Name, away)
		}
	}
}

// accessOf returns the users and accounts that may use the reserved nodes of an outage without naming the reservation.
// Only a Slurm reservation with the flag MAGNETIC has such users and accounts. The names of accounts are in lower case.
func accessOf(o *job.Outage) engine.Access {
	if !slices.Contains(o.Flags, "MAGNETIC") {
		return engine.Access{}
	}
	all := func(names []string) string { return strings.Join(names, ",") }
	return engine.Access{Open: true, Users: all(o.Users), DeniedUsers: all(o.DeniedUsers),
		Accounts: strings.ToLower(all(o.Accounts)), DeniedAccounts: strings.ToLower(all(o.DeniedAccounts))}
}

// MarshalBinary saves the engine.
func (f *engineFeeder) MarshalBinary() ([]byte, error) { return f.engine.MarshalBinary() }

// UnmarshalBinary restores an engine that MarshalBinary saved.
func (f *engineFeeder) UnmarshalBinary(data []byte) error { return f.engine.UnmarshalBinary(data) }

// answerOf converts a forecast to the form of the ledger.
func answerOf(f *engine.Forecast, procs int) accuracy.Answer {
	out := accuracy.Answer{Procs: procs, Ahead: f.JobsAhead, AheadProcs: f.ProcsAhead}
	if f.Quantiles == nil {
		out.Reason = accuracy.ReasonNotFitted
		return out
	}
	out.Method, out.Quantiles, out.Cause = accuracy.Waitcast, accuracy.Finite(f.Quantiles), f.Cause()
	if f.Eligible != nil {
		out.Blocked, out.Eligible = accuracy.Finite(f.Blocked), accuracy.Finite(f.Eligible)
	}
	names := ensemble.Names()
	// The ledger keeps the answers of these experts beside the forecast.
	for _, k := range [...]int{ensemble.QbetsBound, ensemble.Limits, ensemble.DowneyCombined} {
		if k < len(f.Experts) && f.Experts[k] != nil {
			out.Peers = append(out.Peers, modelstore.Peer{Method: names[k], Quantiles: accuracy.Finite(f.Experts[k])})
		}
	}
	return out
}

// queueDown reports whether the scheduler starts no jobs of a queue now.
func queueDown(s *cluster.State, queue string) bool {
	facts := s.Facts()
	return facts != nil && slices.ContainsFunc(facts.Queues, func(q job.QueueFacts) bool {
		return q.Name == queue && q.Down
	})
}

// answerIn converts a job's forecast to the form of the ledger, with the capacity of the job's pool and the job's
// priority. If there is a forecast and the queue is down, the cause is job.Unavailable.
func answerIn(s *cluster.State, f *engine.Forecast, j *cluster.Job) accuracy.Answer {
	a := answerOf(f, j.Procs)
	a.Capacity, a.Priority = procsOf(s, j.Queue), j.Priority
	if a.Quantiles != nil && queueDown(s, j.Queue) {
		a.Cause = job.Unavailable
	}
	return a
}
