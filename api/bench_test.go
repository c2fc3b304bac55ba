package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/waitcast/waitcast/job"
)

// BenchmarkWait measures GET /v1/wait through the whole handler, including the forecast, for clusters of several sizes.
func BenchmarkWait(b *testing.B) {
	for _, size := range []struct{ running, queued int }{{100, 20}, {80, 80}, {150, 140}, {280, 10}, {1000, 200}} {
		b.Run(fmt.Sprintf("running=%d,queued=%d", size.running, size.queued), func(b *testing.B) {
			handler := crowded(b, size.running, size.queued).server.Handler()
			for _, explain := range []bool{false, true} {
				b.Run(fmt.Sprintf("explain=%v", explain), func(b *testing.B) {
					benchmarkGet(b, handler,
						fmt.Sprintf("/v1/wait?queue=work&procs=16&time_limit=2h&explain=%v", explain))
				})
			}
			// A view keeps the simulations of a small pool for repeated requests, so here each request has another time
			// limit.
			b.Run("others", func(b *testing.B) {
				benchmarkPaths(b, handler, func(i int) string {
					return fmt.Sprintf("/v1/wait?queue=work&procs=16&time_limit=%ds", 7200+i)
				})
			})
		})
	}
}

// benchmarkGet sends the same request again and again.
func benchmarkGet(b *testing.B, handler http.Handler, path string) {
	benchmarkPaths(b, handler, func(int) string { return path })
}

// benchmarkPaths sends one request after another. path returns the i-th of them.
func benchmarkPaths(b *testing.B, handler http.Handler, path func(i int) string) {
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, path(i), nil)
		if err != nil {
			b.Fatal(err)
		}
		w.status = 0
		handler.ServeHTTP(w, req)
		if w.status != http.StatusOK {
			b.Fatalf("status %d", w.status)
		}
	}
}

// crowded returns a fixture on which every processor is in use.
func crowded(b testing.TB, running, queued int) *fixture {
	f := serve(b, main(4*running))
	begin := f.history("main", "work")
	var events []job.Event
	for i := range running {
		start := begin + float64(i)
		events = append(events, one{id: fmt.Sprint("r", i), queue: "work", procs: 2 + 4*(i%2), submit: start,
			start: start, end: -1}.events("main")...)
	}
	last := begin + float64(running)
	for i := range queued {
		events = append(events, one{id: fmt.Sprint("q", i), queue: "work", procs: 1 << (1 + i%5), submit: last,
			start: -1, end: -1}.events("main")...)
	}
	f.feed("main", events...)
	f.now = at(last + 60)
	return f
}

// discard is a ResponseWriter that keeps only the status.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header { return d.header }

func (d *discard) WriteHeader(status int) { d.status = status }

func (d *discard) Write(p []byte) (int, error) {
	if d.status == 0 {
		d.status = http.StatusOK
	}
	return len(p), nil
}
