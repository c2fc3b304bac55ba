package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/waitcast/waitcast/job"
)

// BenchmarkWait measures GET /v1/wait through the whole handler, including the forecast, for clusters of two sizes.
func BenchmarkWait(b *testing.B) {
	for _, size := range []struct{ running, queued int }{{100, 20}, {280, 10}, {1000, 200}} {
		b.Run(fmt.Sprintf("running=%d,queued=%d", size.running, size.queued), func(b *testing.B) {
			handler := crowded(b, size.running, size.queued).server.Handler()
			for _, explain := range []bool{false, true} {
				b.Run(fmt.Sprintf("explain=%v", explain), func(b *testing.B) {
					benchmarkWait(b, handler,
						fmt.Sprintf("/v1/wait?queue=work&procs=16&time_limit=2h&explain=%v", explain))
				})
			}
		})
	}
}

func benchmarkWait(b *testing.B, handler http.Handler, path string) {
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, path, nil)
	if err != nil {
		b.Fatal(err)
	}
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
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
