package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
)

// BenchmarkCandidates measures POST /v1/wait with 4 and with 1024 candidates through the whole handler.
func BenchmarkCandidates(b *testing.B) {
	for _, sizes := range []int{1, 256} {
		b.Run(fmt.Sprint(4*sizes), func(b *testing.B) {
			f := crowded(b, 1000, 200)
			q := wire.WaitsRequest{TimeLimits: []string{"1h", "2h", "4h", "8h"}}
			for i := range sizes {
				q.Procs = append(q.Procs, i+1)
			}
			data, err := json.Marshal(q)
			if err != nil {
				b.Fatal(err)
			}
			body := string(data)
			w := &discard{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/wait", nil)
				if err != nil {
					b.Fatal(err)
				}
				req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
				req.Header.Set("Content-Type", "application/json")
				w.status = 0
				f.server.Handler().ServeHTTP(w, req)
				if w.status != http.StatusOK {
					b.Fatalf("status %d", w.status)
				}
			}
		})
	}
}
