package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/waitcast/waitcast/client"
)

// TestForecast proves which parameters the client sends for the load forecast, and what it returns.
func TestForecast(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.EscapedPath() + "?" + r.URL.RawQuery
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"cluster": "main", "loads": [{"queue": "", "horizons": [{"horizon_seconds": 3600, ` +
			`"queued_jobs": {"p95": 7}}]}]}`))
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Forecast(t.Context(), "", "", 0); err != nil || asked != "/v1/forecast?" {
		t.Errorf("asked %s (%v)", asked, err)
	}
	got, raw, err := c.Forecast(t.Context(), "c", "q", 1.5)
	if err != nil || asked != "/v1/forecast?cluster=c&hours=1.5&queue=q" {
		t.Fatalf("asked %s (%v)", asked, err)
	}
	if len(raw) == 0 || got.Loads[0].Horizons[0].QueuedJobs.P95 != 7 {
		t.Errorf("%s became %+v", raw, got)
	}
}
