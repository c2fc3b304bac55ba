// Package grafana tests the dashboards in this folder against the metrics of a daemon.
package grafana

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.yaml.in/yaml/v3"
)

// saved is a dashboard with the parts of its JSON that the tests need.
type saved struct {
	UID           string
	Title         string
	SchemaVersion int
	Tags          []string
	Panels        []savedPanel
	Templating    struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
	text string
}

type savedPanel struct {
	ID                       int
	Type, Title, Description string
	Repeat                   string
	Datasource               struct{ Type, UID string }
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct {
		Expr, RefID, LegendFormat string
		Datasource                struct{ Type, UID string }
	}
}

// load returns the committed dashboards.
func load(t *testing.T) map[string]*saved {
	t.Helper()
	files, err := filepath.Glob("*.json")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*saved{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := &saved{text: string(data)}
		if err := json.Unmarshal(data, d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = d
	}
	if len(out) != 4 {
		t.Fatalf("%d dashboards, want 4", len(out))
	}
	return out
}

// TestPanels proves that every panel says what to conclude and has a unit, queries, its own place on the grid and its
// own number, and that dashboards have different names.
func TestPanels(t *testing.T) {
	uids := map[string]string{}
	for name, d := range load(t) {
		if other, twice := uids[d.UID]; twice || d.UID == "" || len(d.UID) > 40 {
			t.Errorf("%s: uid %q, which %q has too, or Grafana does not take", name, d.UID, other)
		}
		uids[d.UID] = name
		if d.SchemaVersion < 42 || !slices.Contains(d.Tags, "waitcast") {
			t.Errorf("%s: schema version %d, tags %v", name, d.SchemaVersion, d.Tags)
		}
		ids, taken := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.Panels {
			if ids[p.ID] || p.ID < 1 {
				t.Errorf("%s: %q has the number %d of another panel", name, p.Title, p.ID)
			}
			ids[p.ID] = true
			g := p.GridPos
			if g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
				t.Errorf("%s: %q does not fit the grid: %+v", name, p.Title, g)
			}
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other, is := taken[[2]int{x, y}]; is {
						t.Fatalf("%s: %q lies on %q", name, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			if p.Type != "row" {
				checkPanel(t, name, &p)
			}
		}
	}
}

func checkPanel(t *testing.T, name string, p *savedPanel) {
	t.Helper()
	if len(p.Description) < 60 || !strings.HasSuffix(p.Description, ".") {
		t.Errorf("%s: %q does not say what to conclude: %q", name, p.Title, p.Description)
	}
	if p.Title == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 ||
		p.Datasource.UID != "${datasource}" {
		t.Errorf("%s: %q lacks a title, a unit, a question or the data source", name, p.Title)
	}
	refs := map[string]bool{}
	for _, q := range p.Targets {
		if refs[q.RefID] || q.RefID == "" || q.Datasource.UID != "${datasource}" {
			t.Errorf("%s: %q: question %q is there twice, or asks elsewhere", name, p.Title, q.RefID)
		}
		refs[q.RefID] = true
		if p.Type == "timeseries" && len(p.Targets) > 1 && q.LegendFormat == "" {
			t.Errorf("%s: %q: question %s has no name", name, p.Title, q.RefID)
		}
	}
}

// TestVariables proves that every dashboard lets its reader choose data source and cluster, and that it uses exactly
// the variables that exist.
func TestVariables(t *testing.T) {
	for name, d := range load(t) {
		have := map[string]bool{}
		for _, v := range d.Templating.List {
			have[v.Name] = true
			if uses := len(regexp.MustCompile(`\$\{?`+v.Name+`\b`).FindAllString(d.text, -1)); uses == 0 {
				t.Errorf("%s: nothing uses $%s", name, v.Name)
			}
		}
		for _, m := range regexp.MustCompile(`\$\{?([a-z]\w*)`).FindAllStringSubmatch(d.text, -1) {
			if !have[m[1]] {
				t.Errorf("%s: there is no variable $%s", name, m[1])
			}
		}
		if !have["datasource"] || !have["cluster"] || !have["queue"] && name != "daemon.json" {
			t.Errorf("%s has the variables %v", name, have)
		}
	}
}

// expressions returns every query of every dashboard by its place, including those of the variables, with values for
// all variables.
func expressions(t *testing.T, values *strings.Replacer) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, d := range load(t) {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				out[fmt.Sprintf("%s: %s: %s", name, p.Title, q.RefID)] = values.Replace(q.Expr)
			}
		}
		for _, v := range d.Templating.List {
			if s, ok := v.Query.(string); ok && v.Type == "query" {
				m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(s)
				if m == nil {
					t.Fatalf("%s: variable %s: %s", name, v.Name, s)
				}
				out[fmt.Sprintf("%s: $%s", name, v.Name)] = values.Replace(
					fmt.Sprintf("count by (%s) (%s)", m[2], m[1]))
			}
		}
	}
	return out
}

