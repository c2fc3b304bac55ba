package slurm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/collector/source"
)

// restVersions are those of slurmrestd's interface that are tried, newest first: 0.0.38 came with Slurm 22.05, and each
// release since has added one.
var restVersions = [...]int{45, 44, 43, 42, 41, 40, 39, 38}

// maxAnswer bounds the bytes of one answer: 300,000 jobs of 7 KB.
const maxAnswer = 2 << 30

// clockSkew is by how much the clocks of slurmctld's host and this one may differ if an answer lacks slurmctld's time.
const clockSkew = 30 * time.Second

// Rest polls slurmrestd for the jobs, over its Unix socket, in place of squeue. The events are the same: see Snapshot.
// Its methods are for one goroutine.
type Rest struct {
	socket   string
	timeout  time.Duration
	snapshot *Snapshot
	client   *http.Client
	version  int // of the interface; 0 while it is not known

	// The newest answer, which holds until something changes: slurmctld's time of it, the jobs, and what could not be
	// read.
	updated time.Time
	rows    []row
	lines   int
	refused refusals
}

// NewRest returns a Rest.
func NewRest(socket string, timeout time.Duration, snapshot *Snapshot) *Rest {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Rest{
		socket: socket, timeout: timeout, snapshot: snapshot,
		client: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}},
	}
}

// Ask asks once. The first call finds out which version of its interface slurmrestd has.
func (r *Rest) Ask(ctx context.Context, asked time.Time) source.Answer {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.ask(ctx, asked); err != nil {
		r.updated = time.Time{}
		return source.Answer{Err: r.failure(ctx, err)}
	}
	return r.snapshot.take(r.rows, r.lines, &r.refused, asked)
}

// errVersion is the error if slurmrestd does not know a version of the interface.
var errVersion = errors.New("not found")

func (r *Rest) ask(ctx context.Context, asked time.Time) error {
	if r.version != 0 {
		err := r.get(ctx, r.version, asked)
		if !errors.Is(err, errVersion) {
			return err
		}
		r.version, r.updated = 0, time.Time{} // it is another slurmrestd now
	}
	for _, v := range restVersions {
		err := r.get(ctx, v, asked)
		if errors.Is(err, errVersion) {
			continue
		}
		if err == nil {
			r.version = v
		}
		return err
	}
	return fmt.Errorf("slurmrestd has none of the versions v0.0.%d to v0.0.%d of its interface: is the plugin "+
		"openapi/slurmctld loaded?",
		restVersions[len(restVersions)-1], restVersions[0])
}

// get asks for the jobs, or for news only.
func (r *Rest) get(ctx context.Context, version int, asked time.Time) error {
	url := fmt.Sprintf("http://localhost/slurm/v0.0.%d/jobs", version)
	if !r.updated.IsZero() {
		url += "?update_time=" + strconv.FormatInt(r.updated.Unix(), 10)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // nothing is written
	switch response.StatusCode {
	case http.StatusOK:
		return r.read(response.Body, asked)
	case http.StatusNotModified:
		r.refused.bad = nil // they were told
		return nil
	case http.StatusNotFound:
		return errVersion
	}
	advice := ""
	if response.StatusCode == http.StatusUnauthorized {
		advice = "; with rest_auth/local it answers its own user only: run it as the daemon's"
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 500)) // good to have, no more
	return &source.CallError{Reason: source.FailedExit,
		Err: fmt.Errorf("slurmrestd at %s says %s: %s%s", r.socket, response.Status, bytes.TrimSpace(text), advice)}
}

// read parses an answer.
func (r *Rest) read(body io.Reader, asked time.Time) error {
	limited := &io.LimitedReader{R: body, N: maxAnswer}
	answer := restAnswer{parser: &r.snapshot.parser}
	if err := answer.read(json.NewDecoder(limited)); err != nil {
		if limited.N <= 0 {
			err = fmt.Errorf("more than %d bytes", int64(maxAnswer))
		}
		return &source.CallError{Reason: source.FailedOutput,
			Err: fmt.Errorf("the answer of slurmrestd at %s cannot be read: %w", r.socket, err)}
	}
	sortRows(answer.rows)
	r.rows, r.lines, r.refused = answer.rows, answer.lines, answer.refused
	r.updated = asked.Add(-clockSkew)
	if answer.updated > 0 {
		r.updated = instant(answer.updated)
	}
	return nil
}

// failure returns why a call failed.
func (r *Rest) failure(ctx context.Context, err error) error {
	var call *source.CallError
	var netErr *net.OpError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &source.CallError{Reason: source.FailedTimeout,
			Err: fmt.Errorf("slurmrestd at %s did not answer in %s; is the scheduler overloaded?", r.socket, r.timeout)}
	case errors.As(err, &call):
		return err
	case errors.As(err, &netErr) && netErr.Op == "dial":
		return &source.CallError{Reason: source.FailedStart,
			Err: fmt.Errorf("slurmrestd cannot be reached: %w; start it, or set the source's socket", netErr)}
	}
	return &source.CallError{Reason: source.FailedExit, Err: fmt.Errorf("asking slurmrestd at %s: %w", r.socket, err)}
}

// restAnswer reads the answer job by job: the document is many times as large as what is kept of it.
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
		return fmt.Errorf("it says %q", cmp.Or(list[0].Description, list[0].Error, "error"))
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
