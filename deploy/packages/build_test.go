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

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const (
	oldVersion, newVersion = "0.0.1", "0.0.2"
	// epoch is the time of the files in the packages of these tests.
	epoch = "1000000000"
)

// builds holds the packages that the tests share, by version.
type builds struct {
	sync.Mutex
	dirs map[string]string
}

var shared = &builds{dirs: map[string]string{}}

// need skips the test, with the reason, unless long tests run and the programs that it needs exist.
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

// build returns the folder with the packages of a version for this machine. The example of a configuration differs in
// the old version.
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

// one returns the only file that matches.
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
	if other := read(t, filepath.Join(there, "SHA256SUMS")); sums != other || strings.Count(sums, "\n") != 4 {
		t.Errorf("one build:\n%s\nanother:\n%s", sums, other)
	}
	for _, dir := range []string{here, there} {
		run(t, "sh", "-c", `cd "$0" && sha256sum -c SHA256SUMS`, dir)
	}
	run(t, "diff", "-r", filepath.Join(here, "rootfs-"+goarch(t)), filepath.Join(there, "rootfs-"+goarch(t)))
}

// TestBillOfMaterials proves that the bill of materials has the build's version and the modules that the binaries
// record, and that every package contains it.
func TestBillOfMaterials(t *testing.T) {
	need(t, "dpkg-deb")
	dir := build(t, newVersion)
	text := read(t, one(t, filepath.Join(dir, "*.cdx.json")))
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(strings.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if c := bom.Metadata.Component; c.Version != newVersion || !strings.Contains(c.Description, "waitcastd") {
		t.Errorf("the bill is of %+v", c)
	}
	named := map[string]bool{}
	for _, c := range *bom.Components {
		named[c.Name+" "+c.Version] = true
	}
	unpacked := t.TempDir()
	run(t, "tar", "-C", unpacked, "-xzf", one(t, filepath.Join(dir, "*.tar.gz")))
	for _, program := range []string{"waitcastd", "waitcast"} {
		modules := regexp.MustCompile(`(?m)^\s+dep\s+(\S+)\s+(\S+)`).FindAllStringSubmatch(run(t, "go", "version", "-m",
			one(t, filepath.Join(unpacked, "*/bin", program))), -1)
		if len(modules) < 10 {
			t.Errorf("%s: only %d modules", program, len(modules))
		}
		for _, m := range modules {
			if !named[m[1]+" "+m[2]] {
				t.Errorf("%s: the bill lacks %s %s", program, m[1], m[2])
			}
		}
	}
	if got := read(t, one(t, filepath.Join(unpacked, "*/sbom.cdx.json"))); got != text {
		t.Error("the tarball's bill is another one")
	}
	run(t, "dpkg-deb", "-x", one(t, filepath.Join(dir, "*.deb")), unpacked)
	if got := read(t, filepath.Join(unpacked, "usr/share/doc/waitcast/sbom.cdx.json")); got != text {
		t.Error("the deb's bill is another one")
	}
}

// TestLinksInPackages proves that each link of a page in a package leads to a file of the package, or to an address.
func TestLinksInPackages(t *testing.T) {
	need(t, "dpkg-deb")
	dir, unpacked := build(t, newVersion), t.TempDir()
	run(t, "tar", "-C", unpacked, "-xzf", one(t, filepath.Join(dir, "*.tar.gz")))
	run(t, "dpkg-deb", "-x", one(t, filepath.Join(dir, "*.deb")), unpacked)
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	links := 0
	err := filepath.WalkDir(unpacked, func(page string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(page) != ".md" {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			file, _, _ := strings.Cut(m[1], "#")
			if file == "" || strings.Contains(file, "://") || strings.HasPrefix(file, "mailto:") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), file)); err != nil {
				t.Errorf("%s: %s leads nowhere", page, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 100 {
		t.Errorf("only %d links", links)
	}
}

// TestProjectIsNamed proves that the packages name the project as their maintainer, and no person.
func TestProjectIsNamed(t *testing.T) {
	need(t, "dpkg-deb")
	const project = "The waitcast authors <waitcast@users.noreply.github.com>"
	dir := build(t, newVersion)
	got := strings.TrimSpace(run(t, "dpkg-deb", "-f", one(t, filepath.Join(dir, "*.deb")), "Maintainer"))
	if got != project {
		t.Errorf("the deb's maintainer is %q", got)
	}
}

// TestVersion proves that the binaries in the tarball are static and print the version of the build.
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

// TestLintian proves that Debian's own checks find no errors and no warnings in the deb, except those that its
// overrides explain.
func TestLintian(t *testing.T) {
	need(t, "lintian")
	out := run(t, "lintian", "--allow-root", "--fail-on", "error,warning",
		one(t, filepath.Join(build(t, newVersion), "*.deb")))
	if strings.Contains(out, "E: ") || strings.Contains(out, "W: ") {
		t.Error(out)
	}
}

// TestRPM proves that rpm can read the package, with right digests, and that it has the files of the deb. It can be
// installed, runs, and can be removed completely, except for an edited configuration.
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
	// rpm installs the package into a root of its own, without scripts, which would need a system there.
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
