package daemon_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/config"
	checking "github.com/waitcast/waitcast/daemon/check"
	"github.com/waitcast/waitcast/internal/testports"
	"github.com/waitcast/waitcast/job"
)

// TestRealSlurmLogStaysReadable proves on a real Slurm, for SlurmUser root and slurm, that the commands in
// docs/install.md have a lasting effect. A daemon of another user reads every line of slurmctld.log, and forecasts
// every job, through rotations by logrotate with the shipped file, scontrol reconfigure and a restart of slurmctld.
// waitcastd check fails before the commands, names them, and passes after them. With WAITCAST_LONG=1 the log is rotated
// ten times.
func TestRealSlurmLogStaysReadable(t *testing.T) {
	for _, slurmUser := range []string{"root", "slurm"} {
		t.Run("SlurmUser "+slurmUser, func(t *testing.T) {
			t.Parallel()
			s := newRotatedSlurm(t, slurmUser)
			s.wantCheck("log.readable", checking.Failed)
			commands := s.documented()
			for _, command := range commands {
				s.sh(command)
				s.adaptRotation()
			}
			s.wantCheck("log.stays_readable", checking.OK)
			s.startDaemon()
			s.learn()
			rounds := 3
			if long() {
				rounds = 10
			}
			s.submitAround("nothing", func() {})
			for i := range rounds {
				s.submitAround(fmt.Sprint("rotation ", i+1), func() {
					s.sh("logrotate --force --state " + filepath.Join(s.dir, "logrotate.state") + " " + s.rotation)
				})
			}
			s.submitAround("reconfigure", func() { s.run("scontrol", "reconfigure") })
			s.submitAround("restart", func() {
				s.drained() // a job that is allocated while slurmctld stops would never be launched
				s.sh(clusterScript() + " restart " + s.dir)
			})
			s.wantCheck("log.stays_readable", checking.OK)
			s.stopDaemon()
			s.wantNothingLost()
		})
	}
}

// rotatedSlurm is a real Slurm whose log logrotate rotates, and a daemon that runs as another user.
type rotatedSlurm struct {
	*slurmCluster
	user     *user.User // replaces the user waitcast
	rotation string     // logrotate's file, which replaces /etc/logrotate.d/slurmctld
	site     *site
	url      string
	daemon   *exec.Cmd
	log      bytes.Buffer // log of the daemon
	jobs     []string
}

func newRotatedSlurm(t *testing.T, slurmUser string) *rotatedSlurm {
	t.Helper()
	for _, tool := range []string{"logrotate", "setfacl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("rotation of a real Slurm's log: %s is missing (make test-deps)", tool)
		}
	}
	who, err := user.Lookup("news")
	if err != nil {
		t.Skip("rotation of a real Slurm's log: the user news is missing")
	}
	if _, err := user.Lookup(slurmUser); err != nil {
		t.Skipf("rotation of a real Slurm's log: the user %s is missing (make test-deps)", slurmUser)
	}
	s := &rotatedSlurm{slurmCluster: newSlurm(t, 2, 8, "--slurm-user", slurmUser), user: who}
	home, err := os.MkdirTemp("", "rotated") // accessible to others, unlike t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	s.rotation = filepath.Join(home, "slurmctld")
	port := testports.Take(t, 1)
	s.url = fmt.Sprintf("http://127.0.0.1:%d", port)
	s.site = &site{dir: home, db: filepath.Join(home, "waitcast.db"), config: filepath.Join(home, "waitcastd.yaml")}
	write(t, s.site.config, fmt.Sprintf(`
listen: 127.0.0.1:%d
data_dir: %q
log: {level: info, format: json}
clusters:
  - name: main
    sources:
      - {format: slurm-log, path: %q}
      - {format: slurm-squeue, command: [env, %q, squeue], interval: 1s}
models: {min_samples: 5}
`, port, home, s.ctldLog(), s.conf()))
	s.sh(fmt.Sprintf("chmod 0755 %s && chmod 0644 %s && chown -R news %s", home, s.site.config, home))
	return s
}

func (s *rotatedSlurm) ctldLog() string { return filepath.Join(s.dir, "slurmctld.log") }

