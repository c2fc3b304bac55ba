package client_test

import (
	"net/http/httptest"
	"testing"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/job"
)

// TestNowAsks proves that the query has only the parameters that are used and set.
func TestNowAsks(t *testing.T) {
	f := &fake{kind: "application/json",
		body:   `{"queues":[{"queue":"q","openings":[{"procs":4,"time_limit_seconds":null,"probability":0.5}]}]}`,
		status: 200}
	server := httptest.NewServer(f)
	defer server.Close()
	c, err := client.New(server.URL, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	n, raw, err := c.Now(t.Context(), "main", job.Request{Queue: "q", User: "me", Procs: 7})
	if err != nil || string(raw) != f.body || n.Queues[0].Openings[0].Procs != 4 ||
		n.Queues[0].Openings[0].TimeLimitSeconds != nil {
		t.Errorf("%+v, %s, %v", n, raw, err)
	}
	if got := f.asked.URL.String(); got != "/v1/now?cluster=main&queue=q&user=me" {
		t.Errorf("asked %s", got)
	}
}
