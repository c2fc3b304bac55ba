// Package past holds what a cluster's history is to the writer: what is known of it as a whole, its events as the store
// keeps them, and which jobs it tells of.
//
// History is recorded logs that were imported, sorted by the times of their events (package history). The state of a
// cluster with a history is the fold of its events and of the journal, merged by time up to the import (History.After),
// and of the rest of both. So it depends on the history, its mode and the journal alone: not on when, how fast and how
// often interrupted it was learnt.
package past

import (
	"encoding/json"
	"fmt"
	"time"
)

// Mode is how a history is replayed.
type Mode string

const (
	// Exact replays forecast every job as if it had been followed.
	Exact Mode = "exact"
	// Fast replays forecast the newest jobs and a sample of the older ones (engine.Replay).
	Fast Mode = "fast"
)

// FastAbove is the number of jobs above which a history is replayed fast unless somebody decides otherwise.
const FastAbove = 100_000

// History describes the history of a cluster. Its JSON is what is stored.
type History struct {
	// ID names the history in the store.
	ID string `json:"id"`
	// Hash is that of the events that were imported, hexadecimal. Histories of the same events have the same.
	Hash string `json:"hash"`
	Mode Mode   `json:"mode"`
	// First is the number of the first chunk of its events. Those before it were older than the retention.
	First int `json:"first,omitempty"`
	// Events is the number of its events, Submissions that of the jobs that were submitted in it, tries and tasks of
	// arrays included.
	Events      int64 `json:"events"`
	Submissions int64 `json:"submissions"`
	// From and To are the instants of its first and last event.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// After is the number of the journal's newest entry when the history was put in force. Up to it the entries and the
	// history's events are folded in the order of their times.
	After int64 `json:"after"`
}

// Check returns an error if the history cannot be one.
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

// Parts of a history in the store.
const (
	// EventsPart is that of the events, as history.EncodeChunk writes them.
	EventsPart = "events"
	// JobsPart is that of the jobs, see Jobs.
	JobsPart = "jobs"
)

// InForceKey is the key under which the store has the history of a cluster that is in force.
func InForceKey(cluster string) string { return "history/" + cluster }

// LearntKey is the key under which the store has the Learnt of a cluster's published state.
func LearntKey(cluster string) string { return "learnt/" + cluster }

// Learnt says which history a state has learnt. Its JSON is what is stored.
type Learnt struct {
	// ID is that of the history.
	ID string `json:"id"`
	// Seq is the number of the journal's newest entry that was journaled by a state without that history: events that
	// such a state derived are derived again.
	Seq int64 `json:"seq"`
}

// Decode reads the JSON of a stored description; nil for an empty one.
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