// sh runs a shell command as root.
func (s *rotatedSlurm) sh(line string) {
	s.t.Helper()
	if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// documented returns the commands in docs/install.md for Slurm's log, with this cluster's paths and the daemon's user.
func (s *rotatedSlurm) documented() []string {
	s.t.Helper()
	page, err := os.ReadFile("../docs/install.md")
	if err != nil {
		s.t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), `<a name="slurms-log"></a>`)
	if !found {
		s.t.Fatal("docs/install.md has no commands for Slurm's log")
	}
	here := strings.NewReplacer("u:waitcast:", "u:"+s.user.Username+":", "/var/log/slurm", s.dir,
		"/usr/share/doc/waitcast/examples", "../deploy/systemd",
		"/etc/logrotate.d/slurmctld", s.rotation)
	var commands []string
	for line := range strings.Lines(section) {
		command, isCommand := strings.CutPrefix(line, "    sudo ")
		switch {
		case isCommand:
			commands = append(commands, here.Replace(strings.TrimSpace(command)))
		case len(commands) > 0: // the block has ended
			return commands
		}
	}
	s.t.Fatalf("docs/install.md: the commands for Slurm's log do not end: %q", commands)
	return nil
}

// adaptRotation writes this cluster's paths into the installed file for logrotate, and the name of this cluster's
// slurmctld, because others may run.
func (s *rotatedSlurm) adaptRotation() {
	s.t.Helper()
	text, err := os.ReadFile(s.rotation)
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		s.t.Fatal(err)
	}
	signal := "kill -USR2 $(cat " + filepath.Join(s.dir, "slurmctld.pid") + ")"
	adapted := strings.NewReplacer("/var/log/slurm/", s.dir+"/", "pkill -SIGUSR2 -x 'slurmctld(-wlm.*)?'",
		signal).Replace(string(text))
	if !strings.Contains(adapted, signal) {
		s.t.Fatalf("the shipped file for logrotate signals nobody:\n%s", text)
	}
	write(s.t, s.rotation, adapted)
}

// wantCheck runs waitcastd check for the daemon's user. A failure must name the commands of docs/install.md.
func (s *rotatedSlurm) wantCheck(id string, status checking.Status) {
	s.t.Helper()
	cfg, err := config.Load(s.site.config, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	report := checking.Run(s.t.Context(), cfg, checking.Options{As: s.user.Username, Logrotate: s.rotation})
	i := slices.IndexFunc(report.Findings, func(f checking.Finding) bool { return f.ID == id })
	if i < 0 || report.Findings[i].Status != status {
		s.t.Errorf("no finding %s, %s among %+v", id, status, report.Findings)
		return
	}
	if want := strings.Join(s.documented()[:2], " && "); status == checking.Failed && report.Findings[i].Hint != want {
		s.t.Errorf("the hint is %q, docs/install.md has %q", report.Findings[i].Hint, want)
	}
}

// startDaemon runs this test binary as a daemon of the other user and waits until it has read everything.
func (s *rotatedSlurm) startDaemon() {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	program := filepath.Join(s.site.dir, "daemon.test") // a folder from which other users may run it
	s.sh("install -m 0755 " + self + " " + program)
	uid, errUID := strconv.ParseUint(s.user.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(s.user.Gid, 10, 32)
	if errUID != nil || errGID != nil {
		s.t.Fatal(errUID, errGID)
	}
	s.daemon = exec.Command(program)
	s.daemon.Dir = s.site.dir
	s.daemon.Env = append(os.Environ(), roleEnv+"=daemon", roleArg+"="+s.site.config)
	s.daemon.Stdout, s.daemon.Stderr = &s.log, &s.log
	s.daemon.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if err := s.daemon.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if s.daemon.ProcessState == nil {
			_ = s.daemon.Process.Kill()
			_ = s.daemon.Wait() // it was killed
		}
		if s.t.Failed() {
			s.t.Logf("the daemon's log:\n%s", s.log.String())
		}
	})
	eventually(s.t, "the daemon to be ready", func() bool {
		status,
			_ := s.get("/readyz")
		return status == http.StatusOK
	})
}

