package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogOfEndsComesAfter proves that no forecast is lost if a log of jobcomp is read beside slurmctld.log, however
// long slurmctld.log is: the ledger has at least as many rows as with slurmctld.log alone.
func TestLogOfEndsComesAfter(t *testing.T) {
	t.Parallel()
	testdata := func(name string) string {
		data, err := os.ReadFile(filepath.Join("..", "collector", "slurm", "testdata", name))
		must(t, err)
		return string(data)
	}
	dir := t.TempDir()
	log, ends := filepath.Join(dir, "slurmctld.log"), filepath.Join(dir, "jobcomp.log")
	noise := strings.Repeat("[2026-11-20T08:33:28.100] debug:  sched: Running job scheduler\n", 200_000)
	write(t, log, noise+testdata("slurmctld.log"))
	write(t, ends, testdata("jobcomp.log"))
	rows := func(sources ...string) int {
		folder := t.TempDir()
		s := &site{dir: folder, config: filepath.Join(folder, "waitcastd.yaml"),
			db: filepath.Join(folder, "waitcast.db")}
		write(t, s.config, fmt.Sprintf("listen: 127.0.0.1:0\ndata_dir: %q\nclusters:\n  - name: test\n"+
			"    procs: 16\n    time_zone: UTC\n    sources:\n      - %s\n", folder,
			strings.Join(sources, "\n      - ")))
		d := s.start(t)
		d.caughtUp()
		d.stop()
		k := s.kept(t)
		return len(k.Rows)
	}
	first := fmt.Sprintf("{name: ends, format: slurm-jobcomp, path: %q}", ends)
	second := fmt.Sprintf("{name: log, format: slurm-log, path: %q}", log)
	alone := rows(second)
	if beside := rows(first, second); alone == 0 || beside < alone {
		t.Errorf("%d rows with jobcomp beside it, %d with slurmctld.log alone", beside, alone)
	}
}
