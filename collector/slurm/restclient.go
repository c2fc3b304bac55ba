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
	"os"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector/source"
)

// RestConfig has the address of slurmrestd, and the user who sends requests.
type RestConfig struct {
	// Socket is slurmrestd's Unix socket. If Socket is empty, URL is its address: "http://head:6820", or https.
	Socket, URL string
	// User and TokenFile are for auth/jwt. The file has the JSON web token. It is read at each call, so that a new
	// token is used at once. User may be empty, because the token names its user too.
	User, TokenFile string
	// Timeout is the maximum duration of a request.
	Timeout time.Duration
}

// target returns the name of the server for messages.
func (c RestConfig) target() string { return cmp.Or(c.Socket, c.URL) }

// restClient sends requests to slurmrestd.
type restClient struct {
	RestConfig
	http *http.Client
	base string
}

func newRestClient(cfg RestConfig) *restClient {
	// Connections are not kept, because slurmrestd closes idle ones. A proxy of the environment is not used.
	transport := &http.Transport{DisableKeepAlives: true}
	c := &restClient{RestConfig: cfg, base: strings.TrimSuffix(cfg.URL, "/")}
	if cfg.Socket != "" {
		c.base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", cfg.Socket)
		}
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the token must not go to another server
	}}
	return c
}

// errVersion is the error if slurmrestd does not have a version of the interface. errUnchanged is the error if
// nothing has changed.
var (
	errVersion   = errors.New("not found")
	errUnchanged = errors.New("not modified")
)

// get requests a path and passes the body of the answer to a function.
func (c *restClient) get(ctx context.Context, path string, read func(body io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	err := c.exchange(ctx, path, read)
	if err == nil || errors.Is(err, errVersion) || errors.Is(err, errUnchanged) {
		return err
	}
	return c.failure(ctx, path, err)
}

func (c *restClient) exchange(ctx context.Context, path string, read func(body io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	if err := c.authenticate(request); err != nil {
		return &source.CallError{Reason: source.FailedStart, Err: err}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // an error is ignored, because the body is only read
	switch response.StatusCode {
	case http.StatusOK:
		limited := &io.LimitedReader{R: response.Body, N: maxAnswer}
		err := read(limited)
		if err != nil && limited.N <= 0 {
			err = fmt.Errorf("more than %d bytes", int64(maxAnswer))
		}
		if err != nil && ctx.Err() == nil {
			err = &source.CallError{Reason: source.FailedOutput,
				Err: fmt.Errorf("the answer of slurmrestd at %s to GET %s cannot be read: %w", c.target(), path, err)}
		}
		return err
	case http.StatusNotModified:
		return errUnchanged
	case http.StatusNotFound:
		return errVersion
	}
	return &source.CallError{Reason: source.FailedExit,
		Err: fmt.Errorf("slurmrestd at %s answers GET %s with %s: %s%s", c.target(), path, response.Status,
			complaint(response.Body), c.advice(response))}
}

// authenticate adds the token.
func (c *restClient) authenticate(request *http.Request) error {
	if c.TokenFile == "" {
		return nil
	}
	text, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return fmt.Errorf("the token for slurmrestd at %s cannot be read: %w; write one with %s", c.target(), err,
			c.newToken())
	}
	token := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(string(text)), "SLURM_JWT="))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return fmt.Errorf("%s holds no token for slurmrestd at %s: write one with %s", c.TokenFile, c.target(),
			c.newToken())
	}
	request.Header.Set("X-SLURM-USER-TOKEN", token)
	if c.User != "" {
		request.Header.Set("X-SLURM-USER-NAME", c.User)
	}
	return nil
}

// newToken returns the command that creates a token.
func (c *restClient) newToken() string {
	return fmt.Sprintf("scontrol token username=%s lifespan=SECONDS > %s", cmp.Or(c.User, "USER"), c.TokenFile)
}

// complaint returns the message in the body of an error response, or the beginning of the body if it has none.
func complaint(body io.Reader) []byte {
	const most, shown = 64 << 10, 500
	text, _ := io.ReadAll(io.LimitReader(body, most)) // optional
	var answer struct {
		Errors json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(text, &answer) == nil && len(answer.Errors) > 0 {
		if err := restErrors(json.NewDecoder(bytes.NewReader(answer.Errors))); err != nil {
			return []byte(err.Error())
		}
	}
	return bytes.TrimSpace(text[:min(len(text), shown)])
}

// advice returns what the administrator can do about an error response.
func (c *restClient) advice(response *http.Response) string {
	status := response.StatusCode
	switch {
	case status == http.StatusUnauthorized && c.TokenFile != "":
		return fmt.Sprintf("; has the token in %s expired? Write a new one with %s", c.TokenFile, c.newToken())
	case status == http.StatusUnauthorized && c.Socket == "":
		return "; set the source's token_file"
	case status == http.StatusUnauthorized:
		return "; with rest_auth/local it answers its own user only: run it as the daemon's, or set the source's " +
			"token_file"
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests:
		return "; are slurmctld and slurmdbd up, and not overloaded? It is asked again"
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		return "; it redirects to " + response.Header.Get("Location") + ", which is not followed: set the source's url"
	}
	return ""
}

// failure returns the error of a failed call.
func (c *restClient) failure(ctx context.Context, path string, err error) error {
	var call *source.CallError
	var netErr *net.OpError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &source.CallError{Reason: source.FailedTimeout,
			Err: fmt.Errorf("slurmrestd at %s did not answer in %s (GET %s); is the scheduler overloaded? Raise the "+
				"source's timeout if it is not", c.target(), c.Timeout, path)}
	case errors.As(err, &call):
		return err
	case errors.As(err, &netErr) && netErr.Op == "dial":
		return &source.CallError{Reason: source.FailedStart,
			Err: fmt.Errorf("slurmrestd at %s cannot be reached: %w; start it, or set the source's socket or url",
				c.target(), netErr)}
	}
	return &source.CallError{Reason: source.FailedExit,
		Err: fmt.Errorf("asking slurmrestd at %s for %s: %w", c.target(), path, err)}
}

// restVersion finds out by trying which version of an interface slurmrestd has.
type restVersion struct {
	plugin string // name of Slurm's plugin: "openapi/slurmctld"
	tried  []int  // versions to try, newest first
	found  int    // 0 while unknown
}

// with calls the function do, and passes it the version that was found. If none was found yet, or slurmrestd was
// upgraded and no longer has that version (errVersion), the function is called with each version, newest first, until
// one exists.
func (v *restVersion) with(c *restClient, do func(version int) error) error {
	if v.found != 0 {
		err := do(v.found)
		if !errors.Is(err, errVersion) {
			return err
		}
		v.found = 0
	}
	for _, version := range v.tried {
		err := do(version)
		if errors.Is(err, errVersion) {
			continue
		}
		if err == nil {
			v.found = version
		}
		return err
	}
	return &source.CallError{Reason: source.FailedExit,
		Err: fmt.Errorf("slurmrestd at %s has none of the versions v0.0.%d to v0.0.%d of its interface: is the plugin "+
			"%s loaded, and is its Slurm new enough?", c.target(), v.tried[len(v.tried)-1], v.tried[0], v.plugin)}
}
