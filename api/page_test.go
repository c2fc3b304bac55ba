package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

// TestRecent proves that the newest forecasts come first, with their outcomes. A job without a forecast has none,
// "never" is null, jobs that left without a start are left out, and no job or user is named.
func TestRecent(t *testing.T) {
	f := lively(t)
	never := math.Inf(1)
	f.rows = append(f.rows,
		modelstore.Row{JobID: "17", Queue: "work", Procs: 1, Submit: at(100), Start: at(130),
			Outcome: modelstore.Started, WaitSeconds: 30, Replayed: true, Reason: "not_fitted"},
		modelstore.Row{JobID: "18", Queue: "work", Procs: 70, Submit: at(110), Start: at(110),
			Outcome: modelstore.Started, Levels: waittime.Levels(), Quantiles: []float64{0, 0, 5, 10, never, never}})
	var got wire.RecentForecasts
	f.get("/v1/accuracy/recent?queue=work", &got)
	if len(got.Forecasts) != 3 || got.Cluster != "main" || got.Stale {
		t.Fatalf("%+v, want three forecasts", got)
	}
	newest, without, oldest := got.Forecasts[0], got.Forecasts[1], got.Forecasts[2]
	if newest.SizeClass != "65-512" || newest.Made != "live" || *newest.Forecast.P50 != 5 ||
		newest.Forecast.P90 != nil || !newest.Start.Equal(at(110)) {
		t.Errorf("the newest is %+v", newest)
	}
	if without.Forecast != nil || without.WaitSeconds != 30 || without.Made != "replayed" {
		t.Errorf("without a forecast: %+v", without)
	}
	if *oldest.Forecast.P95 != 600 || *oldest.Forecast.P10 != 0 || oldest.WaitSeconds != 90 {
		t.Errorf("the oldest is %+v", oldest)
	}
	if *oldest.BlockedSeconds != 30 || *oldest.BlockedForecast.P75 != 60 || oldest.Predicted != "limit" ||
		oldest.Settled != "limit" || newest.BlockedSeconds != nil || newest.BlockedForecast != nil {
		t.Errorf("the parts of the oldest are %+v, of the newest, which has none, %+v", oldest, newest)
	}
	body := string(f.do(http.MethodGet, "/v1/accuracy/recent", nil).body)
	if strings.Contains(body, secret) || strings.Contains(body, `"17"`) {
		t.Errorf("it names who: %s", body)
	}
	f.get("/v1/accuracy/recent?limit=1", &got)
	if len(got.Forecasts) != 1 || got.Forecasts[0].SizeClass != "65-512" {
		t.Errorf("limited to one: %+v", got.Forecasts)
	}
	for _, q := range []string{"limit=0", "limit=1001", "since=soon", "queue=werk"} {
		if a := f.do(http.MethodGet, "/v1/accuracy/recent?"+q, nil); a.status != http.StatusUnprocessableEntity &&
			a.status != http.StatusNotFound {
			t.Errorf("%s: status %d", q, a.status)
		}
	}
}

// TestCurves proves that the empirical quantiles of the lifetimes are those of the history, and that the quantiles of
// the law are those of Downey's line. A queue without a job has neither.
func TestCurves(t *testing.T) {
	f := lively(t)
	var got wire.LifetimeCurves
	f.get("/v1/models/work/lifetimes", &got)
	if len(got.Levels) != 101 || got.Levels[0] != 0 || got.Levels[100] != 1 || len(got.Curves) != 2 {
		t.Fatalf("%d levels, %d curves", len(got.Levels), len(got.Curves))
	}
	if c := got.Curves[0]; len(c.Observed) != 0 || len(c.Law) != 0 || c.Fit.Class != "sequential" {
		t.Errorf("sequential jobs, of which there are none: %+v", c)
	}
	c := got.Curves[1]
	for i, p := range got.Levels {
		// The history has the quantiles of the law at the middles of 200 equal parts.
		rank := max(math.Ceil(p*lawJobs), 1) - .5
		if want := lawMin * math.Pow(lawMax/lawMin, rank/lawJobs); math.Abs(c.Observed[i]/want-1) > 1e-6 {
			t.Errorf("observed at %g: %g, want %g", p, c.Observed[i], want)
		}
		if want := math.Exp((p - c.Fit.B0) / c.Fit.B1); math.Abs(*c.Law[i]/want-1) > 1e-9 {
			t.Errorf("law at %g: %g, want %g", p, *c.Law[i], want)
		}
	}
	var none wire.LifetimeCurves
	f.get("/v1/models/declared/lifetimes", &none)
	for _, c := range none.Curves {
		if c.Observed == nil || len(c.Observed)+len(c.Law)+c.Fit.N != 0 || c.Fit.FittedAt != nil {
			t.Errorf("a queue without a job has %+v", c)
		}
	}
	if p := f.problem("/v1/models/werk/lifetimes"); p.Reason != "unknown_queue" {
		t.Errorf("an unknown queue: %+v", p)
	}
}

// TestChanges proves that a client receives the present state at once, another event after the next record, and none in
// between.
func TestChanges(t *testing.T) {
	f := lively(t)
	server := httptest.NewServer(f.server.Handler())
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v1/changes?cluster=main", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	lines := bufio.NewScanner(resp.Body)
	next := func() wire.Change {
		t.Helper()
		name := ""
		for lines.Scan() {
			if after, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = after
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var c wire.Change
				if err := json.Unmarshal([]byte(data), &c); err != nil || name != "change" || len(c.Clusters) != 1 {
					t.Fatalf("event %q: %s: %v", name, data, err)
				}
				return c
			}
		}
		t.Fatalf("no event: %v", lines.Err())
		return wire.Change{}
	}
	first := next()
	f.feed("main") // publishes a view again without a change
	later := f.now.Add(-10 * time.Second)
	f.feed("main", one{id: "n", queue: "work", procs: 1, submit: later.Sub(epoch()).Seconds(), start: -1,
		end: -1}.events("main")...)
	if second := next(); !second.Clusters[0].AsOf.Equal(later) ||
		!second.Clusters[0].AsOf.After(first.Clusters[0].AsOf) {
		t.Errorf("%v, then %v, want that of the new record, %v", first.Clusters[0].AsOf, second.Clusters[0].AsOf, later)
	}
	if p := f.problem("/v1/changes?cluster=moon"); p.Status != http.StatusNotFound {
		t.Errorf("an unknown cluster: %+v", p)
	}
}

// TestUnknownPath proves that an unknown path gives a problem (RFC 9457), and that a wrong method still gives its own
// error.
func TestUnknownPath(t *testing.T) {
	f := lively(t)
	for _, path := range []string{"/nope", "/v1/nope", "/page/nope.js", "/v1/queues/"} {
		if p := f.problem(path); p.Status != http.StatusNotFound {
			t.Errorf("%s: %+v", path, p)
		}
	}
	if a := f.do(http.MethodDelete, "/v1/queues", nil); a.status != http.StatusMethodNotAllowed {
		t.Errorf("DELETE /v1/queues: status %d", a.status)
	}
	if a := f.do(http.MethodGet, "/?view=wait", nil); a.status != http.StatusOK ||
		!strings.Contains(string(a.body), "<title>waitcast</title>") {
		t.Errorf("the page: status %d", a.status)
	}
}
