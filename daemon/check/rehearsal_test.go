package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/job"
)

// fragile is a parser that panics at the line "explode". Each other line submits the job that it names.
type fragile struct{}

func (fragile) Parse(line []byte, emit func(job.Event)) error {
	if string(line) == "explode" {
		_ = line[len(line)] // the runtime's own panic
	}
	ev := job.Event{Kind: job.Submit, Cluster: "main", ID: string(line), Time: time.Unix(1_700_000_000, 0)}
	ev.Queue, ev.Procs = "work", 1
	emit(ev)
	return nil
}

// TestRehearsal proves that a panic of the parser or of the pipeline at the beginning or at the end of a log is a
// finding with the place, that one in the middle is not reached, and that the check itself goes on.
func TestRehearsal(t *testing.T) {
	const lines = 2*rehearsalLines + 500
	for name, c := range map[string]struct {
		explodes       int // the line with the bug, 0 for none
		cluster, found string
	}{
		"no bug":           {0, "main", ""},
		"at the beginning": {7, "main", "about line 7: panic: runtime error: index out of range"},
		"at the end":       {lines - 3, "main", "reading the end of "},
		"in the middle":    {rehearsalLines + 100, "main", ""},
		"in the pipeline":  {0, "a cluster that no one has configured", "log, about line "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, file := filepath.Join(dir, "log"), filepath.Join(dir, "waitcastd.yaml")
			var text strings.Builder
			for i := 1; i <= lines; i++ {
				if i == c.explodes {
					text.WriteString("explode\n")
				} else {
					fmt.Fprintf(&text, "%d\n", i)
				}
			}
			if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			yaml := "data_dir: " + dir + "\nclusters: [{name: main, procs: 64, sources: [{format: pbs, path: /log}]}]"
			if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := config.Load(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			check := &checker{cfg: cfg, opts: Options{Now: time.Now, Limit: time.Hour},
				Report: newReport(Options{}, time.Now())}
			log := &source.Config{Name: "main/log", Options: collector.Options{Cluster: c.cluster},
				Format: collector.Format{Name: "fragile",
					New: func(collector.Options) collector.Parser { return fragile{} }}}
			goes := check.rehearse(t.Context(), log, "source main/log", []File{{Path: path, Bytes: int64(text.Len())}})
			found := ""
			for _, f := range check.Findings {
				found += f.Text
			}
			if goes != (c.found == "") || !strings.Contains(found, c.found) || c.found == "" && found != "" {
				t.Errorf("goes on: %v, found %q, want %q", goes, found, c.found)
			}
		})
	}
}
