package slurm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/collector/source"
)

// restVersions are the versions of slurmrestd's interface that are tried, newest first. Version 0.0.38 came with
// Slurm 22.05, and each later release of Slurm has added one.
var restVersions = [...]int{45, 44, 43, 42, 41, 40, 39, 38}

// maxAnswer is the maximum size of one answer in bytes. It is enough for 300,000 jobs of 7 KB.
const maxAnswer = 2 << 30

// clockSkew is the assumed maximum difference between the clocks of slurmctld's host and of this one. It is used if
// an answer lacks slurmctld's time.
const clockSkew = 30 * time.Second

// Rest polls slurmrestd for the jobs, in place of squeue. The events are those of Snapshot. It is not safe for
// concurrent use.
type Rest struct {
	client   *restClient
	snapshot *Snapshot
	version  restVersion

	// These fields are kept from the newest answer: the version of the interface, slurmctld's time, the jobs, the
	// number of entries, and those that could not be parsed. The answer stays valid until slurmctld reports a change.
	asked   int
	updated time.Time
	rows    []row
	lines   int
	refused refusals
}

// NewRest returns a Rest.
func NewRest(cfg RestConfig, snapshot *Snapshot) *Rest {
	return &Rest{client: newRestClient(cfg), snapshot: snapshot,
		version: restVersion{plugin: "openapi/slurmctld", tried: restVersions[:]}}
}

// Ask polls once. The first call finds the version of slurmrestd's interface.
func (r *Rest) Ask(ctx context.Context, asked time.Time) source.Answer {
	err := r.version.with(r.client, func(version int) error { return r.get(ctx, version, asked) })
	if err != nil {
		r.updated = time.Time{}
		return source.Answer{Err: err}
	}
	return r.snapshot.take(r.rows, r.lines, &r.refused, asked)
}

// get requests all jobs. If slurmrestd answers that nothing has changed since the newest answer, that answer is kept.
func (r *Rest) get(ctx context.Context, version int, asked time.Time) error {
	if version != r.asked {
		r.asked, r.updated = version, time.Time{}
	}
	path := fmt.Sprintf("/slurm/v0.0.%d/jobs", version)
	if !r.updated.IsZero() {
		path += "?update_time=" + strconv.FormatInt(r.updated.Unix(), 10)
	}
	err := r.client.get(ctx, path, func(body io.Reader) error { return r.read(body, asked) })
	if errors.Is(err, errUnchanged) {
		r.refused.bad = nil // the bad lines have been reported
		return nil
	}
	return err
}

// read parses an answer.
func (r *Rest) read(body io.Reader, asked time.Time) error {
	answer := restAnswer{parser: &r.snapshot.parser}
	if err := answer.read(json.NewDecoder(body)); err != nil {
		return err
	}
	sortRows(answer.rows)
	r.rows, r.lines, r.refused = answer.rows, answer.lines, answer.refused
	r.updated = asked.Add(-clockSkew)
	if answer.updated > 0 {
		r.updated = instant(answer.updated)
	}
	return nil
}

// restAnswer parses the answer job by job, because the document is many times larger than the parsed jobs.
type restAnswer struct {
	parser  *squeueParser
	rows    []row
	lines   int
	refused refusals
	updated int64
}

func (a *restAnswer) read(d *json.Decoder) error {
	if err := expect(d, '{'); err != nil {
		return err
	}
	jobs := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "jobs":
			jobs = true
			err = a.jobs(d)
		case "last_update": // since 0.0.39
			var n restNumber
			err = d.Decode(&n)
			a.updated = min(n.n, maxUnix)
		case "errors":
			err = restErrors(d)
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return err
		}
	}
	if !jobs {
		return errors.New("it has no jobs")
	}
	return expect(d, '}')
}

// restErrors refuses an answer that lists errors.
func restErrors(d *json.Decoder) error {
	var list []struct {
		Error       string `json:"error"`
		Description string `json:"description"`
	}
	if err := d.Decode(&list); err != nil {
		return err
	}
	if len(list) > 0 {
		return fmt.Errorf("its error is %q", cmp.Or(list[0].Description, list[0].Error, "error"))
	}
	return nil
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("want %v, got %v", want, token)
	}
	return nil
}

func (a *restAnswer) jobs(d *json.Decoder) error {
	if err := expect(d, '['); err != nil {
		return err
	}
	for d.More() {
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return err
		}
		a.lines++
		r, err := a.parser.restJob(text)
		if err != nil {
			a.refused.add(int64(a.lines), text, err)
			continue
		}
		a.rows = append(a.rows, r)
	}
	return expect(d, ']')
}
