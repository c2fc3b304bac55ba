package packages_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/notifytest"
)

const (
	suite = "bookworm"
	// included lists the packages added to Debian's smallest system: systemd for its tools, although it cannot run here
	// as the first process, and Slurm's commands, which the daemon runs.
	included = "systemd,slurm-client"
	path     = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
)

// debian is a Debian in a folder.
type debian struct {
	t    *testing.T
	root string
}

// newDebian unpacks a Debian. The first call makes it with debootstrap and keeps it in the user's cache.
func newDebian(t *testing.T) *debian {
	t.Helper()
	need(t, "debootstrap", "unshare", "setpriv", "systemd-analyze")
	if os.Geteuid() != 0 {
		t.Skip("a Debian in a folder: only root can change the root folder")
	}
	if out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("a Debian in a folder: mount namespaces are not permitted here: %s", out)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(cache, "waitcast-test", suite+"-"+strings.ReplaceAll(included, ",", "-")+".tar")
	if _, err := os.Stat(image); err != nil {
		bootstrap(t, image)
	}
	dir, err := os.MkdirTemp(artifacts, "deb")
	if err != nil {
		t.Fatal(err)
	}
	d := &debian{t: t, root: filepath.Join(dir, "r")}
	if err := os.Mkdir(d.root, 0o755); err != nil { //nolint:gosec // the root folder of a system
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	run(t, "tar", "-C", d.root, "--numeric-owner", "-xpf", image)
	return d
}

func bootstrap(t *testing.T, image string) {
	t.Helper()
	dir := filepath.Join(artifacts, "bootstrap")
	if err := os.MkdirAll(filepath.Dir(image), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "debootstrap", "--variant=minbase", "--include="+included, suite, dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("debootstrap: %v: is there a mirror of Debian?\n%s", err, out)
	}
	run(t, "rm", "-rf", filepath.Join(dir, "var/cache/apt/archives"))
	run(t, "tar", "-C", dir, "--numeric-owner", "--exclude=./dev/*", "-cf", image+".new", ".")
	if err := os.Rename(image+".new", image); err != nil {
		t.Fatal(err)
	}
	run(t, "rm", "-rf", dir)
}

// devices gives a system, in a mount namespace, only the few devices that PrivateDevices= leaves.
const devices = `
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for d in null zero full random urandom tty; do : >"$root/dev/$d"; mount --bind "/dev/$d" "$root/dev/$d"; done
ln -s /proc/self/fd "$root/dev/fd"
`

// try runs a shell script inside the Debian, as root, and returns what the script prints.
func (d *debian) try(script string) (string, error) {
	cmd := exec.CommandContext(d.t.Context(), "unshare", "--mount", "--propagation", "private", "sh", "-ec",
		`root=$1`+devices+`exec chroot "$root" sh -ec "$2"`, "sh", d.root, script)
	cmd.Env = []string{path, "DEBIAN_FRONTEND=noninteractive", "HOME=/root"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (d *debian) sh(script string) string {
	d.t.Helper()
	out, err := d.try(script)
	if err != nil {
		d.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

// give copies a file into the system's /root.
func (d *debian) give(file string) (inside string) {
	d.t.Helper()
	run(d.t, "cp", file, filepath.Join(d.root, "root"))
	return "/root/" + filepath.Base(file)
}

func (d *debian) inside(name string) string { return filepath.Join(d.root, name) }

// service is a program that runs inside the Debian as its unit says.
type service struct {
	*exec.Cmd
	d        *debian
	log      *strings.Builder
	messages <-chan string
}

// sandbox confines the daemon in a system in a folder as these settings of its unit do: ProtectSystem=strict,
// ProtectHome=, PrivateTmp=, PrivateDevices=, StateDirectory= and PrivateUsers=. It also shows inside the parts from
// outside that the daemon needs. Then it becomes the daemon's user, has no capabilities and cannot get any, and
// continues under the filter of system calls. It leaves out the settings that forbid only what a privileged process
// could do.
const sandbox = `
root=$1 slurm=$2
shift 2
mount --bind "$root" "$root"
` + devices + `
mount --bind "$root/var/lib/waitcast" "$root/var/lib/waitcast"
for d in tmp var/tmp; do mount -t tmpfs -o mode=1777 tmpfs "$root/$d"; done
mkdir -p "$root$slurm" "$root/var/log/slurm"
mount --bind "$slurm" "$root$slurm"
mount --bind "$slurm" "$root/var/log/slurm"
mount -o remount,bind,ro "$root$slurm"
mount -o remount,bind,ro "$root/var/log/slurm"
for d in home root; do mount -t tmpfs -o mode=000,ro tmpfs "$root/$d"; done
mount -o remount,bind,ro "$root"
umask 0077
cd "$root"
pivot_root . . # not chroot: in one no user namespace can be made
umount -l .
exec setpriv --reuid=waitcast --regid=waitcast --init-groups unshare --user --map-current-user --keep-caps \
  setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs /run/confine confine /run/filter "$@"
`

// confineHere copies what the sandbox needs: the filter and the program that installs it.
func (d *debian) confineHere(filter string) {
	d.t.Helper()
	me, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	run(d.t, "cp", me, d.inside("run/confine"))
	run(d.t, "chmod", "755", d.inside("run/confine"))
	write(d.t, d.inside("run/filter"), filter)
}

// start runs a command line of a unit, with the folder of a Slurm outside, until the test ends.
func (d *debian) start(slurm string, env []string, command ...string) *service {
	d.t.Helper()
	s := &service{d: d, log: &strings.Builder{}, messages: d.listen()}
	s.Cmd = exec.CommandContext(context.WithoutCancel(d.t.Context()), "unshare", append([]string{
		"--mount", "--propagation", "private", "sh", "-ec", sandbox, "sh", d.root, slurm}, command...)...)
	s.Env = append([]string{path, "NOTIFY_SOCKET=/run/notify"}, env...)
	s.Stdout, s.Stderr = s.log, s.log
	if err := s.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if s.ProcessState == nil {
			_ = s.Process.Kill()
			_ = s.Wait()
		}
		if d.t.Failed() {
			d.t.Logf("the daemon's log:\n%s", s.log)
		}
	})
	return s
}

// listen plays systemd's part of sd_notify(3) on /run/notify.
func (d *debian) listen() <-chan string {
	d.t.Helper()
	file := d.inside("run/notify")
	_ = os.Remove(file) // left by an earlier service
	messages := notifytest.At(d.t, file)
	if err := os.Chmod(file, 0o777); err != nil { //nolint:gosec // as systemd's
		d.t.Fatal(err)
	}
	return messages
}

// patience is the time after which a test fails if a condition has not come true.
const patience = 5 * time.Minute

// told waits for a message to systemd that contains a text.
func (s *service) told(text string) {
	s.d.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		select {
		case m := <-s.messages:
			if strings.Contains(m, text) {
				return
			}
		case <-deadline.C:
			s.d.t.Fatalf("systemd waits in vain for %q", text)
		}
	}
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			t.Fatalf("waited in vain for: %s", what)
		case <-tick.C:
		}
	}
}
