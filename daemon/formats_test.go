package daemon

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/config"
)

// TestFormatsAreThoseOfTheConfiguration proves that every format that can be configured can be read, and that every
// format that can be read can be configured.
func TestFormatsAreThoseOfTheConfiguration(t *testing.T) {
	var allowed []string
	for _, k := range config.Reference() {
		if k.Key == "clusters[].sources[].format" {
			allowed = strings.Split(k.Allowed, ", ")
		}
	}
	slices.Sort(allowed)
	if d := cmp.Diff(slices.Sorted(maps.Keys(formats(time.Now))), allowed); d != "" {
		t.Errorf("formats known (-) and configurable (+):\n%s", d)
	}
}
