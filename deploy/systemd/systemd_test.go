// Package systemd_test checks the files for systemd and for administrators.
package systemd_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/config"
)

const (
	unitName = "waitcastd.service"
	program  = "/usr/bin/waitcastd"
	// exposed is the highest score of systemd-analyze security that the unit may have. 10 means no protection at all.
	exposed = 2.0
)

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// installed puts the unit into a folder, with some of the drop-ins, and a stand-in for the program, because systemd
// requires it to exist.
func installed(t *testing.T, dropIns ...string) (file string) {
	t.Helper()
	dir := t.TempDir()
	standIn := filepath.Join(dir, "waitcastd")
	write(t, standIn, "#!/bin/sh\n", 0o700)
	file = filepath.Join(dir, unitName)
	text := strings.ReplaceAll(read(t, unitName), program, standIn)
	// systemd-analyze security --offline takes one file, and a drop-in works like text at its end
	for _, d := range dropIns {
		text += "\n" + read(t, d)
		write(t, filepath.Join(file+".d", filepath.Base(d)), read(t, d), 0o600)
	}
	write(t, file, text, 0o600)
	return file
}

// analyze runs systemd-analyze, or skips the test if it is missing.
func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze missing: it is in the package systemd")
	}
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	return string(out), err
}

func dropIns(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(unitName + ".d/*.conf")
	if err != nil || len(files) < 3 {
		t.Fatalf("drop-ins %v, %v", files, err)
	}
	return files
}

// TestSystemdVerifiesTheUnit proves that systemd understands every line of the unit, alone and with each of the
// drop-ins.
func TestSystemdVerifiesTheUnit(t *testing.T) {
	for _, with := range append([]string{""}, dropIns(t)...) {
		var some []string
		if with != "" {
			some = append(some, with)
		}
		out, err := analyze(t, "verify", "--man=no", installed(t, some...))
		if err != nil || strings.Contains(out, unitName+":") || strings.Contains(out, ".conf:") {
			t.Errorf("with %q: %v\n%s", with, err, out)
		}
	}
}

