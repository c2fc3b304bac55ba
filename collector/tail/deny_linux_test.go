package tail

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

func setfsuid(id uintptr) { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, id, 0, 0) }

// deny makes a poll run without the right to read, even if root runs the test: on Linux a thread can give up its file
// rights.
func deny(r *rig) {
	r.t.Helper()
	if os.Getuid() != 0 {
		r.want("", Unreadable)
		r.want("")
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r.ok(os.Chmod(r.dir, 0o755))
	r.tailer.rescan = true
	setfsuid(65534)
	r.tailer.step()
	r.tailer.rescan = true
	r.tailer.step()
	setfsuid(0)
	if p := r.tailer.batch.Problems; len(p) != 1 || p[0].Reason != Unreadable {
		r.t.Fatalf("problems %v, want one unreadable", p)
	}
	r.clock.now = r.clock.now.Add(time.Second)
}

// TestImportPassesUnreadableFiles proves that many files that cannot be opened are tried once per listing, not once for
// each file that is read.
func TestImportPassesUnreadableFiles(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only the super-user can give up the right to read files, and take it back")
	}
	const n, denied = 200, 100
	hazard(t, func(r *rig) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		names := layouts(n)["directory"]
		r.archive("directory", names)
		r.ok(errors.Join(os.Chmod(r.dir, 0o755), os.Chmod(filepath.Dir(r.dir), 0o755)))
		for _, name := range names[:denied] {
			r.ok(os.Chmod(r.path(name), 0))
		}
		r.start()
		setfsuid(65534)
		lines := 0
		for caughtUp := false; !caughtUp; {
			b, err := r.tailer.Next(t.Context())
			r.ok(err)
			lines += len(b.Lines)
			r.ckpt, caughtUp = b.Checkpoint, b.CaughtUp
		}
		setfsuid(0)
		if w := r.tailer.work; lines != n-denied || w.opens > 2*n {
			t.Errorf("%d lines, %d opens for %d files", lines, w.opens, n)
		}
		r.start()
		r.poll(0)
		if len(r.lines) != denied {
			t.Errorf("%d lines when they can be opened, want %d", len(r.lines), denied)
		}
	})
}
