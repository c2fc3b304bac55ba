package api

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/waitcast/waitcast/api/ask"
)

// httpMetrics are the metrics that change with requests and watching clients. The metrics of clusters are read from
// views at a scrape (viewCollector). Those of refused requests and of connections are in package access.
type httpMetrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	watch    ask.WatchMetrics
	dropped  prometheus.Counter
}

func newHTTPMetrics(reg prometheus.Registerer) *httpMetrics {
	m := &httpMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_http_requests_total", Help: "HTTP requests by status code and method.",
		}, []string{"code", "method"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "waitcast_http_request_duration_seconds", Help: "Time to answer an HTTP request.",
			Buckets: prometheus.ExponentialBuckets(.0002, 3, 9),
		}, []string{"method"}),
		watch: ask.WatchMetrics{
			Subscribers: prometheus.NewGauge(prometheus.GaugeOpts{
				Name: "waitcast_watch_subscribers", Help: "Clients of /v1/watch.",
			}),
			Evaluations: prometheus.NewCounter(prometheus.CounterOpts{
				Name: "waitcast_watch_evaluations_total",
				Help: "Questions of /v1/watch that were answered; the same question of several clients counts " +
					"once.",
			}),
		},
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waitcast_watch_dropped_total",
			Help: "Clients of /v1/watch that were dropped because they did not read.",
		}),
	}
	m.touch()
	reg.MustRegister(m.requests, m.duration, m.watch.Subscribers, m.watch.Evaluations, m.dropped)
	return m
}

// touch creates the counters of the usual requests with the value zero.
func (m *httpMetrics) touch() {
	for _, method := range [...]string{"get", "post"} {
		for _, code := range [...]string{"200", "404", "422", "500", "503"} {
			m.requests.WithLabelValues(code, method)
		}
		m.duration.WithLabelValues(method)
	}
}

// instrument counts the requests of a handler, and measures how long it takes.
func (m *httpMetrics) instrument(next http.Handler) http.Handler {
	timed := promhttp.InstrumentHandlerDuration(m.duration, next)
	return promhttp.InstrumentHandlerCounter(m.requests, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Not measured: the client decides how long a stream lasts.
		if r.URL.Path == watchPath || r.URL.Path == changesPath {
			next.ServeHTTP(w, r)
			return
		}
		timed.ServeHTTP(w, r)
	}))
}
