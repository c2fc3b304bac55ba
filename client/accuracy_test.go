package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/job"
)

// TestQueriesOfTheLedger proves that the client leaves out empty parameters, and that an id is always a single part of
// the path.
func TestQueriesOfTheLedger(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.EscapedPath() + "?" + r.URL.RawQuery
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"cluster": "main", "id": "x", "jobs": [], "groups": []}`))
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	for want, ask := range map[string]func() error{
		"/v1/accuracy?": func() error { _, _, err := c.Accuracy(t.Context(), client.AccuracyQuery{}); return err },
		"/v1/accuracy?cluster=c&made=live&queue=q&since=7d&size_class=2-8&until=2026-03-02": func() error {
			_, _, err := c.Accuracy(t.Context(), client.AccuracyQuery{Cluster: "c", Queue: "q", SizeClass: "2-8",
				Made: "live", Since: "7d", Until: "2026-03-02"})
			return err
		},
		"/v1/history?cluster=c&limit=5&offset=10&queue=q&since=7d&until=1d": func() error {
			_, _, err := c.History(t.Context(), client.HistoryQuery{Cluster: "c", Queue: "q", Since: "7d", Until: "1d",
				Limit: 5, Offset: 10})
			return err
		},
		"/v1/when?cluster=c&hours=24&procs=4&queue=q&time_limit=3600": func() error {
			r := job.Request{Queue: "q", Procs: 4, TimeLimit: time.Hour, User: "u"}
			_, _, err := c.When(t.Context(), "c", r, 24)
			return err
		},
		"/v1/jobs?": func() error { _, _, err := c.Jobs(t.Context(), client.JobsQuery{}); return err },
		"/v1/me?":   func() error { _, _, err := c.Me(t.Context(), client.MeQuery{}); return err },
		"/v1/me?cluster=c&limit=5&name=a+b&offset=10&user=u": func() error {
			_, _, err := c.Me(t.Context(), client.MeQuery{Cluster: "c", User: "u", Name: "a b", Limit: 5,
				Offset: 10})
			return err
		},
		"/v1/jobs?cluster=c&limit=5&offset=10&queue=q": func() error {
			_, _, err := c.Jobs(t.Context(), client.JobsQuery{Cluster: "c", Queue: "q", Limit: 5, Offset: 10})
			return err
		},
		"/v1/jobs/9%2F1%5B2%5D?cluster=c": func() error {
			_, _, err := c.Job(t.Context(), "c", "9/1[2]", 0)
			return err
		},
		"/v1/jobs/9?keep=0.5": func() error { _, _, err := c.Job(t.Context(), "", "9", .5); return err },
		"/v1/wait?keep=0.125&procs=1": func() error {
			_, _, err := c.WaitJSON(t.Context(), "", job.Request{Procs: 1}, client.WaitOptions{Keep: .125})
			return err
		},
	} {
		if err := ask(); err != nil || asked != want {
			t.Errorf("asked for %s, want %s (%v)", asked, want, err)
		}
	}
}
