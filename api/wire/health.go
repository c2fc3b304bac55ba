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
	// Version, Clusters and Sources are missing in answers of daemons before 0.2.
	Version  string          `json:"version" doc:"version of the daemon"`
	Clusters []ClusterStatus `json:"clusters" doc:"how new the data of each cluster are"`
	Sources  []SourceStatus  `json:"sources" doc:"how far each source has been read"`
	// If it is set, the ages in answers are measured by the simulated clock.
	SimulatedSpeed float64 `json:"simulated_speed,omitempty" doc:"speed of the daemon's clock relative to the real one, if it is that of a simulated cluster; left out if it is real"`
}

// ClusterStatus reports how new the data of a cluster are.
type ClusterStatus struct {
	Cluster    string    `json:"cluster" doc:"the name of the cluster"`
	AsOf       time.Time `json:"as_of,omitzero" doc:"instant of the newest record; left out if no record has been read"`
	AgeSeconds float64   `json:"age_seconds" doc:"age of that record, in seconds"`
	Stale      bool      `json:"stale" doc:"whether answers about the cluster are marked stale"`
}

// SourceStatus reports how far a source has been read.
type SourceStatus struct {
	Source             string    `json:"source" doc:"the name of the source, which begins with that of its cluster"`
	Cluster            string    `json:"cluster" doc:"the name of the cluster"`
	CaughtUp           bool      `json:"caught_up" doc:"whether the source has been read to its end since the start"`
	LastLine           time.Time `json:"last_line,omitzero" doc:"when the newest line was read, or the scheduler last answered; left out before the first since the start"`
	LineAgeSeconds     float64   `json:"line_age_seconds,omitempty" doc:"time since last_line, in seconds"`
	LagBytes           int64     `json:"lag_bytes" doc:"bytes that were written to the logs but not read at the last look"`
	ClockOffsetSeconds float64   `json:"clock_offset_seconds" doc:"measured time by which the log's clock is ahead of this host's, in seconds; times are corrected by it"`
	SetAside           int       `json:"set_aside" doc:"events that are dated ahead of the clock and wait for it"`
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
