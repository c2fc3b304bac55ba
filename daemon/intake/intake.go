// Package intake imports recorded logs of a cluster into its history. It reads files of any format, and sorts their
// events together with the events of the history in force. It compares them with the followed log, stores them in
// chunks, and passes them to the pipeline for learning.
//
// Nothing is stored before all files have been read and judged. A refused or interrupted import leaves no data:
// chunks that were stored but not put in force are deleted. After a crash the pipeline deletes them at its start.
package intake

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/pipeline/past"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// Learner learns histories. The pipeline implements it.
type Learner interface {
	// View returns the newest view of a cluster.
	View(cluster string) *readmodel.View
	// HistoryOf returns the description of the history of a cluster that is in force. It returns nil if there is
	// none.
	HistoryOf(ctx context.Context, cluster string) (*past.History, error)
	// Teach puts a history in force. The chunks of the history must be stored.
	Teach(ctx context.Context, cluster string, h past.History) error
	// AwaitTaught returns once the history that is in force is learnt.
	AwaitTaught(ctx context.Context, cluster string) error
}

// Store is the part of the database that an import needs.
type Store interface {
	modelstore.HistoryStore
	Replay(ctx context.Context, after int64, fn func(modelstore.Entry) error) error
	Commit(ctx context.Context, b modelstore.Batch) error
}

// Config defines the imports into one cluster.
type Config struct {
	Cluster string
	Options collector.Options
	// Zone is the name of the configured time zone, for messages.
	Zone string
	// TempDir is the folder of temporary files.
	TempDir string
	// Retention is the maximum age of events of a history relative to its newest event.
	Retention time.Duration
	Now       func() time.Time
	Store     Store
	Learner   Learner
	Log       *zap.Logger
}

// Importer imports logs into the history of one cluster, one import at a time.
type Importer struct {
	cfg      Config
	busy     sync.Mutex
	progress atomic.Pointer[wire.ImportProgress]
	open     context.Context
	close    context.CancelCauseFunc
}

// New returns the importer of a cluster.
func New(cfg Config) *Importer {
	i := &Importer{cfg: cfg}
	i.open, i.close = context.WithCancelCause(context.Background())
	return i
}

// Close cancels the import that is under way, and waits until it has ended. After Close no import begins.
func (i *Importer) Close(why error) {
	i.close(why)
	i.busy.Lock()
	defer i.busy.Unlock()
}

// Source returns the source under which the bad lines of imports are kept and counted.
func Source(cluster string) string { return cluster + "/" + pipeline.ImportName }

// Request is one import.
type Request struct {
	// Format is the format of all files. If it is empty, the format of each file is recognized by its content.
	// Columns are the columns of a dump of sacct without a header.
	Format, Columns string
	// Mode is the way in which the history is replayed. If it is empty, the number of jobs decides.
	Mode past.Mode
	// Files are the logs.
	Files api.ImportFiles
	// Progress, if it is set, is called at intervals.
	Progress func(wire.ImportProgress)
	// InForce, if it is set, is called once the history is in force, before it is learnt.
	InForce func()
}

// Progress returns the progress of the import that is under way. It returns nil if there is none.
func (i *Importer) Progress() *wire.ImportProgress { return i.progress.Load() }

// Import imports files into the history and returns once the history is learnt. The error is an *api.Refused, an
// error of the store, or the cause of the end of ctx or of Close. After an error no data are left, with one
// exception: if the history is already in force, it stays and is learnt in the background.
func (i *Importer) Import(ctx context.Context, req Request) (*wire.ImportReport, error) {
	if !i.busy.TryLock() {
		return nil, i.underWay()
	}
	defer i.busy.Unlock()
	if i.open.Err() != nil { // a short import could end before the function below is called
		return nil, context.Cause(i.open)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(i.open, func() { cancel(context.Cause(i.open)) })()
	defer context.AfterFunc(ctx, req.Files.Abort)()
	if t := i.cfg.Learner.View(i.cfg.Cluster).Teaching; t != nil && t.Failure == "" {
		return nil, i.underWay()
	}
	defer i.progress.Store(nil)
	run, err := i.begin(ctx, req)
	if err == nil {
		err = run.all(ctx)
		if closed := run.history.Close(); err == nil {
			err = closed
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return &run.report, nil
}

// underWay returns the refusal of a second import while one runs.
func (i *Importer) underWay() error {
	return &api.Refused{Status: http.StatusConflict,
		Detail: "another import into cluster " + i.cfg.Cluster + " is under way, or is still being learnt",
		Hint:   "import again when it is done: /readyz shows how far it is"}
}

// unprocessable returns the refusal of unusable files.
func unprocessable(detail, hint string) error {
	return &api.Refused{Status: http.StatusUnprocessableEntity, Detail: detail, Hint: hint}
}
