package offline

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/simulator/swfload"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/clean"
	"github.com/waitcast/waitcast/workload/compare"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/users"
)

// These are bounds for reading workload files, and a unit of time.
const (
	// shownBadLines is the maximum number of bad lines of a file that are printed one by one.
	shownBadLines = 3
	// mostSeconds is the maximum submit time and runtime of a job, 136 years. mostProcs is the maximum size. A larger
	// value is a mistake in the log. Dates could overflow with larger times.
	mostSeconds = 1 << 32
	mostProcs   = 1 << 31
	WeekSeconds = 7 * 86400
)

// recording is a workload file in memory. Its records are in the order of their submissions.
type recording struct {
	name    string
	header  *swf.Header
	records []swf.Record
	bad     int64 // number of lines that could not be used
}

// badLines describes the lines of a workload file that could not be used.
type badLines struct {
	First []string `json:"first,omitempty"`
	N     int64    `json:"n"`
}

// maxBadLines is the maximum number of bad lines of a file that are kept.
const maxBadLines = 10

// called returns the name of a workload file for messages.
func called(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// readSWF opens a workload file, plain or gzip, and calls use with a reader of the file. "-" means standard input. The
// reader skips bad lines. All commands read workload files with readSWF. Its errors name the file.
func (a *Commands) readSWF(file string, use func(*swf.Reader) error) (bad badLines, err error) {
	name := called(file)
	in, size, err := a.Open(file)
	if err != nil {
		return bad, fmt.Errorf("%s: %w", name, err)
	}
	defer in.Close() //nolint:errcheck // it was only read
	var from io.Reader = in
	if size > 0 { // the size of standard input is unknown
		bar := a.Progress(size)
		defer bar.Clear() //nolint:errcheck // it is only decoration
		from = io.TeeReader(in, bar)
	}
	text := bufio.NewReaderSize(from, swf.MaxLine)
	from = text
	if head, _ := text.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b { // RFC 1952, section 2.3.1
		zip, err := gzip.NewReader(text)
		if err != nil {
			return bad, fmt.Errorf("%s: %w", name, err)
		}
		defer zip.Close() //nolint:errcheck // it was only read
		from = zip
	}
	reader := swf.NewReader(from, swf.Name(name), swf.CollectBadLines(maxBadLines))
	if err := use(reader); err != nil {
		return bad, fmt.Errorf("%s: %w", name, err)
	}
	first, n := reader.BadLines()
	for _, b := range first {
		bad.First = append(bad.First, b.Error())
	}
	bad.N = n
	return bad, nil
}

// record reads a whole workload file. It prints bad lines on standard error. It returns an error if the file has no
// jobs.
func (a *Commands) record(file string) (*recording, error) {
	r := &recording{name: called(file)}
	bad, err := a.readSWF(file, r.read)
	if err != nil {
		return nil, err
	}
	r.bad = bad.N
	for _, line := range bad.First[:min(len(bad.First), shownBadLines)] {
		a.Note("left out: %s", line)
	}
	if r.bad > shownBadLines {
		a.Note("%s: %d bad lines in all", r.name, r.bad)
	}
	if len(r.records) == 0 {
		return nil, fmt.Errorf("%s: no jobs, %d bad lines: is it in the Standard Workload Format?%s", r.name, r.bad,
			convertHint)
	}
	return r, nil
}

func (r *recording) read(reader *swf.Reader) error {
	for {
		var rec swf.Record
		if err := reader.Next(&rec); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("after line %d: %w", reader.Line(), err)
		}
		r.records = append(r.records, rec)
	}
	r.header = reader.Header()
	slices.SortStableFunc(r.records, func(x, y swf.Record) int { return cmp.Compare(x.Submit, y.Submit) })
	return nil
}

// convertHint is the hint for a file that is probably a log of another format.
const convertHint = " (waitcast convert writes logs of other formats in it)"

// readTrace reads a workload file for a simulation. It returns an error if the file has no jobs that can be
// simulated.
func (a *Commands) readTrace(file string, o swfload.Options) (trace *swfload.Trace, header *swf.Header,
	bad badLines, err error) {
	bad, err = a.readSWF(file, func(reader *swf.Reader) error {
		trace, err = swfload.Read(reader, o)
		header = reader.Header()
		return err
	})
	switch {
	case errors.Is(err, swfload.ErrNoProcs):
		return nil, nil, bad, fmt.Errorf("%w (--procs)", err)
	case errors.Is(err, swfload.ErrEmpty):
		return nil, nil, bad,
			errors.Join(fmt.Errorf("%s: no job that can be simulated: %w%s", called(file), swfload.ErrEmpty,
				convertHint), firstBad(bad))
	}
	if err != nil {
		return nil, nil, bad, err
	}
	if len(trace.Jobs) == 0 {
		why := describeRepairs(&trace.Report)
		if trace.Report.Records == 0 {
			why = "it has no jobs; is it in the Standard Workload Format?"
		}
		return nil, nil, bad,
			errors.Join(fmt.Errorf("%s: no job that can be simulated: %s", called(file), why), firstBad(bad))
	}
	return trace, header, bad, nil
}

