package prometheus_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documented is a metric as docs/metrics.md has it.
type documented struct {
	kind   string
	labels []string
}

// metrics reads docs/metrics.md. The series of a histogram have names of their own.
func metrics(t *testing.T) map[string]documented {
	t.Helper()
	data, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]documented{
		"up":                         {"gauge", nil},
		"process_start_time_seconds": {"gauge", nil},
	}
	row := regexp.MustCompile("(?m)^\\| `(waitcast_[a-z0-9_]+)(?:\\{([a-z_,]+)\\})?` \\| (\\w+) \\|")
	for _, m := range row.FindAllStringSubmatch(string(data), -1) {
		d := documented{kind: m[3]}
		if m[2] != "" {
			d.labels = strings.Split(m[2], ",")
		}
		if d.kind != "histogram" {
			found[m[1]] = d
			continue
		}
		found[m[1]], found[m[1]+"_sum"], found[m[1]+"_count"] = d, d, d // the first is a native histogram
		found[m[1]+"_bucket"] = documented{d.kind, append(slices.Clone(d.labels), "le")}
	}
	if len(found) < 20 {
		t.Fatalf("docs/metrics.md has %d metrics", len(found))
	}
	return found
}

// patterns holds regular expressions for PromQL: a selector, a matcher of a label within a selector, and the list of
// labels after by, without, on and the like.
type patterns struct{ selector, matcher, clause *regexp.Regexp }

func promql() patterns {
	return patterns{
		selector: regexp.MustCompile(
			`([a-z_]*:)?\b(waitcast_[a-z0-9_]+|waitcast:[a-z0-9_]+|up|` +
				`process_start_time_seconds)\b((?::[a-z0-9_]+)*)(\{[^}]*\})?`),
		matcher: regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`),
		clause:  regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right) \(([^)]*)\)`),
	}
}

// TestMetricsExist proves that rules name only metrics and labels that are in docs/metrics.md or that a rule records,
// and that they use every threshold.
func TestMetricsExist(t *testing.T) {
	known, recorded, used := metrics(t), map[string]bool{}, map[string]bool{}
	labels := map[string]bool{"job": true, "instance": true, "le": true}
	for _, d := range known {
		for _, l := range d.labels {
			labels[l] = true
		}
	}
	for _, r := range rules(t) {
		recorded[r.Record] = true
	}
	p := promql()
	for _, r := range rules(t) {
		name := r.Record + r.Alert
		for _, m := range p.selector.FindAllStringSubmatch(r.Expr+" "+r.Annotations["description"], -1) {
			full := m[1] + m[2] + m[3]
			used[full] = true
			if strings.Contains(full, ":") {
				if !recorded[full] && !strings.HasSuffix(full, ":override") {
					t.Errorf("%s uses %s, which no rule records", name, full)
				}
				continue
			}
			d, ok := known[full]
			if !ok {
				t.Errorf("%s uses %s, which is not in docs/metrics.md", name, full)
			}
			for _, l := range p.matcher.FindAllStringSubmatch(m[4], -1) {
				if !slices.Contains(d.labels, l[1]) && l[1] != "job" && l[1] != "instance" {
					t.Errorf("%s: %s has no label %s", name, full, l[1])
				}
			}
		}
		for _, m := range p.clause.FindAllStringSubmatch(r.Expr, -1) {
			for _, l := range strings.Split(m[1], ",") {
				if l = strings.TrimSpace(l); l != "" && !labels[l] {
					t.Errorf("%s: no metric has a label %s", name, l)
				}
			}
		}
	}
	for name := range recorded {
		if strings.HasPrefix(name, "waitcast:") && !used[name] {
			t.Errorf("the threshold %s is used nowhere", name)
		}
	}
}

// TestSeriesOfTestsAreReal proves that the input series of promtool's tests have exactly the labels of the daemon's
// series, with those of the scrape.
func TestSeriesOfTestsAreReal(t *testing.T) {
	known, p := metrics(t), promql()
	for _, path := range glob(t, "tests/*.yml") {
		for _, test := range load[testFile](t, path).Tests {
			for _, s := range test.InputSeries {
				name, braces, _ := strings.Cut(s.Series, "{")
				if strings.HasSuffix(name, ":override") {
					continue
				}
				d, ok := known[name]
				if !ok {
					t.Errorf("%s: %s: %s is not in docs/metrics.md", path, test.Name, name)
					continue
				}
				want := append([]string{"instance", "job"}, d.labels...)
				var got []string
				for _, l := range p.matcher.FindAllStringSubmatch(braces, -1) {
					got = append(got, l[1])
				}
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("%s: %s: %s has the labels %q, docs/metrics.md says %q", path, test.Name, name, got, want)
				}
			}
		}
	}
}
