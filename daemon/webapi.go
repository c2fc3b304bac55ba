package daemon

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/modelstore"
)

// webAPI is the part of a core that answers requests: access rules, the HTTP interface and the metrics. It reads
// published views and the databases. It never waits for the writer.
type webAPI struct {
	opts     Options
	registry *prometheus.Registry
	views    api.Views
	stores   []modelstore.Store // stores have the ledgers and quarantines
	guard    *access.Guard
	server   *api.Server
}

// ServeHTTP implements http.Handler.
func (w *webAPI) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w.server.Handler().ServeHTTP(to, r)
}

// prepare reads the keys of config.EffectAccess and the files that they name. It returns a function that applies them.
// After an error nothing has changed.
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

// close ends the event streams. Their clients then connect again.
func (w *webAPI) close() { w.server.Close() }

// errReloading answers a request for the ledger during a reload.
var errReloading error = &api.Refused{
	Status: http.StatusServiceUnavailable, Detail: "the daemon is reloading its configuration",
	Hint: "ask again in some seconds",
}

// errStopping is the answer to a request that is cut off because the daemon stops.
var errStopping error = &api.Refused{Status: http.StatusServiceUnavailable, Detail: "the daemon is stopping",
	Hint: "import the same log again once it runs: what was taken in counts once"}
