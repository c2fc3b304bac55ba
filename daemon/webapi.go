package daemon

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/modelstore"
)

// webAPI is the part of a core that requests reach: access rules, the HTTP interface and the metrics. It reads
// published views and the databases, and never waits for the writer.
type webAPI struct {
	opts     Options
	registry *prometheus.Registry
	views    api.Views
	stores   []modelstore.Store // of the ledgers and quarantines
	guard    *access.Guard
	server   *api.Server
}

// openAPI makes the part that answers requests. take takes in logs of the past.
func (c *coreParts) openAPI(views api.Views, stores []modelstore.Store, take api.ImportFunc) error {
	rules, err := accessOptions(c.cfg, c.opts)
	if err != nil {
		return err
	}
	rules.Registry = c.registry
	guard, err := access.New(rules)
	if err != nil {
		return err
	}
	w := &webAPI{opts: c.opts, registry: c.registry, views: views, stores: stores, guard: guard}
	admin := &api.Admin{Import: take, Quarantine: w.quarantine}
	if c.opts.Level != nil {
		admin.LogLevel = c.opts.Level
	}
	w.server = api.New(views, api.Options{
		Version: c.opts.Version, StaleAfter: c.cfg.StaleAfter, Now: c.opts.Now, Registry: c.registry, Log: c.opts.Log,
		Accuracy: w.accuracy, Recent: w.recent, Guard: guard, WasReady: c.opts.wasReady,
		MostBody: int64(c.cfg.Limits.Body), Admin: admin,
	})
	c.api = w
	return nil
}

// ServeHTTP implements http.Handler.
func (w *webAPI) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w.server.Handler().ServeHTTP(to, r)
}

// prepare reads the keys of config.EffectAccess, and the files that they name, and returns a function that puts them
// into force. After an error nothing has changed.
func (w *webAPI) prepare(cfg *config.Config) (apply func(), err error) {
	rules, err := accessOptions(cfg, w.opts)
	if err != nil {
		return nil, err
	}
	change, err := w.guard.Prepare(rules)
	if err != nil {
		return nil, err
	}
	return func() {
		change()
		w.server.Configure(cfg.StaleAfter, int64(cfg.Limits.Body))
	}, nil
}

// close ends the streams; their clients connect again.
func (w *webAPI) close() { w.server.Close() }
