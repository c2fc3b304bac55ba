package slurm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// SacctJSONName is the name of the format of accounting dumps in JSON, for commands.
const SacctJSONName = "slurm-sacct-json"

// SacctJSON returns the format of the output of sacct --json, and of slurmrestd's answer to GET /slurmdb/.../jobs, by
// the data parsers 0.0.38 to 0.0.44. It is a document whose records are jobs. It cannot be followed, because a
// document is written once.
func SacctJSON() collector.Format {
	return collector.Format{Name: SacctJSONName, Order: collector.BySubmit,
		New: func(o collector.Options) collector.Parser {
			return &sacctJSONParser{sacctParser: sacctParser{common: newCommon(o)}}
		},
		Records: func(from io.Reader) collector.RecordReader { return newJobDocument(from) },
	}
}

// accountedJob has the used fields of a job in the accounting, in the form of the data parsers. See the tables JOB in
// src/plugins/openapi/dbv0.0.38/parse.c and in src/plugins/data_parser/v0.0.39 to v0.0.44/parsers.c. Up to version
// 0.0.39 numbers are plain, and a state is one word.
type accountedJob struct {
	JobID restNumber `json:"job_id"`
	// CtldState occurs only in answers about slurmctld's own jobs, which have other keys and are refused.
	CtldState restWords `json:"job_state"`
	Name      string    `json:"name"`
	Cluster   string    `json:"cluster"`
	Array     struct {
		JobID  restNumber `json:"job_id"`
		TaskID restNumber `json:"task_id"`
		Task   string     `json:"task"`
	} `json:"array"`
	Het struct {
		JobID  restNumber `json:"job_id"`
		Offset restNumber `json:"job_offset"`
	} `json:"het"`
	User        string     `json:"user"`
	Account     string     `json:"account"`
	Partition   string     `json:"partition"`
	QOS         restText   `json:"qos"`
	Nodes       string     `json:"nodes"`
	NodeCount   restNumber `json:"allocation_nodes"`
	Priority    restNumber `json:"priority"`
	Association struct {
		User string `json:"user"`
	} `json:"association"`
	Required struct {
		CPUs restNumber `json:"CPUs"`
	} `json:"required"`
	State struct {
		Current restWords `json:"current"`
	} `json:"state"`
	Time accountedTimes `json:"time"`
	TRES struct {
		Requested accountedTRES `json:"requested"`
		Allocated accountedTRES `json:"allocated"`
	} `json:"tres"`
}

// accountedTimes has times in Unix seconds, durations in seconds, and the limit in minutes.
type accountedTimes struct {
	Elapsed   restNumber `json:"elapsed"`
	Eligible  restNumber `json:"eligible"`
	End       restNumber `json:"end"`
	Limit     restNumber `json:"limit"`
	Start     restNumber `json:"start"`
	Submitted restNumber `json:"submission"`
	Suspended restNumber `json:"suspended"`
}

// accountedTRES is a list of trackable resources.
type accountedTRES []struct {
	Type  string  `json:"type"`
	Name  string  `json:"name"`
	Count float64 `json:"count"`
}

// text formats the list in the form of sacct -P. Memory is in MiB. Unknown counts, which are negative, are left out.
func (l accountedTRES) text() (text []byte) {
	for _, r := range l {
		if !(r.Count >= 0 && r.Count < 1<<53) {
			continue
		}
		if len(text) > 0 {
			text = append(text, ',')
		}
		text = append(text, r.Type...)
		if r.Name != "" {
			text = append(append(text, '/'), r.Name...)
		}
		text = strconv.AppendInt(append(text, '='), int64(r.Count), 10)
		if r.Type == "mem" {
			text = append(text, 'M')
		}
	}
	return text
}

// count returns the count of a type, nil if the list has none from 0 to maxProcs.
func (l accountedTRES) count(kind string) []byte {
	for _, r := range l {
		if r.Type == kind && r.Count >= 0 && r.Count <= maxProcs {
			return strconv.AppendInt(nil, int64(r.Count), 10)
		}
	}
	return nil
}

// restText is a text, in JSON a string or a number.
type restText string

