package papers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/users"
)

// These are the file names, without the ending, of logs in the Parallel Workloads Archive.
const (
	kth      = "KTH-SP2-1996-2.1-cln"
	ctc      = "CTC-SP2-1996-3.1-cln"
	sdsc     = "SDSC-SP2-1998-4.2-cln"
	paragon  = "SDSC-Par-1996-3.1-cln"
	lanl     = "LANL-CM5-1994-4.1-cln"
	nasa     = "NASA-iPSC-1993-3.1-cln"
	saliksik = "DOST-ASTI_COARE-Saliksik-2020-cln"
)

// Data has the folders and options with which figures are computed, and the data read so far.
type Data struct {
	Shared string // folder of the traces and references
	Folder string // folder of the CSV files and pictures of the page
	Runs   string // folder in which long studies store their runs, so that they can continue
	Long   bool   // compute again the results that take minutes
	// Missing is true if results that take minutes are computed when they are not stored yet.
	Missing bool
	// Say is called with messages about the progress; nil for none.
	Say func(format string, args ...any)

	logs      map[string]*tracelog
	resamples map[string]resampled
}

// MissingError means that data are missing. Path names them.
type MissingError struct {
	Path string
	Made bool // the data are not shared, but can be computed with Data.Missing or Data.Long
}

// Error returns a message that names the data and says how to get them.
func (e *MissingError) Error() string {
	if e.Made {
		return e.Path + " is not there; -missing makes it"
	}
	return e.Path + " is not there; name the folder that holds the shared data with -shared"
}

// path returns the path of shared data. The error is a MissingError if the data do not exist.
func (d *Data) path(name string) (string, error) {
	path := filepath.Join(d.Shared, filepath.FromSlash(name))
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "", &MissingError{Path: name}
	} else if err != nil {
		return "", err
	}
	return path, nil
}

// tracelog is a log in memory, in the order of the file.
type tracelog struct {
	header  *swf.Header
	records []swf.Record
}

// log returns a log, which it reads at the first call.
func (d *Data) log(name string) (*tracelog, error) {
	if l, ok := d.logs[name]; ok {
		return l, nil
	}
	path, err := d.path("traces/" + name + ".swf.gz")
	if err != nil {
		return nil, err
	}
	f, err := swf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	l := new(tracelog)
	for {
		var r swf.Record
		if err := f.Next(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		l.records = append(l.records, r)
	}
	l.header = f.Header()
	if d.logs == nil {
		d.logs = map[string]*tracelog{}
	}
	d.logs[name] = l
	return l, nil
}

// columns returns the records for which keep returns true, in the form that the fits of package hypergamma need.
func (l *tracelog) columns(keep func(*swf.Record) bool) hypergamma.Jobs {
	var j hypergamma.Jobs
	start := l.header.Start()
	for i := range l.records {
		if r := &l.records[i]; keep(r) {
			j.Procs, j.Seconds = append(j.Procs, int(r.Allocated)), append(j.Seconds, float64(r.Runtime))
			j.Local = append(j.Local, hypergamma.LocalSeconds(start.Add(time.Duration(r.Submit)*time.Second)))
		}
	}
	return j
}

// floats converts sizes to float64.
func floats(procs []int) []float64 {
	out := make([]float64, len(procs))
	for i, p := range procs {
		out[i] = float64(p)
	}
	return out
}

// ran reports whether a job counts in the tables of Song: its processors and its runtime are above 0. Zakay's also
// count runtimes of 0 (see counts).
func ran(r *swf.Record) bool { return r.Runtime > 0 && r.Allocated > 0 }

// trace returns the log in the form for package users, as Zakay's paper counts: with allocated processors and recorded
// runtimes.
func (l *tracelog) trace(name string) users.Trace {
	// The log begins at the time in the header, as in the paper. The command waitcast resample needs --start header for
	// that.
	t := users.Trace{Name: name, Start: 0}
	for i := range l.records {
		r := &l.records[i]
		t.Jobs = append(t.Jobs, users.Job{
			Index: i, User: r.User, Queue: r.Queue, Procs: int(r.Allocated),
			Submit: float64(r.Submit), Wait: float64(r.Wait), Runtime: float64(r.Runtime),
			Estimate: float64(r.TimeLimit),
		})
	}
	const monday, week = 4 * 86400, 7 * 86400 // 1970-01-01 was a Thursday
	_, offset := l.header.Start().Zone()
	t.Monday = float64((l.header.UnixStartTime + int64(offset) + week - monday) % week)
	return t
}

// number formats a figure with the given number of decimals.
func number(x float64, digits int) string { return fmt.Sprintf("%.*f", digits, x) }

// percent formats a share in percent, with its sign.
func percent(x float64) string { return fmt.Sprintf("%+.1f %%", 100*x) }

// All computes all sections. If shared data are missing, the section says so; any other error is returned.
func (d *Data) All() ([]Section, error) {
	var out []Section
	for _, make := range []func() (Section, error){
		d.lublin, d.lublinDrawn, d.downey, d.song, d.zakay, d.ouaknine, d.figure61,
	} {
		s, err := make()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Title, err)
		}
		out = append(out, s)
		d.say("%s: done", s.Title)
	}
	return out, nil
}

func (d *Data) say(format string, args ...any) {
	if d.Say != nil {
		d.Say(format, args...)
	}
}

// gather makes tables and adds them to the section. If data are missing for a table, a text in s.Missing says so
// instead.
func (s *Section) gather(tables ...func() (Table, error)) error {
	for _, make := range tables {
		t, err := make()
		var missing *MissingError
		switch {
		case errors.As(err, &missing):
			s.Missing = append(s.Missing, fmt.Sprintf("%s: %v", t.Title, err))
		case err != nil:
			return fmt.Errorf("%s: %w", t.Title, err)
		default:
			s.Tables = append(s.Tables, t)
		}
	}
	return nil
}
