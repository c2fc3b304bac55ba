package sge

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// QstatName is the name, in the configuration, of the source of Grid Engine's waiting and running jobs.
const QstatName = "gridengine-qstat"

// QstatFormat returns the format of Grid Engine's listing. It has no parser: a command is run, no file is read. See
// Listing.
func QstatFormat() collector.Format { return collector.Format{Name: QstatName, Order: collector.Live} }

// ListingConfig configures a Listing.
type ListingConfig struct {
	Options collector.Options
	// Run runs a command of Grid Engine and returns its output.
	Run func(ctx context.Context, args []string) ([]byte, error)
	// Picture returns the live jobs of the picture.
	Picture func() map[string]source.Live
	// Alone is set if no log has submissions, starts and ends as they happen. The listing then reports these.
	Alone bool
}

// Listing compares qstat's output with the picture, and returns the differences as events. qstat does not list jobs
// that have ended: a job that is in neither of two consecutive listings has ended at the time of the first.
type Listing struct {
	cfg     ListingConfig
	first   bool // no listing was taken before
	missing map[string]time.Time
	again   map[string]time.Time // jobs that wait although they run in the picture
	submits map[string]time.Time // submissions of running jobs that are not in the picture, by number
}

// NewListing returns a Listing.
func NewListing(cfg ListingConfig) *Listing {
	return &Listing{cfg: cfg, first: true, missing: map[string]time.Time{}, again: map[string]time.Time{}}
}

// leftToLog is the minimum age of a change that is reported beside a log that has it too.
const leftToLog = 3 * time.Second

// QstatCommand returns the command that lists all jobs with their requests.
func QstatCommand() []string { return []string{"qstat", "-xml", "-u", "*", "-r"} }

// Ask lists the jobs once. A second call is made for the submissions of running jobs that the picture lacks.
func (l *Listing) Ask(ctx context.Context, asked time.Time) source.Answer {
	output, err := l.cfg.Run(ctx, QstatCommand())
	if err != nil {
		return source.Answer{Err: err}
	}
	rows, err := l.parse(output)
	if err != nil {
		return source.Answer{Err: fmt.Errorf("qstat: %w", err)}
	}
	c := listed{Listing: l, at: asked.UTC(), picture: l.cfg.Picture(), nextAgain: map[string]time.Time{},
		present: map[string]bool{}}
	a := source.Answer{Lines: len(rows)}
	if err := l.findSubmits(ctx, rows, c.picture); err != nil {
		a.Notes = append(a.Notes, err)
	}
	for i := range rows {
		c.row(&rows[i])
	}
	c.gone()
	l.first, l.again = false, c.nextAgain
	a.Events = c.events
	return a
}

// qstatRow is a job_list of qstat.
type qstatRow struct {
	Number  string   `xml:"JB_job_number"`
	Owner   string   `xml:"JB_owner"`
	Name    string   `xml:"full_job_name"`
	State   string   `xml:"state"`
	Submit  string   `xml:"JB_submission_time"`
	Start   string   `xml:"JAT_start_time"`
	Queue   string   `xml:"queue_name"`
	Slots   int      `xml:"slots"`
	Tasks   string   `xml:"tasks"`
	Queues  []string `xml:"hard_req_queue"`
	Request []struct {
		Name  string `xml:"name,attr"`
		Value string `xml:",chardata"`
	} `xml:"hard_request"`
	Before string `xml:"predecessor_jobs"`
}

// listedJob is a job, a task or the waiting tasks of an array.
type listedJob struct {
	id, number    string
	runs          bool
	held, stopped bool
	job.Attributes
	job.Times
}

