package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// Import is a log of the past for the daemon.
type Import struct {
	// Cluster may be empty where the daemon watches only one.
	Cluster string
	// Format is the log's, as the daemon's configuration names it.
	Format string
	// Name is the file's, for the daemon's messages.
	Name string
	// Log is the log, plain, gzip or zstd. Import does not close it. A blocked read of it may outlast Import, so that
	// an error of the daemon is returned at once.
	Log io.Reader
	// Progress, if it is not nil, is called about twice a second, from Import's goroutine.
	Progress func(wire.ImportProgress)
	// Silence is the maximum time without any byte from the daemon, which reports its progress twice a second; 0 means
	// no limit.
	Silence time.Duration
}

// Import sends a log to the daemon and returns what became of it once all of it is stored, and that as JSON. It needs
// the admin token. Lines that were sent before an error may have been stored; a log that is imported again counts once.
//
// Errors are those of WaitJSON.
func (c *Client) Import(ctx context.Context, token string, in Import) (*wire.ImportReport, json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, to := io.Pipe()
	// net/http waits for a body that it has begun to send.
	context.AfterFunc(ctx, func() { body.CloseWithError(ctx.Err()) }) //nolint:errcheck // always nil
	request, err := c.importRequest(ctx, token, in, body)
	if err != nil {
		return nil, nil, err
	}
	go func() {
		_, err := io.Copy(to, in.Log)
		to.CloseWithError(err) //nolint:errcheck // always nil
	}()
	awake := func() {}
	if in.Silence > 0 {
		timer := time.AfterFunc(in.Silence, func() { cancel(context.DeadlineExceeded) })
		defer timer.Stop()
		awake = func() { timer.Reset(in.Silence) }
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, unreachable(c.URL(), orCause(ctx, err))
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		_, err = c.answer(response, nil)
		return nil, nil, err
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil ||
		kind != "application/x-ndjson" {
		return nil, nil, &AnswerError{URL: c.URL(), Status: response.StatusCode, Err: errors.New("it is no import's")}
	}
	report, raw, err := readImport(response.Body, in.Progress, awake)
	var problem *ProblemError
	switch {
	case err == nil, errors.As(err, &problem):
		return report, raw, err
	case errors.Is(err, errNoJSON):
		return nil, nil, &AnswerError{URL: c.URL(), Status: response.StatusCode, Err: err}
	}
	return nil, nil, unreachable(c.URL(), orCause(ctx, err))
}

// orCause returns why the context ended, if it did, in place of an error that follows from it.
func orCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (c *Client) importRequest(ctx context.Context, token string, in Import,
	body io.ReadCloser) (*http.Request, error) {
	target := c.base.JoinPath("/v1/import")
	query := url.Values{"format": {in.Format}}
	for name, value := range map[string]string{"cluster": in.Cluster, "name": in.Name} {
		if value != "" {
			query.Set(name, value)
		}
	}
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), body)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Accept", "application/x-ndjson, application/problem+json")
	request.Header.Set("Expect", "100-continue") // a refusal comes before the log is sent
	return request, nil
}

var errNoJSON = errors.New("a line of it is not JSON of an import")

// readImport reads the answer's lines up to the last.
func readImport(from io.Reader, progress func(wire.ImportProgress), awake func()) (*wire.ImportReport,
	json.RawMessage, error) {
	lines := bufio.NewScanner(io.LimitReader(from, 64*maxAnswer)) // a week of progress
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		awake()
		var line struct {
			Progress *wire.ImportProgress `json:"progress"`
			Report   json.RawMessage      `json:"report"`
			Problem  json.RawMessage      `json:"problem"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errNoJSON, err)
		}
		switch {
		case line.Problem != nil:
			problem := &ProblemError{JSON: line.Problem}
			if err := json.Unmarshal(line.Problem, &problem.Problem); err != nil {
				return nil, nil, fmt.Errorf("%w: %w", errNoJSON, err)
			}
			return nil, nil, problem
		case line.Report != nil:
			report := new(wire.ImportReport)
			if err := json.Unmarshal(line.Report, report); err != nil {
				return nil, nil, fmt.Errorf("%w: %w", errNoJSON, err)
			}
			return report, line.Report, nil
		case line.Progress != nil && progress != nil:
			progress(*line.Progress)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, nil, err
	}
	return nil, nil, io.ErrUnexpectedEOF
}

// Quarantine asks for lines of the logs that could not be used, the newest last, and also returns the answer's JSON. It
// needs the admin token. Cluster and reason select, empty ones everything; limit 0 leaves the number of lines to the
// daemon.
//
// Errors are those of WaitJSON.
func (c *Client) Quarantine(ctx context.Context, token, cluster, reason string, limit int) (*wire.Quarantine,
	json.RawMessage, error) {
	query := url.Values{}
	for name, value := range map[string]string{"cluster": cluster, "reason": reason} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var answer wire.Quarantine
	raw, err := c.getAs(ctx, token, "/v1/quarantine", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}
