// Package api serves waitcast's answers over HTTP: forecasts, queues and models as JSON with an OpenAPI description,
// and the metrics. It reads published views only and never waits for the writer.
package api

//go:generate go run ../scripts/openapi ../docs/openapi.json

import (
	"cmp"
	"hash/maphash"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/page"
	"github.com/waitcast/waitcast/api/reference"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// defaultWatchers is the default of Options.Watchers. Each watching client takes a connection and about 20 kB.
const defaultWatchers = 2000

// New returns a server.
func New(views Views, opts Options) *Server {
	if opts.WasReady == nil {
		opts.WasReady = new(atomic.Bool)
	}
	if opts.Restoring == nil {
		opts.Restoring = func() *readmodel.Condition { return nil }
	}
	watchers := cmp.Or(opts.Watchers, defaultWatchers)
	s := &Server{
		views: views, opts: opts, seed: maphash.MakeSeed(), guard: guardOf(&opts),
		metrics: newHTTPMetrics(opts.Registry),
		ask:     ask.New(views, ask.Options{StaleAfter: opts.StaleAfter, Now: opts.Now, Log: opts.Log}),
		drawing: make(chan struct{}, mostWorkloads), counting: make(chan struct{}, 1),
		listening: make(chan struct{}, watchers), closed: make(chan struct{}),
	}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	s.watchers = ask.NewWatchers(s.ask, watchers, s.metrics.watch)
	opts.Registry.MustRegister(newViewCollector(s))
	mux := &routes{ServeMux: http.NewServeMux(), expensive: s.serveExpensive, restoring: opts.Restoring}
	s.body = &mux.body
	s.Configure(opts.StaleAfter, opts.MostBody)
	s.describe(mux, s.operations(mux))
	s.handlePlain(mux)
	s.handler, s.patterns = s.metrics.instrument(s.guard.Wrap(mux)), mux.patterns
	return s
}

// operations adds the operations of the OpenAPI description and the paths for administrators. It returns the
// description.
func (s *Server) operations(mux *routes) *huma.OpenAPI {
	cfg := huma.DefaultConfig("waitcast", s.opts.Version)
	// Huma's own documentation page loads scripts from other sites.
	cfg.DocsPath, cfg.SchemasPath, cfg.OpenAPIPath = "", "", ""
	cfg.CreateHooks = nil // no $schema links in answers
	cfg.Info.Description = "How long would this job wait, and what should I ask for instead?"
	cfg.Transformers = []huma.Transformer{typedProblems}
	cfg.RejectUnknownQueryParameters = true
	cfg.Formats = jsonFormats()
	a := humago.New(mux, cfg)
	a.UseMiddleware(singleQuery(a), finiteQuery(a), readable)
	s.register(a)
	describeProblems(a.OpenAPI())
	if s.opts.Admin != nil {
		describeAdmin(a.OpenAPI())
		describeImport(a.OpenAPI())
		s.registerQuarantine(a)
		s.registerLogLevel(a)
		mux.HandleFunc("GET "+goroutinesPath, s.admin(s.getGoroutines))
		mux.HandleFunc("POST "+importPath, s.admin(s.postImport))
	}
	describeAccess(a.OpenAPI())
	boundParameters(a.OpenAPI())
	describeNulls(a.OpenAPI())
	if err := reference.Describe(a.OpenAPI()); err != nil {
		s.opts.Log.Error("describing the interface", zap.Error(err))
	}
	return a.OpenAPI()
}

// handlePlain adds the paths that are not JSON operations: the metrics, the page, and health checks.
func (s *Server) handlePlain(mux *routes) {
	mux.Handle("GET /metrics",
		promhttp.HandlerFor(s.opts.Registry, promhttp.HandlerOpts{ErrorLog: zap.NewStdLog(s.opts.Log)}))
	for _, pattern := range []string{"GET /{$}", "GET /page/"} {
		mux.Handle(pattern, page.Handler(s.guard.Ancestors))
	}
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
}

func (s *Server) register(a huma.API) {
	s.registerWait(a)
	s.registerQueues(a)
	s.registerModel(a)
	s.registerWorkload(a)
	s.registerJobs(a)
	s.registerMe(a)
	s.registerWaits(a)
	s.registerSize(a)
	s.registerNow(a)
	s.registerForecast(a)
	s.registerWhen(a)
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
	if s.opts.History != nil {
		s.registerHistory(a)
	}
}