// parse returns the jobs of an output.
func (l *Listing) parse(output []byte) ([]listedJob, error) {
	var all struct {
		Running []qstatRow `xml:"queue_info>job_list"`
		Waiting []qstatRow `xml:"job_info>job_list"`
	}
	if err := decode(output, &all); err != nil {
		return nil, err
	}
	var out []listedJob
	for i := range all.Running {
		j, err := l.job(&all.Running[i], true)
		if err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	for i := range all.Waiting {
		j, err := l.job(&all.Waiting[i], false)
		if err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, nil
}

// stray is the first of 256 private characters that stand for bytes in names that XML forbids.
const stray rune = 0xf0000

// decode reads XML as qstat writes it: names may have any bytes (see name).
func decode(output []byte, to any) error {
	clean := make([]byte, 0, len(output))
	for len(output) > 0 {
		r, n := utf8.DecodeRune(output)
		if r == utf8.RuneError && n == 1 || unicode.IsControl(r) && r != '\n' && r != '\t' {
			for _, b := range output[:n] {
				clean = utf8.AppendRune(clean, stray+rune(b))
			}
		} else {
			clean = append(clean, output[:n]...)
		}
		output = output[n:]
	}
	d := xml.NewDecoder(bytes.NewReader(clean))
	d.Strict = false
	return d.Decode(to)
}

// name returns the printable form of a name, with the bytes that decode replaced.
func name(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r >= stray && r <= stray+0xff {
			out.WriteByte(byte(r - stray))
		} else {
			out.WriteRune(r)
		}
	}
	return job.Printable(out.String())
}

// job reads a row.
func (l *Listing) job(r *qstatRow, runs bool) (listedJob, error) {
	j := listedJob{id: r.Number, number: r.Number, runs: runs, held: !runs && strings.ContainsAny(r.State, "hE"),
		stopped: strings.ContainsAny(r.State, "sST")}
	if n, err := strconv.Atoi(r.Number); err != nil || n <= 0 {
		return j, fmt.Errorf("JB_job_number: not a job number: %q", shorten([]byte(r.Number)))
	}
	j.User, j.Name, j.Procs = name(r.Owner), name(r.Name), r.Slots
	if runs && r.Tasks != "" {
		j.id += "." + r.Tasks
	}
	var err error
	if !runs {
		j.Queue = waitingQueue(r.Queues)
		if j.Tasks, err = countTasks(r.Tasks); err != nil {
			return j, err
		}
		if r.Before != "" {
			j.After = strings.ReplaceAll(r.Before, " ", "")
		}
		j.Submit, err = l.local(r.Submit)
	} else {
		queue, _, _ := strings.Cut(r.Queue, "@")
		j.Queue = name(queue)
		j.Start, err = l.local(r.Start)
	}
	for _, limit := range [...]string{"s_rt", "h_rt"} { // h_rt, the last one, counts
		for _, q := range r.Request {
			if d := timeSpec([]byte(q.Value)); q.Name == limit && d > 0 {
				j.TimeLimit = d
			}
		}
	}
	return j, err
}

// local reads a time of qstat, which has no zone.
func (l *Listing) local(text string) (time.Time, error) {
	zone := l.cfg.Options.Location
	if zone == nil {
		zone = time.UTC
	}
	at, err := time.ParseInLocation("2006-01-02T15:04:05", text, zone)
	if err != nil {
		return at, fmt.Errorf("not a time of qstat: %q", shorten([]byte(text)))
	}
	return at.UTC(), nil
}

// waitingQueue returns the queue that a job requests, "" if it may run in several.
func waitingQueue(requested []string) string {
	if len(requested) != 1 || strings.ContainsAny(requested[0], "*?[]&|!()") {
		return ""
	}
	queue, _, _ := strings.Cut(requested[0], "@")
	return name(queue)
}

// countTasks returns the number of tasks in a list such as "3,5-9:2"; 0 for a job that is no array.
func countTasks(text string) (n int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		from, rest, isRange := strings.Cut(part, "-")
		low, err := strconv.Atoi(from)
		high, step := low, 1
		if isRange && err == nil {
			to, by, stepped := strings.Cut(rest, ":")
			if high, err = strconv.Atoi(to); stepped && err == nil {
				step, err = strconv.Atoi(by)
			}
		}
		if err != nil || step < 1 || high < low {
			return 0, fmt.Errorf("tasks: not a list of tasks: %q", shorten([]byte(text)))
		}
		n += (high-low)/step + 1
	}
	return n, nil
}

