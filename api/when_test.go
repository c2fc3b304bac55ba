package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/api/wire"
)

// TestWhen proves that the answer covers the next full hours, that quantiles rise, that a larger job waits at least as
// long, and that the same request gets the same answer. It also proves which requests are refused.
func TestWhen(t *testing.T) {
	f := forecasting(t)
	var small, large, again wire.When
	f.get("/v1/when?queue=work&procs=1&time_limit=1h&hours=24", &small)
	f.get("/v1/when?queue=work&procs=10&time_limit=1h&hours=24", &large)
	f.get("/v1/when?queue=work&procs=10&time_limit=1h&hours=24", &again)
	if d := cmp.Diff(large, again); d != "" {
		t.Errorf("the same question: %s", d)
	}
	if len(large.Hours) != 24 || large.Queue != "work" || large.Procs != 10 || large.TimeLimitSeconds != 3600 ||
		large.Note == "" || large.MadeFor.IsZero() {
		t.Fatalf("when: %+v", large)
	}
	for i, h := range large.Hours {
		want := large.MadeFor.Truncate(time.Hour).Add(time.Duration(i+1) * time.Hour)
		w, s := h.WaitSeconds, small.Hours[i].WaitSeconds
		if !h.At.Equal(want) || !rises(wire.Band{P05: *w.P05, P25: *w.P25, P50: *w.P50, P75: *w.P75, P95: *w.P95}) {
			t.Errorf("hour %d: %+v, want it at %v", i, h, want)
		}
		if *s.P50 > *w.P50 {
			t.Errorf("hour %d: 1 processor waits %v s, all wait %v s", i, *s.P50, *w.P50)
		}
	}
	for path, status := range map[string]int{
		"/v1/when?queue=work&procs=11&time_limit=1h":          http.StatusUnprocessableEntity,
		"/v1/when?queue=work&procs=1&time_limit=1h&hours=169": http.StatusUnprocessableEntity,
		"/v1/when?queue=nope&procs=1":                         http.StatusNotFound,
		"/v1/when?queue=work":                                 http.StatusUnprocessableEntity,
	} {
		if p := f.problem(path); p.Status != status {
			t.Errorf("%s: %+v, want %d", path, p, status)
		}
	}
	if p := lively(t).problem("/v1/when?queue=work&procs=1"); p.Status != http.StatusServiceUnavailable {
		t.Errorf("without a forecast of the load: %+v", p)
	}
}
