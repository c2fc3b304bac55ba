package daemon_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector/slurm"
)

// slurmCluster is a real Slurm on this machine, started by scripts/slurm-cluster.
type slurmCluster struct {
	t   *testing.T
	dir string
}

// newSlurm starts one, or skips the test where Slurm is not installed.
func newSlurm(t *testing.T, nodes, cpus int) *slurmCluster {
	t.Helper()
	if testing.Short() {
		t.Skip("real Slurm: not with -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("real Slurm: slurmd must be run by root")
	}
	for _, name := range []string{"slurmctld", "slurmd", "munged", "squeue"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("real Slurm: %s is missing (make test-deps)", name)
		}
	}
	parent, err := os.MkdirTemp("", "slurm") // short: the name of a socket has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	c := &slurmCluster{t: t, dir: filepath.Join(parent, "c")}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(c.dir, "slurmctld.log"))
			t.Logf("slurmctld.log:\n%s", log[max(0, len(log)-20_000):])
		}
		if out, err := exec.Command("../scripts/slurm-cluster", "down", c.dir).CombinedOutput(); err != nil {
			t.Errorf("taking Slurm down: %v\n%s", err, out)
		}
		_ = os.Remove(parent)
	})
	up := exec.Command("../scripts/slurm-cluster", "up", c.dir, "--nodes", strconv.Itoa(nodes), "--cpus", strconv.Itoa(cpus), "--port", strconv.Itoa(freePorts(t, nodes+1)))
	if out, err := up.CombinedOutput(); err != nil {
		log, _ := os.ReadFile(filepath.Join(c.dir, "slurmctld.log")) // may not be there
		if strings.Contains(string(log), "getaddrinfo() failed") {
			t.Skip("real Slurm: it resolves even 127.0.0.1 only where there is a network")
		}
		t.Fatalf("starting Slurm: %v\n%s", err, out)
	}
	return c
}

// freePorts returns the first of n ports in a row that nobody listens on now.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for first := 20_000 + os.Getpid()%10_000; first < 60_000; first += n {
		free := 0
		for ; free < n; free++ {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+free))
			if err != nil {
				break
			}
			_ = l.Close()
		}
		if free == n {
			return first
		}
	}
	t.Fatal("no free ports")
	return 0
}

func (c *slurmCluster) conf() string { return "SLURM_CONF=" + filepath.Join(c.dir, "slurm.conf") }

// run runs one of Slurm's commands and returns what it prints.
func (c *slurmCluster) run(name string, args ...string) string {
	c.t.Helper()
	out, err := c.try(name, args...)
	if err != nil {
		c.t.Errorf("%s %q: %v\n%s", name, args, err, out) // not Fatalf: any goroutine may call
	}
	return out
}

func (c *slurmCluster) try(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), c.conf(), "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0")
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	if err != nil {
		return complaint.String(), err
	}
	return strings.TrimSpace(out.String()), nil
}

// sbatch submits a job that runs a shell command and returns its number.
func (c *slurmCluster) sbatch(command string, args ...string) string {
	c.t.Helper()
	args = append([]string{"--parsable", "--output=/dev/null", "--chdir=/tmp"}, args...)
	return c.run("sbatch", append(args, "--wrap", command)...)
}

// site writes a configuration of a daemon beside this cluster.
func (c *slurmCluster) site(sources ...string) *site {
	c.t.Helper()
	dir := c.t.TempDir()
	s := &site{dir: dir, db: filepath.Join(dir, "waitcast.db"), config: filepath.Join(dir, "waitcastd.yaml")}
	replace := strings.NewReplacer("LOG", filepath.Join(c.dir, "slurmctld.log"), "COMP", filepath.Join(c.dir, "jobcomp.log"),
		"ASK", fmt.Sprintf("[env, %q, squeue]", c.conf()))
	text := fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
clusters:
  - name: main
    sources:
`, dir)
	for _, s := range sources {
		text += "      - " + replace.Replace(s) + "\n"
	}
	write(c.t, s.config, text)
	return s
}

// truth is what Slurm itself says of a job in the end.
type truth struct {
	submit, start, end time.Time
	ran                bool
	procs              int
	queue              string
	limit              time.Duration
	restarts           int
	state              string
}

// jobs asks Slurm for all jobs, ended ones too. Jobs that were tasks of an array when they were cancelled in one go are one.
func (c *slurmCluster) jobs() map[string]truth {
	c.t.Helper()
	all := map[string]truth{}
	for line := range strings.Lines(c.run("scontrol", "show", "job", "--oneliner")) {
		f := map[string]string{}
		for word := range strings.FieldsSeq(line) {
			if key, value, ok := strings.Cut(word, "="); ok && f[key] == "" {
				f[key] = value
			}
		}
		when := func(key string) time.Time {
			if unix, err := strconv.ParseInt(f[key], 10, 64); err == nil && unix > 0 {
				return time.Unix(unix, 0).UTC()
			}
			return time.Time{}
		}
		j := truth{submit: when("SubmitTime"), start: when("StartTime"), end: when("EndTime"), queue: f["Partition"], state: f["JobState"]}
		j.procs, _ = strconv.Atoi(f["NumCPUs"])
		j.restarts, _ = strconv.Atoi(f["Restarts"])
		j.limit = slurmLimit(c.t, f["TimeLimit"])
		j.ran = f["NodeList"] != "" && f["NodeList"] != "(null)"
		all[slurmName(f)] = j
	}
	return all
}

// slurmName names a job as the collectors do.
func slurmName(f map[string]string) string {
	number := func(key string) int64 { n, _ := strconv.ParseInt(f[key], 10, 64); return n }
	raw := number("JobId")
	if whole := number("HetJobId"); whole > 0 {
		return slurm.TaskID(raw, whole, '+', number("HetJobOffset"))
	}
	if whole := number("ArrayJobId"); whole > 0 {
		return slurm.TaskID(raw, whole, '_', number("ArrayTaskId"))
	}
	return f["JobId"]
}

// slurmLimit reads "1-00:02:00".
func slurmLimit(t *testing.T, text string) time.Duration {
	t.Helper()
	if text == "UNLIMITED" {
		return 0
	}
	var days int
	if head, rest, ok := strings.Cut(text, "-"); ok {
		days, _ = strconv.Atoi(head)
		text = rest
	}
	var h, m, s int
	if _, err := fmt.Sscanf(text, "%d:%d:%d", &h, &m, &s); err != nil {
		t.Fatalf("limit %q: %v", text, err)
	}
	return time.Duration(days*24+h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second
}