// UnmarshalJSON implements json.Unmarshaler.
func (s *restText) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(s))
	}
	var n restNumber
	if err := n.UnmarshalJSON(text); err != nil {
		return err
	}
	*s = ""
	if n.set {
		*s = restText(n.String())
	}
	return nil
}

// noValue is the smallest of the 32-bit numbers that mean no value or infinity (NO_VAL and INFINITE in
// slurm/slurm.h). Data parser 0.0.38 writes these numbers.
const noValue = 0xfffffffe

func (v restNumber) known() bool { return v.set && v.n < noValue }

// sacctJSONParser converts the jobs of a document to the columns of sacct -P, so that both are parsed in the same way.
type sacctJSONParser struct{ sacctParser }

var _ collector.Parser = (*sacctJSONParser)(nil)

// Parse implements collector.Parser.
func (p *sacctJSONParser) Parse(record []byte, emit func(job.Event)) error {
	if len(logtext.Trim(record)) == 0 {
		return nil
	}
	var j accountedJob
	if err := unmarshal(record, &j); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return collector.Bad(collector.ReasonFormat, "", "%w", err)
		}
		return collector.Bad(collector.ReasonField, "", "%w", err)
	}
	switch {
	case len(j.CtldState) > 0:
		return collector.Bad(collector.ReasonFormat, "job_state",
			"this is slurmctld's own view of a job (squeue, scontrol): dump the accounting with sacct --json")
	case !j.JobID.known():
		return collector.Bad(collector.ReasonFormat, "job_id", "a job of the accounting has one")
	}
	p.fill(&j)
	return p.record(emit)
}

// fill writes the values of the job into the columns.
func (p *sacctJSONParser) fill(j *accountedJob) {
	name := j.User
	if name == "" {
		name = j.Association.User
	}
	limit := "UNLIMITED"
	if j.Time.Limit.known() {
		limit = j.Time.Limit.String()
	}
	p.fields = [columns][]byte{
		jobIDRaw: []byte(j.JobID.String()), jobID: []byte(j.id()), jobName: []byte(j.Name), user: []byte(name),
		account: []byte(j.Account), partition: []byte(j.Partition), qos: []byte(j.QOS),
		state: []byte(j.State.Current.state()), submit: digits(j.Time.Submitted), eligible: digits(j.Time.Eligible),
		start: digits(j.Time.start()), end: digits(j.Time.End), timelimitRaw: []byte(limit),
		reqCPUs: digits(j.Required.CPUs), allocCPUs: j.TRES.Allocated.count("cpu"),
		reqNodes: j.TRES.Requested.count("node"), nNodes: digits(j.NodeCount), priority: digits(j.Priority),
		nodeList: []byte(j.Nodes), reqTRES: j.TRES.Requested.text(), allocTRES: j.TRES.Allocated.text(),
		clusterName: []byte(j.Cluster),
	}
}

// digits formats a number for a column: "0" if there is none, and nothing for the numbers that mean no value (noValue).
func digits(v restNumber) []byte {
	if !v.known() && v.n != 0 {
		return nil
	}
	return []byte(v.String())
}

// start returns the start of the job. Some releases of the data parsers 0.0.38 and 0.0.39 write the eligible time as
// the start. The start is then computed: the end minus the elapsed and the suspended time.
func (t *accountedTimes) start() restNumber {
	ran := t.End.n - t.Elapsed.n - t.Suspended.n
	if t.Start.n == t.Eligible.n && t.End.n > 0 && t.Elapsed.set && t.Elapsed.n > 0 && ran > t.Start.n {
		return restNumber{n: ran, set: true}
	}
	return t.Start
}

// id returns the id that sacct shows for the job.
func (j *accountedJob) id() string {
	switch {
	case j.Array.JobID.n > 0 && j.Array.TaskID.known():
		return fmt.Sprintf("%d_%d", j.Array.JobID.n, j.Array.TaskID.n)
	case j.Array.JobID.n > 0 && j.Array.Task != "":
		return fmt.Sprintf("%d_[%s]", j.Array.JobID.n, j.Array.Task)
	case j.Het.JobID.n > 0 && j.Het.Offset.known():
		return fmt.Sprintf("%d+%d", j.Het.JobID.n, j.Het.Offset.n)
	}
	return j.JobID.String()
}

