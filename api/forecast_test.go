package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
)

// forecasting returns the fixture lively with a load forecast.
func forecasting(t testing.TB) *fixture {
	t.Helper()
	f := serveWith(t, pipeline.Config{Clusters: []pipeline.ClusterConfig{main(10, "declared")}, Load: true})
	t.Cleanup(f.pipeline.Close)
	begin := f.history("main", "work")
	for i, start := range []float64{begin + 600, begin + 601, -1, -1} {
		events := one{id: fmt.Sprint(i), queue: "work", procs: []int{6, 3, 8, 5}[i], limit: time.Hour,
			submit: begin + 600, start: start, end: -1}.events("main")
		if i == 3 {
			events = append(events, job.Event{Kind: job.Hold, Cluster: "main", ID: "3", Time: at(begin + 602)})
		}
		for k := range events {
			events[k].Live = true
		}
		f.feed("main", events...)
	}
	next := one{id: "next", queue: "work", procs: 1, submit: begin + 960, start: -1, end: -1}.events("main")
	next[0].Live = true
	f.now = at(begin + 1000)
	f.feed("main", next...)
	f.forecast()
	return f
}

// forecast waits until there is a load forecast from the last minutes.
func (f *fixture) forecast() {
	f.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for o := f.pipeline.View("main").Outlook(); o == nil ||
		f.now.Sub(o.At) > 400*time.Second; o = f.pipeline.View("main").Outlook() {
		select {
		case <-deadline.C:
			f.Fatal("there is no new forecast of the load in 5 min")
		case <-tick.C:
		}
	}
}

func rises(b wire.Band) bool {
	return slices.IsSorted([]float64{b.P05, b.P25, b.P50, b.P75, b.P95}) && b.P05 >= 0
}

// TestForecast proves that the load is forecast for the cluster and each queue at every horizon, and that quantiles
// rise. A new daemon reports how little it has learnt.
func TestForecast(t *testing.T) {
	f := forecasting(t)
	var got wire.LoadForecast
	f.get("/v1/forecast", &got)
	if len(got.Loads) != 2 || got.Loads[0].Queue != "" || got.Loads[1].Queue != "work" {
		t.Fatalf("loads %+v, want those of the cluster and of the queue that has jobs", got.Loads)
	}
	for _, l := range got.Loads {
		if len(l.Horizons) != 8 {
			t.Fatalf("%d horizons, want 8", len(l.Horizons))
		}
		for i, p := range l.Horizons {
			if !p.At.Equal(got.MadeFor.Add(time.Duration(p.HorizonSeconds)*time.Second)) ||
				i > 0 && p.HorizonSeconds <= l.Horizons[i-1].HorizonSeconds {
				t.Errorf("horizon %v is at %v", p.HorizonSeconds, p.At)
			}
			for name, b := range map[string]wire.Band{
				"queued work": p.QueuedWork, "queued jobs": p.QueuedJobs, "utilization": p.Utilization,
				"jobs": p.JobsPerHour, "work": p.WorkPerHour,
			} {
				if !rises(b) || name == "utilization" && b.P95 > 1 {
					t.Errorf("queue %q, %v s: %s %+v", l.Queue, p.HorizonSeconds, name, b)
				}
			}
		}
	}
	if len(got.StandardWaits) != 3*8 {
		t.Errorf("%d waits of standard jobs, want 3 at each horizon", len(got.StandardWaits))
	}
	for i, l := range got.Learnt.Horizons { // history was sampled every six hours
		if known := l.HorizonSeconds >= 6*3600; known != (l.Outcomes > 0) || known != (l.Scored > 0) ||
			l.Scored > l.Outcomes || len(got.Learnt.Horizons) != 8 {
			t.Errorf("learnt at horizon %d: %+v", i, l)
		}
	}
	for _, s := range got.Scores {
		if s.HorizonSeconds < 6*3600 || s.N < 1 || s.Losses.Waitcast < 0 || s.Below+s.Above > 1 {
			t.Errorf("score %+v", s)
		}
	}
	if len(got.Scores) != 2*6*5 || !strings.Contains(got.Learnt.Note, "simulation") {
		t.Errorf("%d scores, the note is %q", len(got.Scores), got.Learnt.Note)
	}
	if got.Stale || got.AgeSeconds != 40 || !(got.MadeAge >= 40 && got.MadeAge <= 400) ||
		got.Saturation != nil && got.Saturation.Probability != nil && !(*got.Saturation.Probability >= 0) {
		t.Errorf("%+v", got)
	}
}

// TestYoungForecast proves that the answer of a daemon with few records reports that.
func TestYoungForecast(t *testing.T) {
	f := serveWith(t, pipeline.Config{Clusters: []pipeline.ClusterConfig{main(10)}, Load: true})
	t.Cleanup(f.pipeline.Close)
	f.feed("main",
		one{id: "a", queue: "work", procs: 4, limit: time.Hour, submit: 10, start: 20, end: -1}.events("main")...)
	f.now = at(30)
	f.forecast()
	var got wire.LoadForecast
	f.get("/v1/forecast", &got)
	if len(got.Scores) != 0 || got.Saturation != nil || got.Arrivals.Model != "" ||
		!strings.Contains(got.Learnt.Note, "little is known") {
		t.Errorf("scores %v, saturation %v, arrivals %+v, note %q", got.Scores, got.Saturation, got.Arrivals,
			got.Learnt.Note)
	}
}

