package packages_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func (d *debian) dpkg(version, options string) string {
	d.t.Helper()
	return d.sh("dpkg " + options + " -i " + d.give(one(d.t, filepath.Join(build(d.t, version), "*.deb"))))
}

// TestDebianLife proves what installing, upgrading, removing and purging the package does to a Debian: the user, the
// files and their modes, an edited configuration and the state. In the end nothing is left.
func TestDebianLife(t *testing.T) {
	d := newDebian(t)
	before := d.sh("find / -xdev -path /root -prune -o -print | sort")
	out := d.dpkg(oldVersion, "")
	if !strings.Contains(out, "systemctl enable --now waitcastd") {
		t.Errorf("the installation does not say what to do next:\n%s", out)
	}
	d.wantUser()
	if out := d.sh("waitcastd --version; waitcast version"); strings.Count(out, oldVersion) != 2 {
		t.Errorf("versions:\n%s", out)
	}
	if out := d.sh("systemctl is-enabled waitcastd 2>&1 || true"); strings.TrimSpace(out) != "disabled" {
		t.Errorf("after installing the service is %s", out)
	}
	if out := d.sh("dpkg --verify waitcast"); out != "" {
		t.Errorf("files differ from the package's:\n%s", out)
	}
	d.sh("systemctl enable waitcastd 2>&1 && touch /var/lib/waitcast/waitcast.db && chown waitcast: " +
		"/var/lib/waitcast/waitcast.db")
	d.sh("echo '# edited' >>/etc/waitcast/waitcastd.yaml")

	d.dpkg(newVersion, "--force-confdef") // the default answer keeps the user's own file
	if out := d.sh("cat /etc/waitcast/waitcastd.yaml"); !strings.Contains(out, "# edited\n") ||
		!strings.Contains(out, "# as it was in "+oldVersion) {
		t.Errorf("the upgrade changed an edited configuration:\n%s", out)
	}
	if out := d.sh(
		"waitcastd --version; ls /etc/waitcast /var/lib/waitcast; systemctl is-enabled waitcastd"); !strings.Contains(
		out, newVersion) ||
		!strings.Contains(out, "waitcastd.yaml.dpkg-dist") || !strings.Contains(out, "waitcast.db") ||
		!strings.Contains(out, "enabled") {
		t.Errorf("after upgrading:\n%s", out)
	}
	d.wantManual()
	d.wantCompletions()

	d.sh("dpkg -r waitcast 2>&1")
	if out := d.sh("ls /etc/waitcast/waitcastd.yaml /var/lib/waitcast/waitcast.db; ls /usr/bin/waitcast* 2>/dev/null " +
		"|| true; id waitcast"); strings.Contains(out, "/usr/bin") {
		t.Errorf("after removing:\n%s", out)
	}
	if out := d.sh("dpkg -P waitcast 2>&1"); strings.Contains(out, "not empty") {
		t.Error(out)
	}
	d.wantNothing(before)
}

// wantUser checks the user that the package made.
func (d *debian) wantUser() {
	d.t.Helper()
	out := d.sh("getent passwd waitcast; id -nG waitcast; stat -c '%U:%G %a %n' /var/lib/waitcast " +
		"/etc/waitcast/waitcastd.yaml /usr/bin/waitcastd")
	want := regexp.MustCompile(`^waitcast:x:(\d{1,3}):\d{1,3}:waitcast daemon:/var/lib/waitcast:/usr/sbin/nologin
waitcast
waitcast:waitcast 750 /var/lib/waitcast
root:root 644 /etc/waitcast/waitcastd.yaml
root:root 755 /usr/bin/waitcastd
$`)
	if !want.MatchString(out) {
		d.t.Errorf("user and files:\n%s", out)
	}
}