// get sends a request to the daemon; status 0 means that it does not answer.
func (s *rotatedSlurm) get(path string) (status int, body string) {
	resp, err := http.Get(s.url + path) //nolint:noctx // the daemon under test, which is killed with the test
	if err != nil {
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(text)
}

// learn lets jobs run until the daemon has forecasts.
func (s *rotatedSlurm) learn() {
	s.t.Helper()
	for range 8 {
		s.sbatch("sleep 0.5", "-t", "1", "-n", "4")
	}
	eventually(s.t, "a first forecast", func() bool {
		status, _ := s.get("/v1/wait?queue=short&procs=4&time_limit=60")
		return status == http.StatusOK && s.run("squeue", "-h", "-o", "%A") == ""
	})
}

// submitAround submits jobs before and after an action on slurmctld, and waits until the daemon has read the records of
// the last job.
func (s *rotatedSlurm) submitAround(what string, do func()) {
	s.t.Helper()
	some := func() {
		for range 2 {
			// They begin later, so that squeue, which is asked at most once a second, reports their size before.
			s.jobs = append(s.jobs, s.sbatch("sleep 1", "-t", "1", "-n", "4", "--begin=now+3"))
		}
	}
	some()
	do()
	some()
	last := s.jobs[len(s.jobs)-1]
	eventually(s.t, "the daemon to know job "+last+" after "+what, func() bool {
		_, jobs := s.get("/v1/jobs/" + last)
		return strings.Contains(jobs, last)
	})
}

// stopDaemon waits until all jobs have ended and the daemon has read their ends, and stops the daemon.
func (s *rotatedSlurm) stopDaemon() {
	s.t.Helper()
	s.drained()
	lines := 0
	for _, text := range s.parts() {
		lines += bytes.Count(text, []byte("\n"))
	}
	read := fmt.Sprintf("\nwaitcast_lines_total{cluster=\"main\",source=\"main/slurm-log\"} %d\n", lines)
	eventually(s.t, fmt.Sprintf("the daemon to have read all %d lines", lines), func() bool {
		_, metrics := s.get("/metrics")
		return strings.Contains(metrics, read)
	})
	if err := s.daemon.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := s.daemon.Wait(); err != nil {
		s.t.Errorf("stopping: %v", err)
	}
}

// parts returns everything that slurmctld has written, by file.
func (s *rotatedSlurm) parts() map[string][]byte {
	s.t.Helper()
	files, err := filepath.Glob(s.ctldLog() + "*")
	if err != nil {
		s.t.Fatal(err)
	}
	parts := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.HasSuffix(file, ".gz") {
			text, err = unzip(text)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		parts[file] = text
	}
	return parts
}

func unzip(text []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// wantNothingLost compares the journal with every line that slurmctld wrote, and the ledger with the jobs.
func (s *rotatedSlurm) wantNothingLost() {
	s.t.Helper()
	type fact struct {
		kind job.Kind
		id   string
	}
	k := s.site.kept(s.t)
	known := map[fact]bool{}
	for _, e := range k.Entries {
		known[fact{e.Event.Kind, e.Event.ID}] = true
	}
	told, parts := 0, s.parts()
	for file, text := range parts {
		parser := slurm.Log(nil).New(collector.Options{Cluster: "main"})
		for line := range bytes.Lines(text) {
			err := parser.Parse(line, func(ev job.Event) {
				if told++; !known[fact{ev.Kind, ev.ID}] {
					s.t.Errorf("lost: %s of job %s in %s", ev.Kind, ev.ID, filepath.Base(file))
				}
			})
			if err != nil {
				s.t.Errorf("%s: %v", filepath.Base(file), err)
			}
		}
	}
	forecast, live := map[string]string{}, 0
	for _, row := range k.Rows {
		// The other jobs started before squeue reported their size.
		if forecast[row.JobID] = row.Method; row.Method != "" && !row.Replayed {
			live++
		}
	}
	for _, id := range s.jobs {
		if forecast[id] == "" {
			s.t.Errorf("job %s has no forecast", id)
		}
	}
	s.t.Logf("%d jobs, %d events in %d files of the log, all in the journal; %d rows, %d of them live", len(s.jobs),
		told,
		len(parts),
		len(k.Rows), live)
	if strings.Contains(s.log.String(), "permission denied") {
		s.t.Error("the daemon was refused")
	}
}
