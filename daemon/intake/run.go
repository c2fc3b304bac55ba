package intake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/pipeline/past"
)

const (
	// chunkEvents is the number of events in a chunk.
	chunkEvents = 4096
	// quarantined is the maximum number of bad lines of one import that are put in quarantine. Without this limit, one
	// import could displace all other bad lines.
	quarantined = 1000
	// shownBad is the maximum number of messages that the report shows for each reason.
	shownBad = 3
	// progressEvents is the number of events that are sorted or stored between two reports of progress.
	progressEvents = 10_000
)

// These are the stages of an import, with their names in wire.ImportProgress.
const (
	Reading  = "reading"
	Sorting  = "sorting"
	Storing  = "storing"
	Learning = "learning"
)

// run is one import.
type run struct {
	cfg     *Config
	request Request
	show    func(*wire.ImportProgress)
	inForce *past.History // the history in force; nil if there is none
	history *history.History
	open    io.ReadCloser // the file that is being read
	note    string        // the first problem of that file
	bad     map[string]int
	badKept []modelstore.BadLine
	report  wire.ImportReport
	shown   wire.ImportProgress
	began   time.Time // start of the stage
}

// begin returns a new import that has not done anything yet.
func (i *Importer) begin(ctx context.Context, req Request) (*run, error) {
	r := &run{
		cfg: &i.cfg, request: req, bad: map[string]int{},
		report: wire.ImportReport{Cluster: i.cfg.Cluster, Files: []wire.ImportFile{}, Bad: []wire.BadReason{}},
	}
	r.show = func(p *wire.ImportProgress) {
		i.progress.Store(p)
		if req.Progress != nil {
			req.Progress(*p)
		}
	}
	var err error
	if r.inForce, err = i.cfg.Learner.HistoryOf(ctx, i.cfg.Cluster); err != nil {
		return nil, err
	}
	options := i.cfg.Options
	options.Columns, options.Recorded = req.Columns, true
	r.history = history.New(history.Config{
		Formats: history.Formats(i.cfg.Now), Format: req.Format, Options: options, Now: i.cfg.Now(),
		OnBad: r.refused, OnNotice: r.noticed, Check: storable, TempDir: i.cfg.TempDir,
		Open: func(string) (io.ReadCloser, error) { return r.open, nil },
	})
	return r, nil
}

// storable converts an event to the form in which the pipeline stores it. It returns an error if the event is invalid.
func storable(ev *job.Event) (err error) {
	*ev, err = pipeline.Storable(*ev)
	return err
}

// all performs the whole import.
func (r *run) all(ctx context.Context) error {
	if err := r.addStored(ctx); err != nil {
		return err
	}
	if err := r.readFiles(ctx); err != nil {
		return err
	}
	s, err := r.survey(ctx)
	if err != nil {
		return err
	}
	if err := s.live.judge(r.cfg); err != nil {
		return err
	}
	h := s.description(r.request.Mode)
	r.describe(s, &h)
	if s.events == 0 || r.known(s, &h) {
		return r.quarantine(ctx)
	}
	r.report.Changed = true
	if err := r.store(ctx, s, &h); err != nil {
		return err
	}
	if err := r.history.Close(); err != nil { // learning takes long and needs the memory
		return err
	}
	if r.request.InForce != nil {
		r.request.InForce()
	}
	if err := r.await(ctx); err != nil {
		return err
	}
	r.learnt(r.cfg.Learner.View(r.cfg.Cluster))
	return nil
}

// known reports whether the history in force has the mode and all events of h, and its learning has not failed. Events
// that have become too old since the history was put in force do not count: they are no reason to learn the history
// again.
func (r *run) known(s *survey, h *past.History) bool {
	t := r.cfg.Learner.View(r.cfg.Cluster).Teaching
	return r.inForce != nil && (t == nil || t.Failure == "") &&
		(r.inForce.ID == h.ID || s.fresh == 0 && r.inForce.Mode == h.Mode)
}

