package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
)

// FuzzRequest proves that for any request the server does not panic and answers with a status below 500, or with 503
// for a valid request without an answer now, and that errors are problems with the same status.
func FuzzRequest(f *testing.F) {
	site := lively(f)
	handler := site.server.Handler()
	for _, seed := range []string{
		"GET /v1/wait?queue=work&procs=4&time_limit=1:00:00&memory=4G&user=a HTTP/1.1\r\nHost: h\r\nIf-None-Match: " +
			"W/\"1\"\r\n\r\n", "GET /v1/jobs?queue=work&limit=3 HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /v1/jobs/c HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + adminToken + "\r\n\r\n",
		"GET /v1/accuracy?since=7d HTTP/1.1\r\nHost: h\r\n\r\n", "GET /v1/now?queue=work HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /v1/workload?jobs=3&seed=1&format=jsonl HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /v1/quarantine?limit=1 HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YTpi\r\n\r\n",
		"POST /v1/wait HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: " +
			"52\r\n\r\n{\"places\":[{\"queue\":\"work\"}],\"procs\":[1],\"nodes\":1}  ",
		"POST /v1/size HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"POST /v1/size HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: " +
			"88\r\n\r\n{\"places\":[{\"queue\":\"work\"}],\"sizes\":[2],\"runtime\":{\"amdahl\":{\"serial\":.1," +
			"\"t1_seconds\":9}}}",
		"HEAD /metrics HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 1.2.3.4, ::1\r\nOrigin: null\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil || strings.HasPrefix(r.URL.Path, "/v1/import") || strings.HasPrefix(r.URL.Path, "/v1/watch") ||
			r.URL.Path == "/v1/workload" && r.URL.Query().Get("jobs") != "3" {
			return // this is no request, or its answer may be arbitrarily long
		}
		r.RemoteAddr = "192.0.2.1:1"
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r.WithContext(t.Context()))
		if w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
			t.Errorf("%d %s for %q", w.Code, w.Body, raw)
		}
		if w.Code < 400 || r.Method == http.MethodHead || r.URL.Path == "/readyz" {
			return
		}
		var p wire.Problem
		body, err := io.ReadAll(w.Body)
		if err == nil {
			err = json.Unmarshal(body, &p)
		}
		if err != nil || p.Status != w.Code || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d with %q: %v for %q", w.Code, body, err, raw)
		}
	})
}