// anything replaces the variables in queries: five minutes for the interval, an hour for the horizon, and every value
// for the others.
func anything() *strings.Replacer {
	return strings.NewReplacer("$__rate_interval", "5m", "$cluster", ".*", "$queue", ".*", "$size", ".*", "$instance",
		".*", "$horizon", "1h")
}

// TestExpressionsParse proves that Prometheus can parse every query.
func TestExpressionsParse(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is missing: make test-deps")
	}
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	all := expressions(t, anything())
	for _, expr := range all {
		rules = append(rules, rule{fmt.Sprintf("q:%d", len(rules)), expr})
	}
	data, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "all", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := fmt.Sprintf("%d rules found", len(all)); !strings.Contains(string(out), want) || len(all) < 80 {
		t.Errorf("want %s, and 80 or more: %s", want, out)
	}
}

// TestMetricsExist proves that every metric and every label in a dashboard's query is in docs/metrics.md, which a test
// of the daemon compares with its exported metrics, or belongs to the Go runtime, the process or Prometheus's own
// ALERTS.
func TestMetricsExist(t *testing.T) {
	known := documented(t)
	for metric, labels := range runtimeMetrics(t) {
		known[metric] = labels
	}
	known["ALERTS"] = []string{"alertname", "alertstate", "severity", "cluster", "queue", "source"}
	used := map[string]bool{}
	selector := regexp.MustCompile(`\b((?:waitcast|go|process)_\w+|ALERTS)(?:\{([^}]*)\})?`)
	for where, expr := range expressions(t, anything()) {
		named := map[string]bool{}
		for _, m := range selector.FindAllStringSubmatch(expr, -1) {
			name := m[1]
			if base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, ""); known[name] == nil &&
				slices.Contains(known[base], "le") {
				name = base
			}
			if known[name] == nil {
				t.Errorf("%s: there is no metric %s", where, m[1])
				continue
			}
			used[name] = true
			for _, label := range append(known[name], "job", "instance") {
				named[label] = true
			}
			for _, l := range regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`).FindAllStringSubmatch(
				regexp.MustCompile(`"[^"]*"`).ReplaceAllString(m[2], ""), -1) {
				if !slices.Contains(known[name], l[1]) && l[1] != "instance" && l[1] != "job" {
					t.Errorf("%s: %s has no label %s", where, name, l[1])
				}
			}
		}
		for _, m := range regexp.MustCompile(`\b(?:by|on|group_left|group_right) \(([^)]*)\)`).
			FindAllStringSubmatch(expr, -1) {
			for _, label := range strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' }) {
				if !named[label] {
					t.Errorf("%s: nothing in it has the label %s", where, label)
				}
			}
		}
	}
	if len(used) < 50 {
		t.Errorf("%d metrics are used; the dashboards cannot tell much", len(used))
	}
}

// documented returns the labels of the metrics in docs/metrics.md.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	row := regexp.MustCompile("(?m)^\\| `(waitcast_\\w+)(?:\\{([a-z_,]+)\\})?` \\| (\\w+) \\|")
	for _, m := range row.FindAllStringSubmatch(string(data), -1) {
		out[m[1]] = []string{""}
		if m[2] != "" {
			out[m[1]] = append(out[m[1]], strings.Split(m[2], ",")...)
		}
		if m[3] == "histogram" {
			out[m[1]] = append(out[m[1]], "le")
		}
	}
	return out
}

// runtimeMetrics returns the labels of the metrics of the Go runtime and the process, which the daemon's registry also
// has.
func runtimeMetrics(t *testing.T) map[string][]string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, f := range families {
		out[f.GetName()] = []string{""}
	}
	return out
}

// TestProvisioning proves that the examples are YAML with the keys that Grafana needs.
func TestProvisioning(t *testing.T) {
	for name, key := range map[string]string{"datasources": "datasources", "dashboards": "providers"} {
		data, err := os.ReadFile(filepath.Join("provisioning", name, "waitcast.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := yaml.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		list, ok := got[key].([]any)
		if !ok || len(list) != 1 || got["apiVersion"] != 1 {
			t.Fatalf("%s: %v", name, got)
		}
		if one := list[0].(map[string]any); one["name"] == nil || one["type"] == nil {
			t.Errorf("%s: %v", name, one)
		}
	}
}
