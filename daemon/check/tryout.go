package check

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/job"
)

// Source is the result of the trial reading of a log, or of one call of a scheduler. All counts are about the part
// that was read.
type Source struct {
	Name    string `json:"name"`
	Cluster string `json:"cluster"`
	Format  string `json:"format"`
	Files   []File `json:"files"`
	// Whole is true if the whole log was read. It is false if only the newest part was read.
	Whole    bool        `json:"whole"`
	Seconds  float64     `json:"seconds"`
	Lines    int         `json:"lines"`
	Events   int         `json:"events"`
	BadLines int         `json:"bad_lines"`
	Bad      []BadReason `json:"bad"`
	Jobs     int         `json:"jobs"`
	// Running and Waiting are the numbers that a polled scheduler reported. For a log they are 0.
	Running  int        `json:"running_jobs"`
	Waiting  int        `json:"waiting_jobs"`
	Nodes    int        `json:"nodes"`
	Queues   []string   `json:"queues"`
	Users    int        `json:"users"`
	Accounts int        `json:"accounts"`
	Sizes    *Sizes     `json:"sizes"`
	Oldest   *time.Time `json:"oldest"`
	Newest   *time.Time `json:"newest"`
	// Tells has, for each attribute, the share of the jobs that have it.
	Tells map[string]float64 `json:"tells"`
}

// Sizes are the numbers of processors of jobs.
type Sizes struct {
	Min    int `json:"min"`
	Median int `json:"median"`
	Max    int `json:"max"`
}

// BadReason counts the lines that could not be used for one reason.
type BadReason struct {
	Reason   string    `json:"reason"`
	Lines    int       `json:"lines"`
	Examples []Example `json:"examples,omitempty"`
}

// Example is a line that could not be used. Its letters and digits are masked, because the lines of a log name
// people.
type Example struct {
	Path string `json:"path"`
	// Line is 0 if only the end of a large file was read.
	Line  int64  `json:"line,omitempty"`
	Field string `json:"field,omitempty"`
	Shape string `json:"shape"`
}

// maxExamples is the number of bad lines that are shown for each reason. maxShape is their maximum length in bytes.
const (
	maxExamples = 3
	maxShape    = 120
)

// seen has the attributes of one job. eligible is true if a record has its eligible time, or shows that it was held or
// released.
type seen struct {
	job.Attributes
	eligible bool
	live     time.Time // last submission or start; zero once it has ended
}

// alive updates seen.live.
func (j *seen) alive(ev *job.Event) {
	switch ev.Kind {
	case job.Submit, job.Start:
		j.live = ev.Time
	case job.End:
		j.live = time.Time{}
	}
}

// clusterReadings collects the results of reading all sources of a cluster.
type clusterReadings struct {
	cluster  config.Cluster
	jobs     map[string]*seen
	formats  []string
	anything bool   // at least one source was read or polled without an error
	slurm    string // Slurm's version, "" if unknown
	private  string // job.Facts.Private of the cluster's scheduler
}

// trial is the trial reading of one source.
type trial struct {
	*Source
	now   time.Time
	jobs  map[string]*seen
	kinds map[job.Kind]int
	// last is the time of the last record of a job. lastTells is true if no line without an event followed that record.
	last      time.Time
	lastTells bool
	offset    time.Duration // the key clock_offset of the source
}

func newTrial(name, cluster, format string, now time.Time) *trial {
	return &trial{
		Source: &Source{Name: name, Cluster: cluster, Format: format, Files: []File{}, Bad: []BadReason{},
			Queues: []string{}, Tells: map[string]float64{}},
		now: now, jobs: map[string]*seen{}, kinds: map[job.Kind]int{},
	}
}

// event counts an event, and adds its attributes to those of its job.
func (t *trial) event(ev *job.Event) {
	t.Events++
	t.kinds[ev.Kind]++
	if ev.Kind == job.Machine {
		return
	}
	j := t.jobs[ev.ID]
	if j == nil {
		j = &seen{}
		t.jobs[ev.ID] = j
	}
	j.Attributes = j.Merge(ev.Attributes)
	j.alive(ev)
	j.eligible = j.eligible || !ev.Times.Eligible.IsZero() || ev.Kind == job.Hold || ev.Kind == job.Release
	at := ev.Time.UTC()
	t.last = at
	if t.Oldest == nil || at.Before(*t.Oldest) {
		t.Oldest = &at
	}
	if t.Newest == nil || at.After(*t.Newest) {
		t.Newest = &at
	}
}

// refuse records a bad line.
func (t *trial) refuse(b *source.BadLine) {
	t.BadLines++
	i := slices.IndexFunc(t.Bad, func(r BadReason) bool { return r.Reason == b.Reason })
	if i < 0 {
		i = len(t.Bad)
		t.Bad = append(t.Bad, BadReason{Reason: b.Reason})
	}
	r := &t.Bad[i]
	r.Lines++
	if len(r.Examples) < maxExamples {
		e := Example{Path: b.Path, Line: b.Number, Shape: shape(b.Text)}
		var le *collector.LineError
		if errors.As(b.Err, &le) {
			e.Field = le.Field
		}
		r.Examples = append(r.Examples, e)
	}
}

// shape masks a line: a letter becomes a, a digit becomes 9, and any other character becomes ? unless it is a printable
// character of ASCII.
func shape(line []byte) string {
	cut := len(line) > maxShape
	if cut {
		line = line[:maxShape]
	}
	out := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return '9'
		case unicode.IsLetter(r):
			return 'a'
		case r < unicode.MaxASCII && unicode.IsPrint(r):
			return r
		}
		return '?'
	}, string(line))
	if cut {
		out += "..."
	}
	return out
}

