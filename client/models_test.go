package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/client"
)

func TestModelsAsksAndDecodes(t *testing.T) {
	f := &fake{kind: "application/json",
		body: `{"queue": "a/b c", "laws": [{"class": "parallel", "chosen": "hyper_gamma"}]}`, status: 200}
	server := httptest.NewServer(f)
	defer server.Close()
	c, err := client.New(server.URL, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	m, raw, err := c.Models(t.Context(), "main", "a/b c")
	if err != nil || string(raw) != f.body || m.Laws[0].Chosen != "hyper_gamma" {
		t.Fatalf("%+v, %v", m, err)
	}
	if f.asked.URL.EscapedPath() != "/v1/models/a%2Fb%20c" || f.asked.URL.RawQuery != "cluster=main" {
		t.Errorf("asked %s", f.asked.URL)
	}
}

func TestWorkloadStreams(t *testing.T) {
	first, more := make(chan bool), make(chan bool)
	var asked url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Waitcast-Seed", "9")
		_, _ = io.WriteString(w, "one\n")
		_ = http.NewResponseController(w).Flush()
		close(first)
		<-more
		_, _ = io.WriteString(w, "two\n")
	}))
	defer server.Close()
	c, err := client.New(server.URL, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(9)
	jobs, used, err := c.Workload(t.Context(),
		client.Workload{Queue: "q", Model: "users", Jobs: 5, Hours: 1.5, Format: "swf", Seed: &seed})
	if err != nil || used != 9 {
		t.Fatalf("seed %d, %v", used, err)
	}
	<-first // the first part arrives while the daemon still draws
	line := make([]byte, 4)
	if _, err := io.ReadFull(jobs, line); err != nil || string(line) != "one\n" {
		t.Errorf("%q, %v", line, err)
	}
	close(more)
	if rest, err := io.ReadAll(jobs); err != nil || string(rest) != "two\n" {
		t.Errorf("%q, %v", rest, err)
	}
	_ = jobs.Close()
	want := url.Values{"queue": {"q"}, "model": {"users"}, "jobs": {"5"}, "hours": {"1.5"}, "format": {"swf"},
		"seed": {"9"}}
	if d := cmp.Diff(want, asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
}

func TestWorkloadErrors(t *testing.T) {
	get := func(ctx context.Context, f *fake) error {
		server := httptest.NewServer(f)
		defer server.Close()
		c, err := client.New(server.URL, server.Client())
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Workload(ctx, client.Workload{})
		return err
	}
	var p *client.ProblemError
	if err := get(t.Context(), &fake{kind: "application/problem+json", body: `{"detail": "too few", "hint": "wait"}`,
		status: 503}); !errors.As(err, &p) || p.Hint != "wait" {
		t.Errorf("%v", err)
	}
	var a *client.AnswerError
	if err := get(t.Context(), &fake{kind: "text/html", body: "hello", status: 200}); !errors.As(err, &a) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := get(ctx, &fake{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
