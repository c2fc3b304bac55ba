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

// Views is where the published pictures come from.
type Views interface {
	// View returns the newest view of a cluster, nil if there is no such cluster.
	View(cluster string) *readmodel.View
	// Views returns the newest view of every cluster.
	Views() []*readmodel.View
	// Published returns a channel that is closed when views are published next.
	Published() <-chan struct{}
	// Conditions returns what is wrong with the database and the sources, empty if nothing is.
	Conditions() []readmodel.Condition
}

// Options are what a server needs beside the views.
type Options struct {
	// Version goes into the OpenAPI description and waitcast_build_info.
	Version string
	// StaleAfter is the age beyond which an answer is marked stale.
	StaleAfter time.Duration
	// Now is the wall clock.
	Now func() time.Time
	// Registry is what /metrics serves; the api's own metrics are registered with it.
	Registry *prometheus.Registry
	Log      *zap.Logger
	// Accuracy reads the ledger; without it GET /v1/accuracy is not there.
	Accuracy AccuracyFunc
	// Recent reads the newest rows of the ledger; without it GET /v1/accuracy/recent is not there.
	Recent RecentFunc
	// Watchers bounds the clients of GET /v1/watch at a time; 0 is 2000.
	Watchers int
	// Admin is what administrators may ask for; without it those paths are not there.
	Admin *Admin
	// Guard decides who may ask for what; nil is one that knows nothing but Admin's token.
	Guard *access.Guard
	// WasReady is set once the daemon was ready; one that outlives the server keeps a reload from making it not
	// ready. Nil is one of its own.
	WasReady *atomic.Bool
	// MostBody bounds the bytes of a question; 0 is 1 MiB.
	MostBody int64
}

// Admin is what only an administrator may ask for: those who know the token.
type Admin struct {
	// Token is what a request must carry as "Authorization: Bearer TOKEN", where there is no Guard that knows it.
	// With an empty one nobody has admin access.
	Token string
	// Import takes in a log of the past.
	Import ImportFunc
	// Quarantine lists lines that could not be used.
	Quarantine QuarantineFunc
	// LogLevel is how much is logged; without it that path is not there.
	LogLevel LogLevel
}

// ImportRequest is some logs of the past that somebody sends.
type ImportRequest struct {
	// Cluster is whose logs they are.
	Cluster string
	// Format is that of all files, as the configuration names it; empty recognizes each by its content. Columns are
	// those of a dump of sacct without a header.
	Format, Columns string
	// Mode is how the history is replayed: exact or fast; empty decides it by the number of jobs.
	Mode string
	// Files are the logs, plain or compressed.
	Files ImportFiles
}

// ImportFiles gives the files of an import one after the other. Its methods are for one goroutine, but for Abort.
type ImportFiles interface {
	// Next returns the next file, which the caller closes before it asks for another one; io.EOF after the last.
	Next() (name string, from io.ReadCloser, err error)
	// Failed returns why what was read is not all of what was to come: the sender is gone. A damaged file is no reason.
	Failed() error
	// Read and Total are the numbers of bytes that were read and that there are; Total is 0 if it is not known.
	Read() int64
	Total() int64
	// Abort ends a read that waits, and all later ones.
	Abort()
}

// ImportFunc takes in logs of the past and returns what became of them, once all of that is learnt. It calls progress
// now and then, from a goroutine of its own. An error may be a *Refused.
type ImportFunc func(ctx context.Context, req ImportRequest,
	progress func(wire.ImportProgress)) (*wire.ImportReport, error)

// QuarantineQuery defines which bad lines are asked for.
type QuarantineQuery struct {
	// Cluster and Reason select; empty means any.
	Cluster, Reason string
	// Limit is how many lines at most, the newest.
	Limit int
}

// QuarantineFunc lists lines that could not be used, the newest last.
type QuarantineFunc func(ctx context.Context, q QuarantineQuery) (*wire.Quarantine, error)

// LogLevel is how much the daemon logs. It is safe for concurrent use.
type LogLevel interface {
	// Level is how it is.
	Level() wire.LogLevel
	// Set changes it, for some time or, with 0, until it is changed again.
	Set(level string, duration time.Duration) (wire.LogLevel, error)
}

// AccuracyQuery defines which rows of the ledger are asked for.
type AccuracyQuery struct {
	// Cluster and Queue select; an empty queue means any.
	Cluster, Queue string
	// Bounds select, and say as of which instant.
	accuracy.Bounds
}

// AccuracyFunc reads the rows of the ledger that were closed at or after Since into a summary.
type AccuracyFunc func(ctx context.Context, q AccuracyQuery) (*accuracy.Summary, error)

// RecentQuery defines which rows of the ledger are asked for: those of jobs that started, the newest first.
type RecentQuery struct {
	// Cluster and Queue select; an empty queue means any.
	Cluster, Queue string
	// Since selects by when the wait ended.
	Since time.Time
	// Limit is the greatest number of rows.
	Limit int
}

// RecentRow is a forecast beside the fact.
type RecentRow struct {
	Queue         string
	Procs         int
	Submit, Start time.Time
	// WaitSeconds is the wait that was observed.
	WaitSeconds float64
	// Levels and Quantiles, in seconds, are the forecast; none where there was none. NaN is no quantile, +Inf is never.
	Levels, Quantiles []float64
	Replayed          bool
}

// RecentFunc reads the newest rows of the ledger.
type RecentFunc func(ctx context.Context, q RecentQuery) ([]RecentRow, error)
