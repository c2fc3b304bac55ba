package daemon_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/config"
)

// TestPagesNames proves that every metric named in a page of docs/ is in docs/metrics.md, and that every configuration
// key that the page for operators names with its group exists.
func TestPagesNames(t *testing.T) {
	known := documentedMetrics(t)
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	metric := regexp.MustCompile("`(waitcast_[a-z0-9_]+[a-z0-9])(?:`|\\{| ==?)")
	seen := 0
	for _, page := range pages {
		for _, m := range metric.FindAllStringSubmatch(read(t, page), -1) {
			seen++
			name := m[1]
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if _, ok := known[strings.TrimSuffix(name, suffix)]; ok {
					name = strings.TrimSuffix(name, suffix)
				}
			}
			if _, ok := known[name]; !ok {
				t.Errorf("%s names the metric %s, which there is not", page, m[1])
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d names of metrics were found", seen)
	}
	keys := map[string]bool{}
	for _, k := range config.Reference() {
		keys[k.Key] = true
	}
	found := regexp.MustCompile("`((?:models|store|accuracy|log)\\.[a-z_]+)`").FindAllStringSubmatch(read(t,
		"../docs/operate.md"), -1)
	if len(found) < 4 {
		t.Errorf("%d keys were found", len(found))
	}
	for _, m := range found {
		if !keys[m[1]] {
			t.Errorf("operate.md names the key %s, which there is not", m[1])
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
