package check

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMay proves the rule of path_resolution(7): only the first of the classes owner, group and others to which a user
// belongs counts. Root may do everything.
func TestMay(t *testing.T) {
	owner, member, other, root := &account{uid: 10}, &account{uid: 11, groups: []uint32{5, 20}},
		&account{uid: 12, groups: []uint32{6}}, &account{uid: 0}
	for _, c := range []struct {
		mode                       fs.FileMode
		owner, member, other, root bool
	}{
		{0o400, true, false, false, true}, {0o040, false, true, false, true}, {0o004, false, false, true, true},
		{0o640, true, true, false, true}, {0o044, false, true, true, true}, {0, false, false, false, true},
		{0o333, false, false, false, true},
	} {
		for a, want := range map[*account]bool{owner: c.owner, member: c.member, other: c.other, root: c.root} {
			list := modeACL(c.mode)
			if got := list.allows(a, 10, 20, mayRead); got != want {
				t.Errorf("%#o for uid %d: %v, want %v", c.mode, a.uid, got, want)
			}
		}
	}
}

// TestReaches proves that the check names a folder in the path that the user may not enter, even behind a link, and
// names none if there is none.
func TestReaches(t *testing.T) {
	dir := t.TempDir()
	nobody := &account{name: "x", uid: 4_000_000_000}
	inner := filepath.Join(dir, "shut", "open")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(inner, "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(log, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	chmod := func(path string, mode fs.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for p := dir; strings.HasPrefix(p, os.TempDir()) && p != os.TempDir(); p = filepath.Dir(p) {
		chmod(p, 0o755)
	}
	chmod(log, 0o644)
	if err := nobody.reaches(log, mayRead); err != nil {
		t.Skipf("the folder of temporary files cannot be entered by everybody: %v", err)
	}
	chmod(log, 0o640)
	if err := nobody.reaches(log, mayRead); err == nil ||
		!strings.Contains(err.Error(), log+" may not be read (mode 0640)") {
		t.Errorf("%v", err)
	}
	chmod(log, 0o644)
	chmod(filepath.Join(dir, "shut"), 0o750)
	for _, path := range []string{log, filepath.Join(dir, "link")} {
		if err := nobody.reaches(path, mayRead); err == nil ||
			!strings.Contains(err.Error(), filepath.Join(dir, "shut")+" may not be entered (mode 0750)") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := (&account{uid: 0}).reaches(log, mayRead); err != nil {
		t.Errorf("root: %v", err)
	}
	if err := nobody.reaches(filepath.Join(dir, "no"), mayRead); err == nil {
		t.Error("a file that is not there is reached")
	}
}

// TestLastLines proves that the last lines of a file are found for any number of lines, with and without a final line
// end, and across the borders of the blocks that are read. It compares with splitting the text.
func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", blockSize-3)
	for name, text := range map[string]string{
		"empty": "", "one": "a\n", "open end": "a\nb", "empty lines": "\n\n\n", "three": "a\nbb\nccc\n",
		"blocks": "a\n" + long + "\nb\n" + long + long + "\nc\n",
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(s string) bool { return s == "" })
		for n := 1; n <= len(all)+2; n++ {
			f := File{Path: path, Bytes: int64(len(text))}
			offset, lines, err := f.lastLines(n)
			if err != nil {
				t.Fatal(err)
			}
			wanted := all[max(0, len(all)-n):]
			if got := text[offset:]; got != strings.Join(wanted, "") || lines != len(wanted) {
				t.Errorf("%s, last %d: %d lines from %d, want %d from %d", name, n, lines, offset, len(wanted),
					len(text)-len(strings.Join(wanted, "")))
			}
		}
	}
}

// TestSpell checks the texts for durations, sizes and numbers.
func TestSpell(t *testing.T) {
	for got, want := range map[string]string{
		spell(59 * time.Second): "59 s", spell(90 * time.Second): "1 min 30 s", spell(25 * time.Hour): "1 d 1 h",
		spell(2*time.Hour + 3*time.Minute): "2 h 3 min",
		size(5):                            "5 B", size(1536): "1.5 KiB", size(20 << 20): "20 MiB",
		size(3 << 40): "3.0 TiB",
		thousands(7):  "7", thousands(1234567): "1,234,567", thousands(-1000): "-1,000", thousands(100): "100",
		plural(1, "job"): "1 job", plural(1000, "job"): "1,000 jobs",
		offsetText(5*time.Hour + 30*time.Minute): "+05:30", offsetText(-2 * time.Hour): "-02:00",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
