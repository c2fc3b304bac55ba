package check

import (
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

// TestACLAgainstSetfacl compares the evaluation of access control lists with setfacl(1) and the kernel: for each list,
// a user has exactly the permissions that the kernel gives a process of that user.
func TestACLAgainstSetfacl(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("access control lists: needs root, who can be others")
	}
	for _, tool := range []string{"setfacl", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("access control lists: %s is missing (make test-deps)", tool)
		}
	}
	dir := openDir(t)
	news := &account{name: "news", uid: 9, groups: []uint32{9}}
	both := &account{name: "news", uid: 9, groups: []uint32{9, 13}}
	root := 0
	for _, c := range []struct {
		mode fs.FileMode
		gid  int
		list string
	}{
		{0o600, root, ""}, {0o640, root, ""}, {0o640, 9, ""}, {0o604, 9, ""}, {0o644, root, ""},
		{0o600, root, "u:9:r"}, {0o604, root, "u:9:-"}, {0o600, root, "u:9:r,m::-"}, {0o640, 9, "u:9:-"},
		{0o600, root, "g:9:r"}, {0o604, root, "g:9:-"}, {0o600, root, "g:13:r"}, {0o604, root, "g:13:r,m::-"},
		{0o640, 9, "g:13:-"},
	} {
		path := filepath.Join(dir, "log")
		_ = os.Remove(path)
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Chown(path, 0, c.gid))
		must(t, os.Chmod(path, c.mode))
		if c.list != "" {
			command(t, "setfacl", "-m", c.list, path)
		}
		for who, groups := range map[*account]string{news: "9", both: "9,13"} {
			kernel := exec.CommandContext(t.Context(), "setpriv", "--reuid=9", "--regid=9", "--groups="+groups, "head",
				"-c1", path).Run() == nil
			if got := who.allowed(path, mayRead) == nil; got != kernel {
				t.Errorf("mode %#o of group %d, list %q, groups %s: may read %v, the kernel says %v", c.mode, c.gid,
					c.list, groups, got, kernel)
			}
		}
	}
}

