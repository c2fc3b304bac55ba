package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon/intake"
	"github.com/waitcast/waitcast/internal/terminal"
	"github.com/waitcast/waitcast/pipeline/past"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// historyFilesKey is the key under which the database stores the list of the files from which a cluster's history was
// imported.
func historyFilesKey(cluster string) string { return "history-files/" + cluster }

// histories imports the files of the configuration key history.files at the start. It delays the followed logs of a
// cluster if they must come after the cluster's history.
type histories struct {
	running sync.WaitGroup
	stop    context.CancelFunc
	gates   map[string]chan struct{} // by cluster; a channel is closed once the cluster's followed logs may be read

	mu     sync.Mutex
	failed map[string]readmodel.Condition // by cluster
}

// start imports the files of all clusters in the background, while the writer works.
func (h *histories) start(c *collectingCore) {
	ctx, stop := context.WithCancel(c.reading)
	h.stop, h.gates, h.failed = stop, map[string]chan struct{}{}, map[string]readmodel.Condition{}
	open := map[string]func(){}
	for _, machine := range c.cfg.Clusters {
		gate := make(chan struct{})
		h.gates[machine.Name] = gate
		open[machine.Name] = sync.OnceFunc(func() { close(gate) })
		// The first history must be learnt before any log is followed. A later history is learnt while logs are
		// followed.
		if len(machine.History.Files) == 0 || c.pipeline.View(machine.Name).Seq > 0 {
			open[machine.Name]()
		}
	}
	cfg := c.cfg // a copy: a reload replaces c.cfg while files are imported
	h.running.Go(func() {
		for _, machine := range cfg.Clusters {
			err := c.takeHistoryFiles(ctx, machine, cfg.HistoryRetention)
			if err != nil && ctx.Err() == nil {
				h.fails(c, machine.Name, err)
			}
			open[machine.Name]()
		}
	})
}

// end cancels the imports under way.
func (h *histories) end() {
	h.stop()
	h.running.Wait()
}

// fails records that the files of a cluster cannot be imported.
func (h *histories) fails(c *collectingCore, cluster string, err error) {
	c.opts.Log.Error("the files of history are not imported; forecasts continue without them",
		zap.String("cluster", cluster), zap.Error(err))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed[cluster] = readmodel.Condition{Name: readmodel.HistoryFailing, Cluster: cluster, Since: c.opts.Now(),
		Reason: "the files of history are not imported: " + terminal.Line(err.Error())}
}