// ReadAt implements collector.Dated.
func (p *sacctJSONParser) ReadAt(time.Time) {}

// After implements collector.Dated. It does nothing, because all instants are Unix seconds.
func (p *sacctJSONParser) After(time.Time) {}

// maxJobDocument is the maximum number of bytes of one job, which may have many steps.
const maxJobDocument = 64 << 20

// jobDocument reads documents whose records are the elements of "jobs". A file may contain several documents.
type jobDocument struct {
	decoder *json.Decoder
	from    *lineCounter
	inJobs  bool
	// found is true from the beginning of a document to its end.
	found bool
}

func newJobDocument(from io.Reader) *jobDocument {
	text := bufio.NewReader(from)
	if mark, _ := text.Peek(3); len(logtext.Trim(mark)) == 0 && len(mark) == 3 && mark[0] == 0xef {
		_, _ = text.Discard(len(mark)) // a byte order mark, which was read already
	}
	counter := &lineCounter{from: text}
	return &jobDocument{decoder: json.NewDecoder(counter), from: counter}
}

// Next implements collector.RecordReader.
func (d *jobDocument) Next() ([]byte, int64, error) {
	d.from.budget = maxJobDocument
	for !d.inJobs {
		if err := d.skipTo(); err != nil {
			return nil, d.from.lineAt(d.from.read), err
		}
	}
	if !d.decoder.More() {
		d.inJobs = false
		if err := expect(d.decoder, ']'); err != nil {
			return nil, d.from.lineAt(d.from.read), cutOff(err)
		}
		return d.Next()
	}
	var text json.RawMessage
	if err := d.decoder.Decode(&text); err != nil {
		return nil, d.from.lineAt(d.from.read), cutOff(err)
	}
	line := d.from.lineAt(d.decoder.InputOffset() - int64(len(text)))
	return text, line, nil
}

// skipTo reads up to the next list of jobs, or to the end of the document if it has no further list. It returns io.EOF
// after the last document.
func (d *jobDocument) skipTo() error {
	if !d.found {
		if err := expect(d.decoder, '{'); err != nil {
			return err // io.EOF between two documents
		}
		d.found = true
	}
	for d.decoder.More() {
		key, err := d.decoder.Token()
		if err != nil {
			return cutOff(err)
		}
		switch key {
		case "jobs":
			d.inJobs = true
			return cutOff(expect(d.decoder, '['))
		case "errors":
			err = restErrors(d.decoder)
		default:
			err = d.decoder.Decode(new(json.RawMessage))
		}
		if err != nil {
			return cutOff(err)
		}
	}
	d.found = false
	return cutOff(expect(d.decoder, '}'))
}

// cutOff converts the end of the file inside a document to an error.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// lineCounter finds the line number of an offset in a text while the text is read. It keeps only the line ends after
// the offset of the last call. It stops the reading of a text that is too long.
type lineCounter struct {
	from   io.Reader
	budget int // bytes left
	read   int64
	lines  int64   // lines that end before the last offset
	ahead  []int64 // offsets of line ends after it
}

// Read implements io.Reader.
func (c *lineCounter) Read(p []byte) (int, error) {
	if c.budget <= 0 {
		return 0, fmt.Errorf("a record is longer than %d bytes", maxJobDocument)
	}
	n, err := c.from.Read(p[:min(len(p), c.budget)])
	for i, b := range p[:n] {
		if b == '\n' {
			c.ahead = append(c.ahead, c.read+int64(i))
		}
	}
	c.read, c.budget = c.read+int64(n), c.budget-n
	return n, err
}

// lineAt returns the number of the line, from 1, in which an offset lies. Offsets must not decrease.
func (c *lineCounter) lineAt(offset int64) int64 {
	n := 0
	for n < len(c.ahead) && c.ahead[n] < offset {
		n++
	}
	c.ahead = c.ahead[n:]
	c.lines += int64(n)
	return c.lines + 1
}