// TestForecastOfAQueue proves that a request can select one queue and fewer horizons.
func TestForecastOfAQueue(t *testing.T) {
	f := forecasting(t)
	var got wire.LoadForecast
	f.get("/v1/forecast?queue=work&hours=6&cluster=main", &got)
	if len(got.Loads) != 1 || got.Loads[0].Queue != "work" || len(got.Loads[0].Horizons) != 3 ||
		len(got.StandardWaits) != 9 || len(got.Learnt.Horizons) != 3 {
		t.Errorf("%d loads, %d waits, learnt %+v; want that of the queue at 3 horizons", len(got.Loads),
			len(got.StandardWaits), got.Learnt)
	}
}

// TestNoForecastOfTheLoad checks the answers when there is no load forecast: the cluster or queue does not exist, no
// record was read, or there is no forecast yet.
func TestNoForecastOfTheLoad(t *testing.T) {
	f := forecasting(t)
	if p := f.problem("/v1/forecast?queue=werk"); p.Status != 404 || p.Reason != "unknown_queue" {
		t.Errorf("%+v", p)
	}
	if p := f.problem("/v1/forecast?queue=declared"); p.Status != 503 || p.Reason != "not_fitted" ||
		p.Type != wire.ProblemNoForecast {
		t.Errorf("%+v", p)
	}
	if p := f.problem("/v1/forecast?cluster=other"); p.Status != 404 {
		t.Errorf("%+v", p)
	}
	if a := f.do(http.MethodGet, "/v1/forecast?hours=0", nil); a.status != 422 {
		t.Errorf("hours=0: status %d", a.status)
	}
	if p := serve(t, main(10)).problem("/v1/forecast"); p.Reason != "nothing_read" || p.Status != 503 {
		t.Errorf("%+v", p)
	}
	// This pipeline does not forecast the load.
	if p := lively(t).problem("/v1/forecast"); p.Reason != "not_fitted" || p.Status != 503 || p.Hint == "" {
		t.Errorf("%+v", p)
	}
	empty := serve(t, main(0))
	empty.feed("main", one{id: "a", queue: "work", procs: 1, submit: 5, start: -1, end: -1}.events("main")...)
	if p := empty.problem("/v1/forecast"); p.Reason != "unknown_capacity" {
		t.Errorf("%+v", p)
	}
}

// TestForecastTag proves that an answer that the client already has is not sent again, and that stale data are marked.
func TestForecastTag(t *testing.T) {
	f := forecasting(t)
	a := f.do(http.MethodGet, "/v1/forecast", nil)
	tag := a.header.Get("ETag")
	if b := f.do(http.MethodGet, "/v1/forecast",
		http.Header{"If-None-Match": {tag}}); b.status != http.StatusNotModified || tag == "" {
		t.Errorf("status %d with the tag %q", b.status, tag)
	}
	f.now = f.now.Add(2 * staleAfter)
	var got wire.LoadForecast
	f.get("/v1/forecast", &got)
	if !got.Stale {
		t.Error("it is not stale after the limit")
	}
	if b := f.do(http.MethodGet, "/v1/forecast", http.Header{"If-None-Match": {tag}}); b.status != http.StatusOK {
		t.Errorf("status %d with the tag of before it was stale", b.status)
	}
}

// TestLoadMetrics proves that the metrics have the load forecast, with few series.
func TestLoadMetrics(t *testing.T) {
	f := forecasting(t)
	body := string(f.do(http.MethodGet, "/metrics", nil).body)
	for _, series := range []string{
		`waitcast_load_forecast_queued_work_processor_seconds{cluster="main",horizon="1h",level="0.95"}`,
		`waitcast_load_forecast_queued_jobs{cluster="main",horizon="7d",level="0.5"}`,
		`waitcast_load_forecast_utilization_ratio{cluster="main",horizon="1d",level="0.05"}`,
		`waitcast_load_forecast_replicas{cluster="main"} 64`,
	} {
		if !strings.Contains(body, series) {
			t.Errorf("%s is not there", series)
		}
	}
	if n := strings.Count(body, "\nwaitcast_load_forecast_"); n > 200 {
		t.Errorf("%d series of one cluster", n)
	}
}

// TestOneStoryOfSaturation proves that the load forecast, the models of a queue and the metrics report the same
// saturation.
func TestOneStoryOfSaturation(t *testing.T) {
	f := forecasting(t)
	var events []job.Event
	begin := f.now.Sub(at(0)).Seconds() + 3600
	for week := range 9 { // 10 of the 20 jobs of a week remain
		for i := range 20 {
			submit := begin + float64(week)*7*86400 + float64(i)*3600
			x := one{id: fmt.Sprint("s", week, "-", i), queue: "work", procs: 1, submit: submit,
				start: submit + 1, end: -1}
			if i%2 == 0 {
				x.end = submit + 60
			}
			events = append(events, x.events("main")...)
		}
	}
	f.feed("main", events...)
	var forecast wire.LoadForecast
	f.get("/v1/forecast?queue=work", &forecast)
	var models wire.Models
	f.get("/v1/models/work", &models)
	s := forecast.Saturation
	if s == nil || models.Users == nil {
		t.Fatalf("saturation %v, users %v", s, models.Users)
	}
	if d := cmp.Diff(s, models.Users.Saturation); d != "" {
		t.Errorf("the forecast and the models differ:\n%s", d)
	}
	if s.GrowthWeeks < 5 || s.Growth < 5 || models.Users.Saturated != s.Saturated ||
		s.Saturated && s.Probability != nil && *s.Probability < .5 {
		t.Errorf("%+v beside users %+v", s, models.Users)
	}
	if got := f.value(`waitcast_history_saturated{cluster="main",queue="work"}`) == 1; got != s.Saturated {
		t.Errorf("the metric has saturated %v, the forecast %v", got, s.Saturated)
	}
}
