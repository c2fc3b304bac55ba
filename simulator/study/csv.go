package study

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/waitcast/waitcast/internal/wholefile"
)

// Row is the result of a cell, which is a line of the CSV. Waits are in seconds.
type Row struct {
	Cell
	// offered load: the work divided by the capacity of the machine between the first and the last submission
	Offered    float64
	Jobs       int // jobs that started and count
	Waiting    int // jobs that never started
	MeanWait   float64
	MedianWait float64
	P95Wait    float64
	Slowdown   float64 // mean; see simulator.Report
	Bounded    float64 // mean
	// Utilization is between 0 and 1.
	Utilization float64
	PerHour     float64 // jobs that ended, per hour
	MaxQueue    int
	Growth      float64 // jobs per week; see simulator.Saturation
	Saturated   bool
}

// Columns returns the header of the CSV.
func Columns() []string {
	return []string{
		"study", "run", "policy", "estimates", "load_asked", "load_offered", "seed", "shake", "jobs", "waiting_at_end",
		"mean_wait_seconds",
		"median_wait_seconds", "p95_wait_seconds", "mean_slowdown", "mean_bounded_slowdown", "utilization",
		"throughput_per_hour", "max_queue_length", "growth_jobs_per_week", "saturated",
	}
}

// OtherStudyError reports that a CSV has the results of another study. That study has another grid or another trace,
// or read the same trace by other rules.
type OtherStudyError struct{ Path, Found, Want string }

// Error returns a message that also says what to do.
func (e *OtherStudyError) Error() string {
	return fmt.Sprintf("%s has the results of another study (%s, this one is %s): its grid, its trace or the way to "+
		"read it was another one; "+
		"name another file, or delete it", e.Path, e.Found, e.Want)
}

// NotResultsError reports that a file is not a CSV of a study.
type NotResultsError struct {
	Path    string
	Line    int
	Problem string
}

// Error returns a message with the line.
func (e *NotResultsError) Error() string {
	return fmt.Sprintf("%s:%d: not the results of a study: %s; name another file, or delete it", e.Path,
		e.Line, e.Problem)
}

func (r *Row) record(study string) []string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return []string{
		study, strconv.Itoa(r.Index), r.Policy, r.Estimates, number(r.Load), number(r.Offered),
		strconv.FormatUint(r.Seed, 10), strconv.Itoa(r.Shake),
		strconv.Itoa(r.Jobs), strconv.Itoa(r.Waiting), number(r.MeanWait), number(r.MedianWait), number(r.P95Wait),
		number(r.Slowdown), number(r.Bounded),
		number(r.Utilization), number(r.PerHour), strconv.Itoa(r.MaxQueue), number(r.Growth),
		strconv.FormatBool(r.Saturated),
	}
}

// row parses the measures of a CSV record. The index of the record determines the cell, because the file belongs to
// this study.
func (p *Plan) row(rec []string) (r Row, err error) {
	index, err := strconv.Atoi(rec[1])
	if err != nil || index < 0 || index >= len(p.cells) {
		return r, fmt.Errorf("run %q of %d", rec[1], len(p.cells))
	}
	r.Cell = p.cells[index]
	for column, to := range map[int]any{
		5: &r.Offered, 8: &r.Jobs, 9: &r.Waiting, 10: &r.MeanWait, 11: &r.MedianWait, 12: &r.P95Wait, 13: &r.Slowdown,
		14: &r.Bounded, 15: &r.Utilization, 16: &r.PerHour, 17: &r.MaxQueue, 18: &r.Growth, 19: &r.Saturated,
	} {
		var failed error
		switch to := to.(type) {
		case *float64:
			*to, failed = strconv.ParseFloat(rec[column], 64)
		case *int:
			*to, failed = strconv.Atoi(rec[column])
		case *bool:
			*to, failed = strconv.ParseBool(rec[column])
		}
		if failed != nil {
			return r, fmt.Errorf("column %s: %w", Columns()[column], failed)
		}
	}
	if got := r.record(p.id); !slices.Equal(got[:8], rec[:8]) {
		return r, fmt.Errorf("run %d is %s in this study", index, strings.Join(got[1:8], ","))
	}
	return r, nil
}

// readRows returns the rows of a CSV file by cell, and the length of its complete lines in bytes. A last line without
// a line end was cut off when its writer was killed. A file that does not exist has no rows.
func (p *Plan) readRows(path string) (rows map[int]Row, whole int64, err error) {
	rows = map[int]Row{}
	text, err := os.ReadFile(path) //nolint:gosec // the user names it
	if errors.Is(err, fs.ErrNotExist) {
		return rows, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	header := strings.Join(Columns(), ",") + "\n"
	if n := min(len(text), len(header)); string(text[:n]) != header[:n] {
		return nil, 0, &NotResultsError{path, 1, "another header"}
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	in := csv.NewReader(bytes.NewReader(text))
	for {
		rec, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, int64(len(text)), nil
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			return nil, 0, &NotResultsError{path, bad.Line, bad.Err.Error()}
		} else if err != nil {
			return nil, 0, err // cannot happen: the input is in memory
		}
		line, _ := in.FieldPos(0)
		switch {
		case line == 1:
			continue
		case rec[0] != p.id:
			return nil, 0, &OtherStudyError{path, rec[0], p.id}
		}
		row, err := p.row(rec)
		if err != nil {
			return nil, 0, &NotResultsError{path, line, err.Error()}
		}
		rows[row.Index] = row
	}
}

// results is a CSV file to which rows are appended.
type results struct {
	plan *Plan
	path string
	file *os.File
	rows map[int]Row
}

// openResults creates a new CSV file, or opens an existing one to continue.
func (p *Plan) openResults(path string) (*results, error) {
	rows, whole, err := p.readRows(path)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666) //nolint:gosec // the user names it, and umask decides
	if err != nil {
		return nil, err
	}
	r := &results{p, path, file, rows}
	err = file.Truncate(whole)
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	if err == nil && whole == 0 {
		err = r.write(Columns())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

// write appends a line and syncs it to disk.
func (r *results) write(rec []string) error {
	var line bytes.Buffer
	if err := writeRecords(&line, rec); err != nil {
		return err
	}
	if _, err := r.file.Write(line.Bytes()); err != nil {
		return err
	}
	return r.file.Sync()
}

func writeRecords(to io.Writer, records ...[]string) error {
	return csv.NewWriter(to).WriteAll(records)
}

func (r *results) add(row Row) error {
	r.rows[row.Index] = row
	return r.write(row.record(r.plan.id))
}

func (r *results) close() { _ = r.file.Close() } // an error does not matter, because every line was synced

// finish sorts the file and returns its rows.
func (r *results) finish() ([]Row, error) { return r.plan.writeAll(r.path, r.rows) }

// writeAll replaces the file by a CSV file with all rows in order.
func (p *Plan) writeAll(path string, rows map[int]Row) (out []Row, err error) {
	records := [][]string{Columns()}
	for _, index := range slices.Sorted(maps.Keys(rows)) {
		row := rows[index]
		out, records = append(out, row), append(records, row.record(p.id))
	}
	err = wholefile.Write(path, 0o644, func(to io.Writer) error { return writeRecords(to, records...) })
	if err != nil {
		return nil, err
	}
	return out, nil
}