// TestExposure proves that the unit's exposure is at most 2.0, also with any one of the drop-ins.
func TestExposure(t *testing.T) {
	score := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`)
	for _, with := range append([]string{""}, dropIns(t)...) {
		var some []string
		if with != "" {
			some = append(some, with)
		}
		out, err := analyze(t, "security", "--offline=true", "--no-pager", installed(t, some...))
		found := score.FindStringSubmatch(out)
		if err != nil || found == nil {
			if strings.Contains(out, "unrecognized option") || strings.Contains(out, "nknown option") {
				t.Skip("systemd-analyze security --offline missing: it came with systemd 250")
			}
			t.Fatalf("%v\n%s", err, out)
		}
		value, err := strconv.ParseFloat(found[1], 64)
		if err != nil || value > exposed {
			t.Errorf("with %q: exposure %s, want at most %v", with, found[1], exposed)
		}
		t.Logf("with %q: %s", with, found[1])
	}
}

// TestUnitFitsTheDaemon proves that the unit starts the daemon with the example's path, waits for READY, has a
// watchdog, and runs as the user that sysusers.d makes, whose home is the folder of the state.
func TestUnitFitsTheDaemon(t *testing.T) {
	text := read(t, unitName)
	for _, line := range []string{
		"ExecStart=" + program + " --config /etc/waitcast/waitcastd.yaml", "Type=notify", "User=waitcast",
		"Group=waitcast", "StateDirectory=waitcast", "ProtectSystem=strict",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
	if !regexp.MustCompile(`\nWatchdogSec=\d`).MatchString(text) {
		t.Error("the unit has no watchdog")
	}
	if users := read(t,
		"waitcast.sysusers"); !regexp.MustCompile(`(?m)^u waitcast - ".*" /var/lib/waitcast /usr/sbin/nologin$`).
		MatchString(users) {
		t.Errorf("sysusers.d makes another user: %s", users)
	}
}

// TestSysusers proves that systemd-sysusers makes the user in an empty root.
func TestSysusers(t *testing.T) {
	program, err := exec.LookPath("systemd-sysusers")
	if err != nil {
		t.Skip("systemd-sysusers missing: it is in the package systemd")
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "usr/lib/sysusers.d/waitcast.conf"), read(t, "waitcast.sysusers"), 0o600)
	write(t, filepath.Join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n", 0o600)
	if out, err := exec.CommandContext(t.Context(), program, "--root="+root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	users := read(t, filepath.Join(root, "etc/passwd"))
	if !regexp.MustCompile(`(?m)^waitcast:x:\d+:\d+:waitcast daemon:/var/lib/waitcast:/usr/sbin/nologin$`).
		MatchString(users) {
		t.Errorf("users:\n%s", users)
	}
}

// TestExampleLoads proves that the daemon starts with the example beside the unit, keeps its data where the unit allows
// it, and is private. The same holds when it is started by hand, without systemd (waitcastd check).
func TestExampleLoads(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", "")
	c, err := config.Load("waitcastd.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Store.Path != "/var/lib/waitcast/waitcast.db" || !strings.HasPrefix(c.Listen, "127.0.0.1:") {
		t.Errorf("store %s, listen %s", c.Store.Path, c.Listen)
	}
}

// TestExampleOfEveryScheduler proves that the example's other schedulers can be loaded, once they are no longer
// comments and Slurm is removed.
func TestExampleOfEveryScheduler(t *testing.T) {
	head, rest, _ := strings.Cut(read(t, "waitcastd.yaml"), "    sources:\n")
	t.Setenv("STATE_DIRECTORY", t.TempDir())
	for _, block := range strings.Split(rest, "\n\n")[1:] {
		text := head + "    sources:\n" + strings.NewReplacer("      #- ", "      - ", "      #  ",
			"        ").Replace(block) + "\n"
		file := filepath.Join(t.TempDir(), "waitcastd.yaml")
		write(t, file, text, 0o600)
		c, err := config.Load(file, nil)
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
		} else if n := strings.Count(block, "#- format:"); n == 0 || len(c.Clusters[0].Sources) != n {
			t.Errorf("%d sources of %d in\n%s", len(c.Clusters[0].Sources), n, text)
		}
	}
}

// TestLogrotate proves that the logrotate example renames the log, informs the controller, and makes a new log with a
// mode under which the folder's access control list works.
func TestLogrotate(t *testing.T) {
	logrotate, err := exec.LookPath("logrotate")
	if err != nil {
		logrotate = "/usr/sbin/logrotate"
	}
	if _, err := os.Stat(logrotate); err != nil {
		t.Skip("logrotate missing (make test-deps)")
	}
	dir := t.TempDir()
	log, signaled := filepath.Join(dir, "slurmctld.log"), filepath.Join(dir, "signaled")
	write(t, log, "a line\n", 0o600)
	here := strings.NewReplacer("/var/log/slurm/", dir+"/", "pkill -SIGUSR2 -x 'slurmctld(-wlm.*)?'", "touch "+signaled)
	text := here.Replace(read(t, "logrotate-slurm"))
	if !strings.Contains(text, "touch "+signaled) {
		t.Fatal("the example signals nobody")
	}
	file := filepath.Join(dir, "slurm.conf")
	write(t, file, text, 0o600)
	if out, err := exec.CommandContext(t.Context(), logrotate, "--force", "--state", filepath.Join(dir, "state"),
		file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(log)
	if err != nil || info.Mode() != 0o640 || info.Size() != 0 {
		t.Errorf("the new log: %v, %v", info, err)
	}
	if read(t, log+".1") != "a line\n" {
		t.Error("the old log is not the first of the rotated ones")
	}
	if _, err := os.Stat(signaled); err != nil {
		t.Error("the controller is not told")
	}
}
