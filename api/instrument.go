package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// instrument counts and times what a handler answers. promhttp's instruments would do the same, with two writers in a row, and maps of labels for each request.
func (m *metrics) instrument(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, told := time.Now(), &statusWriter{ResponseWriter: w}
		next.ServeHTTP(told, r)
		method := methodLabel(r.Method)
		if r.URL.Path != watchPath && r.URL.Path != changesPath { // they last as long as the client likes
			m.duration.WithLabelValues(method).Observe(time.Since(begun).Seconds())
		}
		code := "200" // also where nothing was written
		if told.status > 0 && told.status != http.StatusOK {
			code = strconv.Itoa(told.status)
		}
		m.requests.WithLabelValues(code, method).Inc()
	})
}

// methodLabel returns a method as metrics tell it; "unknown" for what no RFC knows, since clients can invent names.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet:
		return "get"
	case http.MethodPost:
		return "post"
	case http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace, "NOTIFY":
		return strings.ToLower(method)
	}
	return "unknown"
}

// statusWriter keeps the status of an answer. What the writer behind it can do beside that is reached by http.ResponseController.
type statusWriter struct {
	http.ResponseWriter
	status int // 0 before the first
}

// WriteHeader implements http.ResponseWriter. Others may come after one that only informs.
func (w *statusWriter) WriteHeader(status int) {
	if w.status < http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status < http.StatusOK {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the writer behind, for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
