package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/waitcast/waitcast/job"
)

// BenchmarkScrape measures GET /metrics for a cluster with 10,000 running and 20,000 queued jobs of 40 users in six
// queues: with the same view each time, and with a new view for each scrape, as on a busy cluster.
func BenchmarkScrape(b *testing.B) {
	f, last := multitude(b, 10_000, 20_000)
	handler := f.server.Handler()
	b.Run("same view", func(b *testing.B) { benchmarkGet(b, handler, "/metrics") })
	b.Run("new view", func(b *testing.B) {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", nil)
		if err != nil {
			b.Fatal(err)
		}
		w := &discard{header: http.Header{}}
		n := 0
		for b.Loop() {
			b.StopTimer()
			n++
			f.feed("main", one{id: fmt.Sprint("n", n), queue: "q1", procs: 4, submit: last + float64(n), start: -1,
				end: -1}.events("main")...)
			b.StartTimer()
			handler.ServeHTTP(w, req)
		}
	})
}

// multitude returns a fixture with a history and the given numbers of jobs. It also returns the instant of the last
// submission.
func multitude(b testing.TB, running, queued int) (*fixture, float64) {
	f := serve(b, main(16*running))
	begin := f.history("main", "q0")
	var events []job.Event
	add := func(i int, start float64, submit float64) {
		o := one{id: fmt.Sprint("m", i), queue: fmt.Sprint("q", i%6), procs: 1 << (i % 8), submit: submit,
			start: start, end: -1}
		for _, ev := range o.events("main") {
			ev.User = fmt.Sprint("u", i%40)
			events = append(events, ev)
		}
	}
	for i := range running {
		add(i, begin+float64(i)/10, begin+float64(i)/10)
	}
	last := begin + float64(running)/10
	for i := range queued {
		last += .1
		add(running+i, -1, last)
	}
	f.feed("main", events...)
	f.now = at(last + 1)
	return f, last
}
