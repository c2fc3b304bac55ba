// Package history reads whole recorded logs. It reads files of any format that the daemon follows, plain, gzip or
// zstd, several of them, with records in any order. Every command that needs past events uses this package, such as
// waitcast backtest and convert.
//
// A recorded log is not in the order in which things happened. Accounting is in the order of ends, and the output of
// sacct is in the order of its database. An ended job may have a single record with all of its instants. Read makes
// events of all records, including events that a later record implies (an end implies a start). Each passes them on
// in the order of their times. Events that do not fit in memory are sorted on disk. Repeated records are not removed
// here, because the fold of the cluster (package cluster) recognizes them.
package history

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// memoryEvents is the default number of events that are sorted in memory. They need about 20 MB.
const memoryEvents = 100_000

// Config defines how logs are read.
type Config struct {
	// Formats are the formats that a file may have. See the function Formats.
	Formats []collector.Format
	// Format is the name of the format of all files. If it is empty, the format of each file is recognized by its
	// content.
	Format string
	// Options are the options of the parsers.
	Options collector.Options
	// Now is the wall-clock time. Records that are more than a day later are refused.
	Now time.Time
	// OnBad receives each line, or record of a document, that could not be used. OnNotice receives problems of
	// records that are used nevertheless. If a function is nil, it is not called. The texts are copies.
	OnBad, OnNotice func(source.BadLine)
	// TempDir is the folder of temporary files; empty means the system's folder. MemoryEvents is the number of events
	// that are kept in memory; 0 means the default.
	TempDir      string
	MemoryEvents int
	// Check may change an event. It returns an error if the event cannot be kept; then its record is refused. If
	// Check is nil, all events are kept.
	Check func(*job.Event) error
	// Open opens a file by its path; nil opens files on disk.
	Open func(path string) (io.ReadCloser, error)

	shift time.Duration // the difference of zones at the end of the newest file (collector.Zoned)
}

func (c *Config) open(path string) (io.ReadCloser, error) {
	if c.Open != nil {
		return c.Open(path)
	}
	return openFile(path)
}

// zone returns the name of the zone for local times.
func (c *Config) zone() string {
	if loc := c.Options.Location; loc != nil {
		return loc.String()
	}
	return time.Local.String()
}

// Event is an event of a recorded log.
type Event struct {
	job.Event
	// File is the position of the event's file among the files that were read, or Stored for an event of a stored
	// history. Line is the number of the line in the file.
	File int
	Line int64

	order    uint64 // order of the event within its record
	inferred bool   // the event was derived from another one
}

// Stored is the value of Event.File for an event of a stored history, which was not read from a file.
const Stored = -1

// History has the events of some files. Close must be called.
type History struct {
	// Files are the results of reading the files, in the given order.
	Files []File

	cfg    Config
	sorted sorter
	seed   maphash.Seed
	// Hashes of the submissions and starts for which a record was read; see the methods submission and start.
	known table[struct{}]
	ends  table[end] // the newest record of the end of each attempt, by the hash of the attempt's start
	count uint64
}

// end is a record of the end of an attempt, with the place of the record.
type end struct {
	after int32 // seconds after the start
	file  int32
	line  uint32
}

// sameEnd is the maximum difference in seconds between two records of one end. Two sources of one cluster may record
// the end at different times.
const sameEnd = 60

// New returns a history without files.
func New(cfg Config) *History {
	if cfg.MemoryEvents <= 0 {
		cfg.MemoryEvents = memoryEvents
	}
	return &History{
		cfg: cfg, sorted: sorter{dir: cfg.TempDir, limit: cfg.MemoryEvents}, seed: maphash.MakeSeed(),
	}
}

