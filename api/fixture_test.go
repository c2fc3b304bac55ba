package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
)

// fixture is a server on a real pipeline, to which the test passes events. The clock does not advance until it is set.
type fixture struct {
	testing.TB
	now      time.Time
	registry *prometheus.Registry
	pipeline *pipeline.Pipeline
	server   *api.Server
	sources  map[string]*source.Config
	takeIn   api.ImportFunc
	rows     []modelstore.Row
	asked    api.AccuracyQuery // the newest query
	past     api.HistoryQuery  // the newest query
}

// waited returns the waits of the fixture's rows.
func (f *fixture) waited(_ context.Context, q api.HistoryQuery) (*accuracy.DailyWaits, error) {
	f.past = q
	out := accuracy.NewDailyWaits(q.Zone)
	for i := range f.rows {
		if q.Queue == "" || f.rows[i].Queue == q.Queue {
			out.Add(&f.rows[i])
		}
	}
	return out, nil
}

// ledger returns the accuracy of the fixture's rows.
func (f *fixture) ledger(_ context.Context, q api.AccuracyQuery) (*accuracy.Summary, error) {
	f.asked = q
	out := accuracy.NewSummary(q.Bounds)
	for i := range f.rows {
		if q.Queue == "" || f.rows[i].Queue == q.Queue {
			out.Add(&f.rows[i])
		}
	}
	return out, nil
}

// recent returns the fixture's newest rows, as the daemon reads them.
func (f *fixture) recent(_ context.Context, q api.RecentQuery) ([]api.RecentRow, error) {
	var out []api.RecentRow
	for i := len(f.rows) - 1; i >= 0 && len(out) < q.Limit; i-- {
		if r := &f.rows[i]; r.Outcome == modelstore.Started && (q.Queue == "" || r.Queue == q.Queue) {
			row := api.RecentRow{Queue: r.Queue, Procs: r.Procs, Submit: r.Submit, Start: r.Start,
				WaitSeconds: r.WaitSeconds, Levels: r.Levels, Quantiles: r.Quantiles, Replayed: r.Replayed}
			if p := r.Parts; p != nil {
				row.Parts = &api.RecentParts{BlockedSeconds: p.BlockedSeconds, Blocked: p.Blocked,
					Predicted: p.Predicted, Settled: p.Settled}
			}
			out = append(out, row)
		}
	}
	return out, nil
}

// staleAfter is the age from which on the fixture's data are stale.
const staleAfter = 10 * time.Minute

// secret is a user name that no answer may contain.
const secret = "secretuser"

func epoch() time.Time { return time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC) }

// at returns an instant some seconds after the epoch.
func at(seconds float64) time.Time { return epoch().Add(time.Duration(seconds * float64(time.Second))) }

func serve(t testing.TB, clusters ...pipeline.ClusterConfig) *fixture {
	t.Helper()
	return serveWith(t, pipeline.Config{Clusters: clusters})
}

// serveWith does the same as serve with a configuration, to which it adds the models.
func serveWith(t testing.TB, cfg pipeline.Config) *fixture {
	t.Helper()
	f := &fixture{TB: t, now: epoch(), registry: prometheus.NewRegistry(), sources: map[string]*source.Config{}}
	now := func() time.Time { return f.now }
	metrics := pipeline.NewMetrics(f.registry)
	cfg.Models, cfg.Forecasts = livemodels.Config{MinSamples: 5, HistoryJobs: 10_000}, true
	var err error
	if f.pipeline, err = pipeline.New(cfg, nil, now, zap.NewNop(), metrics); err != nil {
		t.Fatal(err)
	}
	for _, c := range cfg.Clusters {
		s := source.Config{Name: c.Name + "/log", Format: collector.Format{Name: "test"},
			Options: collector.Options{Cluster: c.Name}}
		f.sources[c.Name] = &s
		f.pipeline.AddSource(s)
		metrics.Touch(s)
	}
	f.server = api.New(f.pipeline, api.Options{
		Version: "test", StaleAfter: staleAfter, Now: now, Registry: f.registry, Log: zap.NewNop(), Accuracy: f.ledger,
		History: f.waited,
		Recent:  f.recent,
		Admin: &api.Admin{Token: adminToken, Quarantine: quarantined, LogLevel: &fixedLevel{"info"},
			Import: func(ctx context.Context, req api.ImportRequest,
				progress func(wire.ImportProgress)) (*wire.ImportReport, error) {
				return f.takeIn(ctx, req, progress)
			}},
	})
	return f
}