// condition returns the condition of a cluster whose history is being read, or could not be imported. Otherwise it
// returns nil.
func (h *histories) condition(cluster string, importer *intake.Importer) *readmodel.Condition {
	if p := importer.Progress(); p != nil && p.Stage != intake.Learning { // the view itself shows the stage Learning
		c := &readmodel.Condition{Name: readmodel.HistoryReading, Cluster: cluster, Reason: "reading logs of the past",
			Progress: p.Stage}
		if p.Total > 0 {
			var left time.Duration
			if p.RemainingSeconds != nil {
				left = time.Duration(*p.RemainingSeconds * float64(time.Second))
			}
			c.Progress += ", " + readmodel.ShareDone(p.Done, p.Total, left)
		}
		return c
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok := h.failed[cluster]; ok {
		return &c
	}
	return nil
}

// awaitHistory returns once the followed logs of a cluster may be read.
func (c *collectingCore) awaitHistory(ctx context.Context, cluster string) error {
	select {
	case <-c.histories.gates[cluster]:
	case <-ctx.Done():
		return ctx.Err()
	}
	return c.pipeline.AwaitUsable(ctx, cluster)
}

// historyFiles describes files that were imported. Its JSON is stored.
type historyFiles struct {
	Format, Mode string
	Retention    time.Duration
	Files        []historyFile
}

// historyFile describes one file at the time of its import.
type historyFile struct {
	Path     string
	Size     int64
	Modified time.Time
}

// takeHistoryFiles imports the files that the configuration names for a cluster, unless they are those of the last
// import with the same settings.
func (c *collectingCore) takeHistoryFiles(ctx context.Context, machine config.Cluster, retention time.Duration) error {
	if len(machine.History.Files) == 0 {
		return nil
	}
	now, err := findHistory(machine.History, retention)
	if err != nil {
		return err
	}
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	before, err := c.store.Meta(ctx, historyFilesKey(machine.Name))
	if err != nil || before == string(text) {
		return err
	}
	if err := c.pipeline.AwaitTaught(ctx, machine.Name); err != nil && ctx.Err() != nil {
		return err
	}
	request := intake.Request{Files: newDiskFiles(now)}
	if machine.History.Format != config.Auto {
		request.Format = machine.History.Format
	}
	if machine.History.Mode != config.Auto {
		request.Mode = past.Mode(machine.History.Mode)
	}
	report, err := c.imports[machine.Name].Import(ctx, request)
	if err != nil {
		return err
	}
	c.countBad(report)
	c.opts.Log.Info("the files of history were imported", zap.String("cluster", machine.Name),
		zap.Int("files", len(report.Files)), zap.Int64("jobs", report.Jobs), zap.Int64("new_jobs", report.NewJobs),
		zap.Int64("bad_lines", report.BadLines), zap.String("mode", report.Mode))
	return c.store.SetMeta(ctx, historyFilesKey(machine.Name), string(text))
}

// HistoryPaths returns the paths that match a pattern of history.files, sorted. If no path matches, it returns an
// error. If the folder before the first wildcard of the pattern cannot be read, the error says so: filepath.Glob
// ignores such errors.
func HistoryPaths(pattern string) ([]string, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	if len(paths) > 0 {
		return paths, nil
	}
	dir := pattern
	for strings.ContainsAny(dir, `*?[\`) {
		dir = filepath.Dir(dir)
	}
	if dir == pattern {
		_, err = os.Stat(pattern)
	} else {
		_, err = os.ReadDir(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return nil, fmt.Errorf("there is no file %s", pattern)
}

// findHistory returns the files that the configuration names, sorted and without duplicates.
func findHistory(h config.History, retention time.Duration) (*historyFiles, error) {
	found := map[string]bool{}
	for _, pattern := range h.Files {
		paths, err := HistoryPaths(pattern)
		if err != nil {
			return nil, fmt.Errorf("history.files: %w", err)
		}
		for _, path := range paths {
			found[path] = true
		}
	}
	out := &historyFiles{Format: h.Format, Mode: h.Mode, Retention: retention}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("history.files: %w", err)
		}
		if info.IsDir() {
			return nil, fmt.Errorf("history.files: %s is a folder: name its files, as %s/*", path, path)
		}
		if !info.Mode().IsRegular() { // reading a pipe could wait forever
			return nil, fmt.Errorf("history.files: %s is not a regular file", path)
		}
		out.Files = append(out.Files, historyFile{path, info.Size(), info.ModTime().UTC()})
	}
	return out, nil
}

// diskFiles are files on disk. They implement api.ImportFiles.
type diskFiles struct {
	paths   []string
	total   int64
	read    atomic.Int64
	aborted atomic.Bool
}

func newDiskFiles(of *historyFiles) *diskFiles {
	d := &diskFiles{}
	for _, f := range of.Files {
		d.paths, d.total = append(d.paths, f.Path), d.total+f.Size
	}
	return d
}

// Next implements api.ImportFiles.
func (d *diskFiles) Next() (string, io.ReadCloser, error) {
	if len(d.paths) == 0 {
		return "", nil, io.EOF
	}
	path := d.paths[0]
	d.paths = d.paths[1:]
	file, err := os.Open(path) //nolint:gosec // the configuration names it
	if err != nil {
		return "", nil, fmt.Errorf("history.files: %w", err)
	}
	return path, &diskFile{d, file}, nil
}

// Failed implements api.ImportFiles. It returns nil: an incomplete file on disk is reported with the line at which it
// ends.
func (d *diskFiles) Failed() error { return nil }

// Read implements api.ImportFiles.
func (d *diskFiles) Read() int64 { return d.read.Load() }

// Total implements api.ImportFiles.
func (d *diskFiles) Total() int64 { return d.total }

// Abort implements api.ImportFiles.
func (d *diskFiles) Abort() { d.aborted.Store(true) }

// errAborted is the error of reading a file after Abort.
var errAborted = errors.New("the import was ended")

// diskFile counts the bytes that are read.
type diskFile struct {
	of *diskFiles
	*os.File
}

// Read implements io.Reader.
func (f *diskFile) Read(p []byte) (int, error) {
	if f.of.aborted.Load() {
		return 0, errAborted
	}
	n, err := f.File.Read(p)
	f.of.read.Add(int64(n))
	return n, err
}
