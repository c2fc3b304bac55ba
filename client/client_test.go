package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/job"
)

// fake is a server that gives the same answer to every request and records the newest request.
type fake struct {
	kind, body string
	status     int
	asked      *http.Request
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked = r
	w.Header().Set("Content-Type", f.kind)
	w.WriteHeader(f.status)
	_, _ = io.WriteString(w, f.body)
}

// ask lets a client request the wait of a job from the fake.
func ask(t *testing.T, f *fake, path string, r job.Request) (*wire.Wait, []byte, error) {
	t.Helper()
	server := httptest.NewServer(f)
	defer server.Close()
	c, err := client.New(server.URL+path, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	return c.WaitJSON(t.Context(), "", r, client.WaitOptions{})
}

const answer = `{"queue": "short", "wait_seconds": {"p50": 60.5, "p90": null}, "later": "unknown members stay"}`

func TestWaitAsksAndDecodes(t *testing.T) {
	f := &fake{kind: "application/json; charset=utf-8", body: answer, status: 200}
	wait, raw, err := ask(t, f, "/behind/a/proxy/", job.Request{
		Queue: "short & long", User: "u", Account: "a", QOS: "high", Procs: 8, Nodes: 2,
		TimeLimit: 90*time.Minute + 500*time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if wait.Queue != "short" || *wait.WaitSeconds.P50 != 60.5 || wait.WaitSeconds.P90 != nil || string(raw) != answer {
		t.Errorf("answer %+v, raw %s", wait, raw)
	}
	want := url.Values{"queue": {"short & long"}, "user": {"u"}, "account": {"a"}, "qos": {"high"}, "procs": {"8"},
		"nodes": {"2"}, "time_limit": {"5400.5"}}
	if d := cmp.Diff(want, f.asked.URL.Query()); d != "" || f.asked.URL.Path != "/behind/a/proxy/v1/wait" {
		t.Errorf("asked %s (-want +got):\n%s", f.asked.URL, d)
	}
}

// TestUnsaidIsLeftOut proves that parameters that the request does not set are left out, not sent as zeros.
func TestUnsaidIsLeftOut(t *testing.T) {
	f := &fake{kind: "application/json", body: "{}", status: 200}
	if _, _, err := ask(t, f, "", job.Request{Queue: "q", Procs: 1}); err != nil ||
		f.asked.URL.RawQuery != "procs=1&queue=q" {
		t.Errorf("%q, %v", f.asked.URL.RawQuery, err)
	}
}

func TestProblem(t *testing.T) {
	body := `{"type": "` + wire.ProblemNoForecast +
		`", "title": "No forecast", "detail": "not fitted", "reason": "not_fitted", "hint": "wait"}`
	_, _, err := ask(t, &fake{kind: "application/problem+json", body: body, status: 409}, "", job.Request{})
	var p *client.ProblemError
	if !errors.As(err, &p) || !p.NoForecast() || p.Hint != "wait" || p.Status != 409 || string(p.JSON) != body {
		t.Fatalf("%#v", err)
	}
	if p.Error() != "No forecast: not fitted (status 409)" {
		t.Errorf("%q", p.Error())
	}
}

func TestForeignAnswers(t *testing.T) {
	for name, f := range map[string]*fake{
		"not found":      {kind: "text/html", body: "<h1>no</h1>", status: 404},
		"a web page":     {kind: "text/html", body: "<h1>hello</h1>", status: 200},
		"no type":        {kind: "", body: "{}", status: 200},
		"broken JSON":    {kind: "application/json", body: "{", status: 200},
		"other JSON":     {kind: "application/json", body: `[1]`, status: 200},
		"broken problem": {kind: "application/problem+json", body: "{", status: 500},
		"endless":        {kind: "application/json", body: strings.Repeat(" ", 9<<20), status: 200},
	} {
		_, _, err := ask(t, f, "", job.Request{})
		var a *client.AnswerError
		if !errors.As(err, &a) || a.Status != f.status || !strings.Contains(err.Error(), "http://127.0.0.1:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(&fake{})
	address := server.URL
	server.Close()
	c, err := client.New(strings.Replace(address, "http://", "http://user:secret@", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.WaitJSON(t.Context(), "", job.Request{}, client.WaitOptions{})
	var u *client.UnreachableError
	if !errors.As(err, &u) || strings.Contains(err.Error(), "secret") || strings.Count(err.Error(), u.URL) != 1 {
		t.Errorf("%v", err)
	}
}

func TestCanceledContextIsKnown(t *testing.T) {
	server := httptest.NewServer(&fake{kind: "application/json", body: "{}", status: 200})
	defer server.Close()
	c, err := client.New(server.URL, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.WaitJSON(ctx, "", job.Request{}, client.WaitOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestNewReadsAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:9817":           "http://127.0.0.1:9817",
		"login1":                   "http://login1",
		"https://u:p@login1/wait":  "https://u:xxxxx@login1/wait",
		"http://[::1]:9817":        "http://[::1]:9817",
		"ftp://login1":             "",
		"http://":                  "",
		"":                         "",
		"http://u:secret@h:port/x": "",
		"ftp://u:secret@login1":    "",
	} {
		c, err := client.New(address, nil)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is accepted", address)
		case want == "" && strings.Contains(err.Error(), "secret"):
			t.Errorf("the password is shown: %v", err)
		case want != "" && (err != nil || c.URL() != want):
			t.Errorf("%q: %v, %v", address, c, err)
		}
	}
}
