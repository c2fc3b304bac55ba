// Package slurm_test proves on a real Slurm that waitcast's integrations work as documented, and that no job is
// refused, or delayed for long, if the daemon does not answer.
package slurm_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/polling"
	"github.com/waitcast/waitcast/internal/testports"
)

// patience is the time after which a test fails if a condition is still not met.
const patience = 5 * time.Minute

const script = "../../scripts/slurm-cluster"

// cluster is a real Slurm on this machine: three nodes of four processors.
type cluster struct {
	t testing.TB
	// plain and plugin are folders with a slurm.conf; that of plugin has the cli_filter.
	plain, plugin string
}

// with returns the cluster for use in another test.
func (c *cluster) with(t testing.TB) *cluster {
	return &cluster{t: t, plain: c.plain, plugin: c.plugin}
}

// newCluster starts a cluster. It skips the test if a required program is not installed.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("real Slurm: not with -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("real Slurm: slurmd must be run by root")
	}
	for _, name := range []string{"slurmctld", "slurmd", "munged", "sbatch", "squeue", "curl", "timeout"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("real Slurm: %s is missing (make test-deps)", name)
		}
	}
	parent, err := os.MkdirTemp("", "slurm") // a short path, because the name of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o755); err != nil { //nolint:gosec // slurmd wants to read it
		t.Fatal(err)
	}
	c := &cluster{t: t, plain: filepath.Join(parent, "c"), plugin: filepath.Join(parent, "p")}
	t.Cleanup(func() {
		if out, err := exec.Command(script, "down", c.plain).CombinedOutput(); err != nil {
			t.Errorf("taking Slurm down: %v\n%s", err, out)
		}
		_ = os.RemoveAll(parent)
	})
	up := exec.Command(script, "up", c.plain, "--nodes", "3", "--cpus", "4", "--port",
		strconv.Itoa(testports.Take(t, 5)))
	if out, err := up.CombinedOutput(); err != nil {
		log, _ := os.ReadFile(filepath.Join(c.plain, "slurmctld.log")) // the file may not exist
		if strings.Contains(string(log), "getaddrinfo() failed") {
			t.Skip("real Slurm: it resolves even 127.0.0.1 only where there is a network")
		}
		t.Fatalf("starting Slurm: %v\n%s", err, out)
	}
	c.installPlugin()
	return c
}

// installPlugin installs the plugin by docs/integrations.md, in a configuration that only clients use.
func (c *cluster) installPlugin() {
	c.t.Helper()
	conf, err := os.ReadFile(filepath.Join(c.plain, "slurm.conf"))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.Mkdir(c.plugin, 0o755); err != nil { //nolint:gosec // as above
		c.t.Fatal(err)
	}
	write(c.t, filepath.Join(c.plugin, "slurm.conf"), string(conf)+"CliFilterPlugins=lua\n")
	c.answersWithin("10") // with this limit a busy machine does not change what is printed
}

// shipped is the time limit for the daemon's answer in the shipped cli_filter.lua, in seconds.
const shipped = "0.1"

// answersWithin installs the plugin with another time limit for the daemon's answer, in seconds.
func (c *cluster) answersWithin(seconds string) {
	c.t.Helper()
	plugin, err := os.ReadFile("cli_filter.lua")
	if err != nil {
		c.t.Fatal(err)
	}
	setting := "  seconds = " + shipped + ","
	if strings.Count(string(plugin), setting) != 1 {
		c.t.Fatalf("cli_filter.lua has not the setting %q once", setting)
	}
	text := strings.Replace(string(plugin), setting, "  seconds = "+seconds+",", 1)
	write(c.t, filepath.Join(c.plugin, "cli_filter.lua"), text)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // nothing secret
		t.Fatal(err)
	}
}

// said is the output of a command, and the time that the command took.
type said struct {
	out, complaint string
	err            error
	took           time.Duration
}

// command runs one of Slurm's commands with a configuration and additional environment variables.
func (c *cluster) command(conf string, env []string, name string, args ...string) said {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), name, args...) //nolint:gosec // Slurm's
	cmd.Env = append(os.Environ(), "SLURM_CONF="+filepath.Join(conf, "slurm.conf"), "http_proxy=http://127.0.0.1:1")
	cmd.Env = append(cmd.Env, env...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	begun := time.Now()
	err := cmd.Run()
	return said{out: out.String(), complaint: complaint.String(), err: err, took: time.Since(begun)}
}

// run runs a command without the plugin. The command must succeed.
func (c *cluster) run(name string, args ...string) string {
	c.t.Helper()
	s := c.command(c.plain, nil, name, args...)
	if s.err != nil {
		c.t.Fatalf("%s %q: %v\n%s", name, args, s.err, s.complaint)
	}
	return strings.TrimSpace(s.out)
}

// submit submits a job that sleeps, with the plugin.
func (c *cluster) submit(env []string, args ...string) said {
	c.t.Helper()
	return c.command(c.plugin, env, "sbatch",
		append([]string{"--output=/dev/null", "--chdir=/tmp", "--wrap=sleep 600"}, args...)...)
}

var submitted = regexp.MustCompile(`^Submitted batch job \d+\n$`)

// mustSubmit submits like submit, and checks that the job was submitted as without the plugin.
func (c *cluster) mustSubmit(env []string, args ...string) said {
	c.t.Helper()
	s := c.submit(env, args...)
	if s.err != nil || !submitted.MatchString(s.out) {
		c.t.Fatalf("sbatch %q, %q: %v\n%s%s", args, env, s.err, s.out, s.complaint)
	}
	return s
}

// startDaemon runs a daemon beside the cluster. It returns the daemon's address and a function that stops it.
func (c *cluster) startDaemon() (url string, stop func()) {
	c.t.Helper()
	dir := c.t.TempDir()
	file := filepath.Join(dir, "waitcastd.yaml")
	conf := "SLURM_CONF=" + filepath.Join(c.plain, "slurm.conf")
	write(c.t, file, fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
clusters:
  - name: main
    sources:
      - {format: slurm-log, path: %q}
      - {format: slurm-squeue, command: [env, %q, squeue], interval: 1s}
      - {format: slurm-facts, command: [env, %q], interval: 1s}
`, dir, filepath.Join(c.plain, "slurmctld.log"), conf, conf))
	cfg, err := config.Load(file, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	d := daemon.New(cfg, daemon.Options{Version: "test"})
	if err := d.Start(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := d.Stop(); err != nil {
			c.t.Errorf("stopping the daemon: %v", err)
		}
	}
	c.t.Cleanup(stop)
	return "http://" + d.Addr().String(), stop
}

// eventually polls a condition until it is true.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !polling.Until(patience, cond) {
		t.Fatalf("waited %s in vain for: %s", patience, what)
	}
}

// answers reports whether a daemon answers a GET with 200.
func answers(url string) bool {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Get(url)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
