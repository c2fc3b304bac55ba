package packages_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// freePort returns the first of n successive ports on which nothing listens now.
func freePort(t *testing.T, n int) int {
	t.Helper()
	for first := 21_000 + os.Getpid()%9_000; first < 60_000; first += n {
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

// newSlurm starts a real Slurm beside the Debian and returns its folder.
func newSlurm(t *testing.T) string {
	t.Helper()
	need(t, "slurmctld", "slurmd", "munged", "squeue", "setfacl")
	parent, err := os.MkdirTemp("", "wcs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o755); err != nil { //nolint:gosec // jobs and the package's user look in
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "c")
	t.Cleanup(func() {
		if out, err := exec.Command("../../scripts/slurm-cluster", "down", dir).CombinedOutput(); err != nil {
			t.Errorf("taking Slurm down: %v\n%s", err, out)
		}
		_ = os.Remove(parent)
	})
	out, err := exec.CommandContext(t.Context(), "../../scripts/slurm-cluster", "up", dir, "--nodes", "2", "--cpus",
		"4", "--port", fmt.Sprint(freePort(t, 4))).CombinedOutput()
	if err != nil {
		t.Fatalf("starting Slurm: %v\n%s", err, out)
	}
	return dir
}

// TestDebianSlurm proves that the package, installed in a Debian and configured for a real Slurm, serves forecasts of
// it. The daemon is started by its unit's command, as its user and in the unit's sandbox. It can read the controller's
// log only by the log's access control list, and uses Slurm's own commands.
func TestDebianSlurm(t *testing.T) {
	d := newDebian(t)
	d.dpkg(newVersion, "")
	slurm := newSlurm(t)
	// docs/install.md advises this.
	uid := strings.TrimSpace(d.sh("id -u waitcast"))
	run(t, "setfacl", "-m", "u:"+uid+":rx,d:u:"+uid+":r", slurm)
	run(t, "setfacl", "-m", "u:"+uid+":r", filepath.Join(slurm, "slurmctld.log"))
	port := freePort(t, 1)
	example := d.inside("etc/waitcast/waitcastd.yaml")
	write(t, example, strings.NewReplacer("127.0.0.1:9817", fmt.Sprintf("127.0.0.1:%d", port), "- format: slurm-squeue",
		"- {format: slurm-squeue, interval: 1s}").
		Replace(read(t, example)))

	unit := read(t, d.inside("usr/lib/systemd/system/waitcastd.service"))
	rules, err := json.Marshal(filter(t, unit))
	if err != nil {
		t.Fatal(err)
	}
	d.confineHere(string(rules))
	// The drop-in slurm-elsewhere.conf and systemd set this environment.
	env := []string{
		"STATE_DIRECTORY=/" + filepath.Join("var/lib", setting(t, unit, "StateDirectory")), "WATCHDOG_USEC=2000000",
		"HOME=/var/lib/waitcast", "USER=waitcast", "LOGNAME=waitcast",
		"SLURM_CONF=" + filepath.Join(slurm, "slurm.conf"),
	}
	if err := d.start(slurm, env, "/usr/bin/true").Wait(); err != nil {
		t.Fatalf("nothing runs in the sandbox: %v", err)
	}
	if err := d.start(slurm, env, "/usr/bin/taskset", "1", "true").Wait(); err == nil {
		t.Error("the filter lets a system call of @resources pass")
	}
	s := d.start(slurm, env, strings.Fields(setting(t, unit, "ExecStart"))...)
	s.told("READY=1")
	d.wantConfined(s)

	sbatch := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sbatch",
			append([]string{"--output=/dev/null", "--chdir=/tmp"}, args...)...)
		cmd.Env = append(os.Environ(), "SLURM_CONF="+filepath.Join(slurm, "slurm.conf"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("sbatch: %v\n%s", err, out)
		}
	}
	for range 6 {
		sbatch("-p", "short", "-n", "4", "-t", "5", "--wrap", "sleep 1")
	}
	sbatch("-p", "long", "-n", "8", "-t", "60", "--wrap", "sleep 600")
	sbatch("-p", "medium", "-n", "8", "-t", "60", "--wrap", "sleep 600")
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	eventually(t, "readyz", func() bool { status, _ := get(t, url+"/readyz"); return status == http.StatusOK })
	eventually(t, "six jobs ended, one runs on all 8 processors, one waits", func() bool {
		load := loads(t, url)
		return load["long"].Running == 8 && load["medium"].Queued == 8 && load["short"].Running+
			load["short"].Queued == 0
	})
	out, err := d.try("waitcast --url " + url + " wait -q short -n 4 -t 5m --json")
	if err != nil {
		t.Fatalf("waitcast wait: %v\n%s", err, out)
	}
	t.Logf("waitcast wait: %s", out)
	var answer struct {
		Method string             `json:"method"`
		Wait   map[string]float64 `json:"wait_seconds"`
		State  struct {
			Capacity int    `json:"capacity"`
			Source   string `json:"capacity_source"`
		} `json:"state"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.Method == "" || answer.Wait["p95"] <= 0 {
		t.Errorf("%v: %s", err, out)
	}
	// squeue, sinfo and scontrol can be run in the sandbox
	if answer.State.Capacity != 8 || answer.State.Source != "scheduler" {
		t.Errorf("the machine is not known from the scheduler: %+v", answer.State)
	}
	s.told("WATCHDOG=1")
	if _, metrics := get(t,
		url+"/metrics"); !regexp.MustCompile(`\nprocess_start_time_seconds [1-9]`).MatchString(metrics) {
		t.Error("the sandbox hides when the process started")
	}
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	s.told("STOPPING=1")
	if err := s.Wait(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if out := d.sh("stat -c '%U %a' /var/lib/waitcast/waitcast.db /var/lib/waitcast/admin-token"); out !=
		"waitcast 600\nwaitcast 600\n" {
		t.Errorf("the state:\n%s", out)
	}
}

// wantConfined checks the kernel's view of the daemon: another user, no capabilities now or later, a filter, and a
// read-only system.
func (d *debian) wantConfined(s *service) {
	d.t.Helper()
	proc := fmt.Sprintf("/proc/%d/", s.Process.Pid)
	status := read(d.t, proc+"status")
	uid := strings.TrimSpace(d.sh("id -u waitcast"))
	for _, want := range []string{
		`Uid:\t` + uid + `\t` + uid, `CapInh:\t0+\n`, `CapPrm:\t0+\n`, `CapEff:\t0+\n`, `CapBnd:\t0+\n`,
		`CapAmb:\t0+\n`, `NoNewPrivs:\t1\n`, `Seccomp:\t2\n`,
	} {
		if !regexp.MustCompile(want).MatchString(status) {
			d.t.Errorf("the daemon's status lacks %q:\n%s", want, status)
		}
	}
	if mine, err := os.Readlink("/proc/self/ns/user"); err != nil {
		d.t.Error(err)
	} else if its, err := os.Readlink(proc + "ns/user"); err != nil || its == mine {
		d.t.Errorf("the daemon is in the user namespace %s (%v)", its, err)
	}
	mounts := read(d.t, proc+"mountinfo")
	if !regexp.MustCompile(`(?m) / ro[ ,].*`).MatchString(mounts) ||
		!regexp.MustCompile(`(?m) /var/lib/waitcast rw`).MatchString(mounts) {
		d.t.Errorf("the daemon sees:\n%s", mounts)
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url) //nolint:gosec // the daemon under test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// held has the processors of a queue's running and waiting jobs.
type held struct {
	Running int `json:"running_procs"`
	Queued  int `json:"queued_procs"`
}

// loads asks the daemon for the processors of the queues.
func loads(t *testing.T, url string) map[string]held {
	t.Helper()
	_, body := get(t, url+"/v1/queues")
	var answer struct {
		Queues []struct {
			Name string `json:"name"`
			held
		} `json:"queues"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	all := map[string]held{}
	for _, q := range answer.Queues {
		all[q.Name] = q.held
	}
	return all
}
