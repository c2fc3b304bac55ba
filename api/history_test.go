package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/modelstore"
)

// TestHistory proves that the days of started jobs come newest first and in pages, that parameters select days and
// jobs, and that invalid requests are refused.
func TestHistory(t *testing.T) {
	f := lively(t)
	newest := f.pipeline.View("main").At
	now := newest.UTC().Truncate(24 * time.Hour)
	day := func(back int) time.Time { return now.AddDate(0, 0, -back) }
	f.rows = nil
	for _, r := range []struct {
		back  int
		queue string
		wait  float64
	}{{1, "work", 30}, {1, "work", 10}, {1, "work", 20}, {2, "work", 5}, {2, "other", 7}} {
		f.rows = append(f.rows, modelstore.Row{Cluster: "main", Queue: r.queue, Outcome: modelstore.Started,
			Start: day(r.back), WaitSeconds: r.wait})
	}
	want := []wire.HistoryDay{
		{Day: day(1).Format(time.DateOnly), Queue: "work", Started: 3, Median: 20, P90: 30},
		{Day: day(2).Format(time.DateOnly), Queue: "other", Started: 1, Median: 7, P90: 7},
		{Day: day(2).Format(time.DateOnly), Queue: "work", Started: 1, Median: 5, P90: 5},
	}
	var all, first, rest, one wire.History
	f.get("/v1/history", &all)
	if d := cmp.Diff(want, all.Days); d != "" || all.Total != 3 || all.NextOffset != nil || all.TimeZone != "UTC" {
		t.Errorf("all: %+v %s", all, d)
	}
	f.get("/v1/history?limit=2", &first)
	if len(first.Days) != 2 || first.NextOffset == nil || *first.NextOffset != 2 {
		t.Fatalf("the first page: %+v", first)
	}
	f.get("/v1/history?limit=2&offset=2", &rest)
	if d := cmp.Diff(want, append(first.Days, rest.Days...)); d != "" || rest.NextOffset != nil {
		t.Errorf("in pages: %+v %s", rest, d)
	}
	f.get("/v1/history?queue=work&since=36h&until=2h", &one)
	if got := f.past; got.Queue != "work" || !got.Since.Equal(newest.Add(-36*time.Hour)) ||
		!got.Until.Equal(newest.Add(-2*time.Hour)) {
		t.Errorf("the ledger was asked for %+v", got)
	}
	for path, status := range map[string]int{
		"/v1/history?queue=nope":   http.StatusNotFound,
		"/v1/history?since=soon":   http.StatusUnprocessableEntity,
		"/v1/history?until=-2d":    http.StatusUnprocessableEntity,
		"/v1/history?limit=0":      http.StatusUnprocessableEntity,
		"/v1/history?cluster=none": http.StatusNotFound,
	} {
		if p := f.problem(path); p.Status != status {
			t.Errorf("%s: %+v, want %d", path, p, status)
		}
	}
}
