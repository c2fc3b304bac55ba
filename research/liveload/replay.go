package liveload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/pipeline"
)

// Replay replays the journal of a recorded run in a new pipeline of this program. from is the folder of that run.
// Before each submission it repeats the request that the daemon received before that submission. Into the folder to it
// writes a run with the new answers (for Report) and a database with the new ledger (for Score). Submissions that Slurm
// refused are left out. Files of an earlier replay are replaced.
//
// The request for a job is repeated after all journal entries before the submission of the job.
func Replay(ctx context.Context, from, to string) error {
	return replayRun(ctx, from, to, "")
}

// replayRun does the same as Replay. Unless history is empty, it also imports the log at that path just before the
// first request.
func replayRun(ctx context.Context, from, to, history string) error {
	records, err := readLines[Record](filepath.Join(from, recordsFile))
	if err != nil {
		return err
	}
	entries, err := readJournal(ctx, filepath.Join(from, databaseFile))
	if err != nil {
		return err
	}
	if err := prepare(from, to); err != nil {
		return err
	}
	r, err := newReplay(ctx, filepath.Join(from, configName), filepath.Join(to, databaseFile))
	if err != nil {
		return err
	}
	defer r.close()
	next, asked := 0, false
	for i := range records {
		rec := &records[i]
		if rec.ID == "" { // Slurm refused it
			continue
		}
		end := next
		for end < len(entries) && !submits(&entries[end], rec.ID) {
			end++
		}
		if end == len(entries) {
			return fmt.Errorf("%s: the journal has no submission of job %s", from, rec.ID)
		}
		if err := r.take(ctx, entries[next:end]); err != nil {
			return err
		}
		next = end
		r.now.Store(rec.Answer.Asked.UnixNano())
		if !asked && history != "" {
			if err := r.learn(ctx, history); err != nil {
				return fmt.Errorf("importing %s: %w", history, err)
			}
		}
		asked = true
		if rec.Answer, err = r.ask(rec); err != nil {
			return err
		}
		if err := appendLine(filepath.Join(to, recordsFile), rec); err != nil {
			return err
		}
	}
	return r.take(ctx, entries[next:])
}

func submits(e *modelstore.Entry, id string) bool {
	return e.Event.Kind == job.Submit && e.Event.ID == id
}

// readJournal returns all entries of the journal in a database. It reads a copy of the database.
func readJournal(ctx context.Context, path string) ([]modelstore.Entry, error) {
	store, remove, err := openCopy(ctx, path)
	if err != nil {
		return nil, err
	}
	defer remove()
	var out []modelstore.Entry
	err = store.Replay(ctx, 0, func(e modelstore.Entry) error {
		out = append(out, e)
		return nil
	})
	return out, err
}

// prepare creates the folder of a replay, removes files of an earlier replay, and copies the files of the run that a
// replay does not change.
func prepare(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // research data
		return err
	}
	for _, name := range []string{recordsFile, databaseFile, databaseFile + "-wal", databaseFile + "-shm"} {
		if err := os.Remove(filepath.Join(to, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, name := range []string{fatesFile, settingsFile, logFile, reasonsFile} {
		data, err := os.ReadFile(filepath.Join(from, name)) //nolint:gosec // whoever runs this names it
		if name == reasonsFile && errors.Is(err, os.ErrNotExist) {
			continue // recorded before there were reasons
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o644) //nolint:gosec // research data
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replay is a pipeline that replays a journal, and a service that answers requests from the pipeline's views.
type replay struct {
	pipeline *pipeline.Pipeline
	service  *ask.Service
	source   source.Config
	store    modelstore.Store
	now      atomic.Int64 // nanoseconds since 1970
}

func newReplay(ctx context.Context, configuration, database string) (*replay, error) {
	cfg, err := config.Load(configuration, nil)
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, database, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	r := &replay{store: store, source: source.Config{
		Name: "journal", Format: collector.Format{Name: "journal"},
		Options: collector.Options{Cluster: cfg.Clusters[0].Name},
	}}
	r.pipeline, err = pipeline.New(daemon.PipelineConfig(cfg, true), ledgerStore{store}, r.clock, zap.NewNop(),
		pipeline.NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	r.pipeline.AddSource(r.source)
	r.service = ask.New(r.pipeline, ask.Options{StaleAfter: cfg.StaleAfter, Now: r.clock, Log: zap.NewNop()})
	return r, nil
}

// ledgerStore is a store that drops snapshots and saved models. Otherwise they would be stored before each request.
type ledgerStore struct{ modelstore.Store }

// Commit implements modelstore.Store.
func (s ledgerStore) Commit(ctx context.Context, b modelstore.Batch) error {
	b.Snapshot, b.Models = nil, nil
	return s.Store.Commit(ctx, b)
}

func (r *replay) clock() time.Time { return time.Unix(0, r.now.Load()) }

func (r *replay) close() {
	r.pipeline.Close()
	_ = r.store.Close() // everything is committed
}

// take passes journal entries to the pipeline, and returns when the pipeline has published the newest instant.
func (r *replay) take(ctx context.Context, entries []modelstore.Entry) error {
	deliveries := make(chan *source.Delivery, len(entries))
	for i := range entries {
		deliveries <- &source.Delivery{
			Source: &r.source, Events: []job.Event{entries[i].Event}, Lines: 1, CaughtUp: true,
		}
		r.now.Store(max(r.now.Load(), entries[i].Event.Time.UnixNano()))
	}
	close(deliveries)
	return r.pipeline.Run(ctx, deliveries)
}

// stranger is a caller who may not see any jobs. The requests to the daemon of a run come from such a caller.
type stranger struct{}

// SeesAll implements ask.Caller.
func (stranger) SeesAll() bool { return false }

// Sees implements ask.Caller.
func (stranger) Sees(string) bool { return false }

// NameOf implements ask.Caller.
func (stranger) NameOf(string) string { return "" }

// SeesDetails implements ask.Caller.
func (stranger) SeesDetails(string) bool { return false }

// ask repeats the request of a record and returns the new answer.
func (r *replay) ask(rec *Record) (Answer, error) {
	a := Answer{Asked: rec.Answer.Asked}
	begun := time.Now()
	needs := rec.parameters()
	query, err := r.service.Wait(&ask.WaitRequest{
		Queue: rec.Queue, Procs: rec.Procs, Nodes: rec.Nodes, User: rec.User, TimeLimit: fmt.Sprint(60 * rec.Minutes),
		Account: rec.Account, QOS: rec.QOS, GPUs: rec.gpusTotal(), GPUType: rec.GPUType, Memory: needs["memory"],
	})
	if err == nil {
		var answer any
		if answer, err = query.Answer(stranger{}); err == nil {
			a.Wait, err = json.Marshal(answer)
			a.Seconds = time.Since(begun).Seconds()
			return a, err
		}
	}
	a.Refusal = err.Error()
	return a, nil
}
