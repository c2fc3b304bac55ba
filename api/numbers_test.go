package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
)

// schema is the part of an OpenAPI schema that the tests use.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any    // a string, or a list with "null"
	Properties map[string]*schema
	Items      *schema
}

func (s *schema) is(kind string) bool {
	if s.Type == kind {
		return true
	}
	list, _ := s.Type.([]any)
	return slices.Contains(list, any(kind))
}

// document is the part of an OpenAPI document that the tests use.
type document struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name, In string
			Schema   schema
		}
		RequestBody struct {
			Content map[string]struct{ Schema *schema }
		}
	}
	Components struct{ Schemas map[string]*schema }
}

// numbers returns the paths of the numbers in a body's schema; "#" is an element of a list.
func (d *document) numbers(s *schema, at []string) [][]string {
	if s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	if s.is("number") {
		return [][]string{slices.Clone(at)}
	}
	var out [][]string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		out = append(out, d.numbers(s.Properties[name], append(at, name))...)
	}
	if s.Items != nil {
		out = append(out, d.numbers(s.Items, append(at, "#"))...)
	}
	return out
}

// with returns a copy of a JSON value in which the member at a path is set to a value. It creates missing parents.
func with(body any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == "#" {
		list, _ := body.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list = slices.Clone(list)
		list[0] = with(list[0], path[1:], value)
		return list
	}
	object, _ := body.(map[string]any)
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	out[path[0]] = with(out[path[0]], path[1:], value)
	return out
}

// companions returns the other members that a body needs beside a number, so that the body has no other error.
func companions(path []string) map[string]any {
	amdahl := map[string]any{"amdahl": map[string]any{"serial": .1, "t1_seconds": 3600}}
	body := map[string]any{"places": []any{map[string]any{"queue": "work"}}, "runtime": amdahl}
	if path[0] == "for_seconds" {
		return map[string]any{"level": "debug"}
	}
	switch {
	case path[0] == "runtime" && path[1] == "table":
		body["runtime"] = map[string]any{"table": []any{map[string]any{"procs": 1, "seconds": 3600},
			map[string]any{"procs": 4, "seconds": 1000}}}
	case path[0] == "runtime" && path[1] == "downey":
		body["runtime"] = map[string]any{"downey": map[string]any{"a": 4, "sigma": .5, "t1_seconds": 3600}}
	case path[0] == "running":
		body["running"] = map[string]any{"procs": 2, "remaining_seconds": 600}
		if path[1] == "done" {
			body["running"] = map[string]any{"procs": 2}
		}
	case path[len(path)-1] == "level":
		body["objective"] = map[string]any{"kind": "quantile"}
	case path[0] == "objective":
		body["objective"] = map[string]any{"kind": "cost", "price_proc_hour": 1, "price_hour": 1}
	}
	return body
}

// send sends a body as an administrator.
func (f *fixture) send(method, path, body string) answer {
	f.Helper()
	req := httptest.NewRequestWithContext(f.Context(), method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+adminToken)
	rec := httptest.NewRecorder()
	f.server.Handler().ServeHTTP(rec, req)
	return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
}

// TestAbsurdNumbersAreRefused tests all numbers in the OpenAPI document, in queries and in bodies: a value that is NaN,
// infinite or absurd is refused with status 422, and the answer names the parameter.
func TestAbsurdNumbersAreRefused(t *testing.T) {
	f := holes(t)
	var d document
	f.get2("/openapi.json", &d)
	params, members := 0, 0
	for path, methods := range d.Paths {
		for method, op := range methods {
			for _, p := range op.Parameters {
				if p.In != "query" || !p.Schema.is("number") {
					continue
				}
				params++
				for _, x := range []string{
					"NaN", "nan", "Inf", "+Inf", "-Inf", "infinity", "1e999", "1e300", "-1e300", "-1",
				} {
					target := path + "?" + p.Name + "=" + url.QueryEscape(x)
					refused(t, method+" "+target, f.do(strings.ToUpper(method), target, nil), p.Name)
				}
			}
			for _, c := range op.RequestBody.Content {
				if c.Schema == nil {
					continue
				}
				for _, at := range d.numbers(c.Schema, nil) {
					members++
					for _, x := range []string{"1e999", "1e300", "-1e300"} {
						body, err := json.Marshal(with(companions(at), at, json.RawMessage("12345678.5")))
						if err != nil {
							t.Fatal(err)
						}
						text := strings.Replace(string(body), "12345678.5", x, 1)
						a := f.send(strings.ToUpper(method), path, text)
						refused(t, fmt.Sprintf("%s %s with %s = %s", method, path, strings.Join(at, "."), x), a,
							at[len(at)-1])
					}
				}
			}
		}
	}
	if params < 2 || members < 10 {
		t.Errorf("%d numbers in queries and %d in bodies were found", params, members)
	}
}

// refused checks that an answer is a 422 that names a parameter.
func refused(t *testing.T, what string, a answer, name string) {
	t.Helper()
	var p wire.Problem
	if err := json.Unmarshal(a.body, &p); err != nil || a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(string(a.body), name) {
		t.Errorf("%s: status %d, want 422 and the name %q: %.300s", what, a.status, name, a.body)
	}
}
