// Package client asks a waitcast daemon over HTTP: how long would a job wait?
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

// maxAnswer bounds how many bytes of an answer are read; a forecast has some 2 kB.
const maxAnswer = 8 << 20

// Client asks one daemon. It is safe for concurrent use.
type Client struct {
	base *url.URL
	http *http.Client
}

// New returns a client for the daemon at address, such as http://127.0.0.1:9817; without a scheme http is meant, and a
// user and password in it are sent (basic authentication). Deadlines are the contexts' and the http.Client's own; nil
// means http.DefaultClient.
func New(address string, httpClient *http.Client) (*Client, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	base, err := url.Parse(address)
	if err != nil {
		var detail *url.Error // its own text repeats the address, password included
		if errors.As(err, &detail) {
			err = detail.Err
		}
		return nil, fmt.Errorf("the daemon's URL is not valid: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("the daemon's URL %s must be http://HOST:PORT or https://HOST:PORT", base.Redacted())
	}
	if httpClient == nil {
		httpClient = http.DefaultClient
	}
	return &Client{base: base, http: httpClient}, nil
}

// URL returns the daemon's address as it may be shown: without a password.
func (c *Client) URL() string { return c.base.Redacted() }

// WaitOptions are what can be said beside the request; the zero value is the daemon's defaults.
type WaitOptions struct {
	// Keep is the part of the processors and of the time limit, up to 1, that what would start sooner keeps at least;
	// 0 for the daemon's default.
	Keep float64
	// By is an instant (RFC 3339), or how long from now (2h): the answer has the probability of a start by then. Empty
	// for none.
	By string
}

// WaitJSON asks how long the job would wait, and also returns the answer's JSON as it came: it may have members that
// this client does not know. Cluster may be empty where the daemon watches only one.
//
// Errors: *ProblemError if the daemon answered that it cannot; *UnreachableError if it did not answer (errors.Is knows
// the context's errors); *AnswerError if the answer is not from a waitcast daemon.
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

// waitQuery writes a request as the query of GET /v1/wait; fields that the request leaves open are left out.
func waitQuery(cluster string, r job.Request) url.Values {
	query := url.Values{}
	for name, text := range map[string]string{
		"cluster": cluster, "queue": r.Queue, "user": r.User, "account": r.Account, "qos": r.QOS,
		"procs": count(r.Procs), "nodes": count(r.Nodes), "gpus": count(r.GPUs),
	} {
		if text != "" {
			query.Set(name, text)
		}
	}
	if r.Memory > 0 {
		size := memsize.Value(r.Memory)
		query.Set("memory", size.Exact())
	}
	if r.TimeLimit > 0 {
		query.Set("time_limit", strconv.FormatFloat(r.TimeLimit.Seconds(), 'f', -1, 64))
	}
	return query
}

func setKeep(query url.Values, keep float64) {
	if keep != 0 {
		query.Set("keep", strconv.FormatFloat(keep, 'f', -1, 64))
	}
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// get asks for a path below the daemon's URL and decodes the answer.
func (c *Client) get(ctx context.Context, path string, query url.Values, answer any) (json.RawMessage, error) {
	return c.getAs(ctx, "", path, query, answer)
}

// getAs is get with the admin token, unless that is empty.
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

// answer reads and decodes what came.
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

// decode reads an answer, or the problem that came in its stead.
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
