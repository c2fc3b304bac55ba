package check_test

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/waitcast/waitcast/daemon/check"
)

// withHistory returns the configuration of a cluster with files of history.
func withHistory(history string) string {
	return "\n  - name: main\n    time_zone: UTC\n    history: {" + history + "}\n" +
		"    sources: [{format: pbs, path: DIR/log}]\n"
}

// historySite returns a site with a followed log.
func historySite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.write("log", jobs(40, s.now, time.UTC), s.now)
	return s
}

// TestHistoryFiles proves that the check counts the files of a history by format, even compressed ones, and names each
// file that the daemon could not import, with the reason.
func TestHistoryFiles(t *testing.T) {
	s := historySite(t)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(jobs(20, s.now, time.UTC))); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	s.write("old/a", jobs(20, s.now, time.UTC), s.now)
	s.write("old/b.gz", zipped.String(), s.now)
	s.write("old/c", jobcomp(s.now), s.now)
	r := s.run(withHistory("files: [DIR/old/*, DIR/old/a]"))
	want(t, r, "history.files", check.OK, s.path("old/*")+" matches 3 files", "a, b.gz, c")
	want(t, r, "history.readable", check.OK, "3 files can be read")
	want(t, r, "history.format", check.OK, "2 pbs, 1 slurm-jobcomp")
	if !r.OK() {
		t.Errorf("files that can be imported fail:\n%s", render(t, r))
	}
	s.write("old/d", "<html>\n", s.now)
	s.write("old/e", "", s.now)
	s.write("old/f.gz", zipped.String()[:20], s.now)
	s.write("old/g/1", "", s.now)
	if err := os.Symlink(s.path("nowhere"), s.path("old/h")); err != nil {
		t.Fatal(err)
	}
	r = s.run(withHistory("files: [DIR/old/*, DIR/none/*]"))
	want(t, r, "history.format", check.Failed, s.path("old/d")+" contain no job in a known format")
	want(t, r, "history.format", check.Warning, s.path("old/e")+" is empty")
	want(t, r, "history.format", check.Failed, s.path("old/f.gz"), "is the file whole?")
	want(t, r, "history.files", check.Failed, s.path("old/g")+" is a folder", s.path("old/g/*"))
	want(t, r, "history.files", check.Failed, s.path("old/h"))
	want(t, r, "history.files", check.Failed, "there is no file "+s.path("none/*"))
	if r.OK() {
		t.Error("a history that the daemon refuses is well")
	}
	r = s.run(withHistory("files: [DIR/old/a, DIR/old/c, DIR/old/d], format: slurm-jobcomp"))
	want(t, r, "history.format", check.Failed, s.path("old/a")+" is in format pbs, but history.format is slurm-jobcomp")
	want(t, r, "history.format", check.Warning, s.path("old/d"))
}

// TestManyHistoryFiles proves that of many files with problems only some are named, and the rest are counted.
func TestManyHistoryFiles(t *testing.T) {
	s := historySite(t)
	for i := range 9 {
		s.write(fmt.Sprintf("old/%d", i), "no log\n", s.now)
	}
	r := s.run(withHistory("files: [DIR/old/*]"))
	want(t, r, "history.files", check.OK, "9 files", "0, 1, 2, ..., 8")
	want(t, r, "history.format", check.Failed, s.path("old/4"))
	want(t, r, "history.files", check.Warning, "4 further files")
	if text := render(t, r); strings.Contains(text, s.path("old/5")+" ") {
		t.Errorf("a sixth file is named:\n%s", text)
	}
}

// TestHistoryFilesAs proves that there are findings about files of a history that the service's user cannot read.
func TestHistoryFilesAs(t *testing.T) {
	if _, err := user.Lookup("nobody"); err != nil {
		t.Skip("the user nobody is missing")
	}
	s := historySite(t)
	s.write("old/a", jobs(20, s.now, time.UTC), s.now)
	r := check.Run(t.Context(), s.load(withHistory("files: [DIR/old/*]")), check.Options{As: "nobody"})
	want(t, r, "history.readable", check.Failed, "history: for nobody", "setfacl -m u:nobody")
	want(t, r, "history.format", check.OK, "1 pbs")
}