func firstBad(b badLines) error {
	if b.N == 0 {
		return nil
	}
	return fmt.Errorf("%d bad lines, first %s", b.N, b.First[0])
}

// job converts a record to a job of the workload packages. The job's Index is the index of the record.
func (r *recording) job(i int) users.Job {
	rec := &r.records[i]
	return users.Job{
		Index: i, User: rec.User, Queue: rec.Queue, Procs: int(rec.Procs()), Submit: float64(rec.Submit),
		Wait: float64(rec.Wait), Runtime: float64(rec.Runtime), Estimate: float64(rec.TimeLimit),
	}
}

// jobs returns all records as jobs.
func (r *recording) jobs() []users.Job {
	out := make([]users.Job, len(r.records))
	for i := range out {
		out[i] = r.job(i)
	}
	return out
}

// monday returns the time in seconds from the beginning of the week (Monday, 0 h local time) to time 0 of the log.
func (r *recording) monday() float64 {
	const first = 4 * 86400 // 1970-01-01 was a Thursday
	_, offset := r.header.Start().Zone()
	return float64(((r.header.UnixStartTime+int64(offset)-first)%WeekSeconds + WeekSeconds) % WeekSeconds)
}

// skippedRecords has the numbers of records that were not used, by reason.
type skippedRecords map[string]int

// String lists the reasons, the most frequent first.
func (l skippedRecords) String() string {
	reasons := make([]string, 0, len(l))
	for reason := range l {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int { return cmp.Or(cmp.Compare(l[b], l[a]), cmp.Compare(a, b)) })
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%d %s", l[reason], reason)
	}
	if len(reasons) == 0 {
		return "none"
	}
	return strings.Join(reasons, ", ")
}

// unusable returns the reason why a record cannot be used as a sample of a workload. It returns "" if it can be used.
func unusable(rec *swf.Record) string {
	switch {
	case !rec.Ran():
		return "never ran"
	case rec.Procs() <= 0:
		return "without processors"
	case rec.Submit < 0:
		return "without a submit time"
	case rec.Submit > mostSeconds || rec.Runtime > mostSeconds || rec.Procs() > mostProcs:
		return "with impossible numbers"
	}
	return ""
}

// selection defines which records are used.
type selection struct {
	statuses []int // nil selects all
	clean    bool
}

// flags defines the flags of a selection.
func (s *selection) flags(c *cobra.Command) {
	c.Flags().IntSliceVar(&s.statuses, "status", nil,
		"fit only jobs with these statuses (field 11), such as 1 for those that completed")
	c.Flags().BoolVar(&s.clean, "clean", false, "leave out flurries and daily robots")
}

// choose keeps the records that can be used (see unusable) and match the selection. It counts the other records by
// reason. If none remains, it returns an error.
func (s *selection) choose(r *recording) (skippedRecords, error) {
	out := skippedRecords{}
	r.leave(out, unusable)
	if s.clean && len(r.records) > 0 {
		if err := r.clean(out); err != nil {
			return nil, err
		}
	}
	if len(s.statuses) > 0 {
		r.leave(out, func(rec *swf.Record) string {
			if slices.Contains(s.statuses, int(rec.Status)) {
				return ""
			}
			return "with another status"
		})
	}
	if len(r.records) == 0 {
		return nil, fmt.Errorf("%s: no job to learn from; left out: %s", r.name, out)
	}
	return out, nil
}

// leave removes the records for which why returns a reason. It counts the removed records by reason.
func (r *recording) leave(out skippedRecords, why func(*swf.Record) string) {
	r.records = slices.DeleteFunc(r.records, func(rec swf.Record) bool {
		reason := why(&rec)
		if reason != "" {
			out[reason]++
		}
		return reason != ""
	})
}

// clean removes flurries and the jobs of robots, and counts both in out.
func (r *recording) clean(out skippedRecords) error {
	report, err := clean.Find(r.jobs(), clean.Options{Start: r.header.Start()})
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	i := -1
	r.records = slices.DeleteFunc(r.records, func(swf.Record) bool {
		i++
		switch mark := report.Marks[i]; {
		case mark&clean.Flurry != 0:
			out["in a flurry"]++
		case mark&clean.Robot != 0:
			out["of a daily robot"]++
		default:
			return false
		}
		return true
	})
	return nil
}