// openDir returns a temporary folder that everybody may enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "check")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755)) //nolint:gosec // other users look in
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// TestParseACL proves that a truncated list, or one of another version, is refused.
func TestParseACL(t *testing.T) {
	for _, text := range []string{"", "\x02\x00", "\x01\x00\x00\x00", "\x02\x00\x00\x00\x01\x00\x07"} {
		if _, err := parseACL([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestFindRotation proves how logrotate's configuration is read: blocks with several names and lines, globs, quotes,
// comments, scripts, global settings and included files. Files that logrotate ignores are ignored.
func TestFindRotation(t *testing.T) {
	const log = "/var/log/slurm/slurmctld.log"
	for name, c := range map[string]struct {
		files map[string]string
		want  string // the directive, the line, the block and the consequences
	}{
		"none": {map[string]string{"x": "/var/log/other.log {\ncreate 0640\n}\n"}, "none"},
		"simple": {map[string]string{"x": log + " {\n  create 0640 slurm adm\n}\n"},
			"x:1:2 create 0640 slurm adm"},
		"by default": {map[string]string{"x": log + " {\n  weekly\n}\n"}, "x:1:0 create"},
		"glob": {map[string]string{
			"x": "/var/log/slurm/*.log {\n\n# create 0600\n  nocreate # by slurmctld\n}\n",
		}, "x:1:4 nocreate"},
		"lines": {map[string]string{"x": "/var/log/a.log\n\"" + log + "\"\n{\n  copytruncate\n}\n"},
			"x:3:0 copies"},
		"script": {map[string]string{"x": log +
			" {\n  postrotate\n    create 0600\n    }\n  endscript\n  create 0640\n}\n"}, "x:1:6 create 0640"},
		"taboo": {map[string]string{"x.dpkg-old": log + " {\n  create 0640\n}\n"}, "none"},
		"two blocks": {map[string]string{"x": "/a {\ncreate 0600\n}\n" + log + " {\n  nocreate\n}\n"},
			"x:4:5 nocreate"},
		"outside":     {map[string]string{"x": "nocreate\n" + log + " {\n}\n"}, "x:2:0"},
		"other files": {map[string]string{"a": "nocreate\n", "x": log + " {\n}\n"}, "x:1:0 create"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			main := filepath.Join(dir, "logrotate.conf")
			must(t,
				os.WriteFile(main,
					[]byte("weekly\ncreate\ninclude "+dir+"/d\n/var/log/wtmp {\n  create 0664 root utmp\n}\n"), 0o600))
			must(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
			for file, text := range c.files {
				must(t, os.WriteFile(filepath.Join(dir, "d", file), []byte(text), 0o600))
			}
			r, err := findRotation(main, log)
			must(t, err)
			if got := spellRotation(r); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if r, err := findRotation(filepath.Join(t.TempDir(), "none"), log); r != nil || err != nil {
		t.Errorf("without logrotate: %v, %v", r, err)
	}
}

func spellRotation(r *rotation) string {
	if r == nil {
		return "none"
	}
	out := filepath.Base(r.File) + ":" + thousands(int64(r.Block)) + ":" + thousands(int64(r.Line))
	switch {
	case r.Directive != "":
		return out + " " + r.Directive
	case r.copies:
		return out + " copies"
	case r.creates:
		return out + " create"
	}
	return out
}

// TestVerdict checks the result of the check for each way to give a user access to the log. The true effect of each way
// was tried on a real Slurm 22.05 with logrotate 3.21, with SlurmUser root and with slurm, by
// TestRealSlurmLogStaysReadable.
func TestVerdict(t *testing.T) {
	owner := &user.User{Uid: "64030", Gid: "64030", Username: "slurm"}
	who := &account{name: "waitcast", uid: 900, groups: []uint32{900}}
	member := &account{name: "waitcast", uid: 900, groups: []uint32{900, 64030}}
	listed := acl{owner: 6, mask: 4, masked: true, users: map[uint32]fs.FileMode{900: 4}}
	defaults := acl{owner: 7, group: 5, other: 5, mask: 5, masked: true, users: map[uint32]fs.FileMode{900: 4}}
	create := settings{creates: true, mode: 0o640, hasMode: true}
	keeps, never := settings{creates: true}, settings{}
	const setfacl = "setfacl -m u:waitcast:rx,d:u:waitcast:r /logs && setfacl -m u:waitcast:r /logs/slurmctld.log"
	const sed = `sed -i '2s/.*/    create 0640/' /etc/logrotate.d/slurmctld`
	for name, c := range map[string]struct {
		who      *account
		gid      uint32
		list     acl
		defaults bool
		rotation *settings
		status   Status
		hint     string
	}{
		"chgrp":                        {who, 900, modeACL(0o640), false, &create, Failed, setfacl},
		"SlurmUser's group":            {member, 64030, modeACL(0o640), false, &create, OK, ""},
		"SlurmUser's group, kept mode": {member, 64030, modeACL(0o640), false, &keeps, OK, ""},
		"SlurmUser's group, nocreate":  {member, 64030, modeACL(0o640), false, &never, Failed, sed},
		"list, create with a mode":     {who, 64030, listed, false, &create, Failed, setfacl},
		"list, create without a mode":  {who, 64030, listed, false, &keeps, OK, ""},
		"default list":                 {who, 64030, listed, true, &create, OK, ""},
		"default list, kept mode":      {who, 64030, listed, true, &keeps, OK, ""},
		"default list, nocreate":       {who, 64030, listed, true, &never, Failed, sed},
		"default list, copytruncate":   {who, 64030, listed, true, &settings{copies: true}, OK, ""},
		"default list, no logrotate": {who, 64030, listed, true, nil, Warning,
			"sed 's|/var/log/slurm/slurmctld.log|/logs/slurmctld.log|' "},
		"list, nocreate":               {who, 64030, listed, false, &never, Failed, setfacl + " && " + sed},
		"list, no logrotate":           {who, 64030, listed, false, nil, Failed, setfacl},
		"others may read, create 0640": {who, 64030, modeACL(0o644), false, &create, Failed, setfacl},
		"others may read, kept mode":   {who, 64030, modeACL(0o644), false, &keeps, OK, ""},
		"default list, create with 0600": {who, 64030, listed, true,
			&settings{creates: true, mode: 0o600, hasMode: true}, Failed, sed},
	} {
		l := &ctldLog{path: "/logs/slurmctld.log", now: permissions{uid: 64030, gid: c.gid, acl: c.list},
			owner: owner, gid: 64030}
		if c.defaults {
			l.defaults, l.hasList = defaults, true
		}
		if c.rotation != nil {
			l.rotation = &rotation{File: "/etc/logrotate.d/slurmctld", Block: 1, Line: 2, Directive: "a directive",
				settings: *c.rotation}
		}
		status, hint, text := l.verdict(c.who)
		if status != c.status || !strings.HasPrefix(hint, c.hint) || (hint == "") != (c.hint == "") {
			t.Errorf("%s: %s, %q, hint %q; want %s, hint %q", name, status, text, hint, c.status, c.hint)
		}
	}
}

// TestGrantInASharedFolder proves that the advice never opens all logs in /var/log, and never adds the user to the
// group of root.
func TestGrantInASharedFolder(t *testing.T) {
	l := &ctldLog{path: "/var/log/slurmctld.log", owner: &user.User{Gid: "64030"}, gid: 64030}
	if got := l.grant("waitcast"); !strings.HasPrefix(got, "usermod -aG ") || strings.Contains(got, "setfacl") {
		t.Error(got)
	}
	l = &ctldLog{path: "/var/log/slurmctld.log", owner: &user.User{Gid: "0"}}
	if got := l.grant("waitcast"); strings.Contains(got, "usermod") || !strings.Contains(got, "SlurmctldLogFile=") {
		t.Error(got)
	}
}