// adminToken is the fixture's admin token.
const adminToken = "an-admin-token-of-a-test"

// quarantined is a quarantine of one line.
func quarantined(_ context.Context, q api.QuarantineQuery) (*wire.Quarantine, error) {
	line := wire.BadLine{
		At: epoch(), Source: q.Cluster + "/accounting", Path: "/log", Line: 7, Reason: "field",
		Message: "what is wrong", Text: "garbage",
	}
	return &wire.Quarantine{BadLines: []wire.BadLine{line}, Matching: int64(q.Limit), Kept: 1}, nil
}

// feed passes events to the pipeline as one delivery of a cluster's log.
func (f *fixture) feed(cluster string, events ...job.Event) {
	f.Helper()
	f.deliver(&source.Delivery{Source: f.sources[cluster], Events: events, Lines: len(events), CaughtUp: true})
}

func (f *fixture) deliver(d *source.Delivery) {
	f.Helper()
	deliveries := make(chan *source.Delivery, 1)
	deliveries <- d
	close(deliveries)
	if err := f.pipeline.Run(f.Context(), deliveries); err != nil {
		f.Fatal(err)
	}
}

// one is a job. Instants are in seconds after the epoch; a negative one has not happened.
type one struct {
	id, queue          string
	procs              int
	limit              time.Duration
	submit, start, end float64
}

// events returns the events of the job in a log.
func (o one) events(cluster string) []job.Event {
	ev := job.Event{
		Kind: job.Submit, Cluster: cluster, ID: o.id, Time: at(o.submit), Times: job.Times{Submit: at(o.submit)},
		Attributes: job.Attributes{Queue: o.queue, User: secret, Account: secret, Procs: o.procs, TimeLimit: o.limit},
	}
	out := []job.Event{ev}
	if o.start >= 0 {
		ev.Kind, ev.Time, ev.Times.Start = job.Start, at(o.start), at(o.start)
		out = append(out, ev)
	}
	if o.end >= 0 {
		ev.Kind, ev.Time, ev.Times.End = job.End, at(o.end), at(o.end)
		out = append(out, ev)
	}
	return out
}

// The lifetimes of the history follow Downey's uniform-log law between lawMin and lawMax, in seconds.
const (
	lawMin, lawMax = 10.0, 100_000.0
	lawJobs        = 200
)

// history feeds jobs of 2 processors, one after the other, whose lifetimes are the quantiles of the law. It returns the
// instant of the last end, in seconds.
func (f *fixture) history(cluster, queue string) float64 {
	f.Helper()
	now := 0.0
	var events []job.Event
	for i := range lawJobs {
		p := (float64(i) + .5) / lawJobs
		life := lawMin * math.Pow(lawMax/lawMin, p)
		events = append(events, one{id: fmt.Sprintf("%s-h%d", queue, i), queue: queue, procs: 2, submit: now,
			start: now, end: now + life}.events(cluster)...)
		now += life
	}
	f.feed(cluster, events...)
	return now
}

// answer is an HTTP answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (f *fixture) do(method, path string, header http.Header) answer {
	f.Helper()
	req := httptest.NewRequestWithContext(f.Context(), method, path, nil)
	for k, v := range header {
		req.Header[k] = v
	}
	rec := httptest.NewRecorder()
	f.server.Handler().ServeHTTP(rec, req)
	return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
}

// get requests JSON, which must come with status 200.
func (f *fixture) get(path string, into any) {
	f.Helper()
	a := f.do(http.MethodGet, path, nil)
	if a.status != http.StatusOK {
		f.Fatalf("GET %s: status %d: %s", path, a.status, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		f.Errorf("GET %s: content type %q", path, got)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		f.Fatalf("GET %s: %v", path, err)
	}
}

func (f *fixture) wait(query string) wire.Wait {
	f.Helper()
	var w wire.Wait
	f.get("/v1/wait?"+query, &w)
	return w
}

// problem sends a request that must fail, and returns its problem.
func (f *fixture) problem(path string) wire.Problem {
	f.Helper()
	a := f.do(http.MethodGet, path, nil)
	var p wire.Problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		f.Fatalf("GET %s: %v: %s", path, err, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		f.Errorf("GET %s: content type %q, want that of RFC 9457", path, got)
	}
	if p.Status != a.status || p.Title == "" || p.Detail == "" {
		f.Errorf("GET %s: status %d with problem %+v: want the same status, a title and a detail", path, a.status, p)
	}
	return p
}