// Read returns the history of some files. It returns the same errors as History.Read.
func Read(ctx context.Context, paths []string, cfg Config) (*History, error) {
	h := New(cfg)
	for _, path := range paths {
		if err := h.Read(ctx, path); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	return h, nil
}

// Read adds a file to the history. It returns an error if the file cannot be read at all or if its format is not
// recognized. Records that cannot be used are reported to OnBad of the configuration.
func (h *History) Read(ctx context.Context, path string) error {
	at := len(h.Files)
	h.Files = append(h.Files, File{Path: path})
	file, err := readPath(ctx, path, &h.cfg, func(ev job.Event, line int64) error {
		if ev.Kind == job.Machine {
			return nil
		}
		if h.cfg.Check != nil {
			if err := h.cfg.Check(&ev); err != nil {
				return collector.Bad(collector.ReasonField, "", "%w", err)
			}
		}
		return h.take(&Event{Event: ev, File: at, Line: line})
	})
	h.Files[at] = file
	return err
}

// Add adds an event of a stored history. Events are added in the order in which they are stored, and before files are
// read. An event of a file that the stored history has too counts once. A record of a file that contradicts the
// stored history is refused.
func (h *History) Add(ev Event) error {
	ev.File, ev.Line = Stored, 0
	h.count++
	ev.order = h.count
	if !ev.inferred {
		if err := h.note(&ev); err != nil {
			return err
		}
	}
	return h.sorted.add(&ev)
}

// Newest returns the time of the newest event. It returns the zero time if there is none.
func (h *History) Newest() time.Time { return h.sorted.newest }

// Len returns the number of events that were sorted so far. It includes events that repeat others, which Each leaves
// out.
func (h *History) Len() int64 { return h.sorted.added }

// Close removes temporary files and frees memory. It may be called again.
func (h *History) Close() error {
	h.known, h.ends = table[struct{}]{}, table[end]{}
	return h.sorted.close()
}

// Each calls do with all events in the order in which they happened. The order within one instant is that of
// changes.Records. Events of several files with the same content count once. An event is valid until do returns.
func (h *History) Each(do func(*Event) error) error {
	var seen repeats
	instant := changes.NewRecords(func(e *Event) *job.Event { return &e.Event })
	err := h.sorted.each(func(e *Event) error {
		if e.inferred && h.recorded(e) || seen.again(e) {
			return nil
		}
		return instant.Add(*e, do)
	})
	if err != nil {
		return err
	}
	return instant.EndInstant(do)
}

// recorded reports whether a record was read for an implied submission or start. For a task of an array, a record of
// the array's submission counts too.
func (h *History) recorded(e *Event) bool {
	if e.Kind == job.Start {
		return h.knows(h.start(e.ID, e.Time))
	}
	if h.knows(h.submission(e.ID)) {
		return true
	}
	array := cluster.ArrayOf(e.ID)
	return array != "" && h.knows(h.submission(array))
}

func (h *History) knows(key uint64) bool {
	_, known := h.known.get(key)
	return known
}

// submission returns the hash key of the submission of a job.
func (h *History) submission(id string) uint64 { return maphash.String(h.seed, id) }

// start returns the hash key of the start of a job at an instant. The instant is cut to whole seconds.
func (h *History) start(id string, at time.Time) uint64 {
	return maphash.Comparable(h.seed, tryOf{id, at.Unix()})
}

// tryOf identifies an attempt of a job by the job and the start in Unix seconds.
type tryOf struct {
	id    string
	start int64
}

// take adds the event of a record and the events that it implies. If it returns a *collector.LineError, the record is
// refused.
func (h *History) take(e *Event) error {
	h.count++
	e.order = h.count
	if err := h.note(e); err != nil {
		return err
	}
	if err := h.imply(e); err != nil {
		return err
	}
	return h.sorted.add(e)
}

// note stores the data with which later events are compared.
func (h *History) note(e *Event) error {
	switch e.Kind {
	case job.Submit:
		h.known.set(h.submission(e.ID), struct{}{})
	case job.Start:
		h.known.set(h.start(e.ID, e.Time), struct{}{})
	case job.End:
		return h.contradicts(e)
	}
	return nil
}

// contradicts returns an error if the same attempt of a job already has an end at another time.
func (h *History) contradicts(e *Event) error {
	if e.All || e.Times.Start.IsZero() {
		return nil
	}
	key, after := h.start(e.ID, e.Times.Start), e.Time.Unix()-e.Times.Start.Unix()
	other, known := h.ends.get(key)
	if off := after - int64(other.after); !known || -sameEnd <= off && off <= sameEnd {
		//nolint:gosec // no job runs for 68 years, no file has so many lines
		h.ends.set(key, end{after: int32(after), line: uint32(e.Line), file: int32(e.File)})
		return nil
	}
	return collector.Bad(collector.ReasonTime, "end", "job %s, which started at %s, ends at %s here and at %s in "+
		"%s, which counts: are the files of one cluster and one time zone?", e.ID,
		e.Times.Start.UTC().Format(time.RFC3339), e.Time.UTC().Format(time.RFC3339),
		e.Times.Start.Add(time.Duration(other.after)*time.Second).UTC().Format(time.RFC3339), h.place(other))
}

// place formats the place of a record for messages.
func (h *History) place(e end) string {
	if e.file == Stored {
		return "an earlier import"
	}
	return fmt.Sprintf("%s:%d", h.Files[e.file].Path, e.line)
}

// imply adds the submission and the start of a job if a later event has their instants. It does not add a submission
// if another record reports the submission. That record shows what was known at the submission; a record of the end
// does not.
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
	if err := h.addImplied(&implied); err != nil {
		return err
	}
	if e.Kind != job.End || start.IsZero() || start.Before(submit) || start.After(e.Time) {
		return nil
	}
	implied.Kind, implied.Time, implied.Times.Start = job.Start, start, start
	return h.addImplied(&implied)
}

// addImplied adds an implied event unless a record reported the event already. If such a record comes later, Each
// leaves out the implied event.
func (h *History) addImplied(e *Event) error {
	if h.recorded(e) {
		return nil
	}
	return h.sorted.add(e)
}
