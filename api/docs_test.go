package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/reference/render"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

func documentation(t *testing.T) string {
	t.Helper()
	text, err := render.Markdown(serve(t, main(0)).do(http.MethodGet, "/openapi.json", nil).body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocumentedAnswers proves that the answers in the reference have exactly the members and types of the real ones.
func TestDocumentedAnswers(t *testing.T) {
	f := lively(t)
	begin := f.history("main", "chain") // the other queue
	f.feed("main",
		one{id: "s", queue: "chain", procs: 1, submit: begin, start: begin, end: begin + 60}.events("main")...)
	examples := regexp.MustCompile("(?s)\n    GET (/\\S+)\n\n```json\n(.*?)```").FindAllStringSubmatch(documentation(t),
		-1)
	if len(examples) < 5 {
		t.Fatalf("%d examples, want one for every path and two of errors", len(examples))
	}
	plain := lively(t) // the fixture of the other examples
	mine := habitual(t).fixture
	for _, e := range examples {
		var want, got any
		if err := json.Unmarshal([]byte(e[2]), &want); err != nil {
			t.Errorf("%s: the example is no JSON: %v", e[1], err)
			continue
		}
		from := plain
		// These examples need a fixture in which the instant of the jobs' submissions has ended.
		if strings.HasSuffix(e[1], "/chain") || strings.HasPrefix(e[1], "/v1/jobs") {
			from = f
		}
		path := strings.ReplaceAll(e[1], "user=alice", "user="+secret) // the owner of the fixtures' jobs
		if strings.HasPrefix(path, "/v1/me") {
			from = mine
		}
		a := from.do(http.MethodGet, path, http.Header{"Authorization": {"Bearer " + adminToken}})
		if err := json.Unmarshal(a.body, &got); err != nil {
			t.Fatalf("%s: %v: %s", e[1], err, a.body)
		}
		for _, d := range shapeDiff("", want, got) {
			t.Errorf("the example of GET %s (api/reference, then go generate ./api): %s", e[1], d)
		}
	}
}

// shapeDiff returns the places where two JSON values differ in members or types. In a list of numbers or of lists, all
// elements must have the same type.
func shapeDiff(at string, want, got any) []string {
	if reflect.TypeOf(want) != reflect.TypeOf(got) {
		return []string{fmt.Sprintf("%s is %T in the docs, %T in the answer", at, want, got)}
	}
	var out []string
	switch want := want.(type) {
	case map[string]any:
		got := got.(map[string]any)
		for k := range got {
			if _, ok := want[k]; !ok {
				out = append(out, at+"."+k+" is not in the docs")
			}
		}
		for k, v := range want {
			if g, ok := got[k]; ok {
				out = append(out, shapeDiff(at+"."+k, v, g)...)
			} else {
				out = append(out, at+"."+k+" is not in the answer")
			}
		}
	case []any:
		got := got.([]any)
		objects := len(want) == 0
		if !objects {
			_, objects = want[0].(map[string]any)
		}
		// The number of these jobs depends on whether there was time for a view of the open instant.
		if strings.HasSuffix(at, ".waits_for") {
			objects = false
		}
		if objects && len(want) != len(got) {
			return []string{fmt.Sprintf("%s has %d elements in the docs, %d in the answer", at, len(want), len(got))}
		}
		for i := range min(len(want), len(got)) {
			out = append(out, shapeDiff(fmt.Sprintf("%s[%d]", at, i), want[i], got[i])...)
		}
	}
	return out
}

// TestDocumentedPaths proves that the reference has exactly the existing paths and parameters.
func TestDocumentedPaths(t *testing.T) {
	f := lively(t)
	var spec struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	f.get2("/openapi.json", &spec)
	text := documentation(t)
	for path, methods := range spec.Paths {
		if !strings.Contains(text, "| `"+path+"` |") {
			t.Errorf("%s is not in the table of paths", path)
		}
		for method, op := range methods {
			_, section, ok := strings.Cut(text, "\n## "+strings.ToUpper(method)+" "+path+"\n")
			if !ok {
				t.Errorf("%s %s has no section", method, path)
				continue
			}
			section, _, _ = strings.Cut(section, "\n## ")
			_, table, _ := strings.Cut(section, "| parameter |")
			table, _, _ = strings.Cut(table, "\n\n")
			var documented, real []string
			for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllStringSubmatch(table, -1) {
				for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[1], -1) {
					documented = append(documented, name[1])
				}
			}
			for _, p := range op.Parameters {
				if p.In != "header" {
					real = append(real, p.Name)
				}
			}
			slices.Sort(documented)
			if slices.Sort(real); !slices.Equal(documented, real) {
				t.Errorf("%s: the docs have the parameters %v, there are %v", path, documented, real)
			}
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(/[^`]*)` \\|").FindAllStringSubmatch(text, -1) {
		if _, ok := spec.Paths[m[1]]; !ok {
			if a := f.do(http.MethodGet, m[1],
				http.Header{"Authorization": {"Bearer " + adminToken}}); a.status != http.StatusOK {
				t.Errorf("%s is in the docs, but answers %d", m[1], a.status)
			}
		}
	}
}

// get2 does the same as get for JSON of any content type.
func (f *fixture) get2(path string, into any) {
	f.Helper()
	if err := json.Unmarshal(f.do(http.MethodGet, path, nil).body, into); err != nil {
		f.Fatal(err)
	}
}

// TestDocumentedReasons proves that the reference explains exactly the reasons for which there may be no forecast,
// except the reasons of single methods.
func TestDocumentedReasons(t *testing.T) {
	field, _ := reflect.TypeFor[wire.CannotSay]().FieldByName("Reason")
	want := slices.DeleteFunc(strings.Split(field.Tag.Get("enum"), ","),
		func(s string) bool { return s == "no_benefactors" })
	want = append(want, string(readmodel.StateRestoring)) // the only reason before there is a state
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| \\d+ \\|").FindAllStringSubmatch(documentation(t),
		-1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the docs explain %v, there are %v", got, want)
	}
}

// TestPageOfCalls proves that every call of docs/api.md gets an answer.
func TestPageOfCalls(t *testing.T) {
	page, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	f := forecasting(t)
	calls := regexp.MustCompile(`(?s)\n    curl -s (.*?)\n\n`).FindAllStringSubmatch(string(page), -1)
	if len(calls) != 10 {
		t.Fatalf("%d calls, the page promises ten", len(calls))
	}
	for _, c := range calls {
		_, path, _ := strings.Cut(c[1], "localhost:9817")
		path = strings.TrimSuffix(path, "'")
		method, body := http.MethodGet, ""
		if _, data, ok := strings.Cut(c[1], "-d '"); ok {
			method = http.MethodPost
			body, _, _ = strings.Cut(data, "' localhost")
		}
		var a answer
		if method == http.MethodPost {
			a = f.post(path, body)
		} else {
			a = f.do(method, path, nil)
		}
		if a.status != http.StatusOK {
			t.Errorf("%s: %d %s", c[1], a.status, a.body)
		}
	}
}
