package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// Import describes recorded logs that are sent to the daemon.
type Import struct {
	// Cluster may be empty if the daemon has only one cluster.
	Cluster string
	// Format is the format of all files, with its name in the daemon's configuration. If it is empty, the format of
	// each file is recognized by its content. Columns are the columns of a dump of sacct without a header, separated
	// by commas.
	Format, Columns string
	// Mode is the way in which the history is replayed: exact or fast. If it is empty, the daemon decides.
	Mode string
	// Files are the logs. All of them form one import.
	Files []ImportFile
	// Progress is called about twice a second by Import's goroutine. It may be nil.
	Progress func(wire.ImportProgress)
	// Silence is the maximum time without any byte from the daemon; 0 means no limit. The daemon reports its progress
	// twice a second.
	Silence time.Duration
}

// ImportFile is a log, plain, gzip or zstd.
type ImportFile struct {
	// Name is the name of the file in the daemon's messages.
	Name string
	// Open returns the log. Import closes the log. A read from it that blocks may continue after Import has returned,
	// so that an error of the daemon is returned at once.
	Open func() (io.ReadCloser, error)
}

// FileError means that a file could not be read on this host.
type FileError struct {
	Name string
	Err  error
}

// Error implements error.
func (e *FileError) Error() string { return fmt.Sprintf("%s: %v", e.Name, e.Err) }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// Import sends logs to the daemon. When the logs are learnt, it returns the report, also as JSON. It needs the admin
// token. After an error the daemon keeps no part of the logs, unless it had already begun to learn them; then it
// continues. A log that is imported twice counts once.
//
// Errors are those of WaitJSON, and a *FileError.
func (c *Client) Import(ctx context.Context, token string, in Import) (*wire.ImportReport, json.RawMessage, error) {
	var failed atomic.Pointer[FileError]
	report, raw, err := c.sendImport(ctx, token, in, &failed)
	if own := failed.Load(); err != nil && own != nil {
		return nil, nil, own
	}
	return report, raw, err
}

// sendImport does the work of Import. failed receives the error of reading a file, if there is one. The error of the
// request is then only a consequence of it.
func (c *Client) sendImport(ctx context.Context, token string, in Import,
	failed *atomic.Pointer[FileError]) (*wire.ImportReport, json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, to := io.Pipe()
	// Once net/http has begun to send a body, it waits until the body is sent or fails.
	context.AfterFunc(ctx, func() { body.CloseWithError(ctx.Err()) }) //nolint:errcheck // always nil
	form := multipart.NewWriter(to)
	request, err := c.importRequest(ctx, token, in, body, form.FormDataContentType())
	if err != nil {
		return nil, nil, err
	}
	go func() {
		err := sendFiles(form, in.Files)
		var own *FileError
		if errors.As(err, &own) {
			failed.Store(own)
		}
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

// sendFiles writes the files as parts of a form. An error of reading a file is a *FileError.
func sendFiles(form *multipart.Writer, files []ImportFile) error {
	for _, f := range files {
		names := map[string]string{"name": "file", "filename": f.Name}
		part, err := form.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {mime.FormatMediaType("form-data", names)},
			"Content-Type":        {"application/octet-stream"},
		})
		if err != nil {
			return err
		}
		if err := sendFile(part, f); err != nil {
			return err
		}
	}
	return form.Close()
}

func sendFile(to io.Writer, f ImportFile) error {
	from, err := f.Open()
	if err != nil {
		return &FileError{f.Name, err}
	}
	defer from.Close() //nolint:errcheck // it was only read
	_, err = io.Copy(to, readsFile{from, f.Name})
	return err
}

// readsFile wraps the errors of reading a file in a *FileError.
type readsFile struct {
	from io.Reader
	name string
}

// Read implements io.Reader.
func (r readsFile) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &FileError{r.name, err}
	}
	return n, err
}

// orCause returns the cause of the context's end if the context has ended. Otherwise it returns err.
func orCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (c *Client) importRequest(ctx context.Context, token string, in Import,
	body io.ReadCloser, contentType string) (*http.Request, error) {
	target := c.base.JoinPath("/v1/import")
	query := url.Values{}
	for name, value := range map[string]string{
		"cluster": in.Cluster, "format": in.Format, "columns": in.Columns, "mode": in.Mode,
	} {
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
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", "application/x-ndjson, application/problem+json")
	request.Header.Set("Expect", "100-continue") // so that a refusal is received before the log is sent
	return request, nil
}

var errNoJSON = errors.New("a line of it is not JSON of an import")

// readImport reads the lines of the answer up to the report, which it returns, or the problem, which becomes the error.
// It calls awake for each line, and progress (unless nil) for each line with the progress.
func readImport(from io.Reader, progress func(wire.ImportProgress), awake func()) (*wire.ImportReport,
	json.RawMessage, error) {
	lines := bufio.NewScanner(io.LimitReader(from, 64*maxAnswer)) // enough for the progress of a week
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

// Quarantine requests bad lines of the logs, newest last. It also returns the answer's JSON. It needs the admin token.
// If cluster or reason is not empty, only lines of that cluster or with that reason are returned. A limit of 0 means
// the daemon's default.
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
