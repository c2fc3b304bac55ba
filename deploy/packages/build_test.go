package packages_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	oldVersion, newVersion = "0.0.1", "0.0.2"
	// epoch is the time that the packages of these tests bear.
	epoch = "1000000000"
)

// builds are the packages that the tests share, by version.
type builds struct {
	sync.Mutex
	dirs map[string]string
}

var shared = &builds{dirs: map[string]string{}}

// need skips the test by name unless it may take long and has the programs that it needs.
func need(t *testing.T, programs ...string) {
	t.Helper()
	if os.Getenv("WAITCAST_LONG") == "" {
		t.Skip("packages are built and installed only with WAITCAST_LONG=1")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s missing (make test-deps)", p)
		}
	}
}

// build returns the folder with the packages of a version for this machine. The old version's example of a
// configuration differs.
func build(t *testing.T, version string) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if dir := shared.dirs[version]; dir != "" {
		return dir
	}
	tree := "../.."
	if version == oldVersion {
		tree = copied(t)
		example := filepath.Join(tree, "deploy/systemd/waitcastd.yaml")
		write(t, example, read(t, example)+"# as it was in "+version+"\n")
	}
	shared.dirs[version] = buildIn(t, tree, version)
	return shared.dirs[version]
}

func buildIn(t *testing.T, tree, version string) string {
	t.Helper()
	out, err := os.MkdirTemp(artifacts, version)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(tree, "deploy/packages/build"), "--version", version,
		"--arch", goarch(t), "--out", out)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+epoch)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", version, err, text)
	}
	return out
}

// copied returns a copy of this tree in another folder, without git.
func copied(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(artifacts, "tree")
	if err != nil {
		t.Fatal(err)
	}
	run(t, "sh", "-c", `tar -C ../.. --exclude=./.git --exclude=./dist --exclude=./bin -cf - . | tar -C "$0" -xf -`,
		dir)
	return dir
}

func goarch(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(run(t, "go", "env", "GOHOSTARCH"))
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run returns what a program prints; it must succeed.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", program, args, err, out.String(), complaint.String())
	}
	return out.String()
}

// one returns the only file that fits.
func one(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %v, %v; want one file", pattern, files, err)
	}
	return files[0]
}

// TestReproducible proves that two builds of one tree in different folders give the same bytes, and that the sums are
// right.
func TestReproducible(t *testing.T) {
	need(t)
	here, there := build(t, newVersion), buildIn(t, copied(t), newVersion)
	sums := read(t, filepath.Join(here, "SHA256SUMS"))
	if other := read(t, filepath.Join(there, "SHA256SUMS")); sums != other || strings.Count(sums, "\n") != 3 {
		t.Errorf("one build:\n%s\nanother:\n%s", sums, other)
	}
	for _, dir := range []string{here, there} {
		run(t, "sh", "-c", `cd "$0" && sha256sum -c SHA256SUMS`, dir)
	}
	run(t, "diff", "-r", filepath.Join(here, "rootfs-"+goarch(t)), filepath.Join(there, "rootfs-"+goarch(t)))
}

// TestVersion proves that the binaries in the tarball are static and tell the version of the build.
func TestVersion(t *testing.T) {
	need(t)
	dir := t.TempDir()
	run(t, "tar", "-C", dir, "-xzf", one(t, filepath.Join(build(t, newVersion), "*.tar.gz")))
	bin := one(t, filepath.Join(dir, "*/bin"))
	for program, args := range map[string][]string{"waitcastd": {"--version"}, "waitcast": {"version"}} {
		if out := run(t, filepath.Join(bin, program), args...); !strings.Contains(out, newVersion) {
			t.Errorf("%s: %s", program, out)
		}
		if out := run(t, "sh", "-c", `ldd "$0" 2>&1 || true`, filepath.Join(bin, program)); !strings.Contains(out,
			"not a dynamic executable") {
			t.Errorf("%s: %s", program, out)
		}
	}
}

// TestLintian proves that Debian's own checks find no errors and no warnings in the deb, beside those that its
// overrides explain.
func TestLintian(t *testing.T) {
	need(t, "lintian")
	out := run(t, "lintian", "--allow-root", "--fail-on", "error,warning",
		one(t, filepath.Join(build(t, newVersion), "*.deb")))
	if strings.Contains(out, "E: ") || strings.Contains(out, "W: ") {
		t.Error(out)
	}
}

// TestRPM proves that rpm reads the package, whose digests are right, that it has the files of the deb, and that it
// installs, runs, and goes, but for an edited configuration.
func TestRPM(t *testing.T) {
	need(t, "rpm", "dpkg-deb")
	dir := build(t, newVersion)
	pkg := one(t, filepath.Join(dir, "*.rpm"))
	if out := run(t, "rpm", "-K", "--nosignature", pkg); !strings.Contains(out, "digests OK") {
		t.Error(out)
	}
	inRPM := strings.Fields(run(t, "rpm", "-qpl", pkg))
	config := strings.Fields(run(t, "rpm", "-qpc", pkg))
	if !slices.Equal(config, []string{"/etc/waitcast/waitcastd.yaml"}) {
		t.Errorf("configuration files %v", config)
	}
	only := regexp.MustCompile(`/lintian/|changelog\.Debian|vendor-completions/_`)
	for line := range strings.Lines(run(t, "dpkg-deb", "--contents", one(t, filepath.Join(dir, "*.deb")))) {
		fields := strings.Fields(line)
		path := strings.TrimPrefix(fields[5], ".")
		if !strings.HasSuffix(path, "/") && !only.MatchString(path) && !slices.Contains(inRPM, path) {
			t.Errorf("the rpm lacks %s", path)
		}
	}
	for _, scripts := range []string{"post", "preun", "postun"} {
		run(t, "sh", "-n", filepath.Join("rpm", scripts))
	}
	// rpm's own installation, into a root of its own; scripts would need a system there.
	root := t.TempDir()
	run(t, "rpm", "--root", root, "--nodeps", "--noscripts", "-i", pkg)
	if out := run(t, "rpm", "--root", root, "-q", "waitcast"); !strings.HasPrefix(out, "waitcast-"+newVersion+"-1") {
		t.Error(out)
	}
	run(t, "rpm", "--root", root, "--nodeps", "--noscripts", "-V", "waitcast")
	if out := run(t, filepath.Join(root, "usr/bin/waitcastd"), "--version"); !strings.Contains(out, newVersion) {
		t.Error(out)
	}
	example := filepath.Join(root, "etc/waitcast/waitcastd.yaml")
	write(t, example, read(t, example)+"# edited\n")
	run(t, "rpm", "--root", root, "--nodeps", "--noscripts", "-e", "waitcast")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/waitcastd")); !os.IsNotExist(err) {
		t.Errorf("after removing: %v", err)
	}
	if kept := read(t, example+".rpmsave"); !strings.HasSuffix(kept, "# edited\n") {
		t.Errorf("removing loses an edited configuration")
	}
}
