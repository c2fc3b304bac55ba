// Package history reads recorded logs whole: files of any format that the daemon follows, plain, gzip or zstd, several
// of them, in any order of records. It is the one reader of the past: waitcast backtest and convert replay what it
// returns.
//
// A log of the past is not in the order in which things happened. Accounting is in the order of ends, sacct in that of
// its data base, and a job that ended may have a single record with all of its instants. Read makes events of all
// records, those included that a later record implies (a start of an end), and Events returns them in the order of
// their times; what does not fit in memory is sorted on disk. Records that occur twice are left to the fold of the
// cluster (package cluster), which knows them.
package history

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// memoryEvents is how many events are sorted in memory by default: about 50 MB.
const memoryEvents = 100_000

// Config defines how logs are read.
type Config struct {
	// Formats are the formats that a file may have, see Formats.
	Formats []collector.Format
	// Format names that of all files; empty recognizes it for each file by its content.
	Format string
	// Options are what the parsers must know.
	Options collector.Options
	// Now is the wall clock: records that are ahead of it by more than a day are refused.
	Now time.Time
	// OnBad receives each line, or record of a document, that could not be used, OnNotice what is odd about one that
	// counts all the same; nil ignores them. Their texts are copies.
	OnBad, OnNotice func(source.BadLine)
	// TempDir is the folder of temporary files; empty is that of the system. MemoryEvents is how many events are kept
	// in memory; 0 is the default.
	TempDir      string
	MemoryEvents int
	// Open opens a file by its path; nil opens files on disk.
	Open func(path string) (io.ReadCloser, error)
}

func (c *Config) open(path string) (io.ReadCloser, error) {
	if c.Open != nil {
		return c.Open(path)
	}
	return openFile(path)
}

// zone names the zone of local times.
func (c *Config) zone() string {
	if loc := c.Options.Location; loc != nil {
		return loc.String()
	}
	return time.Local.String()
}

// Event is an event of a recorded log.
type Event struct {
	job.Event
	// File is the position of its file among those that were read, Line the number of its line there.
	File int
	Line int64

	order    uint64 // of its record
	inferred bool   // no record has it by itself
}

// History is what some files hold. Close must be called.
type History struct {
	// Files are what was found in each file, in the order in which they were named.
	Files []File

	paths  []string
	sorted sorter
	seed   maphash.Seed
	jobs   map[uint64]records
	count  uint64
}

// records is what is known of the records of a job.
type records struct {
	submitted bool  // one has its submission
	begun     int64 // the start that the newest record of a start has, Unix seconds
	// The newest record of an end: its instants in Unix seconds, and where it stands.
	start, end int64
	file       int
	line       int64
}

// sameEnd is by how many seconds the ends of one job may differ in two records: two sources of one cluster note it one
// after the other.
const sameEnd = 60

// Read reads files. An error is that of a file that cannot be read at all, or whose format is not recognized; records
// that cannot be used are reported to the configuration's OnBad.
func Read(ctx context.Context, paths []string, cfg Config) (*History, error) {
	if cfg.MemoryEvents <= 0 {
		cfg.MemoryEvents = memoryEvents
	}
	h := &History{
		paths: paths, sorted: sorter{dir: cfg.TempDir, limit: cfg.MemoryEvents}, seed: maphash.MakeSeed(),
		jobs: map[uint64]records{},
	}
	for i, path := range paths {
		file, err := readPath(ctx, path, &cfg, func(ev job.Event, line int64) error { return h.take(ev, i, line) })
		h.Files = append(h.Files, file)
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	return h, nil
}

// Close removes what was kept on disk.
func (h *History) Close() error { return h.sorted.close() }

// Each calls do with all events in the order in which they happened: of one instant ends come first, then submissions
// in the order of the records, then starts and what else happens to waiting and running jobs.
func (h *History) Each(do func(*Event) error) error {
	return h.sorted.each(func(e *Event) error {
		if e.inferred && h.recorded(e) {
			return nil
		}
		return do(e)
	})
}

// recorded reports whether a record has a submission or a start that was implied: the submission of the job, or of the
// array of which it is a task.
func (h *History) recorded(e *Event) bool {
	known := h.jobs[h.key(e.ID)]
	if e.Kind == job.Start {
		return known.begun == e.Time.Unix()
	}
	if known.submitted {
		return true
	}
	array := cluster.ArrayOf(e.ID)
	return array != "" && h.jobs[h.key(array)].submitted
}

// key is the name under which a job's records are known.
func (h *History) key(id string) uint64 { return maphash.String(h.seed, id) }

// take adds an event and those that it implies. A *collector.LineError refuses its record.
func (h *History) take(ev job.Event, file int, line int64) error {
	if ev.Kind == job.Machine {
		return nil
	}
	h.count++
	e := Event{Event: ev, File: file, Line: line, order: h.count}
	known := h.jobs[h.key(ev.ID)]
	switch ev.Kind {
	case job.Submit:
		known.submitted = true
	case job.Start:
		known.begun = e.Time.Unix()
	case job.End:
		if err := h.contradicts(&e, &known); err != nil {
			return err
		}
	}
	h.jobs[h.key(ev.ID)] = known
	if err := h.imply(&e); err != nil {
		return err
	}
	return h.sorted.add(e)
}

// contradicts returns an error for a second end of the same try of a job at another time.
func (h *History) contradicts(e *Event, known *records) error {
	if e.All || e.Times.Start.IsZero() {
		return nil
	}
	start, end := e.Times.Start.Unix(), e.Time.Unix()
	off := end - known.end
	if known.end != 0 && start == known.start && (off < -sameEnd || off > sameEnd) {
		return collector.Bad(collector.ReasonTime, "end", "job %s, which started at %s, ends at %s here and at %s in "+
			"%s:%d, which counts: are the files of one cluster and one time zone?", e.ID,
			e.Times.Start.UTC().Format(time.RFC3339), e.Time.UTC().Format(time.RFC3339),
			time.Unix(known.end, 0).UTC().Format(time.RFC3339), h.paths[known.file], known.line)
	}
	known.start, known.end, known.file, known.line = start, end, e.File, e.Line
	return nil
}

// imply adds the submission and the start that a later event of a job has the instants of. A submission is left out if
// another record has it: what is known of the job at its end was not known then.
func (h *History) imply(e *Event) error {
	submit, start := e.Times.Submit, e.Times.Start
	if e.All || submit.IsZero() || submit.After(e.Time) {
		return nil
	}
	switch e.Kind {
	case job.Start, job.End, job.Cancel:
	default:
		return nil
	}
	implied := *e
	implied.inferred = true
	implied.Kind, implied.Time = job.Submit, submit
	implied.Times.Start, implied.Times.End = time.Time{}, time.Time{}
	if err := h.addImplied(implied); err != nil {
		return err
	}
	if e.Kind != job.End || start.IsZero() || start.Before(submit) || start.After(e.Time) {
		return nil
	}
	implied.Kind, implied.Time, implied.Times.Start = job.Start, start, start
	return h.addImplied(implied)
}

// addImplied adds an event unless a record has it already; Each leaves out those whose record came later.
func (h *History) addImplied(e Event) error {
	if h.recorded(&e) {
		return nil
	}
	return h.sorted.add(e)
}
