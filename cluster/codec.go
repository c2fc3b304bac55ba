package cluster

import (
	"maps"
	"slices"
	"time"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
)

// kind and version are the kind and version of the saved state.
const kind, version = "cluster", 8

type saved struct {
	Name    string      `json:"name"`
	Highest int         `json:"highest"`
	Seq     uint64      `json:"seq"`
	Now     time.Time   `json:"now"`
	Running []*Job      `json:"running"`
	Queued  []*Job      `json:"queued"`
	Left    []Left      `json:"left"`
	Missing []Missing   `json:"missing,omitempty"`
	Counts  Counts      `json:"counts"`
	Unseen  time.Time   `json:"unseen_at,omitzero"`
	Facts   *job.Facts  `json:"facts,omitempty"`
	Pools   []savedPool `json:"pools"`
}

// savedPool is the measured part of a pool. All other parts follow from configuration, facts and jobs.
type savedPool struct {
	Name     string              `json:"name"`
	Seen     Vector              `json:"seen"`
	Pressure [dimensions]float64 `json:"pressure"`
	Since    time.Time           `json:"since"`
	Binds    Dimension           `json:"binds"`
}

// fields reads or writes the state as JSON, because jobs and facts have a JSON form already.
func (s *saved) fields(c *codec.Codec) {
	name := s.Name
	if c.JSON(s); !c.Bad && s.Name != name {
		c.Differs("it is of cluster %q, not of %q", s.Name, name)
	}
}

// MarshalBinary saves the state. Equal states give equal bytes.
func (s *State) MarshalBinary() ([]byte, error) {
	out := saved{
		Name: s.name, Highest: s.highest, Seq: s.seq, Now: s.now.UTC(),
		// An empty list is encoded as [], not null.
		Running: append([]*Job{}, s.running...), Queued: append([]*Job{}, s.queued...), Counts: s.count,
		Unseen: s.unseenAt.UTC(), Left: make([]Left, 0, len(s.leftRing)), Facts: s.facts,
		Pools: make([]savedPool, len(s.pools)),
	}
	for i, p := range s.pools {
		out.Pools[i] = savedPool{Name: p.Name, Seen: p.seen, Pressure: p.Pressure, Since: p.since.UTC(), Binds: p.Binds}
	}
	for _, id := range slices.Sorted(maps.Keys(s.missing)) {
		out.Missing = append(out.Missing, s.missing[id])
	}
	for i := range s.leftRing { // oldest first
		out.Left = append(out.Left, s.left[s.leftRing[(s.leftNext+i)%len(s.leftRing)]])
	}
	return codec.Save(kind, version, 0, out.fields)
}

// UnmarshalBinary restores a state that MarshalBinary saved. The receiver must come from New with the same name. The
// configured capacity and pools are kept. An error is a *codec.Error and leaves the State unchanged.
func (s *State) UnmarshalBinary(data []byte) error {
	in := saved{Name: s.name}
	if err := codec.Load(kind, version, data, in.fields); err != nil {
		return err
	}
	fresh := New(s.name, s.configured)
	fresh.byHand, fresh.facts, fresh.now = s.byHand, in.Facts, in.Now
	fresh.rules = NewRules(in.Facts)
	fresh.remakePools()
	fresh.restorePools(in.Pools)
	for _, j := range in.Running {
		fresh.put(j)
	}
	for _, j := range in.Queued {
		fresh.put(j)
	}
	for _, m := range in.Missing {
		fresh.missing[m.Job.ID] = m
	}
	for _, l := range in.Left {
		fresh.remember(l)
	}
	fresh.highest, fresh.seq, fresh.count = in.Highest, in.Seq, in.Counts
	fresh.unseenAt = in.Unseen
	*s = *fresh
	return nil
}

// restorePools restores the measured parts of the pools.
func (s *State) restorePools(saved []savedPool) {
	for i := range saved {
		for _, p := range s.pools {
			if p.Name != saved[i].Name {
				continue
			}
			p.seen, p.Pressure, p.since = saved[i].Seen, saved[i].Pressure, saved[i].Since
			if !p.fixed {
				p.Binds = saved[i].Binds
			}
			p.measure()
		}
	}
}
