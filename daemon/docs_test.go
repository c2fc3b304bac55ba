package daemon_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/waitcast/waitcast/daemon"
)

const metricsPage = "../docs/metrics.md"

var (
	updateMetrics = flag.Bool("update", false, "write the rows of docs/metrics.md from the metrics of the daemon")

	metricRow = regexp.MustCompile("^\\| `(waitcast_[a-z0-9_]+)(?:\\{([a-z_,]+)\\})?` \\| (\\w+) \\| ([^|]+) \\|$")
)

// series is a metric of a daemon, or one in docs/metrics.md. Its labels are sorted and separated by commas.
type series struct{ kind, labels, help string }

// row returns the row of docs/metrics.md for the metric.
func (s series) row(name string) string {
	if s.labels != "" {
		name += "{" + s.labels + "}"
	}
	return fmt.Sprintf("| `%s` | %s | %s |", name, cmp.Or(s.kind, "TYPE"), s.help)
}

// TestMetricsDocumentation proves that docs/metrics.md has the name, type, labels and help text of exactly the metrics
// of a daemon, and that names and help texts follow Prometheus' recommendations. With -update it writes the rows.
func TestMetricsDocumentation(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, text(workload(t, 4, 100)))
	d := s.start(t)
	d.caughtUp()
	registry := daemon.Registry(d.Daemon)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	exposed := exposedMetrics(t, registry)
	if *updateMetrics {
		writeMetrics(t, exposed)
	}
	documented := documentedMetrics(t)
	for name, e := range exposed {
		doc, ok := documented[name]
		e.kind = cmp.Or(e.kind, doc.kind)
		switch {
		case !ok:
			t.Errorf("docs/metrics.md lacks the row\n%s", e.row(name))
		case doc != e:
			t.Errorf("docs/metrics.md has the row\n%s\nwant (-update writes it)\n%s", doc.row(name), e.row(name))
		}
	}
	for name := range documented {
		if _, ok := exposed[name]; !ok {
			t.Errorf("docs/metrics.md lists %s, but the daemon has no such metric", name)
		}
	}
}

// writeMetrics renews the rows of docs/metrics.md. It leaves out those of metrics that no longer exist.
func writeMetrics(t *testing.T, exposed map[string]series) {
	t.Helper()
	documented := documentedMetrics(t)
	data, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		m := metricRow.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			out.WriteString(line)
			continue
		}
		if e, ok := exposed[m[1]]; ok {
			e.kind = cmp.Or(e.kind, documented[m[1]].kind)
			out.WriteString(e.row(m[1]) + "\n")
		}
	}
	if err := os.WriteFile(metricsPage, []byte(out.String()), 0o644); err != nil { //nolint:gosec // for everybody
		t.Fatal(err)
	}
}

// TestLabelsDocumentation proves that every label of a metric in docs/metrics.md has a row with its values at the
// beginning of the page.
func TestLabelsDocumentation(t *testing.T) {
	data, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	quoted := regexp.MustCompile("`([a-z_]+)`")
	for line := range strings.SplitSeq(string(data), "\n") {
		if strings.HasPrefix(line, "## ") {
			break
		}
		if cells := strings.Split(line, "|"); len(cells) > 1 {
			for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
				known[m[1]] = true
			}
		}
	}
	for name, s := range documentedMetrics(t) {
		for label := range strings.SplitSeq(s.labels, ",") {
			if label != "" && !known[label] {
				t.Errorf("docs/metrics.md: %s has the label %s, and the table of labels has no row with its values",
					name, label)
			}
		}
	}
}

// documentedMetrics reads the tables of metrics: name and labels, type, meaning.
func documentedMetrics(t *testing.T) map[string]series {
	t.Helper()
	data, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]series{}
	for i, line := range strings.Split(string(data), "\n") {
		if !strings.HasPrefix(line, "| `waitcast_") {
			continue
		}
		m := metricRow.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("docs/metrics.md:%d: want a row | `NAME{LABEL,...}` | TYPE | MEANING |", i+1)
			continue
		}
		if _, twice := found[m[1]]; twice {
			t.Errorf("docs/metrics.md lists %s twice", m[1])
		}
		found[m[1]] = series{kind: m[3], labels: m[2], help: m[4]}
	}
	if len(found) == 0 {
		t.Fatal("docs/metrics.md has no table of metrics")
	}
	return found
}

// exposedMetrics returns the descriptions in a registry. A type is known only if the metric has a value.
func exposedMetrics(t *testing.T, registry *prometheus.Registry) map[string]series {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		registry.Describe(descs)
	}()
	described := regexp.MustCompile(`fqName: "(\w+)", help: "(.*?)", (?:unit|const).*variableLabels: \{([^}]*)\}`)
	found := map[string]series{}
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read %s", d)
		}
		if strings.HasPrefix(m[1], "waitcast_") {
			labels := strings.Split(m[3], ",")
			slices.Sort(labels)
			found[m[1]] = series{labels: strings.Join(labels, ","), help: m[2]}
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if e, ok := found[f.GetName()]; ok {
			e.kind = strings.ToLower(f.GetType().String())
			found[f.GetName()] = e
		}
	}
	return found
}
