package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/livemodels"
)

// walkToken is the administrators' token in the walk.
const walkToken = "an-admin-token-of-the-walk"

// world is a random cluster behind a real server. The test passes events to the pipeline, and the clock does not
// advance.
type world struct {
	*testing.T
	rng      *rand.Rand
	pipeline *pipeline.Pipeline
	source   source.Config
	url      string
	clock    time.Time
	newest   float64 // the instant of the newest event, in seconds

	procs, past     int
	queues          []string
	ranked, slow    bool // ranked: jobs have priorities; slow: every job waits some minutes even if processors are free
	load            float64
	running, queued map[string]*walkJob
	held            map[string]*walkJob
}

// walkJob is a job of a world. Its instants are in seconds, -1 for none.
type walkJob struct {
	id, queue, user    string
	procs              int
	limit              time.Duration
	priority           int64
	submit, start, end float64
	runtime            float64
}

func walkEpoch() time.Time { return time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC) }

func walkAt(seconds float64) time.Time {
	return walkEpoch().Add(time.Duration(math.Round(seconds*1000)) * time.Millisecond)
}

// newWorld draws a world from a seed, plays its past and starts its server. Every fifth world has an empty past.
func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 17))
	w := &world{T: t, rng: r, procs: []int{8, 32, 128}[r.IntN(3)],
		past:   []int{0, 12, 40, 100, 150, 0, 6, 20, 70, 320}[seed%10],
		ranked: r.IntN(2) == 0, slow: r.IntN(3) == 0, load: .5 + r.Float64(),
		running: map[string]*walkJob{}, queued: map[string]*walkJob{}, held: map[string]*walkJob{}}
	if w.slow { // so that processors are free while jobs wait for long
		w.load = .05 + .2*r.Float64()
	}
	w.queues = []string{"alpha", "beta", "gamma"}[:1+r.IntN(3)]
	cfg := pipeline.ClusterConfig{Name: "main", Procs: w.procs, Queues: w.queues,
		Policy: []string{"", "fcfs", "easy", "priority"}[r.IntN(4)]}
	if r.IntN(4) == 0 {
		cfg.Procs = 0 // to be learnt from the jobs
	}
	registry := prometheus.NewRegistry()
	metrics := pipeline.NewMetrics(registry)
	now := func() time.Time { return w.clock }
	var err error
	if w.pipeline, err = pipeline.New(pipeline.Config{Clusters: []pipeline.ClusterConfig{cfg}, Forecasts: true,
		Models: livemodels.Config{MinSamples: 5, HistoryJobs: 10_000}}, nil, now, zap.NewNop(), metrics); err != nil {
		t.Fatal(err)
	}
	w.source = source.Config{Name: "main/log", Format: collector.Format{Name: "test"},
		Options: collector.Options{Cluster: "main"}}
	w.pipeline.AddSource(w.source)
	metrics.Touch(w.source)
	server := api.New(w.pipeline, api.Options{
		Version: "walk", StaleAfter: 10 * time.Minute, Now: now, Registry: registry, Log: zap.NewNop(),
		Accuracy: func(context.Context, api.AccuracyQuery) (*accuracy.Summary, error) {
			return &accuracy.Summary{}, nil
		},
		History: func(_ context.Context, q api.HistoryQuery) (*accuracy.DailyWaits, error) {
			return accuracy.NewDailyWaits(q.Zone), nil
		},
		Recent: func(context.Context, api.RecentQuery) ([]api.RecentRow, error) { return nil, nil },
		Admin: &api.Admin{Token: walkToken, LogLevel: walkLevel{},
			Import: func(context.Context, api.ImportRequest, func(wire.ImportProgress)) (*wire.ImportReport, error) {
				return nil, &api.Refused{Status: http.StatusUnprocessableEntity, Detail: "it is not a log"}
			},
			Quarantine: func(context.Context, api.QuarantineQuery) (*wire.Quarantine, error) {
				return &wire.Quarantine{BadLines: []wire.BadLine{}}, nil
			}},
	})
	listening := httptest.NewServer(server.Handler())
	t.Cleanup(listening.Close)
	w.url = listening.URL
	w.play()
	w.clock = walkAt(w.newest + 3)
	if w.past > 0 && r.IntN(8) == 0 {
		w.clock = walkAt(w.newest + 7200) // this makes the answers stale
	}
	return w
}

// walkLevel is a log level without a log.
type walkLevel struct{}

func (walkLevel) Level() wire.LogLevel { return wire.LogLevel{Level: "info", Configured: "info"} }

func (walkLevel) Set(string, time.Duration) (wire.LogLevel, error) { return walkLevel{}.Level(), nil }

