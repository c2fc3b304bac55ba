package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
)

// asking starts a fake that answers every GET /v1/wait and records the newest query.
func asking(t *testing.T) (address string, asked *url.Values) {
	t.Helper()
	asked = &url.Values{}
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var body any = canned()
		if *asked = r.URL.Query(); r.Method == http.MethodPost {
			var q wire.WaitsRequest
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
				t.Error(err)
			}
			for _, p := range q.Places {
				asked.Add("place", p.Queue)
			}
			body = cannedWaits()
		}
		content, _ := json.Marshal(body)
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// TestWaitReadsScripts proves for each scheduler that the command requests the forecast for what the batch script
// requests. Options of the submission override the script, and flags override both.
func TestWaitReadsScripts(t *testing.T) {
	address, asked := asking(t)
	dir := t.TempDir()
	script := func(name string, lines ...string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+strings.Join(lines, "\n")+"\nrun\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	slurm := script("slurm.sh", "#SBATCH -p batch", "#SBATCH -n 16 -t 2:30:00", "#SBATCH --account=physics --array=1-9")
	for _, c := range []struct {
		name  string
		args  []string
		want  string // the query, sorted by name
		warns string
	}{
		{"slurm", []string{slurm}, "account=physics&procs=16&queue=batch&time_limit=2:30:00", "an array of 9 tasks"},
		{"options", []string{slurm, "--", "-n", "4", "--time=30"},
			"account=physics&procs=4&queue=batch&time_limit=30m", "an array"},
		{"flags", []string{"-n", "2", "-q", "other", slurm, "--", "-n", "4"},
			"account=physics&procs=2&queue=other&time_limit=2:30:00", "an array"},
		{"pbs", []string{script("pbs.sh", "#PBS -q long -l nodes=2:ppn=8,walltime=10:00:00")},
			"nodes=2&procs=16&queue=long&time_limit=10h", ""},
		{"sge", []string{script("sge.sh", "#$ -q all.q -pe smp 4-16", "#$ -l h_rt=3600")},
			"procs=4&queue=all.q&time_limit=1h", ""},
		{"lsf", []string{script("lsf.sh", "#BSUB -q night -n 32", "#BSUB -W 4:00")},
			"procs=32&queue=night&time_limit=4h", ""},
		{"two families",
			[]string{"--scheduler", "pbs", script("two.sh", "#SBATCH -n 3 -t 5", "#PBS -q q -l ncpus=2,walltime=60")},
			"procs=2&queue=q&time_limit=1m", ""},
	} {
		r := runWith(address, append([]string{"wait"}, c.args...)...)
		if r.code != exitDone || !strings.Contains(r.stderr, c.warns) || !strings.Contains(r.stdout, "Median wait") {
			t.Errorf("%s: exit %d\n%s%s", c.name, r.code, r.stdout, r.stderr)
		}
		want, err := url.ParseQuery(c.want)
		if err != nil {
			t.Fatal(err)
		}
		for name := range want {
			if got := asked.Get(name); got != want.Get(name) && !sameDuration(got, want.Get(name)) {
				t.Errorf("%s: %s is %q, want %q (asked %s)", c.name, name, got, want.Get(name), asked.Encode())
			}
		}
	}
	if r := runWith(address, "wait", script("both.sh", "#SBATCH -p a,b -n 2 -t 10")); r.code != exitDone ||
		(*asked).Get("queue") != "a,b" {
		t.Errorf("two partitions: exit %d, asked %v\n%s", r.code, *asked, r.stderr)
	}
}

// sameDuration reports whether two texts mean the same time limit.
func sameDuration(a, b string) bool {
	inSeconds := func(string) string { return "s" }
	x, y := limitList{env: inSeconds}, limitList{env: inSeconds}
	return x.Set(a) == nil && y.Set(b) == nil && x.String() == y.String()
}

// TestWaitRefusesScripts proves that a script that is incomplete or invalid is refused, with its name, the line and
// advice.
func TestWaitRefusesScripts(t *testing.T) {
	address, _ := asking(t)
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, `missing: -q (queue), -n (procs), -t (time)`},
		{"no directives", []string{script("none.sh", "#!/bin/sh\necho\n")}, "none.sh"},
		{"no limit", []string{script("limit.sh", "#!/bin/sh\n#SBATCH -p a -n 4\n")}, "-t"},
		{"no queue", []string{script("queue.sh", "#!/bin/sh\n#SBATCH -t 5 -n 4\n")}, "-q"},
		{"nonsense", []string{script("bad.sh", "#!/bin/sh\n#SBATCH --nodes=two\n")}, "bad.sh:2"},
		{"two families", []string{script("two.sh", "#!/bin/sh\n#SBATCH -n 2\n#PBS -q a\n")}, "--scheduler"},
		{"missing", []string{filepath.Join(dir, "missing.sh")}, "missing.sh"},
		{"two scripts", []string{"a.sh", "b.sh"}, "b.sh"},
		{"options alone", []string{"--", "-n", "4"}, "script"},
		{"scheduler alone", []string{"--scheduler", "slurm", "-q", "a", "-n", "1", "-t", "1h"}, "--scheduler"},
	} {
		r := runWith(address, append([]string{"wait"}, c.args...)...)
		if r.code == exitDone || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit %d, %s", c.name, r.code, r.stderr)
		}
	}
}
