package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestPagesAreCurrent fails if docs/api.md or docs/api-objects.md differs from what the OpenAPI document gives.
func TestPagesAreCurrent(t *testing.T) {
	pages, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what go generate ./api makes of the OpenAPI document", name)
		}
	}
}

// TestLayout proves that values that fit are on one line, that others have one line for each element, and that the
// order of members and the digits of numbers stay.
func TestLayout(t *testing.T) {
	long := `"` + string(bytes.Repeat([]byte("x"), 60)) + `"`
	for value, want := range map[string]string{
		`{"b":1.0,"a":[1,2]}`: "{\n  \"b\": 1.0,\n  \"a\": [1, 2]\n}\n",
		`{"b":{"d":1,"c":2}}`: "{\n  \"b\": {\"d\": 1, \"c\": 2}\n}\n",
		`{"b":{"d":` + long + `,"c":` + long + `}}`: "{\n  \"b\": {\n    \"d\": " + long +
			",\n    \"c\": " + long + "\n  }\n}\n",
		`{"empty":[]}`: "{\n  \"empty\": []\n}\n",
	} {
		got, err := layout(json.RawMessage(value))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", value, err, got, want)
		}
	}
	if _, err := layout(json.RawMessage(`{"a":`)); err == nil {
		t.Error("damaged JSON is laid out")
	}
}

// TestAnchor proves that the anchors are those to which other pages link.
func TestAnchor(t *testing.T) {
	for heading, want := range map[string]string{
		"GET /v1/wait": "get-v1wait", "GET /v1/models/{queue}": "get-v1modelsqueue",
		"PUT /v1/log-level": "put-v1log-level",
	} {
		if got := anchor(heading); got != want {
			t.Errorf("%s: %s, want %s", heading, got, want)
		}
	}
}
