package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/job"
)

// TestQueriesOfTheLedger proves what is asked for: what is empty is left out, an id is one part of the path whatever is
// in it.
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
		"/v1/jobs?": func() error { _, _, err := c.Jobs(t.Context(), "", "", 0); return err },
		"/v1/jobs?cluster=c&limit=5&queue=q": func() error {
			_, _, err := c.Jobs(t.Context(), "c", "q", 5)
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
