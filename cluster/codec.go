package cluster

import (
	"encoding/json"
	"fmt"
	"time"
)

// codecVersion is written into every saved state; another version is refused and the state rebuilt from the journal.
const codecVersion = 3

type saved struct {
	Version int       `json:"version"`
	Name    string    `json:"name"`
	Highest int       `json:"highest"`
	Seq     uint64    `json:"seq"`
	Now     time.Time `json:"now"`
	Running []*Job    `json:"running"`
	Queued  []*Job    `json:"queued"`
	Left    []Left    `json:"left"`
	Counts  Counts    `json:"counts"`
}

// MarshalBinary saves the state: the same state gives the same bytes.
func (s *State) MarshalBinary() ([]byte, error) {
	out := saved{
		Version: codecVersion, Name: s.name, Highest: s.highest, Seq: s.seq, Now: s.now.UTC(),
		Running: append([]*Job{}, s.running...), Queued: append([]*Job{}, s.queued...), Counts: s.count, // [] also where nil
		Left: make([]Left, 0, len(s.leftRing)),
	}
	for i := range s.leftRing { // oldest first
		out.Left = append(out.Left, s.left[s.leftRing[(s.leftNext+i)%len(s.leftRing)]])
	}
	return json.Marshal(out)
}

// UnmarshalBinary restores a state saved by MarshalBinary into a State made by New with the same name. The configured capacity
// is kept.
func (s *State) UnmarshalBinary(data []byte) error {
	var in saved
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("saved state of cluster %s: %w", s.name, err)
	}
	if in.Version != codecVersion || in.Name != s.name {
		return fmt.Errorf("saved state is version %d of cluster %q, want version %d of %q",
			in.Version, in.Name, codecVersion, s.name)
	}
	fresh := New(s.name, s.configured)
	for _, j := range in.Running {
		fresh.put(j)
	}
	for _, j := range in.Queued {
		fresh.put(j)
	}
	for _, l := range in.Left {
		fresh.remember(l)
	}
	fresh.highest, fresh.seq, fresh.now, fresh.count = in.Highest, in.Seq, in.Now, in.Counts
	*s = *fresh
	return nil
}
