// Package history reads whole recorded logs: files of any format that the daemon follows, plain, gzip or zstd, several
// of them, with records in any order. It is the only reader of the past: waitcast backtest and convert use it.
//
// A recorded log is not in the order in which things happened. Accounting is in the order of ends, sacct in that of its
// database, and an ended job may have a single record with all of its instants. Read makes events of all records,
// including those that a later record implies (such as the start that an end implies). Events returns them in the order
// of their times. What does not fit in memory is sorted on disk. Repeated records are left to the fold of the cluster
// (package cluster), which recognizes them.
package history

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// memoryEvents is the default number of events that are sorted in memory; they take about 20 MB.
const memoryEvents = 100_000

// Config defines how logs are read.
type Config struct {
	// Formats are the formats that a file may have, see Formats.
	Formats []collector.Format
	// Format names that of all files; empty recognizes it for each file by its content.
	Format string
	// Options are the options of the parsers.
	Options collector.Options
	// Now is the wall clock: records that are ahead of it by more than a day are refused.
	Now time.Time
	// OnBad receives each line, or record of a document, that could not be used. OnNotice receives problems of records
	// that are used nevertheless. nil ignores them. Their texts are copies.
	OnBad, OnNotice func(source.BadLine)
	// TempDir is the folder of temporary files; if it is empty, that of the system is used. MemoryEvents is the number
	// of events that are kept in memory; 0 means the default.
	TempDir      string
	MemoryEvents int
	// Check may change an event, and returns an error if it cannot be kept, which refuses its record; nil takes all.
	Check func(*job.Event) error
	// Open opens a file by its path; nil opens files on disk.
	Open func(path string) (io.ReadCloser, error)
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
	// File is the position of its file among those that were read, Stored for an event of a stored history; Line is the
	// number of its line there.
	File int
	Line int64

	order    uint64 // order of the event within its record
	inferred bool   // the event was derived from another one
}

// Stored is the position of the file of an event that was not read from a file, but from a stored history.
const Stored = -1

// History has the events of some files. Close must be called.
type History struct {
	// Files are the results of reading each file, in the given order.
	Files []File

	cfg    Config
	sorted sorter
	seed   maphash.Seed
	known  table[struct{}] // hashes of the submissions and starts for which a record was read, see submission and start
	ends   table[end]      // by hash of the start: the newest record of the end of each attempt
	count  uint64
}

// end is the record of the end of an attempt, and the record's place.
type end struct {
	after int32 // in seconds after the start
	file  int32
	line  uint32
}

// sameEnd is the maximum difference in seconds between two records of one end. Two sources of one cluster may note it
// one after the other.
const sameEnd = 60

// New returns a history of no files.
func New(cfg Config) *History {
	if cfg.MemoryEvents <= 0 {
		cfg.MemoryEvents = memoryEvents
	}
	return &History{
		cfg: cfg, sorted: sorter{dir: cfg.TempDir, limit: cfg.MemoryEvents}, seed: maphash.MakeSeed(),
	}
}

// Read returns the history of some files. Its errors are those of History.Read.
func Read(ctx context.Context, paths []string, cfg Config) (*History, error) {
	h := New(cfg)
	for _, path := range paths {
		if err := h.Read(ctx, path); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	return h, nil
}

// Read reads a file to the history. An error is that of a file that cannot be read at all, or whose format is not
// recognized; records that cannot be used are reported to the configuration's OnBad.
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

// Add takes an event of a stored history, in the order in which they are stored. It is called before files are read:
// what they have again counts once, and what contradicts the stored history is refused.
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

// Newest returns the time of the newest event; zero if there is none.
func (h *History) Newest() time.Time { return h.sorted.newest }

// Len returns the number of events that were sorted so far: those that Each returns, and those that repeat others.
func (h *History) Len() int64 { return h.sorted.added }

// Close removes temporary files and frees memory. It may be called again.
func (h *History) Close() error {
	h.known, h.ends = table[struct{}]{}, table[end]{}
	return h.sorted.close()
}

// Each calls do with all events in the order in which they happened: of one instant ends come first, then submissions
// in the order of the records, then starts and what else happens to waiting and running jobs. Of events that say the
// same it has one. An event is valid until do returns.
func (h *History) Each(do func(*Event) error) error {
	var seen repeats
	return h.sorted.each(func(e *Event) error {
		if e.inferred && h.recorded(e) || seen.again(e) {
			return nil
		}
		return do(e)
	})
}

// recorded reports whether a record was read for an implied submission or start. For a task of an array, the record of
// the array's submission counts.
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

// start returns the hash key of the start of a job at an instant, which is cut to whole seconds.
func (h *History) start(id string, at time.Time) uint64 {
	return maphash.Comparable(h.seed, tryOf{id, at.Unix()})
}

// tryOf identifies an attempt of a job by its start, in Unix seconds.
type tryOf struct {
	id    string
	start int64
}

// take adds the event of a record, and the events that it implies. It returns a *collector.LineError to refuse the
// record.
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

// note stores what later events are compared with.
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

// contradicts returns an error if the same attempt of a job has a second end at another time.
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

// imply adds the submission and the start of a job if a later event contains their instants. It adds no submission if
// another record reports one: that record shows what was known at the submission, and a record of the end does not.
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

// addImplied adds an event unless a record reported it already. If the record comes later, Each leaves out the implied
// event.
func (h *History) addImplied(e *Event) error {
	if h.recorded(e) {
		return nil
	}
	return h.sorted.add(e)
}
