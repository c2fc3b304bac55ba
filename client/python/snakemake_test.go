package python_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector/pbs"
)

// recipe returns the Python code of a section of docs/integrations.md.
func recipe(t *testing.T, section string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/integrations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
	_, rest, begins := strings.Cut(rest, "```python\n")
	code, _, ends := strings.Cut(rest, "```")
	if !found || !begins || !ends {
		t.Fatalf("the page has no Python under %q", section)
	}
	return code
}

// newPools returns a site on which the queue short waits behind a job without an end, while the nodes of the queue long
// are free.
func newPools(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	var text []byte
	job := func(id, queue string, procs int, submit time.Time) pbs.Record {
		r := s.job(id, procs, submit)
		r.Queue, r.Start = queue, submit
		return r
	}
	for i := range 200 {
		for _, queue := range []string{"short", "long"} {
			r := job(fmt.Sprintf("%d.%s", i, queue), queue, 2, s.now.Add(time.Duration(i-1000)*time.Minute))
			r.End = r.Start.Add(time.Duration(i%200+1) * time.Minute)
			text = pbs.AppendEnded(pbs.AppendStarted(pbs.AppendQueued(text, r), r), r)
		}
	}
	full := job("full.short", "short", 32, s.now.Add(-time.Hour))
	text = pbs.AppendStarted(pbs.AppendQueued(text, full), full)
	s.write(t, s.log, string(text))
	config, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	const zone = "    time_zone: UTC\n"
	s.write(t, s.config, strings.Replace(string(config), zone,
		zone+"    pools: [{name: s, queues: [short], procs: 32}, {name: l, queues: [long], procs: 32}]\n", 1))
	return s
}

// TestSnakemakeRecipe proves with a real Snakemake that the recipe in docs/integrations.md chooses the partition in
// which the job would start first, and that it works without a daemon. Debian's version 7 has no executor for Slurm, so
// the test uses a dry run, which prints the resources.
func TestSnakemakeRecipe(t *testing.T) {
	snakemake := need(t, "snakemake")
	dir := t.TempDir()
	client, err := os.ReadFile("waitcast.py")
	if err != nil {
		t.Fatal(err)
	}
	s := newPools(t)
	for name, text := range map[string]string{
		"Snakefile": recipe(t, "Snakemake"), "waitcast.py": string(client), "a.fastq": "",
	} {
		s.write(t, filepath.Join(dir, name), text)
	}
	partition := func(url string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), snakemake, "--dry-run", "--cores", "8", "a.bam")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "WAITCAST_URL="+url, "HOME="+dir, "XDG_CACHE_HOME="+dir, "no_proxy=*")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, rest, found := strings.Cut(string(out), "slurm_partition=")
		if !found {
			t.Fatalf("the job has no partition:\n%s", out)
		}
		return rest[:strings.IndexAny(rest, ",\n ")]
	}
	if got := partition(s.start(t)); got != "long" {
		t.Errorf("the partition is %s: short is full", got)
	}
	if got := partition("http://127.0.0.1:1"); got != "short" {
		t.Errorf("without a daemon the partition is %s, not the first", got)
	}
}
