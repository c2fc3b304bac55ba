// Package prometheus_test proves the rules for Prometheus: promtool accepts them and passes their tests, each alert is
// tested and documented, and their metrics exist. A real Prometheus then runs them on the demonstration.
package prometheus_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ruleFile is a file of rules.
type ruleFile struct {
	Groups []*ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name  string  `yaml:"name"`
	Rules []*rule `yaml:"rules"`
}

type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// testFile is a file of tests for promtool, with the parts that these tests need.
type testFile struct {
	GroupEvalOrder []string `yaml:"group_eval_order"`
	Tests          []struct {
		Name        string `yaml:"name"`
		InputSeries []struct {
			Series string `yaml:"series"`
		} `yaml:"input_series"`
		AlertRuleTest []struct {
			Alertname string      `yaml:"alertname"`
			ExpAlerts []yaml.Node `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
		PromqlExprTest []struct {
			Expr       string      `yaml:"expr"`
			ExpSamples []yaml.Node `yaml:"exp_samples"`
		} `yaml:"promql_expr_test"`
	} `yaml:"tests"`
}

// load reads a YAML file.
func load[T any](t *testing.T, path string) *T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := new(T)
	if err := yaml.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v, %v", pattern, paths, err)
	}
	return paths
}

// groups returns all groups of rules.
func groups(t *testing.T) []*ruleGroup {
	t.Helper()
	var all []*ruleGroup
	for _, path := range glob(t, "rules/*.yml") {
		all = append(all, load[ruleFile](t, path).Groups...)
	}
	return all
}

// rules returns all rules.
func rules(t *testing.T) []*rule {
	t.Helper()
	var all []*rule
	for _, g := range groups(t) {
		all = append(all, g.Rules...)
	}
	return all
}

func alerts(t *testing.T) map[string]*rule {
	t.Helper()
	found := map[string]*rule{}
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		if found[r.Alert] != nil {
			t.Errorf("two alerts %s", r.Alert)
		}
		found[r.Alert] = r
	}
	return found
}

// program returns the path of a program, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is missing (make test-deps)", name)
	}
	return path
}

// TestPromtool proves that Prometheus accepts the rules and the example, and that every test of promtool passes.
func TestPromtool(t *testing.T) {
	promtool := program(t, "promtool")
	run := func(name string, args ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), promtool, args...)
			cmd.Env = append(cmd.Environ(), "GOGC=400") // otherwise collecting garbage takes a sixth of its time
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	run("rules", append([]string{"check", "rules"}, glob(t, "rules/*.yml")...)...)
	run("config", "check", "config", "prometheus.yml")
	for _, path := range glob(t, "tests/*.yml") {
		run(filepath.Base(path), "test", "rules", path)
	}
}

// TestAlertsAreTested proves that each alert has a test in which it fires with its texts, and one in which it does not.
// Tests must order all groups, so that no group sees the values of the step before.
func TestAlertsAreTested(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	var names []string
	for _, g := range groups(t) {
		names = append(names, g.Name)
	}
	slices.Sort(names)
	known := alerts(t)
	for _, path := range glob(t, "tests/*.yml") {
		f := load[testFile](t, path)
		slices.Sort(f.GroupEvalOrder)
		if !slices.Equal(f.GroupEvalOrder, names) {
			t.Errorf("%s: group_eval_order has %q, the rules have %q", path, f.GroupEvalOrder, names)
		}
		for _, test := range f.Tests {
			if test.Name == "" {
				t.Errorf("%s: a test without a name", path)
			}
			for _, a := range test.AlertRuleTest {
				if known[a.Alertname] == nil {
					t.Errorf("%s: %s: there is no alert %s", path, test.Name, a.Alertname)
				}
				fires[a.Alertname] = fires[a.Alertname] || len(a.ExpAlerts) > 0
				silent[a.Alertname] = silent[a.Alertname] || len(a.ExpAlerts) == 0
			}
		}
	}
	for name := range known {
		if !fires[name] || !silent[name] {
			t.Errorf("%s: tested to fire: %v, tested not to fire: %v", name, fires[name], silent[name])
		}
	}
}

const runbook = "https://github.com/waitcast/waitcast/blob/main/docs/alerts.md#"

// TestAlertsAreDocumented proves that each alert has a section in docs/alerts.md with all its parts, to which its
// runbook_url leads. The section gives its severity and how long it waits. No section describes an alert that no longer
// exists.
func TestAlertsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(data), "\n## ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		sections[name] = text
	}
	known := alerts(t)
	for name, a := range known {
		if want := runbook + strings.ToLower(name); a.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url %q, want %q", name, a.Annotations["runbook_url"], want)
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
			t.Errorf("%s: no summary, or no description", name)
		}
		text, ok := sections[name]
		if !ok {
			t.Errorf("docs/alerts.md has no section %s", name)
			continue
		}
		wait := cmp.Or(a.For, "at once")
		if head, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); !strings.Contains(head, a.Labels["severity"]) ||
			!strings.Contains(head, wait) {
			t.Errorf("docs/alerts.md: %s begins with %q; want its severity, %s, and how long it waits, %s", name, head,
				a.Labels["severity"], wait)
		}
		for _, part := range []string{
			"**Means.**", "**Matters.**", "**Look.**", "**Do.**", "**Harmless.**", "**Threshold.**",
		} {
			if !strings.Contains(text, part) {
				t.Errorf("docs/alerts.md: %s has no %s", name, part)
			}
		}
	}
	for name := range sections {
		if strings.HasPrefix(name, "Waitcast") && known[name] == nil {
			t.Errorf("docs/alerts.md has a section %s, of which there is no alert", name)
		}
	}
	for _, r := range rules(t) {
		if strings.HasPrefix(r.Record, "waitcast:") && !strings.Contains(string(data), r.Record) {
			t.Errorf("docs/alerts.md does not tell of %s", r.Record)
		}
	}
}

// TestSeverities proves that there are exactly three severities.
func TestSeverities(t *testing.T) {
	for name, a := range alerts(t) {
		if s := a.Labels["severity"]; !slices.Contains([]string{"info", "warning", "critical"}, s) ||
			len(a.Labels) != 1 {
			t.Errorf("%s has the labels %v, want a severity: info, warning or critical", name, a.Labels)
		}
		if !strings.HasPrefix(name, "Waitcast") {
			t.Errorf("%s does not begin with Waitcast", name)
		}
	}
}

// TestInhibitions proves that the example for Alertmanager names existing alerts and labels that they share. amtool
// checks the example where it is installed.
func TestInhibitions(t *testing.T) {
	type manager struct {
		InhibitRules []struct {
			Source []string `yaml:"source_matchers"`
			Target []string `yaml:"target_matchers"`
			Equal  []string `yaml:"equal"`
		} `yaml:"inhibit_rules"`
	}
	m := load[manager](t, "alertmanager.yml")
	if len(m.InhibitRules) == 0 {
		t.Fatal("no inhibitions")
	}
	known, name := alerts(t), regexp.MustCompile(`Waitcast\w+`)
	for i, r := range m.InhibitRules {
		for _, matcher := range slices.Concat(r.Source, r.Target) {
			for _, n := range name.FindAllString(matcher, -1) {
				if known[n] == nil {
					t.Errorf("inhibition %d names %s, which there is not", i, n)
				}
			}
		}
		if !slices.Contains(r.Equal, "instance") {
			t.Errorf("inhibition %d reaches over daemons", i)
		}
	}
	if amtool, err := exec.LookPath("amtool"); err == nil {
		if out, err := exec.CommandContext(t.Context(), amtool, "check-config",
			"alertmanager.yml").CombinedOutput(); err != nil {
			t.Errorf("amtool: %v\n%s", err, out)
		}
	}
}