// columns returns the columns of a recording that the fits use. All records must be usable.
func (r *recording) columns() hypergamma.Jobs {
	n := len(r.records)
	c := hypergamma.Jobs{Procs: make([]int, n), Seconds: make([]float64, n), Local: make([]float64, n)}
	start := r.header.Start()
	for i := range r.records {
		rec := &r.records[i]
		c.Procs[i], c.Seconds[i] = int(rec.Procs()), float64(rec.Runtime)
		c.Local[i] = hypergamma.LocalSeconds(start.Add(time.Duration(rec.Submit) * time.Second))
	}
	return c
}

// workload returns the columns for a comparison. The limits or users are nil if no record has one. The ends are nil if
// a record has no wait.
func (r *recording) workload() compare.Workload {
	w := compare.Workload{MondayOffset: r.monday()}
	limits, people, waits := false, false, true
	for i := range r.records {
		rec := &r.records[i]
		limits, people, waits = limits || rec.TimeLimit > 0, people || rec.User >= 0, waits && rec.Wait >= 0
		w.Submit = append(w.Submit, float64(rec.Submit))
		w.Runtime = append(w.Runtime, float64(rec.Runtime))
		w.Procs = append(w.Procs, float64(rec.Procs()))
		w.Limit = append(w.Limit, float64(rec.TimeLimit))
		w.User = append(w.User, rec.User)
		w.End = append(w.End, float64(rec.Submit+max(0, rec.Wait)+rec.Runtime))
	}
	if !limits {
		w.Limit = nil
	}
	if !people {
		w.User = nil
	}
	if !waits {
		w.End = nil
	}
	return w
}

// seed is the flag --seed of the commands that use random numbers.
type seed struct{ value uint64 }

func (s *seed) flag(c *cobra.Command) {
	c.Flags().Uint64Var(&s.value, "seed", 0,
		"seed of the random numbers: the same seed gives the same bytes (default: a random one, which is printed)")
}

// drawIfUnset draws a seed if none was given, and prints it.
func (s *seed) drawIfUnset(a *Commands, c *cobra.Command) {
	if !c.Flags().Changed("seed") {
		s.value = uint64(rand.Uint32()) // 32 bits, short enough to type
		a.Note("the seed is %d; --seed %d gives the same again", s.value, s.value)
	}
}

// rng returns a stream of random numbers. Commands with different purposes get different streams for the same seed.
func (s *seed) rng(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(s.value, purpose)) }

// madeBy returns a copy of a header whose first line states how the file was made. If recount is true, it leaves out
// the lines with counts and times of the original, because they no longer apply.
func madeBy(h *swf.Header, how string, recount bool) *swf.Header {
	made := *h
	made.Lines = append([]string{"; Note: made by waitcast " + console.Printable(how)}, h.Lines...)
	if recount {
		made.Lines = slices.DeleteFunc(made.Lines, func(line string) bool {
			key, _, _ := strings.Cut(strings.TrimLeft(line, "; \t"), ":")
			switch strings.TrimSpace(key) {
			case "MaxJobs", "MaxRecords", "StartTime", "EndTime":
				return true
			}
			return false
		})
	}
	return &made
}

// noJSON returns an error if --json is used. It is for commands that write a workload.
func (a *Commands) noJSON(command string) error {
	if a.JSON {
		return console.NewUsageError("waitcast " + command + " writes a workload file, not JSON")
	}
	return nil
}

// sortedKeys returns the numbers of a header's names in ascending order.
func sortedKeys(names map[int64]string) []int64 { return slices.Sorted(maps.Keys(names)) }

// describeRepairs describes in one line what the reader changed or left out. It returns "nothing" if there was
// nothing.
func describeRepairs(r *swfload.Report) string {
	var out []string
	for _, t := range []struct {
		what string
		swfload.Tally
	}{
		{"larger than the machine", r.TooLarge}, {"never ran", r.NeverRan}, {"without processors", r.NoProcs},
		{"without a time limit", r.NoEstimate},
		{"ran longer than their limit", r.Raised}, {"submitted before 0", r.Early}, {"out of order", r.Unordered},
		{"with a number used before", r.Duplicates},
	} {
		if t.N > 0 {
			out = append(out, fmt.Sprintf("%d %s (job %d)", t.N, t.what, t.First[0]))
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}