// addStored adds the events of the history in force. If that history is damaged, the files replace it.
func (r *run) addStored(ctx context.Context) error {
	if r.inForce == nil {
		return nil
	}
	r.begins(Sorting, r.inForce.Events)
	err := r.cfg.Store.HistoryChunks(ctx, r.cfg.Cluster, r.inForce.ID, past.EventsPart, func(_ int, b []byte) error {
		return history.DecodeChunk(b, func(ev *history.Event) error {
			err := r.history.Add(*ev)
			var refused *collector.LineError
			// Two events within a minute contradict each other, and the fold will decide between them.
			if errors.As(err, &refused) {
				return nil
			}
			r.advance(1)
			return err
		})
	})
	if errors.Is(err, modelstore.ErrCorrupt) || errors.Is(err, history.ErrDamaged) {
		r.cfg.Log.Error("the history that was imported before is damaged: import its files again",
			zap.String("cluster", r.cfg.Cluster), zap.Error(err))
		r.inForce = nil // the files replace it, even if they have only the events that could be read
		return nil
	}
	return err
}

// readFiles reads all files.
func (r *run) readFiles(ctx context.Context) error {
	r.begins(Reading, r.request.Files.Total())
	for {
		name, from, err := r.request.Files.Next()
		if errors.Is(err, io.EOF) {
			return r.sent()
		}
		if err != nil {
			return err
		}
		if err := r.readFile(ctx, name, from); err != nil {
			return err
		}
	}
}

// sent returns an error if the sender of the files has disconnected.
func (r *run) sent() error {
	r.report.Bytes = r.request.Files.Read()
	if err := r.request.Files.Failed(); err != nil {
		return unprocessable(fmt.Sprintf("the files are incomplete: %v", err),
			"nothing was imported: import them again")
	}
	return nil
}

// readFile reads one file. It decides whether the file is a log at all.
func (r *run) readFile(ctx context.Context, name string, from io.ReadCloser) error {
	r.open, r.note = &watchedFile{from, func() { r.advanceTo(r.request.Files.Read()) }}, ""
	err := r.history.Read(ctx, name)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.request.Files.Failed() != nil:
		return r.sent()
	case errors.Is(err, history.ErrEmpty):
		r.note = "the file is empty"
	case errors.Is(err, history.ErrSorting):
		return err
	case err != nil:
		return unprocessable(err.Error(), "nothing was imported: is it a log of jobs, and is the format the right one?")
	}
	f := r.history.Files[len(r.history.Files)-1]
	r.report.Files = append(r.report.Files, wire.ImportFile{Name: f.Path, Format: f.Format, Lines: f.Records,
		BadLines: f.Bad, Note: r.note})
	r.report.Lines += f.Records
	if f.Events == 0 && f.Bad > 0 && f.Bad >= f.Records {
		return unprocessable(fmt.Sprintf("none of the %d records of %s can be used as format %s: %s", f.Records, name,
			f.Format, r.firstOf(name)), "nothing was imported; give its format")
	}
	return nil
}

// firstOf returns the first message about a bad line of a file.
func (r *run) firstOf(name string) string {
	for _, b := range r.badKept {
		if b.Path == name {
			return b.Message
		}
	}
	return "see the first lines"
}

// watchedFile is a file that calls its function read after each Read, to publish the progress.
type watchedFile struct {
	io.ReadCloser
	read func()
}

// Read implements io.Reader.
func (f *watchedFile) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	f.read()
	return n, err
}

// noticed records the first problem of the file that is being read.
func (r *run) noticed(b source.BadLine) {
	if r.note == "" {
		r.note = fmt.Sprintf("line %d: %v", b.Number, b.Err)
	}
}

// refused records a bad line.
func (r *run) refused(b source.BadLine) {
	if len(r.badKept) < quarantined {
		r.badKept = append(r.badKept, modelstore.BadLine{At: r.cfg.Now(), Source: Source(r.cfg.Cluster), Path: b.Path,
			Line: b.Number, Reason: b.Reason, Message: b.Err.Error(), Text: b.Text})
	}
	place := b.Path
	if b.Number > 0 {
		place = fmt.Sprintf("%s:%d", b.Path, b.Number)
	}
	r.count(b.Reason, fmt.Sprintf("%s: %v", place, b.Err))
}

// count counts a bad line by its reason.
func (r *run) count(reason, message string) {
	at, known := r.bad[reason]
	if !known {
		at = len(r.report.Bad)
		r.bad[reason] = at
		r.report.Bad = append(r.report.Bad, wire.BadReason{Reason: reason})
	}
	b := &r.report.Bad[at]
	if b.Lines++; len(b.First) < shownBad {
		b.First = append(b.First, message)
	}
	r.report.BadLines++
}

// quarantine stores the bad lines.
func (r *run) quarantine(ctx context.Context) error {
	return r.cfg.Store.Commit(ctx, modelstore.Batch{BadLines: r.badKept})
}
