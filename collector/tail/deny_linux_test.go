package tail

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// deny lets a poll run without the right to read, also where the test is the
// super-user's: on Linux a thread can give its file rights away.
func deny(r *rig) {
	r.t.Helper()
	if os.Getuid() != 0 {
		r.want("", Unreadable)
		r.want("")
		return
	}
	setfsuid := func(id uintptr) {
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, id, 0, 0)
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
