package render

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

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

// TestHTML proves that every link within the page of the real document leads to a heading, and that it loads nothing
// from elsewhere but the style sheet.
func TestHTML(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	page, err := HTML(doc, "/style.css")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllSubmatch(page, -1) {
		ids[string(m[1])] = true
	}
	links := regexp.MustCompile(`<(\w+) [^>]*(?:href|src)="([^"]*)"`).FindAllSubmatch(page, -1)
	if len(links) < 100 {
		t.Fatalf("%d links, want those of all operations and objects", len(links))
	}
	for _, m := range links {
		target := string(m[2])
		switch to, within := strings.CutPrefix(target, "#"); {
		case within && !ids[to]:
			t.Errorf("a link leads to #%s, which no heading has", to)
		case !within && string(m[1]) != "a" && target != "/style.css":
			t.Errorf("<%s> loads %s", m[1], target)
		}
	}
	for _, want := range []string{"<h2 id=\"get-v1wait\">GET /v1/wait</h2>", "<table>", "<h3 id=\"object-queue\">"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
