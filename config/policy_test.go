package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/config"
)

// TestPolicy proves that an unknown policy is refused with its key and the list of the known ones.
func TestPolicy(t *testing.T) {
	clean(t)
	text := `
data_dir: /tmp
clusters:
  - name: a
    policy: backfill
    pools: [{name: p, queues: [q], policy: fifo}, {name: r, queues: [s], policy: fcfs}]
    sources: [{format: pbs, path: /log}]
`
	file := filepath.Join(t.TempDir(), "waitcastd.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(file, nil)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"clusters[0].policy", `"backfill"`, "clusters[0].pools[0].policy", `"fifo"`, "auto, fcfs, easy, priority",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "pools[1]") {
		t.Errorf("fcfs is refused: %v", err)
	}
}
