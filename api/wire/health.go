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
	Status     string      `json:"status" doc:"ready: all work is done; degraded: a part is not; not ready: no answers yet" enum:"ready,degraded,not ready"`
	Conditions []Condition `json:"conditions" doc:"the problems; empty if the status is ready"`
	// A stale cluster alone is no condition: its machine may be idle.
	Stale []StaleCluster `json:"stale" doc:"the clusters whose answers are marked stale, with the reasons"`
	// If it is set, the ages in answers are measured by the simulated clock.
	SimulatedSpeed float64 `json:"simulated_speed,omitempty" doc:"speed of the daemon's clock relative to the real one, if it is that of a simulated cluster; left out if it is real"`
}

// StaleCluster reports why answers about a cluster are marked stale.
type StaleCluster struct {
	Cluster string `json:"cluster" doc:"the name of the cluster"`
	Reason  string `json:"reason" doc:"why answers about the cluster are stale"`
}

// Condition is a problem that keeps the daemon from doing all of its work.
type Condition struct {
	Name    string    `json:"name" doc:"kind of the condition, as source_unreadable or store_failing"`
	Cluster string    `json:"cluster,omitempty" doc:"the name of the cluster"`
	Source  string    `json:"source,omitempty" doc:"name of the source, if the condition is about one"`
	File    string    `json:"file,omitempty" doc:"path, program or database that the condition is about"`
	Reason  string    `json:"reason" doc:"what is wrong"`
	Since   time.Time `json:"since,omitzero" doc:"when the condition began; left out if unknown"`
	Text    string    `json:"text" doc:"the whole condition in one line, for people; /readyz has the same"`
}
