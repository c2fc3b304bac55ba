package wire

import "time"

// The values of Health.Status.
const (
	Ready    = "ready"
	Degraded = "degraded"
	NotReady = "not ready"
)

// Health is the answer of GET /v1/health.
type Health struct {
	Status     string      `json:"status" enum:"ready,degraded,not ready"`
	Conditions []Condition `json:"conditions" doc:"what is wrong; empty if the status is ready"`
	// That alone is no condition: a machine may be idle.
	Stale []StaleCluster `json:"stale" doc:"the clusters whose answers are marked stale, and why"`
}

// StaleCluster reports why answers about a cluster are marked stale.
type StaleCluster struct {
	Cluster string `json:"cluster"`
	Reason  string `json:"reason"`
}

// Condition is one thing that keeps the daemon from doing all of its work.
type Condition struct {
	Name    string    `json:"name" doc:"the kind of condition, as source_unreadable or store_failing"`
	Cluster string    `json:"cluster,omitempty"`
	Source  string    `json:"source,omitempty"`
	File    string    `json:"file,omitempty" doc:"a path, a program that is run, or a database"`
	Reason  string    `json:"reason"`
	Since   time.Time `json:"since,omitzero"`
	Text    string    `json:"text" doc:"all of it in one line, for people; /readyz has the same"`
}
