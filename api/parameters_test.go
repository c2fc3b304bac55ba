package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
)

// describedOperation is the part of an operation in the OpenAPI description that the tests use.
type describedOperation struct {
	Parameters []struct {
		Name, In string
		Schema   struct{ Type any }
	}
	RequestBody struct {
		Content map[string]struct {
			Schema struct {
				Ref string `json:"$ref"`
			}
		}
	}
}

// TestParametersAreRefusedByName calls every operation of the description, with each parameter set to wrong values of
// every kind that its type allows. The answer must name the parameter and have a problem type. New operations are
// covered automatically.
func TestParametersAreRefusedByName(t *testing.T) {
	f := lively(t)
	asked := 0
	for at, op := range operationsIn(t, f) {
		method, path, _ := strings.Cut(at, " ")
		path = strings.NewReplacer("{queue}", "work", "{id}", "strange").Replace(path)
		if len(op.RequestBody.Content) == 0 || path == "/v1/import" {
			f.refused(method, path+"?surely_unknown=1", "", "surely_unknown")
		}
		for _, p := range op.Parameters {
			if p.In != "query" {
				continue
			}
			for _, query := range wrongQueries(p.Name, p.Schema.Type) {
				f.refused(method, path+"?"+query, "", p.Name)
				asked++
			}
		}
		if ref := op.RequestBody.Content["application/json"].Schema.Ref; ref != "" {
			f.refused(method, path, `{"surely_unknown": 1}`, "")
			f.refused(method, path, `[]`, "body")
			asked++
		}
	}
	if asked < 100 {
		t.Errorf("%d wrong requests: is the description read?", asked)
	}
}

// TestDuplicateMembersAreRefused proves that a member that occurs twice in one object of a body is refused by its name,
// at any depth, while the same name in different objects is allowed.
func TestDuplicateMembersAreRefused(t *testing.T) {
	f := lively(t)
	size := `"sizes":[2],"runtime":{"amdahl":{"serial":0.1,"t1_seconds":3600}}`
	for _, c := range []struct{ path, body, name string }{
		{"/v1/wait", `{"procs":[1],"places":[{"queue":"work"}],"procs":[2]}`, "procs"},
		{"/v1/wait", `{"procs":[1],"places":[{"queue":"work","queue":"work"}]}`, "queue"},
		{"/v1/wait", `{"procs":[1],"places":[{"queue":"work"}],"pr\u006fcs":[2]}`, "procs"},
		{"/v1/size", `{"places":[{"queue":"work"}],"sizes":[4],` + size + `}`, "sizes"},
		{"/v1/size", `{"places":[{"queue":"work"}],"sizes":[4],"runtime":{"amdahl":{"serial":0,"serial":1}}}`,
			"serial"},
	} {
		f.refused(http.MethodPost, c.path, c.body, c.name)
	}
	for path, body := range map[string]string{
		"/v1/wait": `{"procs":[1],"places":[{"queue":"work"},{"queue":"declared"}],"user":"queue"}`,
		"/v1/size": `{"places":[{"queue":"work"}],` + size + `}`,
	} {
		if a := f.send(http.MethodPost, path, body); a.status != http.StatusOK {
			t.Errorf("%s %s: %d %s", path, body, a.status, a.body)
		}
	}
	twice := url.QueryEscape(`{"places":[{"queue":"work"}],"sizes":[4],` + size + `}`)
	if p := f.problem("/v1/watch?request=" + twice); p.Status != http.StatusUnprocessableEntity ||
		p.Parameter != "request" || !strings.Contains(p.Detail, "sizes") {
		t.Errorf("a question that is watched: %+v", p)
	}
}

// wrongQueries returns queries in which a parameter of the given type has a wrong value.
func wrongQueries(name string, kind any) []string {
	q := url.QueryEscape(name) + "="
	out := []string{q + "1&" + q + "2"}
	switch kind {
	case "integer":
		for _, text := range []string{"NaN", "-1", "1.5", "1e99", "99999999999999999999", "2000000000"} {
			out = append(out, q+text)
		}
	case "number":
		for _, text := range []string{"NaN", "-Inf", "1e999", "many"} {
			out = append(out, q+text)
		}
	case "boolean":
		out = append(out, q+"maybe")
	default:
		out = append(out, q+strings.Repeat("a", 40_000))
	}
	return out
}

// operationsIn returns the operations of the description by method and path.
func operationsIn(t *testing.T, f *fixture) map[string]describedOperation {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]describedOperation
	}
	if err := json.Unmarshal(f.do(http.MethodGet, "/openapi.json", nil).body, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]describedOperation{}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			out[strings.ToUpper(method)+" "+path] = op
		}
	}
	return out
}

// refused sends an invalid request as an administrator. The answer must be a problem with a type. If parameter is not
// empty, the answer must name it.
func (f *fixture) refused(method, path, body, parameter string) {
	f.Helper()
	r := httptest.NewRequestWithContext(f.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+adminToken)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.server.Handler().ServeHTTP(w, r)
	shown := path[:min(len(path), 100)]
	var p wire.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		f.Errorf("%s %s: %v", method, shown, err)
		return
	}
	if w.Code != http.StatusUnprocessableEntity || p.Type != wire.ProblemParameter || p.Parameter == "" ||
		parameter != "" && p.Parameter != parameter {
		f.Errorf("%s %s %s: %d, type %q, parameter %q (%s); want 422, %q, %q", method, shown, body, w.Code, p.Type,
			p.Parameter, p.Detail, wire.ProblemParameter, parameter)
	}
}

// TestProblemsHaveTypes proves that refusals that are not about a parameter have their own types.
func TestProblemsHaveTypes(t *testing.T) {
	f := lively(t)
	for path, want := range map[string]string{
		"/v1/nothing":                         "urn:waitcast:problem:not-found",
		"/v1/size":                            "urn:waitcast:problem:method-not-allowed",
		"/v1/jobs/none":                       "urn:waitcast:problem:not-found",
		"/v1/quarantine":                      "urn:waitcast:problem:unauthorized",
		"/v1/wait?queue=none&procs=1":         wire.ProblemNoForecast,
		"/v1/wait?queue=work&procs=100000000": wire.ProblemNoForecast,
	} {
		if p := f.problem(path); p.Type != want {
			t.Errorf("%s: type %q, want %q", path, p.Type, want)
		}
	}
	for _, limit := range []string{"0", "0h", "9999d", "1e9", "-1"} {
		if p := f.problem("/v1/wait?queue=work&procs=1&time_limit=" + limit); p.Type != wire.ProblemParameter ||
			p.Parameter != "time_limit" {
			t.Errorf("time_limit=%s: type %q, parameter %q", limit, p.Type, p.Parameter)
		}
	}
}
