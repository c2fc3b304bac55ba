package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
)

// TestSizeAsksAndDecodes proves that a request is sent as JSON without its empty members, that the answer is decoded,
// and that a refusal is a problem.
func TestSizeAsksAndDecodes(t *testing.T) {
	var body []byte
	refuse := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.Path != "/v1/size" ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s, %q", r.Method, r.URL, r.Header.Get("Content-Type"))
		}
		if refuse {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"title":"Unprocessable Entity","detail":"runtime: too short"}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"advice":{"procs":16},"later":"unknown members stay"}`)
	}))
	defer server.Close()
	c, err := client.New(server.URL, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	q := &wire.SizeRequest{Sizes: []int{8, 16},
		Runtime: wire.Runtime{Amdahl: &wire.RuntimeAmdahl{Serial: .5, T1Seconds: 10}}}
	s, raw, err := c.Size(t.Context(), q)
	if err != nil || s.Advice.Procs != 16 || !json.Valid(raw) {
		t.Errorf("%+v, %s, %v", s, raw, err)
	}
	if want := `{"sizes":[8,16],"runtime":{"amdahl":{"serial":0.5,"t1_seconds":10}}}`; string(body) != want {
		t.Errorf("asked %s, want %s", body, want)
	}
	refuse = true
	var p *client.ProblemError
	if _, _, err := c.Size(t.Context(), q); !errors.As(err, &p) || p.Status != http.StatusUnprocessableEntity ||
		p.NoForecast() {
		t.Errorf("%v, want a problem", err)
	}
}
