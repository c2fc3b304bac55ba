package api_test

import (
	"net/http"
	"testing"
)

// TestRequestsAreCounted proves that requests are counted by method and by the status of the answer, even if the
// handler never sets one. A method that is not known counts as "unknown", so clients cannot add values of the label.
func TestRequestsAreCounted(t *testing.T) {
	f := lively(t)
	f.do(http.MethodGet, "/healthz", nil)
	f.do(http.MethodGet, "/v1/queues", nil)
	f.do(http.MethodHead, "/v1/queues", nil)
	f.do(http.MethodGet, "/nothing", nil)
	f.do("BREW", "/healthz", nil)
	f.do(http.MethodGet, "/v1/queues", http.Header{"If-None-Match": {"*"}})
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got, timed := map[[2]string]float64{}, uint64(0)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			label := map[string]string{}
			for _, l := range m.GetLabel() {
				label[l.GetName()] = l.GetValue()
			}
			switch family.GetName() {
			case "waitcast_http_requests_total":
				got[[2]string{label["method"], label["code"]}] += m.GetCounter().GetValue()
			case "waitcast_http_request_duration_seconds":
				timed += m.GetHistogram().GetSampleCount()
			}
		}
	}
	for key, want := range map[[2]string]float64{
		{"get", "200"}: 2, {"head", "200"}: 1, {"get", "404"}: 1, {"unknown", "405"}: 1, {"get", "304"}: 1,
	} {
		if got[key] != want {
			t.Errorf("%v: %v requests, want %v", key, got[key], want)
		}
	}
	if timed != 6 {
		t.Errorf("%d requests were timed, want 6", timed)
	}
}

// TestTagOfEncodedQuery proves that a request has the same tag with every order and encoding of its parameters, and
// another one if a value differs.
func TestTagOfEncodedQuery(t *testing.T) {
	f := lively(t)
	tag := func(query string) string { return f.do(http.MethodGet, "/v1/wait?"+query, nil).header.Get("ETag") }
	same := tag("procs=1&queue=work&user=a+b")
	for _, query := range []string{
		"procs=1&queue=work&user=a%20b", "user=a%20b&queue=work&procs=1", "queue=wor%6b&user=a+b&procs=1",
	} {
		if got := tag(query); got != same || got == "" {
			t.Errorf("%s: tag %q, want %q", query, got, same)
		}
	}
	if one, two := tag("procs=1&queue=work"), tag("procs=2&queue=work"); one == two {
		t.Errorf("two questions have the tag %s", one)
	}
}