// wantManual checks that the daemon, its file and every command have a manual page without mistakes.
func (d *debian) wantManual() {
	d.t.Helper()
	pages, err := filepath.Glob(d.inside("usr/share/man/man[158]/waitcast*.gz"))
	if err != nil {
		d.t.Fatal(err)
	}
	have := map[string]bool{}
	for _, p := range pages {
		have[strings.TrimSuffix(filepath.Base(p), ".gz")] = true
	}
	want := []string{"waitcast.1", "waitcastd.8", "waitcastd-demo.8", "waitcastd.yaml.5"}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+) `).FindAllStringSubmatch(
		d.sh("waitcast --help | sed -n '/^Ask/,/^Flags/p'"), -1) {
		if m[1] != "completion" && m[1] != "help" {
			want = append(want, "waitcast-"+m[1]+".1")
		}
	}
	if len(want) < 10 {
		d.t.Errorf("waitcast --help lists %d commands", len(want)-4)
	}
	for _, name := range want {
		if !have[name] {
			d.t.Errorf("no manual page %s", name)
		}
	}
	if _, err := exec.LookPath("mandoc"); err == nil {
		for _, p := range pages {
			if out := run(d.t, "sh", "-c", `zcat "$0" | mandoc -T lint -W warning || true`, p); out != "" {
				d.t.Errorf("%s: %s", p, out)
			}
		}
	}
}

// wantCompletions checks that completion works in bash, that the files for the other shells exist, and that these
// shells accept them where they are installed.
func (d *debian) wantCompletions() {
	d.t.Helper()
	for _, program := range []string{"waitcast", "waitcastd"} {
		d.sh("bash -c '. /usr/share/bash-completion/completions/" + program + " && complete -p " + program + "'")
		for shell, file := range map[string]string{
			"zsh": "usr/share/zsh/vendor-completions/_" + program, "fish": "usr/share/fish/vendor_completions.d/" +
				program + ".fish",
		} {
			if !strings.Contains(read(d.t, d.inside(file)), "complet") {
				d.t.Errorf("%s is no completion", file)
			}
			if _, err := exec.LookPath(shell); err == nil {
				run(d.t, shell, "-n", d.inside(file))
			}
		}
	}
	if out := d.sh("waitcast __complete wa 2>/dev/null"); !strings.HasPrefix(out, "wait\t") {
		d.t.Errorf("waitcast wa<tab>: %s", out)
	}
}

// wantNothing checks that the system is as before, except for the logs of dpkg and of the tools for users.
func (d *debian) wantNothing(before string) {
	d.t.Helper()
	if out, err := d.try("getent passwd waitcast || getent group waitcast"); err == nil {
		d.t.Errorf("the user is still there: %s", out)
	}
	known := map[string]bool{}
	for file := range strings.Lines(before) {
		known[file] = true
	}
	diary := regexp.MustCompile(
		`^/(proc|dev|run)/|^/var/(lib/dpkg|log|cache)/|^/etc/\.?(passwd|group|shadow|gshadow|subuid|subgid)[-.]`)
	for file := range strings.Lines(d.sh("find / -xdev -path /root -prune -o -print | sort")) {
		if !known[file] && !diary.MatchString(file) {
			d.t.Errorf("purging leaves %s", file)
		}
	}
}

// TestDebianWithoutSystemd proves that without a systemd that makes users the package can be installed, makes its user,
// and can be removed.
func TestDebianWithoutSystemd(t *testing.T) {
	d := newDebian(t)
	d.sh("mv /usr/bin/systemd-sysusers /usr/bin/systemctl /root")
	before := d.sh("find / -xdev -path /root -prune -o -print | sort")
	d.dpkg(newVersion, "")
	d.wantUser()
	d.sh("dpkg -P waitcast 2>&1")
	d.wantNothing(before)
}

// TestDebianAdminTools proves with the tools of that Debian that the installed unit has the same exposure and
// correctness as its source.
func TestDebianAdminTools(t *testing.T) {
	d := newDebian(t)
	d.dpkg(newVersion, "")
	out := d.sh("systemd-analyze verify --man=no waitcastd.service 2>&1; systemd-analyze security --offline=true " +
		"--threshold=20 --no-pager waitcastd.service | tail -1")
	if strings.Contains(out, "waitcastd.service:") && !strings.Contains(out,
		"Overall exposure level for waitcastd.service:") || strings.Contains(out, "not executable") {
		t.Error(out)
	}
	t.Log(strings.TrimSpace(out))
	if _, err := os.Stat(d.inside("usr/share/doc/waitcast/examples/waitcastd.service.d/read-all-logs.conf")); err !=
		nil {
		t.Error(err)
	}
}

// TestReadAllLogs proves that the one capability granted by the drop-in read-all-logs.conf is enough to read a log that
// only root can read, and that without it the package's user cannot. In both cases the user cannot write the log.
func TestReadAllLogs(t *testing.T) {
	d := newDebian(t)
	d.dpkg(newVersion, "")
	dropIn := read(t, d.inside("usr/share/doc/waitcast/examples/waitcastd.service.d/read-all-logs.conf"))
	granted := setting(t, dropIn, "AmbientCapabilities")
	if bounding := setting(t, dropIn, "CapabilityBoundingSet"); bounding != granted {
		t.Fatalf("%s of %s", granted, bounding)
	}
	capability := strings.ToLower(strings.TrimPrefix(granted, "CAP_"))
	d.sh("mkdir -m 700 /var/log/acct && printf '; UnixStartTime: 0\\n1 0 5 60 4 -1 -1 4 600 -1 1 1 1 1 1 -1 -1 " +
		"-1\\n' >/var/log/acct/log.swf && chmod 600 /var/log/acct/log.swf")
	as := "HOME=/tmp setpriv --reuid=waitcast --regid=waitcast --init-groups --no-new-privs"
	with := as + " --inh-caps=-all,+" + capability + " --ambient-caps=-all,+" + capability +
		" --bounding-set=-all,+" + capability
	without := as + " --inh-caps=-all --ambient-caps=-all --bounding-set=-all"
	const ask = " waitcastd --one-shot --json /var/log/acct/log.swf"
	if out, err := d.try(without + ask); err == nil && strings.Contains(out, `"jobs": 1`) {
		t.Errorf("without the capability the log is read: %s", out)
	}
	if out, err := d.try(with + ask); err != nil || !strings.Contains(out, `"jobs": 1`) {
		t.Errorf("with %s: %v\n%s", granted, err, out)
	}
	for _, how := range []string{with, without} {
		if out, err := d.try(how + " sh -c ': >>/var/log/acct/log.swf'"); err == nil {
			t.Errorf("the log can be written: %s", out)
		}
	}
}
