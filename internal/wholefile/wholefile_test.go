package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holds checks the only file of a folder, and its mode.
func holds(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	got, err := os.ReadFile(path)
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	if len(entries) != 1 || string(got) != content || info.Mode() != mode {
		t.Errorf("%q, mode %s, in a folder with %v; want %q, %s", got, info.Mode(), entries, content, mode)
	}
}

// begin creates a file as Create does, or as on a file system on which every file has a name.
func begin(t *testing.T, path string, named bool) *File {
	t.Helper()
	f, err := Create(path, 0o600)
	must(t, err)
	if named && f.temp == "" {
		must(t, f.name())
	}
	return f
}

// TestWhole proves that the old content stays until Finish, and after an error, that an existing file keeps its mode,
// and that nothing else remains in the folder.
func TestWhole(t *testing.T) {
	for _, named := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "x")
		f := begin(t, path, named)
		_, err := f.WriteString("one")
		must(t, f.Finish(err))
		holds(t, path, "one", 0o600)
		must(t, os.Chmod(path, 0o604))
		f = begin(t, path, named)
		_, err = f.WriteString("two")
		must(t, err)
		if !named { // a killed process leaves this
			holds(t, path, "one", 0o604)
		}
		broken := errors.New("broken")
		if err := f.Finish(broken); !errors.Is(err, broken) {
			t.Errorf("the error is %v", err)
		}
		holds(t, path, "one", 0o604)
		must(t, WriteBytes(path, 0o600, []byte("three")))
		holds(t, path, "three", 0o604)
		err = Write(path, 0o600, func(to io.Writer) error {
			_, err := to.Write([]byte("fo"))
			return errors.Join(err, broken)
		})
		if !errors.Is(err, broken) {
			t.Errorf("the error is %v", err)
		}
		holds(t, path, "three", 0o604)
	}
}

// TestNotRegular proves that a link stays a link, that a device is written, and that a folder is refused.
func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o600))
	must(t, os.Symlink(filepath.Join(dir, "x"), link))
	must(t, WriteBytes(link, 0o600, []byte("new")))
	holds(t, filepath.Join(dir, "x"), "new", 0o600)
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	must(t, WriteBytes(os.DevNull, 0o600, []byte("x")))
	if err := WriteBytes(dir, 0o600, nil); err == nil {
		t.Error("a folder was written")
	}
	if err := WriteBytes(filepath.Join(dir, "none", "x"), 0o600, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}