// draw returns a random job that is submitted at the given instant.
func (w *world) draw(i int, submit float64) *walkJob {
	r := w.rng
	j := &walkJob{id: fmt.Sprint(1000 + i), queue: w.queues[r.IntN(len(w.queues))], user: fmt.Sprint("u", r.IntN(4)),
		procs: min(w.procs, 1<<r.IntN(7)), submit: submit, start: -1, end: -1,
		runtime: math.Round(600 * math.Exp(r.NormFloat64()))}
	j.limit = time.Duration(math.Ceil(j.runtime*(1+2*r.Float64())/600)) * 10 * time.Minute
	if w.ranked {
		j.priority = 1 + r.Int64N(1000)
	}
	return j
}

// play plays the past on the world's processors and feeds its events to the pipeline.
func (w *world) play() {
	if w.past == 0 {
		return
	}
	var waiting, all []*walkJob
	free, now, next := w.procs, 0., 0.
	for len(all) < w.past {
		now = next
		for id, j := range w.running {
			if j.end <= now {
				free += j.procs
				delete(w.running, id)
			}
		}
		j := w.draw(len(all), now)
		all, waiting = append(all, j), append(waiting, j)
		slices.SortStableFunc(waiting, func(a, b *walkJob) int { return cmp.Compare(b.priority, a.priority) })
		waiting = slices.DeleteFunc(waiting, func(j *walkJob) bool {
			if j.procs > free || w.slow && now-j.submit < 300 {
				return false
			}
			free -= j.procs
			j.start, j.end = now, now+j.runtime
			w.running[j.id] = j
			return true
		})
		work := float64(j.procs) * j.runtime
		next = now + math.Round(-math.Log(1-w.rng.Float64())*work/float64(w.procs)/w.load) + 1
	}
	for _, j := range waiting {
		w.queued[j.id] = j
	}
	w.feedAll(all, now)
}

// feedAll passes the events of jobs up to an instant to the pipeline. Some of the waiting jobs are held.
func (w *world) feedAll(all []*walkJob, now float64) {
	var events []job.Event
	for _, j := range all {
		events = append(events, j.event(job.Submit, j.submit))
		if j.start >= 0 {
			events = append(events, j.event(job.Start, j.start))
		}
		if j.start >= 0 && j.end <= now {
			events = append(events, j.event(job.End, j.end))
			delete(w.running, j.id)
		}
		if j.start < 0 && j.submit < now && w.rng.IntN(8) == 0 {
			events = append(events, j.event(job.Hold, now))
			delete(w.queued, j.id)
			w.held[j.id] = j
		}
	}
	slices.SortStableFunc(events, func(a, b job.Event) int { return a.Time.Compare(b.Time) })
	w.feed(now, events...)
}

func (w *world) feed(now float64, events ...job.Event) {
	w.Helper()
	w.newest = now
	w.clock = walkAt(now)
	deliveries := make(chan *source.Delivery, 1)
	deliveries <- &source.Delivery{Source: &w.source, Events: events, Lines: len(events), CaughtUp: true}
	close(deliveries)
	if err := w.pipeline.Run(w.Context(), deliveries); err != nil {
		w.Fatal(err)
	}
}

func (j *walkJob) event(kind job.Kind, at float64) job.Event {
	e := job.Event{Kind: kind, Cluster: "main", ID: j.id, Time: walkAt(at), Live: true,
		Times: job.Times{Submit: walkAt(j.submit)},
		Attributes: job.Attributes{Queue: j.queue, User: j.user, Procs: j.procs, TimeLimit: j.limit,
			Priority: j.priority}}
	if kind == job.Hold {
		e.Reason = "JobHeldUser"
	}
	if kind == job.Start || kind == job.End {
		e.Times.Start = walkAt(j.start)
	}
	if kind == job.End {
		e.Times.End = walkAt(j.end)
	}
	return e
}

// request sends a request with the administrators' token and returns status and body.
func (w *world) request(method, path string, body any) (int, []byte) {
	w.Helper()
	return w.requestAs(walkToken, method, path, body)
}

// requestAs does the same as request with another token, or none.
func (w *world) requestAs(token, method, path string, body any) (int, []byte) {
	w.Helper()
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			w.Fatal(err)
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(w.Context(), method, w.url+path, content)
	if err != nil {
		w.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // read to its end
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer.StatusCode, data
}

// answerOf sends a request and decodes the answer. The test fails without an answer.
func answerOf[T any](w *world, method, path string, body any) T {
	w.Helper()
	var out T
	status, data := w.request(method, path, body)
	if status != http.StatusOK {
		w.Fatalf("%s %s: %d %s", method, path, status, data)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		w.Fatalf("%s %s: %v: %s", method, path, err, data)
	}
	return out
}