// aFew is the minimum number of lines that are read, even if no trial is wanted, to find the time of the newest record.
const aFew = 1000

// try reads the newest lines of a log with its parser.
func (c *checker) try(ctx context.Context, log *source.Config, files []File, of *clusterReadings) *trial {
	t := newTrial(log.Name, log.Options.Cluster, log.Format.Name, c.now)
	t.Files = files
	if log.ClockOffset != nil {
		t.offset = *log.ClockOffset
	}
	began := time.Now()
	parts, err := newestPart(files, max(c.opts.Records, aFew))
	if err != nil {
		c.add("log.read", Failed, "source "+log.Name, "", "%v", err)
	}
	t.Whole = len(parts) == len(files)
	parser := log.Format.New(log.Options)
	header := func(line []byte) bool {
		p, ok := parser.(collector.HeaderParser)
		return ok && p.Header(line)
	}
	for i := range parts {
		p := &parts[i]
		t.Whole = t.Whole && p.offset == 0
		err := p.eachLine(header, func(number int64, line []byte, long bool) error {
			if c.opts.Limit > 0 && time.Since(began) > c.opts.Limit || ctx.Err() != nil {
				return errEnough
			}
			t.line(parser, p.Path, number, line, long)
			return nil
		})
		t.Whole = t.Whole && (!p.gzip() || t.Lines < p.lines) // the number of lines in a compressed file is unknown
		if errors.Is(err, errEnough) {
			t.Whole = false
			break
		}
		if err != nil {
			c.add("log.read", Failed, "source "+log.Name, "", "%v", err)
			break
		}
	}
	t.Seconds = time.Since(began).Seconds()
	if p, ok := parser.(interface{ Version() string }); ok {
		of.slurm = cmp.Or(of.slurm, p.Version())
	}
	c.finish(t, of)
	return t
}

// line parses one line.
func (t *trial) line(parser collector.Parser, path string, number int64, line []byte, long bool) {
	t.Lines++
	before := t.Events
	defer func() { t.lastTells = t.Events > before }()
	if long {
		t.refuse(&source.BadLine{Path: path, Number: number, Reason: collector.ReasonLongLine, Text: line})
	} else if err := parser.Parse(line, func(ev job.Event) {
		ev.Shift(-t.offset)
		t.event(&ev)
	}); err != nil {
		bad := source.Refused(path, number, line, err)
		t.refuse(&bad)
	}
}

// finish evaluates a trial, and adds it to the report and to the readings of the cluster.
func (c *checker) finish(t *trial, of *clusterReadings) {
	t.Jobs = len(t.jobs)
	queues, users, accounts := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var sizes []int
	n := map[string]int{}
	count := func(what string, is bool) {
		if is {
			n[what]++
		}
	}
	for id, j := range t.jobs {
		queues[j.Queue], users[j.User], accounts[j.Account] = true, true, true
		if j.Procs > 0 {
			sizes = append(sizes, j.Procs)
		}
		count("queue", j.Queue != "")
		count("user", j.User != "")
		count("account", j.Account != "")
		count("size", j.Procs > 0)
		count("nodes", j.Nodes > 0)
		count("time_limit", j.TimeLimit > 0)
		count("memory", j.Memory > 0)
		count("gpus", j.GPUs > 0)
		count("priority", j.Priority != 0)
		count("eligible", j.eligible)
		if known := of.jobs[id]; known != nil {
			known.Attributes, known.eligible = known.Merge(j.Attributes), known.eligible || j.eligible
		} else {
			of.jobs[id] = j
		}
	}
	for name, jobs := range n {
		t.Tells[name] = float64(jobs) / float64(t.Jobs)
	}
	t.Queues = names(queues)
	t.Users, t.Accounts = len(names(users)), len(names(accounts))
	if len(sizes) > 0 {
		slices.Sort(sizes)
		t.Sizes = &Sizes{Min: sizes[0], Median: sizes[len(sizes)/2], Max: sizes[len(sizes)-1]}
	}
	of.formats = append(of.formats, t.Format)
	of.anything = of.anything || t.Lines > 0
	c.Sources = append(c.Sources, *t.Source)
}

// names returns the keys with the value true, except the empty key, sorted.
func names(set map[string]bool) []string {
	out := []string{}
	for name := range set {
		if name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// These are shares of bad lines. Above manyBad there is a warning; above hopelessly the log is useless. The values are
// a free choice.
const (
	manyBad    = .01
	hopelessly = .5
)

// lines judges the log by its share of bad lines, and by whether it has jobs.
func (c *checker) lines(about string, s *Source) {
	if s.Lines == 0 {
		return
	}
	bad := float64(s.BadLines) / float64(s.Lines)
	text := plural(s.Lines, "line") + ", " + plural(s.Jobs, "job") + ", " + plural(s.BadLines, "bad line")
	switch {
	case bad > hopelessly:
		c.add("log.lines", Failed, about, "is the format the right one?", "%s", text)
	case s.Jobs == 0 && s.BadLines == 0:
		hint := "nothing to do if no job was submitted since the log begins"
		if s.Format == slurm.LogName {
			hint += "; else set SlurmctldDebug to info or more"
		}
		c.add("log.lines", Warning, about, hint, "%s, none about a job", plural(s.Lines, "line"))
	case s.Jobs == 0:
		c.add("log.lines", Warning, about, "is it the right file?", "%s", text)
	case bad > manyBad:
		c.add("log.lines", Warning, about,
			"the report below says for which reasons; the daemon leaves them out and goes on", "%s", text)
	default:
		c.add("log.lines", OK, about, "", "%s", text)
	}
}
