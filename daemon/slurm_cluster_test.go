package daemon_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/internal/testports"
)

// slurmCluster is a real Slurm on this machine, started by scripts/slurm-cluster.
type slurmCluster struct {
	t   *testing.T
	dir string
}

// newSlurm starts a Slurm, with additional options of the script. It skips the test if a required program is not
// installed.
func newSlurm(t *testing.T, nodes, cpus int, options ...string) *slurmCluster {
	t.Helper()
	if testing.Short() {
		t.Skip("real Slurm: not with -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("real Slurm: slurmd must be run by root")
	}
	needed := []string{"slurmctld", "slurmd", "munged", "squeue"}
	if slices.ContainsFunc([]string{"--accounting", "--limits", "--binding", "--tiers"}, func(o string) bool {
		return slices.Contains(options, o)
	}) {
		needed = append(needed, "slurmdbd", "sacct", "mariadbd", "mariadb-install-db", "mariadb")
	}
	for _, name := range needed {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("real Slurm: %s is missing (make test-deps)", name)
		}
	}
	parent, err := os.MkdirTemp("", "slurm") // a short path: the name of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o755); err != nil { //nolint:gosec // jobs of other users have their scripts there
		t.Fatal(err)
	}
	c := &slurmCluster{t: t, dir: filepath.Join(parent, "c")}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(c.dir, "slurmctld.log"))
			queue, _ := c.try("squeue", "-a")
			t.Logf("squeue:\n%s", queue)
			t.Logf("slurmctld.log:\n%s", log[max(0, len(log)-20_000):])
		}
		if out, err := c.down(); err != nil {
			t.Errorf("taking Slurm down: %v\n%s", err, out)
		}
		_ = os.Remove(parent)
	})
	for attempt := 1; ; attempt++ {
		out, err := c.up(nodes, cpus, options)
		if err == nil {
			return c
		}
		log, _ := os.ReadFile(filepath.Join(c.dir, "slurmctld.log")) // the log may not exist
		if strings.Contains(string(log), "getaddrinfo() failed") {
			t.Skip("real Slurm: it resolves even 127.0.0.1 only where there is a network")
		}
		if attempt == startAttempts {
			t.Fatalf("starting Slurm: %v\n%s", err, out)
		}
		t.Logf("starting Slurm, attempt %d: %v\n%s", attempt, err, out)
		if out, err := c.down(); err != nil {
			t.Fatalf("taking down what was started of Slurm: %v\n%s", err, out)
		}
	}
}

// startAttempts is the number of attempts to start a Slurm: on a busy machine one of its daemons may fail.
const startAttempts = 3

// up starts the cluster on ports that are free, and returns what the script printed.
func (c *slurmCluster) up(nodes, cpus int, options []string) ([]byte, error) {
	return exec.Command(clusterScript(), append([]string{
		"up", c.dir, "--nodes", strconv.Itoa(nodes), "--cpus", strconv.Itoa(cpus), "--port",
		strconv.Itoa(testports.Take(c.t, nodes+2)),
	}, options...)...).CombinedOutput()
}

// down stops the cluster, and deletes its folder.
func (c *slurmCluster) down() ([]byte, error) {
	return exec.Command(clusterScript(), "down", c.dir).CombinedOutput()
}

// clusterScript returns the path of slurm-cluster, or of the program that runs it in the chroot of another version
// (scripts/slurm-version).
func clusterScript() string {
	return cmp.Or(os.Getenv("WAITCAST_SLURM_CLUSTER"), "../scripts/slurm-cluster")
}

func (c *slurmCluster) conf() string { return "SLURM_CONF=" + filepath.Join(c.dir, "slurm.conf") }

// run runs one of Slurm's commands and returns its output.
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

// dump returns the path of the file of takeDump.
func (c *slurmCluster) dump() string { return filepath.Join(c.dir, "history.psv") }

// takeDump writes the present output of sacct with the columns that the documentation recommends, except that the name
// comes earlier, because some names contain line ends. The file is renamed into its place, as users must do.
func (c *slurmCluster) takeDump() {
	c.t.Helper()
	columns := strings.Replace(strings.TrimSuffix(slurm.SacctColumns, ",JobName"), "JobID,", "JobID,JobName,", 1)
	write(c.t, c.dump()+".new", c.run("sacct", "-a", "-X", "-D", "-P", "-S", "now-1day", "-E", "now",
		"--state="+allStates,
		"--format="+columns)+"\n")
	if err := os.Rename(c.dump()+".new", c.dump()); err != nil {
		c.t.Fatal(err)
	}
}

// site writes the configuration of a daemon that runs beside this cluster.
func (c *slurmCluster) site(sources ...string) *site {
	c.t.Helper()
	dir := c.t.TempDir()
	s := &site{dir: dir, db: filepath.Join(dir, "waitcast.db"), config: filepath.Join(dir, "waitcastd.yaml")}
	replace := strings.NewReplacer("LOG", filepath.Join(c.dir, "slurmctld.log"), "COMP",
		filepath.Join(c.dir, "jobcomp.log"), "DUMP", c.dump(),
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
