package tail

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestMissingThenAppearing proves that a missing file is reported once, and read when it appears.
func TestMissingThenAppearing(t *testing.T) {
	hazard(t, func(r *rig) {
		r.want("", Missing)
		if !r.caughtUp {
			t.Error("there is nothing to read")
		}
		r.wantAfter(time.Hour, "")
		r.write("log", "1\n")
		r.want("log:1:1")
		r.rename("log", "log.1")
		r.want("") // the moment of a rotation
		r.wantAfter(DefaultGrace, "", Missing)
		r.want("")
		r.write("log", "2\n")
		r.want("log:1:2")
	})
}

// TestReplacedByDirectory proves that a directory in place of the file is reported once, and that the file is read when
// it is back.
func TestReplacedByDirectory(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n")
		r.want("log:1:1")
		r.write("log", "2\n")
		r.rename("log", "kept")
		r.ok(mkdir(r.path("log")))
		r.want("log:2:2", IsDirectory)
		r.wantAfter(time.Hour, "")
		r.remove("log")
		r.rename("kept", "log")
		r.write("log", "3\n")
		r.want("log:3:3")
		r.start()
		r.want("")
	})
}

// TestNotMountedYet proves that the checkpoint is kept while no file exists because the log's file system is not
// mounted yet.
func TestNotMountedYet(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.Path = r.path("nfs/log")
		r.ok(mkdir(r.path("nfs")))
		r.write("nfs/log", "1\n")
		r.want("log:1:1")
		r.close()
		r.rename("nfs", "unmounted")
		r.ok(mkdir(r.path("nfs")))
		r.want("", Missing)
		r.wantAfter(time.Hour, "")
		r.start()
		r.want("", Missing)
		r.remove("nfs")
		r.rename("unmounted", "nfs")
		r.write("nfs/log", "2\n")
		r.want("log:2:2")
	})
}

// TestPipeInPlaceOfLog proves that a pipe in place of the log does not block the reader.
func TestPipeInPlaceOfLog(t *testing.T) {
	hazard(t, func(r *rig) {
		r.ok(syscall.Mkfifo(r.path("log"), 0o644))
		r.want("", NotRegular)
		r.want("")
		r.remove("log")
		r.write("log", "1\n")
		r.want("log:1:1")
	})
}

// TestUnreadable proves that a missing permission is reported once, and that the file is read from the right place when
// it becomes readable.
func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 && runtime.GOOS != "linux" {
		t.Skip("unreadable: the super-user can read everything")
	}
	hazard(t, func(r *rig) {
		r.write("log", "1\n")
		r.want("log:1:1")
		r.write("log", "2\n")
		r.close()
		r.ok(os.Chmod(r.path("log"), 0))
		r.start()
		deny(r)
		r.ok(os.Chmod(r.path("log"), 0o644))
		r.want("log:2:2")
	})
}
