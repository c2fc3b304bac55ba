package api

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"go.uber.org/zap"
)

// Views is the source of the published views.
type Views interface {
	// View returns the newest view of a cluster, nil if there is no such cluster.
	View(cluster string) *readmodel.View
	// Views returns the newest view of every cluster.
	Views() []*readmodel.View
	// Published returns a channel that is closed when views are published next.
	Published() <-chan struct{}
	// Conditions returns the conditions of the database and the sources, empty if there are none.
	Conditions() []readmodel.Condition
}

// Options configure a server.
type Options struct {
	// Version goes into the OpenAPI description and waitcast_build_info.
	Version string
	// StaleAfter is the age beyond which an answer is marked stale.
	StaleAfter time.Duration
	// Now is the wall clock.
	Now func() time.Time
	// SimulatedSpeed is the speed of Now relative to the real clock if it is simulated; 0 if it is real.
	SimulatedSpeed float64
	// Registry has the metrics that /metrics serves; the server registers its own metrics there.
	Registry *prometheus.Registry
	Log      *zap.Logger
	// Accuracy reads the ledger; without it GET /v1/accuracy does not exist.
	Accuracy AccuracyFunc
	// History reads the waits of the ledger; without it GET /v1/history does not exist.
	History HistoryFunc
	// Recent reads the newest rows of the ledger; without it GET /v1/accuracy/recent does not exist.
	Recent RecentFunc
	// Watchers bounds the concurrent clients of GET /v1/watch, and separately those of GET /v1/changes; 0 means 2000.
	Watchers int
	// Admin has the operations for administrators; without it those paths do not exist.
	Admin *Admin
	// Guard controls access; nil means a guard with Admin's token only.
	Guard *access.Guard
	// WasReady is set once the daemon was ready. It may be kept from one server to the next, so that the daemon stays
	// ready when it is reloaded. Nil means a new one.
	WasReady *atomic.Bool
	// Restoring returns the condition of a daemon whose state is not restored yet, else nil. While there is such a
	// condition, questions are refused with it. Nil means that the state is restored.
	Restoring func() *readmodel.Condition
	// MostBody bounds the bytes of a request's body; 0 means 1 MiB.
	MostBody int64
}

// Admin has the operations that only administrators may use.
type Admin struct {
	// Token is the admin token, sent as "Authorization: Bearer TOKEN". It is used only if Options.Guard is nil; if it
	// is empty in that case, nobody has admin access.
	Token string
	// Import imports logs of the past.
	Import ImportFunc
	// Quarantine lists bad lines.
	Quarantine QuarantineFunc
	// LogLevel changes the log level; without it /v1/log-level does not exist.
	LogLevel LogLevel
}

// ImportRequest is a request to import logs of the past.
type ImportRequest struct {
	// Cluster is the cluster of the logs.
	Cluster string
	// Format is the name of the format of all files, as in the configuration. If it is empty, the content of each file
	// decides. Columns are the columns of a dump of sacct without a header.
	Format, Columns string
	// Mode is the way in which the history is replayed: exact or fast. If it is empty, the number of jobs decides.
	Mode string
	// Files are the logs, plain or compressed.
	Files ImportFiles
}

// ImportFiles returns the files of an import one after the other. Only Abort is safe for concurrent use.
type ImportFiles interface {
	// Next returns the next file, which the caller must close before the next call; io.EOF after the last.
	Next() (name string, from io.ReadCloser, err error)
	// Failed returns the error if the transfer is incomplete because the sender disconnected. A damaged file is not
	// such an error.
	Failed() error
	// Read returns the number of bytes that were read so far. Total returns the number of all bytes, 0 if unknown.
	Read() int64
	Total() int64
	// Abort ends a blocked read, and makes all later ones fail.
	Abort()
}

// ImportFunc imports logs of the past, and returns the result when everything is learnt. It calls progress at
// intervals, from its own goroutine. An error may be a *Refused.
type ImportFunc func(ctx context.Context, req ImportRequest,
	progress func(wire.ImportProgress)) (*wire.ImportReport, error)

// QuarantineQuery selects bad lines.
type QuarantineQuery struct {
	// Cluster and Reason select the lines; an empty one selects all.
	Cluster, Reason string
	// Limit is the maximum number of lines; the newest are returned.
	Limit int
}

// QuarantineFunc lists bad lines, the newest last.
type QuarantineFunc func(ctx context.Context, q QuarantineQuery) (*wire.Quarantine, error)

// LogLevel is the level of the daemon's log. It is safe for concurrent use.
type LogLevel interface {
	// Level returns the present level.
	Level() wire.LogLevel
	// Set changes the level for a duration; with 0 it stays until the next change.
	Set(level string, duration time.Duration) (wire.LogLevel, error)
}

// AccuracyQuery selects rows of the ledger.
type AccuracyQuery struct {
	// Cluster and Queue select the rows; an empty Queue means all queues.
	Cluster, Queue string
	// Bounds select the rows by time, and define the instant of the result.
	accuracy.Bounds
}

// AccuracyFunc summarizes the rows of the ledger that the query selects.
type AccuracyFunc func(ctx context.Context, q AccuracyQuery) (*accuracy.Summary, error)

// HistoryQuery selects rows of the ledger for jobs that started.
type HistoryQuery struct {
	// Cluster and Queue select the rows; an empty Queue means all queues.
	Cluster, Queue string
	// Since and Until bound the instants of the starts; a zero Until is no bound.
	Since, Until time.Time
	// Zone is the time zone of the days.
	Zone *time.Location
}

// HistoryFunc reads the waits of rows of the ledger.
type HistoryFunc func(ctx context.Context, q HistoryQuery) (*accuracy.DailyWaits, error)

// RecentQuery selects rows of the ledger for jobs that started, newest first.
type RecentQuery struct {
	// Cluster and Queue select the rows; an empty Queue means all queues.
	Cluster, Queue string
	// Since selects the rows whose waits ended at or after it.
	Since time.Time
	// Limit is the maximum number of rows.
	Limit int
}

// RecentRow is a forecast with the observed wait.
type RecentRow struct {
	Queue         string
	Procs         int
	Submit, Start time.Time
	// WaitSeconds is the wait that was observed.
	WaitSeconds float64
	// Levels are probabilities, and Quantiles the forecast waits at these levels, in seconds. Both are empty if there
	// was no forecast. A quantile NaN means that there is none, +Inf that the job may never start.
	Levels, Quantiles []float64
	Replayed          bool
	// Parts are the parts of the wait; nil if unknown.
	Parts *RecentParts
}

// RecentParts are the parts of a wait in the ledger (modelstore.Parts).
type RecentParts struct {
	BlockedSeconds float64
	// Blocked are the forecast quantiles of the blocked part, at the levels of the row; nil if no block was forecast.
	Blocked []float64
	// Predicted is the predicted cause (job.Cause). Settled is the settled reason in the scheduler's word.
	Predicted, Settled string
}

// RecentFunc reads the newest rows of the ledger.
type RecentFunc func(ctx context.Context, q RecentQuery) ([]RecentRow, error)
