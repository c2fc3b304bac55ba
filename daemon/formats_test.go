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

// TestFormatsAreThoseOfTheConfiguration proves that the formats that can be configured are exactly those that can be
// read.
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
