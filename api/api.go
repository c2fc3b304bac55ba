// Package api serves waitcast's answers over HTTP: forecasts, queues and models as JSON with an OpenAPI description,
// and the metrics. It reads published views only and never waits for the writer.
package api

import (
	"cmp"
	"hash/maphash"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/page"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/predictor"
)

// Views is where the published pictures come from.
type Views interface {
	// View returns the newest view of a cluster, nil if there is no such cluster.
	View(cluster string) *pipeline.View
	// Views returns the newest view of every cluster.
	Views() []*pipeline.View
	// Published returns a channel that is closed when views are published next.
	Published() <-chan struct{}
	// Conditions returns what is wrong with the database and the sources, empty if nothing is.
	Conditions() []pipeline.Condition
}

// Options are what a server needs beside the views.
type Options struct {
	// Version goes into the OpenAPI description and waitcast_build_info.
	Version string
	// StaleAfter is the age beyond which an answer is marked stale.
	StaleAfter time.Duration
	// Now is the wall clock.
	Now func() time.Time
	// Registry is what /metrics serves; the api's own metrics are registered with it.
	Registry *prometheus.Registry
	Log      *zap.Logger
	// Accuracy reads the ledger; without it GET /v1/accuracy is not there.
	Accuracy AccuracyFunc
	// Recent reads the newest rows of the ledger; without it GET /v1/accuracy/recent is not there.
	Recent RecentFunc
	// Watchers bounds the clients of GET /v1/watch at a time; 0 is 2000.
	Watchers int
	// Admin is what administrators may ask for; without it those paths are not there.
	Admin *Admin
	// Guard decides who may ask for what; nil is one that knows nothing but Admin's token.
	Guard *access.Guard
	// WasReady is set once the daemon was ready; one that outlives the server keeps a reload from making it not ready. Nil is
	// one of its own.
	WasReady *atomic.Bool
	// MostBody bounds the bytes of a question; 0 is 1 MiB.
	MostBody int64
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	views       Views
	opts        Options
	handler     http.Handler
	guard       *access.Guard
	patterns    []string
	forecasters sync.Pool
	analyses    analyses
	summaries   scrapeSummaries
	drawing     chan struct{} // a place for each workload that is streamed
	counting    chan struct{} // a place for the one who reads the ledger
	watchers    *watchers
	listening   chan struct{} // a place for each client of GET /v1/changes
	born        int64         // tells apart the ETags of two processes
	seed        maphash.Seed  // of their hashes
	closed      chan struct{}
	close       func()
}

// New returns a server.
func New(views Views, opts Options) *Server {
	if opts.WasReady == nil {
		opts.WasReady = new(atomic.Bool)
	}
	s := &Server{views: views, opts: opts, born: time.Now().UnixNano(), seed: maphash.MakeSeed(), drawing: make(chan struct{}, mostWorkloads), counting: make(chan struct{}, 1)}
	s.closed = make(chan struct{})
	s.close = sync.OnceFunc(func() { close(s.closed) })
	s.forecasters.New = func() any { return predictor.NewForecaster() }
	m := newMetrics(opts.Registry, s)
	s.watchers = newWatchers(s, opts.Watchers, opts.Registry)
	s.guard = guardOf(&opts)
	mux := &routes{ServeMux: http.NewServeMux(), body: cmp.Or(opts.MostBody, mostBody)}
	s.listening = make(chan struct{}, s.watchers.most)
	cfg := huma.DefaultConfig("waitcast", opts.Version)
	cfg.DocsPath, cfg.SchemasPath, cfg.OpenAPIPath = "", "", "" // its docs page loads from outside
	cfg.CreateHooks = nil                                       // no $schema links in answers
	cfg.Info.Description = "How long would this job wait, and what should I ask for instead?"
	cfg.RejectUnknownQueryParameters = true
	cfg.Formats = jsonFormats()
	a := humago.New(mux, cfg)
	a.UseMiddleware(finiteQuery(a), readable)
	s.register(a)
	describeProblems(a.OpenAPI())
	if opts.Admin != nil {
		describeAdmin(a.OpenAPI())
		describeImport(a.OpenAPI())
		s.registerQuarantine(a)
		s.registerLogLevel(a)
		mux.HandleFunc("GET "+goroutinesPath, s.admin(s.getGoroutines))
		mux.HandleFunc("POST "+importPath, s.admin(s.postImport))
	}
	s.describe(mux, a.OpenAPI())
	mux.Handle("GET /metrics", promhttp.HandlerFor(opts.Registry, promhttp.HandlerOpts{ErrorLog: zap.NewStdLog(opts.Log)}))
	for _, pattern := range []string{"GET /{$}", "GET /page/"} {
		mux.Handle(pattern, page.Handler())
	}
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	s.handler, s.patterns = m.instrument(s.guard.Wrap(mux)), mux.patterns
	return s
}

// Patterns returns what the server answers to, as http.ServeMux writes it: a method and a path.
func (s *Server) Patterns() []string { return s.patterns }

// Handler returns the server's HTTP handler.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends the answers that go on and on (GET /v1/watch); their clients come back. Others are given as before.
func (s *Server) Close() { s.close() }

func (s *Server) register(a huma.API) {
	huma.Register(a, huma.Operation{
		OperationID: "get-wait", Method: http.MethodGet, Path: "/v1/wait",
		Summary:     "How long would this job wait?",
		Description: "The distribution of the wait of a job that would be submitted now.",
		Errors:      []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getWait)
	huma.Register(a, huma.Operation{
		OperationID: "get-queues", Method: http.MethodGet, Path: "/v1/queues",
		Summary: "The queues, what they hold, and how well their lifetimes are known",
		Errors:  []int{http.StatusNotFound},
	}, s.getQueues)
	huma.Register(a, huma.Operation{
		OperationID: "get-model", Method: http.MethodGet, Path: "/v1/models/{queue}",
		Summary: "The models of one queue: laws of lifetimes, Lublin and Feitelson's model, Markov chains, users",
		Errors:  []int{http.StatusNotFound},
	}, s.getModel)
	s.registerWorkload(a)
	s.registerJobs(a)
	s.registerWaits(a)
	s.registerSize(a)
	s.registerNow(a)
	s.registerForecast(a)
	s.registerWatch(a)
	s.registerChanges(a)
	s.registerCurves(a)
	s.registerHealth(a)
	if s.opts.Recent != nil {
		s.registerRecent(a)
	}
	if s.opts.Accuracy != nil {
		s.registerAccuracy(a)
	}
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may be gone
}
