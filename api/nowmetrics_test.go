package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
)

// patience is the maximum time until a condition must be met.
const patience = 5 * time.Minute

// series returns the value of a series of /metrics as text. It returns "" if there is none.
func (f *fixture) series(name string) string {
	f.Helper()
	for line := range strings.Lines(string(f.do(http.MethodGet, "/metrics", nil).body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// value returns the value of a series as a number. It returns NaN if there is none.
func (f *fixture) value(name string) float64 {
	f.Helper()
	v := math.NaN()
	_, _ = fmt.Sscan(f.series(name), &v) // v stays NaN if there is no number
	return v
}

// wantSeries waits until a series has a value, because expensive values are computed outside of scrapes.
func (f *fixture) wantSeries(name, want string) {
	f.Helper()
	deadline := time.Now().Add(patience)
	for f.series(name) != want {
		if time.Now().After(deadline) {
			f.Fatalf("%s is %q, want %q", name, f.series(name), want)
		}
	}
}

// live marks events as reported while they happened.
func live(events []job.Event) []job.Event {
	for i := range events {
		events[i].Live = true
	}
	return events
}

// TestQueueMetrics proves that for every known queue the metrics have the jobs and processors by state, and for every
// source the time of its last record by the daemon's clock. Without jobs the values are 0.
func TestQueueMetrics(t *testing.T) {
	f := serve(t, main(10, "declared"))
	const told = `waitcast_source_last_line_timestamp_seconds{cluster="main",source="main/log"}`
	if got := f.value(told); got != 0 {
		t.Errorf("%s is %v before the first line, want 0", told, got)
	}
	f = lively(t)
	for name, want := range map[string]float64{
		`queue_jobs{cluster="main",queue="work",state="running"}`:                                2,
		`queue_jobs{cluster="main",queue="work",state="queued"}`:                                 1,
		`queue_jobs{cluster="main",queue="work",state="held"}`:                                   1,
		`queue_procs{cluster="main",queue="work",state="running"}`:                               6 + 3,
		`queue_procs{cluster="main",queue="work",state="queued"}`:                                8,
		`queue_procs{cluster="main",queue="work",state="held"}`:                                  5,
		`queue_jobs{cluster="main",queue="declared",state="queued"}`:                             0,
		`queue_procs{cluster="main",queue="declared",state="running"}`:                           0,
		`flurry_active_jobs{cluster="main",queue="declared"}`:                                    0,
		`forecasts_recent{cluster="main",queue="declared"}`:                                      0,
		`forecasts_scored_total{cluster="main",queue="declared",size="9-64"}`:                    0,
		`forecasts_hits_total{cluster="main",level="0.5",made="live",queue="declared",size="1"}`: 0,
		`forecasts_waiting_past{cluster="main",level="0.5",made="live",queue="declared"}`:        0,
		`observed_wait_seconds_count{cluster="main",queue="declared",size="2-8"}`:                0,
		`queue_drifts_total{cluster="main",queue="declared",reason="capacity"}`:                  0,
		`bad_lines_total{cluster="main",reason="field",source="main/log"}`:                       0,
		`http_requests_total{code="500",method="get"}`:                                           0,
		// The clock did not advance while events were fed.
		`source_last_line_timestamp_seconds{cluster="main",source="main/log"}`: float64(epoch().Unix()),
		`clock_timestamp_seconds`: float64(f.now.UnixMilli()) / 1e3,
	} {
		if got := f.value("waitcast_" + name); math.Abs(got-want) > 1e-3 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := f.series(`waitcast_forecasts_scored_total{cluster="main",queue="declared",size="65-512"}`); got != "" {
		t.Errorf("a machine of 10 processors has a size class 65-512: %s", got)
	}
}

// TestPartMetrics proves that the parts of waits are counted by queue, and that each job counts once in each part. The
// predicted cause is counted together with the scheduler's cause. For a queue without jobs all counters exist and are
// 0.
func TestPartMetrics(t *testing.T) {
	f := lively(t)
	const scored = `waitcast_forecasts_scored_total{cluster="main",queue="work",size="2-8"}`
	part := func(name, part, more string) float64 {
		const series = `waitcast_forecasts_part_%s_total{cluster="main",%spart=%q,queue="work"}`
		return f.value(fmt.Sprintf(series, name, more, part))
	}
	jobs, long := f.value(scored), part("nonzero", "blocked", "")
	if got := part("scored", "blocked", ""); got != jobs || long != 0 {
		t.Errorf("%v of %v jobs have parts, %v of them were blocked", got, jobs, long)
	}
	late := f.pipeline.View("main").At
	event := func(kind job.Kind, seconds int, a job.Attributes) job.Event {
		return job.Event{Kind: kind, Cluster: "main", ID: "e", Time: late.Add(time.Duration(seconds) * time.Second),
			Attributes: a, Live: true}
	}
	f.feed("main", event(job.Submit, 10, job.Attributes{Queue: "work", Procs: 2}),
		event(job.Hold, 20, job.Attributes{}), event(job.Update, 25, job.Attributes{Settled: "JobHeldUser"}),
		event(job.Release, 50, job.Attributes{}), event(job.Start, 100, job.Attributes{}),
		event(job.End, 110, job.Attributes{}))
	if got := f.value(scored); got != jobs+1 {
		t.Fatalf("%v jobs are scored, want %v", got, jobs+1)
	}
	for _, name := range []string{"eligible", "blocked"} {
		if got := part("scored", name, ""); got != jobs+1 {
			t.Errorf("%s: %v jobs, want %v", name, got, jobs+1)
		}
		for _, level := range []string{"0.1", "0.95"} {
			below, hits := part("below", name, fmt.Sprintf("level=%q,", level)),
				part("hits", name, fmt.Sprintf("level=%q,", level))
			if below > hits || hits > jobs+1 {
				t.Errorf("%s, level %s: %v below and %v up to the quantile of %v jobs", name, level, below, hits,
					jobs+1)
			}
		}
	}
	if got := part("nonzero", "blocked", ""); got != 1 {
		t.Errorf("%v jobs were blocked, want 1", got)
	}
	// 30 s were blocked but 0 s were forecast: the loss of the median is half the distance on the logarithmic scale.
	if got, want := part("log_pinball", "blocked", `level="0.5",`), math.Log(90./60)/2; math.Abs(got-want) > 1e-9 {
		t.Errorf("the blocked part loses %v, want %v", got, want)
	}
	reasons := 0.
	for _, predicted := range []string{"resources", "priority", "limit", "hold", "unavailable"} {
		reasons += f.value(fmt.Sprintf(
			`waitcast_forecasts_reasons_total{cluster="main",predicted=%q,settled="hold"}`, predicted))
	}
	if agreed := f.value(`waitcast_forecasts_reasons_agreed_total{cluster="main"}`); reasons != 1 || agreed != 0 {
		t.Errorf("%v jobs waited because of a hold, of %v that was predicted; want 1 and 0", reasons, agreed)
	}
	for _, name := range []string{"scored", "nonzero"} {
		const series = `waitcast_forecasts_part_%s_total{cluster="main",part="blocked",queue="declared"}`
		if got := f.value(fmt.Sprintf(series, name)); got != 0 {
			t.Errorf("%s of a queue without jobs is %v", name, got)
		}
	}
}

// TestForecastWaitMetric proves that the metric equals the answer of GET /v1/wait for the typical job, and that it does
// not exist if no job was seen.
func TestForecastWaitMetric(t *testing.T) {
	f := lively(t)
	const labels = `{cluster="main",queue="work",size="2-8"}`
	// 200 jobs of 2 processors have left; four jobs, with 6, 3, 8 and 5 processors, run or wait. The median is 2. No
	// job has a limit.
	for name, want := range map[string]string{"jobs": "204", "procs": "2", "time_limit_seconds": "0"} {
		f.wantSeries("waitcast_forecast_wait_"+name+labels, want)
	}
	w := f.wait("queue=work&procs=2").WaitSeconds
	for level, want := range map[string]*float64{
		"0.1": w.P10, "0.25": w.P25, "0.5": w.P50, "0.75": w.P75, "0.9": w.P90, "0.95": w.P95,
	} {
		name := fmt.Sprintf(`waitcast_forecast_wait_seconds{cluster="main",level=%q,queue="work",size="2-8"}`, level)
		if got := f.value(name); want == nil || math.Abs(got-*want) > 1e-2+1e-3*math.Abs(*want) {
			t.Errorf("%s is %v, GET /v1/wait says %v", name, got, want)
		}
	}
	var v wire.Queues
	f.get("/v1/queues", &v)
	if got, want := f.value(`waitcast_forecast_wait_timestamp_seconds{cluster="main"}`),
		float64(v.AsOf.UnixMilli())/1e3; math.Abs(got-want) > 1e-3 {
		t.Errorf("the forecasts are of %v, the picture of %v", got, want)
	}
	for _, name := range []string{
		`{cluster="main",level="0.5",queue="declared",size="1"}`, `{cluster="main",level="0.5",queue="work",size="1"}`,
	} {
		if got := f.series("waitcast_forecast_wait_seconds" + name); got != "" {
			t.Errorf("a forecast for a job as none was seen: %s %s", name, got)
		}
	}
}

// TestForecastWaitIsBounded proves that at most 200 pairs of a queue and a size class have a forecast, those with the
// most jobs, however many queues there are.
func TestForecastWaitIsBounded(t *testing.T) {
	f := serve(t, main(100))
	var events []job.Event
	for q := range 70 {
		for _, procs := range []int{1, 2, 9, 65} { // each in its own size class
			for i := range 2 {
				if i == 1 && procs != 9 {
					continue
				}
				id := fmt.Sprint(q, "-", procs, "-", i)
				events = append(events, one{id: id, queue: fmt.Sprint("q", q), procs: procs, submit: 1, start: -1,
					end: -1}.events("main")...)
			}
		}
	}
	f.feed("main", events...)
	text := string(f.do(http.MethodGet, "/metrics", nil).body)
	if n := strings.Count(text, "\nwaitcast_forecast_wait_jobs{"); n != 200 {
		t.Errorf("%d pairs have forecasts, want 200", n)
	}
	for q := range 70 {
		if want := fmt.Sprintf("waitcast_forecast_wait_jobs{cluster=\"main\",queue=\"q%d\",size=\"9-64\"} 2\n",
			q); !strings.Contains(text, want) {
			t.Fatalf("no %s", want)
		}
	}
}

// TestCoverageMetrics checks the ratios and means of the newest forecasts. If all forecasts are among the newest, they
// agree with the counters and with GET /v1/accuracy. Without forecasts these series do not exist.
func TestCoverageMetrics(t *testing.T) {
	f := lively(t)
	n := f.value(`waitcast_forecasts_scored_total{cluster="main",queue="work",size="2-8"}`)
	if !(n > 100) || f.value(`waitcast_forecasts_recent{cluster="main",queue="work"}`) != n {
		t.Fatalf("%v forecasts are scored, %v among the newest; want more than 100 and all of them", n,
			f.value(`waitcast_forecasts_recent{cluster="main",queue="work"}`))
	}
	for i := range f.rows { // a group needs a row; the newest forecasts come from the pipeline
		f.rows[i].Replayed = true
	}
	var answer wire.Accuracy
	f.get("/v1/accuracy?queue=work&made=replayed", &answer)
	newest := answer.Groups[slices.IndexFunc(answer.Groups, func(g wire.AccuracyGroup) bool {
		return g.Queue == "work" && g.SizeClass == ""
	})].Newest
	for _, level := range []string{"0.1", "0.25", "0.5", "0.75", "0.9", "0.95"} {
		counter := func(name string) float64 {
			return f.value(fmt.Sprintf(
				`waitcast_forecasts_%s_total{cluster="main",level=%q,made="replayed",queue="work",size="2-8"}`, name,
				level))
		}
		gauge := func(name, bound string) float64 {
			return f.value(fmt.Sprintf(`waitcast_forecasts_%s{%scluster="main",level=%q,made="replayed",queue="work"}`,
				name, bound, level))
		}
		hits, missed := counter("hits"), counter("missed")
		if d := gauge("recent_decided", ""); d != hits+missed || d < 100 || counter("left_undecided") != 0 {
			t.Errorf("level %s: %v decided among the newest, by the counters %v", level, d, hits+missed)
		}
		for i, bound := range []string{"below", "hits"} {
			want := counter(bound) / (hits + missed)
			for _, name := range []string{"coverage_ratio", "coverage_unweighted_ratio"} {
				if got := gauge(name, fmt.Sprintf("bound=%q,", bound)); math.Abs(got-want) > 1e-9 {
					t.Errorf("level %s: %s of %s is %v, by the counters %v", level, name, bound, got, want)
				}
			}
			if got := newest[level].Coverage[i]; math.Abs(got-want) > 1e-9 {
				t.Errorf("level %s: the part of %s is %v in GET /v1/accuracy, by the counters %v", level, bound, got,
					want)
			}
		}
		got := f.value(fmt.Sprintf(`waitcast_forecasts_recent_log_pinball{cluster="main",level=%q,queue="work"}`,
			level))
		want := f.value(fmt.Sprintf(
			`waitcast_forecasts_log_pinball_total{cluster="main",level=%q,queue="work",size="2-8"}`, level)) / n
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("level %s: the mean loss is %v, by the counters %v", level, got, want)
		}
	}
	for _, name := range []string{
		`waitcast_forecasts_coverage_ratio{bound="hits",cluster="main",level="0.5",made="live",queue="declared"}`,
		`waitcast_forecasts_coverage_ratio{bound="hits",cluster="main",level="0.5",made="live",queue="work"}`,
		`waitcast_forecasts_hits_total{cluster="main",level="0.5",made="replayed",queue="declared",size="1"}`,
	} {
		if got := f.series(name); got != "" {
			t.Errorf("of no forecast: %s", got)
		}
	}
}

// TestObservedWaits proves that only waits of jobs whose start is read as it happens are counted, in classic and native
// buckets.
func TestObservedWaits(t *testing.T) {
	f := serve(t, main(1000))
	// This job is read from existing records, so its wait is not counted.
	f.feed("main", one{id: "old", queue: "work", procs: 2, submit: 0, start: 50, end: 60}.events("main")...)
	for i, wait := range []float64{0, 30, 4000} {
		f.feed("main",
			live(one{id: fmt.Sprint(i), queue: "work", procs: 2 + i, submit: 100, start: 100 + wait,
				end: -1}.events("main"))...)
	}
	f.feed("main",
		live(one{id: "wide", queue: "work", procs: 65, submit: 5000, start: 5007, end: -1}.events("main"))...)
	for le, want := range map[string]float64{"1": 1, "10": 1, "60": 2, "3600": 2, "7200": 3, "+Inf": 3} {
		if got := f.value(
			fmt.Sprintf(`waitcast_observed_wait_seconds_bucket{cluster="main",queue="work",size="2-8",le=%q}`,
				le)); got != want {
			t.Errorf("%v waits up to %s s, want %v", got, le, want)
		}
	}
	for name, want := range map[string]float64{
		`sum{cluster="main",queue="work",size="2-8"}`: 4030, `count{cluster="main",queue="work",size="65-512"}`: 1,
	} {
		if got := f.value("waitcast_observed_wait_seconds_" + name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	// A growth of the buckets by a factor of at most 1.1 means schema 3, with the factor 2^(1/8). A wait w is then in
	// the bucket ceil(8 log2 w).
	h := f.protobuf("waitcast_observed_wait_seconds", "2-8")
	if h.GetSchema() != 3 || h.GetZeroCount() != 1 || h.GetSampleCount() != 3 {
		t.Fatalf("schema %d, %d waits of 0 among %d; want 3, 1, 3", h.GetSchema(), h.GetZeroCount(), h.GetSampleCount())
	}
	var buckets []int
	at := 0
	for _, span := range h.GetPositiveSpan() {
		at += int(span.GetOffset())
		for range span.GetLength() {
			buckets = append(buckets, at)
			at++
		}
	}
	if want := []int{int(math.Ceil(8 * math.Log2(30))),
		int(math.Ceil(8 * math.Log2(4000)))}; fmt.Sprint(buckets) != fmt.Sprint(want) {
		t.Errorf("native buckets %v, want %v", buckets, want)
	}
}

// protobuf returns a histogram of one size class in the form for a Prometheus that reads native histograms.
func (f *fixture) protobuf(name, size string) *dto.Histogram {
	f.Helper()
	accept := "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
	a := f.do(http.MethodGet, "/metrics", http.Header{"Accept": {accept}})
	decoder := expfmt.NewDecoder(bytes.NewReader(a.body), expfmt.ResponseFormat(a.header))
	for {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); errors.Is(err, io.EOF) {
			f.Fatalf("no %s of size %s", name, size)
		} else if err != nil {
			f.Fatalf("%s: %v", a.header.Get("Content-Type"), err)
		}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if family.GetName() == name && l.GetName() == "size" && l.GetValue() == size {
					return m.GetHistogram()
				}
			}
		}
	}
}

// TestFlurryMetric proves that 200 or more jobs of one user in a queue within a day count as a burst, whether they
// wait, run or have left. The burst ends an hour after the newest of these jobs.
func TestFlurryMetric(t *testing.T) {
	f := serve(t, main(1000))
	const series = `waitcast_flurry_active_jobs{cluster="main",queue="flood"}`
	submit := func(from, to int, second float64) {
		var events []job.Event
		for i := from; i < to; i++ {
			o := one{id: fmt.Sprint("f", i), queue: "flood", procs: 1, submit: second, start: -1, end: -1}
			if i%5 == 0 {
				o.start = second
			}
			if i%10 == 0 {
				o.end = second + 1
			}
			events = append(events, o.events("main")...)
		}
		f.feed("main", events...)
	}
	submit(0, 150, 1000)
	submit(150, 199, 20_000)
	f.wantSeries(series, "0")
	submit(199, 230, 23_000)
	f.wantSeries(series, "230")
	f.wantSeries(`waitcast_flurry_active_jobs{cluster="main",queue="other"}`, "")
	submit(230, 240, 1000+86400+500) // the jobs of the first second are now a day old
	f.wantSeries(series, "0")
	submit(240, 400, 1000+86400+600)
	f.wantSeries(series, "250")
	f.feed("main", one{id: "later", queue: "other", procs: 1, submit: 1000 + 86400 + 600 + 3601, start: -1,
		end: -1}.events("main")...)
	f.wantSeries(series, "0")
}

// TestModelKS proves that the distance follows its definition: it is the largest difference between the empirical and
// the fitted cdf.
func TestModelKS(t *testing.T) {
	f := lively(t)
	const labels = `{class="parallel",cluster="main",queue="work"}`
	b0, b1 := f.value("waitcast_model_b0"+labels), f.value("waitcast_model_b1"+labels)
	want := 0.0
	for i := range lawJobs { // ascending
		life := lawMin * math.Pow(lawMax/lawMin, (float64(i)+.5)/lawJobs)
		cdf := math.Max(0, math.Min(1, b0+b1*math.Log(life)))
		want = math.Max(want, math.Max(cdf-float64(i)/lawJobs, float64(i+1)/lawJobs-cdf))
	}
	if got := f.value("waitcast_model_ks" + labels); math.Abs(got-want) > 1e-4 {
		t.Errorf("the distance is %v, want %v", got, want)
	}
	if got := f.series(`waitcast_model_ks{class="sequential",cluster="main",queue="work"}`); got != "" {
		t.Errorf("a distance without a law: %s", got)
	}
}
