// Package past has the writer's types for the history of a cluster: its description, its stored events, and the jobs in
// it.
//
// A history consists of the events of imported logs, sorted by time (package history). The state of a cluster with a
// history is the fold of two inputs. First come the events of the history and the journal entries up to the import
// (History.After), merged by time. Then the rest of the journal follows. So the state depends only on the history, its
// mode and the journal. It does not depend on when or how fast the history was learnt, or how often learning was
// interrupted.
package past

import (
	"encoding/json"
	"fmt"
	"time"
)

// Mode is the way in which a history is replayed.
type Mode string

const (
	// Exact means that the replay forecasts every job as if it had been followed live.
	Exact Mode = "exact"
	// Fast means that the replay forecasts the newest jobs and a sample of the older ones (see engine.Replay).
	Fast Mode = "fast"
)

// FastAbove is the number of jobs above which a history is replayed fast by default.
const FastAbove = 100_000

// History describes the history of a cluster. Its JSON is stored.
type History struct {
	// ID identifies the history in the store.
	ID string `json:"id"`
	// Hash is the hash of the imported events, in hexadecimal digits. Histories with equal events have equal hashes.
	Hash string `json:"hash"`
	Mode Mode   `json:"mode"`
	// First is the number of the first chunk of events that still belongs to the history. The chunks before it were
	// dropped, because they were older than the retention.
	First int `json:"first,omitempty"`
	// Events is the number of events of the history. Submissions is the number of submissions among them, including
	// those of repeated attempts and of tasks of arrays.
	Events      int64 `json:"events"`
	Submissions int64 `json:"submissions"`
	// From and To are the instants of the first and the last event.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// After is the number of the newest journal entry at the time when the history was put in force. The entries up to
	// After are merged with the history's events by time.
	After int64 `json:"after"`
}

// Check returns an error if the description is invalid.
func (h *History) Check() error {
	switch {
	case h.ID == "":
		return fmt.Errorf("history without a name")
	case h.Mode != Exact && h.Mode != Fast:
		return fmt.Errorf("history %s: unknown mode %q, known are %s and %s", h.ID, h.Mode, Exact, Fast)
	case h.After < 0, h.Events < 0, h.Submissions < 0, h.First < 0:
		return fmt.Errorf("history %s: a number of its description is negative", h.ID)
	}
	return nil
}

// These are the names of the parts of a stored history.
const (
	// EventsPart has the events, as history.EncodeChunk writes them.
	EventsPart = "events"
	// JobsPart has the jobs, see Jobs.
	JobsPart = "jobs"
)

// InForceKey returns the key under which the store has the description of the history in force of a cluster.
func InForceKey(cluster string) string { return "history/" + cluster }

// LearntKey returns the key under which the store has the Learnt of a cluster's published state.
func LearntKey(cluster string) string { return "learnt/" + cluster }

// Learnt identifies the history that a state includes. Its JSON is stored.
type Learnt struct {
	// ID is the id of the history.
	ID string `json:"id"`
	// Seq is the number of the newest journal entry that was written by a state without the history. A rebuild ignores
	// the derived events up to Seq, because they came from that state, and derives them again.
	Seq int64 `json:"seq"`
}

// Decode returns the History or Learnt whose JSON was stored; nil if text is empty.
func Decode[T any](text string) (*T, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nothing is stored: not an error
	}
	out := new(T)
	if err := json.Unmarshal([]byte(text), out); err != nil {
		return nil, fmt.Errorf("a stored description of a history: %w", err)
	}
	return out, nil
}