// findSubmits finds out the submissions of running jobs that are not in the picture, which the listing lacks.
func (l *Listing) findSubmits(ctx context.Context, rows []listedJob, picture map[string]source.Live) error {
	before := l.submits
	l.submits = map[string]time.Time{}
	var unknown []string
	for i := range rows {
		number := rows[i].number
		_, known := picture[rows[i].id]
		if at, found := before[number]; found {
			l.submits[number] = at
		} else if rows[i].runs && !known && !slices.Contains(unknown, number) {
			unknown = append(unknown, number)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	output, err := l.cfg.Run(ctx, []string{"qstat", "-xml", "-j", strings.Join(unknown, ",")})
	if err != nil {
		return err
	}
	var all struct {
		Jobs []struct {
			Number string `xml:"JB_job_number"`
			Submit int64  `xml:"JB_submission_time"`
		} `xml:"djob_info>element"`
	}
	if err := decode(output, &all); err != nil {
		return fmt.Errorf("qstat -j: %w", err)
	}
	for _, j := range all.Jobs {
		if at, err := instant("JB_submission_time", strconv.AppendInt(nil, j.Submit, 10)); err == nil && !at.IsZero() {
			l.submits[j.Number] = at
		}
	}
	return nil
}

// listed compares one listing with the picture.
type listed struct {
	*Listing
	at        time.Time
	picture   map[string]source.Live
	nextAgain map[string]time.Time
	present   map[string]bool
	events    []job.Event
}

func (c *listed) emit(kind job.Kind, j *listedJob, times job.Times) {
	ev := job.Event{Kind: kind, Cluster: c.cfg.Options.Cluster, ID: j.id, Time: c.at, Attributes: j.Attributes,
		Times: times, Live: !c.first}
	if times.Start.After(ev.Time) {
		ev.Time = times.Start
	}
	if ev.Tasks > 0 {
		ev.Total = ev.Tasks + c.picture[j.id].Split
	}
	c.events = append(c.events, ev)
}

// fresh reports whether a change is so recent that it is left to the log.
func (c *listed) fresh(at time.Time) bool { return !c.cfg.Alone && at.After(c.at.Add(-leftToLog)) }

// row emits events for the differences of a row.
func (c *listed) row(j *listedJob) {
	live, known := c.picture[j.id]
	c.present[j.id] = true
	switch {
	case !known:
		c.unknown(j)
	case j.runs && live.Start.IsZero():
		if !c.fresh(j.Start) {
			c.emit(job.Start, j, job.Times{Start: later(j.Start, live.Submit)})
		}
	case !j.runs && !live.Start.IsZero():
		c.waitsAgain(j, live.Start)
	default:
		c.known(j, &live)
	}
}

// unknown reports a job that is not in the picture.
func (c *listed) unknown(j *listedJob) {
	if j.runs {
		submit := c.submits[j.number]
		if submit.IsZero() || c.fresh(j.Start) {
			return // it is reported once its submission is known
		}
		c.emit(job.Start, j, job.Times{Submit: submit, Start: later(j.Start, submit)})
		return
	}
	if c.fresh(j.Submit) {
		return
	}
	kind := job.Update
	if c.cfg.Alone {
		kind = job.Submit
	}
	c.emit(kind, j, job.Times{Submit: j.Submit})
	if j.held {
		c.emit(job.Hold, j, job.Times{})
	}
}

// known reports the differences of a job that is in the picture, in the same phase.
func (c *listed) known(j *listedJob, live *source.Live) {
	news := *j
	news.Attributes = j.Without(live.Attributes)
	news.Name = "" // qstat escapes names, and a log has them as they are
	switch {
	case !j.runs && j.held != live.Held:
		kind := job.Hold
		if !j.held {
			kind = job.Release
		}
		c.emit(kind, &news, job.Times{})
	case j.runs && j.stopped != live.Suspended:
		kind := job.Suspend
		if !j.stopped {
			kind = job.Resume
		}
		c.emit(kind, &news, job.Times{})
	case news.Attributes != job.Attributes{}:
		c.emit(job.Update, &news, job.Times{})
	}
}

// waitsAgain reports, when two listings agree, that a job that ran waits again.
func (c *listed) waitsAgain(j *listedJob, start time.Time) {
	if c.fresh(start) {
		return
	}
	at, again := c.again[j.id]
	if !again {
		at = c.at
	}
	c.nextAgain[j.id] = at
	if again {
		c.emit(job.Requeue, j, job.Times{})
	}
}

// gone ends the jobs of the picture that are in neither of two listings.
func (c *listed) gone() {
	missing := map[string]time.Time{}
	for _, id := range slices.Sorted(maps.Keys(c.picture)) {
		live := c.picture[id]
		at, again := c.missing[id]
		switch {
		case c.present[id]:
		case again:
			c.events = append(c.events, job.Event{Kind: job.End, Cluster: c.cfg.Options.Cluster, ID: id, Time: at,
				Times: job.Times{End: at}, Live: !c.first})
			missing[id] = c.at
		case !c.fresh(live.Submit) && !c.fresh(live.Start) && live.Submit.Before(c.at) && live.Start.Before(c.at):
			missing[id] = c.at
		}
	}
	c.missing = missing
}

func later(t, u time.Time) time.Time {
	if u.After(t) {
		return u
	}
	return t
}
