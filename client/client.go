// Package client is the HTTP client of a waitcast daemon.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/memsize"
	"github.com/waitcast/waitcast/job"
)

// DefaultURL is the address of a daemon with the default configuration.
const DefaultURL = "http://127.0.0.1:9817"

// maxAnswer is the maximum number of bytes of an answer that are read. A forecast has about 2 kB.
const maxAnswer = 8 << 20

// Client is a client of one daemon. It is safe for concurrent use.
type Client struct {
	base *url.URL
	// shown is the address without a password. Messages show it.
	shown string
	http  *http.Client
}

// New returns a client for the daemon at address, such as http://127.0.0.1:9817 or unix:///run/waitcast/api.sock. An
// address without a scheme means http. A user and a password in the address are sent by basic authentication. If
// httpClient is nil, http.DefaultClient is used. Deadlines come from the contexts and from that client.
func New(address string, httpClient *http.Client) (*Client, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	base, err := url.Parse(address)
	if err != nil {
		var detail *url.Error // the text of this error has the password
		if errors.As(err, &detail) {
			err = detail.Err
		}
		return nil, fmt.Errorf("the daemon's URL is not valid: %w", err)
	}
	if httpClient == nil {
		httpClient = http.DefaultClient
	}
	if base.Scheme == "unix" {
		return newOverSocket(base, httpClient)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("the daemon's URL %s must be http://HOST:PORT, https://HOST:PORT or unix:///PATH",
			base.Redacted())
	}
	return &Client{base: base, shown: base.Redacted(), http: httpClient}, nil
}

// newOverSocket returns a client for the daemon at the Unix socket that a URL names.
func newOverSocket(at *url.URL, like *http.Client) (*Client, error) {
	if at.Host != "" || at.Opaque != "" || at.Path == "" {
		return nil, fmt.Errorf("the daemon's URL %s must be unix:///PATH", at.Redacted())
	}
	over, err := overSocket(like, at.Path)
	if err != nil {
		return nil, err
	}
	return &Client{base: &url.URL{Scheme: "http", Host: "localhost"}, shown: at.String(), http: over}, nil
}

// URL returns the daemon's address without a password, for messages.
func (c *Client) URL() string { return c.shown }

// WaitOptions are options of a request for a wait. The zero value means the daemon's defaults.
type WaitOptions struct {
	// Keep is the minimum share, up to 1, of the requested processors and of the requested time limit that suggested
	// options keep. 0 means the daemon's default.
	Keep float64
	// By is an instant (RFC 3339) or a duration from now (2h). The answer then has the probability of a start before
	// that instant; if By is empty, it has none.
	By string
}

// WaitJSON requests the forecast of a job's wait. It also returns the answer's JSON as received, which may have
// members that this client does not know. cluster may be empty if the daemon has only one cluster.
//
// The error is a *ProblemError if the daemon refused the request. It is an *UnreachableError if the daemon did not
// answer; that error wraps the errors of the context. It is an *AnswerError if the answer is not from a waitcast
// daemon.
func (c *Client) WaitJSON(ctx context.Context, cluster string, request job.Request, o WaitOptions) (*wire.Wait,
	json.RawMessage, error) {
	var wait wire.Wait
	query := waitQuery(cluster, request)
	setKeep(query, o.Keep)
	if o.By != "" {
		query.Set("by", o.By)
	}
	raw, err := c.get(ctx, "/v1/wait", query, &wait)
	if err != nil {
		return nil, nil, err
	}
	return &wait, raw, nil
}

// waitQuery encodes a request as the query of GET /v1/wait. It leaves out empty fields.
func waitQuery(cluster string, r job.Request) url.Values {
	query := queryOf(map[string]string{
		"cluster": cluster, "queue": r.Queue, "user": r.User, "account": r.Account, "qos": r.QOS, "gpu_type": r.GPUType,
	}, map[string]int{"procs": r.Procs, "nodes": r.Nodes, "gpus": r.GPUs})
	if r.Memory > 0 {
		size := memsize.Value(r.Memory)
		query.Set("memory", size.Exact())
	}
	if r.TimeLimit > 0 {
		query.Set("time_limit", strconv.FormatFloat(r.TimeLimit.Seconds(), 'f', -1, 64))
	}
	return query
}

// queryOf encodes the given parameters. It leaves out empty texts and numbers below 1.
func queryOf(texts map[string]string, numbers map[string]int) url.Values {
	query := url.Values{}
	for name, text := range texts {
		if text != "" {
			query.Set(name, text)
		}
	}
	for name, n := range numbers {
		if n > 0 {
			query.Set(name, strconv.Itoa(n))
		}
	}
	return query
}

func setKeep(query url.Values, keep float64) {
	if keep != 0 {
		query.Set("keep", strconv.FormatFloat(keep, 'f', -1, 64))
	}
}

// get requests a path below the daemon's URL and decodes the answer.
func (c *Client) get(ctx context.Context, path string, query url.Values, answer any) (json.RawMessage, error) {
	return c.getAs(ctx, "", path, query, answer)
}

// getAs does the same as get, and sends the admin token unless the token is empty.
func (c *Client) getAs(ctx context.Context, token, path string, query url.Values, answer any) (json.RawMessage, error) {
	target := c.base.JoinPath(path)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, application/problem+json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, unreachable(c.URL(), err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	return c.answer(response, answer)
}

// answer reads and decodes a response.
func (c *Client) answer(response *http.Response, answer any) (json.RawMessage, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, unreachable(c.URL(), err)
	}
	if len(body) > maxAnswer {
		return nil,
			&AnswerError{URL: c.URL(), Status: response.StatusCode, Err: fmt.Errorf("longer than %d bytes", maxAnswer)}
	}
	if err := decode(response, body, answer); err != nil {
		var problem *ProblemError
		if errors.As(err, &problem) {
			return nil, err
		}
		return nil, &AnswerError{URL: c.URL(), Status: response.StatusCode, Err: err}
	}
	return body, nil
}

// decode decodes an answer, or a problem.
func decode(response *http.Response, body []byte, answer any) error {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "application/problem+json":
		problem := &ProblemError{JSON: body}
		if err := json.Unmarshal(body, &problem.Problem); err != nil {
			return err
		}
		if problem.Status == 0 { // RFC 9457, section 3.1.2: the member is optional
			problem.Status = response.StatusCode
		}
		return problem
	case response.StatusCode != http.StatusOK:
		return errors.New(strings.ToLower(http.StatusText(response.StatusCode)))
	case err != nil || kind != "application/json":
		return fmt.Errorf("it is not JSON (content type %q)", response.Header.Get("Content-Type"))
	}
	return json.Unmarshal(body, answer)
}
