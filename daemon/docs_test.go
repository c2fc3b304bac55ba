package daemon_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/daemon"
)

// series is a metric in docs/metrics.md.
type series struct{ kind, labels string }

// TestMetricsDocumentation proves that docs/metrics.md lists every metric of a daemon with its type and labels, and no
// other.
func TestMetricsDocumentation(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, text(workload(t, 4, 100)))
	d := s.start(t)
	d.caughtUp()
	documented := documentedMetrics(t)
	exposed := exposedMetrics(t, daemon.Registry(d.Daemon))
	for name, e := range exposed {
		doc, ok := documented[name]
		switch {
		case !ok:
			t.Errorf("%s{%s} is not in docs/metrics.md", name, e.labels)
		case doc.labels != e.labels:
			t.Errorf("%s has the labels %q, docs/metrics.md says %q", name, e.labels, doc.labels)
		case e.kind != "" && doc.kind != e.kind:
			t.Errorf("%s is a %s, docs/metrics.md says %q", name, e.kind, doc.kind)
		}
	}
	for name := range documented {
		if _, ok := exposed[name]; !ok {
			t.Errorf("docs/metrics.md lists %s, which there is not", name)
		}
	}
}

// documentedMetrics reads the table: name, type, labels, meaning.
func documentedMetrics(t *testing.T) map[string]series {
	t.Helper()
	data, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]series{}
	row := regexp.MustCompile("(?m)^\\| `(waitcast_[a-z0-9_]+)` \\| (\\w+) \\| ([^|]*) \\| [^|]+ \\|$")
	for _, m := range row.FindAllStringSubmatch(string(data), -1) {
		if _, twice := found[m[1]]; twice {
			t.Errorf("docs/metrics.md lists %s twice", m[1])
		}
		found[m[1]] = series{m[2], strings.NewReplacer("`", "", " ", "", "none", "").Replace(m[3])}
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
	described := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([^}]*)\}`)
	found := map[string]series{}
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read %s", d)
		}
		if strings.HasPrefix(m[1], "waitcast_") {
			labels := strings.Split(m[2], ",")
			slices.Sort(labels)
			found[m[1]] = series{labels: strings.Join(labels, ",")}
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
