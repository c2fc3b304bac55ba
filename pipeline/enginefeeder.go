package pipeline

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

// engineFeeder passes the changes of the cluster to the engine as commands, in the order of a changes.Sequencer.
// Submissions whose forecast is scored are not commands: the ledger passes them to the engine itself when the instant
// is over, before the commands that are kept here.
type engineFeeder struct {
	cfg    engine.Config
	engine *engine.Engine
	// order keeps the commands that follow the submissions of the open instant.
	order *changes.Sequencer[engineCommand]
	// reported are the pools that the engine knows of.
	reported map[string]engine.PoolConfig
	away     map[string][]engine.Outage
	// facts are those whose limits the engine knows.
	facts *job.Facts
	// byHand are the configured policies of pools, by name.
	byHand map[string]engine.PoolConfig
}

// engineCommand is one change that the engine is to apply.
type engineCommand struct {
	Do commandKind `json:"do"`
	ID uint64      `json:"id"`
	// Learn is of a start: whether its wait is to be learnt. At is when it was, which may be told late.
	Learn bool      `json:"learn,omitempty"`
	At    time.Time `json:"at,omitzero"`
	// Request is of a submission without a forecast to keep, or of an update.
	Request engine.Request `json:"request,omitzero"`
	// Hold is of a job that is held.
	Hold engine.Hold `json:"hold,omitzero"`
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
)

// newEngineFeeder returns a feeder with a new engine for a cluster. shared is the engine's configuration as all
// clusters have it; capacity, policy and levels are set here. An error names the configuration key whose value was
// refused.
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
	}
	if f.byHand, err = policies(c.Pools); err != nil {
		return nil, err
	}
	if f.engine, err = engine.New(cfg); err != nil {
		return nil, fmt.Errorf("clusters: the forecasting engine refuses its configuration: %w", err)
	}
	return f, nil
}

// clock returns an instant as the engine counts it.
func clock(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// restID is the second name of an array.
func restID(j *cluster.Job) uint64 { return readmodel.EngineID(j) | 1 }

// engineRequest returns the request of a job.
func engineRequest(j *cluster.Job) engine.Request { return readmodel.EngineRequest(&j.Attributes) }

// orderOf returns what the order within an instant depends on.
func orderOf(s engineCommand) (id uint64, kind changes.Kind) {
	switch s.Do {
	case doSubmit:
		return s.ID, changes.Submitted
	case doStart:
		return s.ID, changes.Started
	}
	return s.ID, changes.Other
}

// feed applies a command at its place among those of its instant.
func (f *engineFeeder) feed(instant time.Time, s engineCommand) {
	if f.order.Add(s) {
		do(f.engine, clock(instant), s)
	}
}

// endInstant applies the commands that were to follow the submissions.
func (f *engineFeeder) endInstant(instant time.Time) {
	now := clock(instant)
	f.order.EndInstant(func(s engineCommand) { do(f.engine, now, s) })
}

// preview applies to a copy of the engine the commands that are still to follow.
func (f *engineFeeder) preview(copied *engine.Engine, now float64) {
	f.order.Each(func(s engineCommand) { do(copied, now, s) })
}

func do(e *engine.Engine, now float64, s engineCommand) {
	switch s.Do {
	case doSubmit:
		e.Submit(now, s.ID, s.Request)
	case doStart:
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
	}
}

// pools passes to the engine the pools that are configured or that the scheduler reports (it learns the others), and
// the queues' time limits.
func (f *engineFeeder) pools(s *cluster.State) {
	if facts := s.Facts(); facts != nil && facts != f.facts {
		f.facts = facts
		for _, q := range facts.Queues {
			f.engine.SetLimit(q.Name, q.MaxTime.Seconds())
		}
		f.engine.SetLimits(joblimits.New(facts))
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
			if !o.From.After(s.Now()) && until > clock(s.Now()) { // what the pool has is without it
				told.Procs += o.Procs
			}
			away = append(away, engine.Outage{From: clock(o.From), Until: until, Procs: o.Procs})
		}
		for _, q := range p.Queues {
			if before, ok := f.reported[q]; !ok || before.Name != told.Name || before.Procs != told.Procs {
				f.reported[q] = told
				f.engine.SetPool(q, told)
			}
		}
		if before, ok := f.away[p.Name]; !slices.Equal(before, away) || !ok && len(away) > 0 {
			f.away[p.Name] = away
			f.engine.SetOutages(p.Name, away)
		}
	}
}

// MarshalBinary saves the engine.
func (f *engineFeeder) MarshalBinary() ([]byte, error) { return f.engine.MarshalBinary() }

// UnmarshalBinary restores what MarshalBinary saved.
func (f *engineFeeder) UnmarshalBinary(data []byte) error { return f.engine.UnmarshalBinary(data) }

// peersOf names the experts whose answers the ledger keeps beside the forecast.
func peersOf() []string { return []string{"qbets", "limits", "downey_combined"} }

// answerOf returns a forecast as the ledger keeps it.
func answerOf(f *engine.Forecast, procs int) accuracy.Answer {
	out := accuracy.Answer{Procs: procs, Ahead: f.JobsAhead, AheadProcs: f.ProcsAhead}
	if f.Quantiles == nil {
		out.Reason = accuracy.ReasonNotFitted
		return out
	}
	out.Method, out.Quantiles = accuracy.Waitcast, accuracy.Finite(f.Quantiles)
	names := ensemble.Names()
	for _, name := range peersOf() {
		if i := slices.Index(names, name); i < len(f.Experts) && f.Experts[i] != nil {
			out.Peers = append(out.Peers, modelstore.Peer{Method: name, Quantiles: accuracy.Finite(f.Experts[i])})
		}
	}
	return out
}

// answerIn returns a job's forecast as the ledger keeps it, with the capacity of its pool and its priority.
func answerIn(s *cluster.State, f *engine.Forecast, j *cluster.Job) accuracy.Answer {
	a := answerOf(f, j.Procs)
	a.Capacity, a.Priority = procsOf(s, j.Queue), j.Priority
	return a
}
