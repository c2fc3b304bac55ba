package api_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedQuestions proves that the POST requests in the reference get answers with the documented members and
// types.
func TestDocumentedQuestions(t *testing.T) {
	f := lively(t)
	examples := regexp.MustCompile("(?s)\n    POST (/\\S+)\n\n```json\n(.*?)```\n\nthe answer is\n\n```json\n(.*?)```").
		FindAllStringSubmatch(documentation(t), -1)
	if len(examples) != 2 {
		t.Fatalf("%d examples, want one for each path that takes a question", len(examples))
	}
	for _, e := range examples {
		var want, got any
		if err := json.Unmarshal([]byte(e[3]), &want); err != nil {
			t.Errorf("%s: the example is no JSON: %v", e[1], err)
			continue
		}
		a := f.post(e[1], strings.TrimSpace(e[2]))
		if err := json.Unmarshal(a.body, &got); err != nil || a.status != 200 {
			t.Fatalf("%s: status %d, %v: %s", e[1], a.status, err, a.body)
		}
		for _, d := range shapeDiff("", want, got) {
			t.Errorf("%s: %s", e[1], d)
		}
	}
}
