package tail

import (
	"strings"
	"testing"
	"time"
)

// TestInodeReused proves that a new file with the inode of the deleted file in the checkpoint counts as another file,
// and that the loss is reported. File systems reuse inodes unpredictably, so the test changes the inode in the
// checkpoint to that of the new file.
func TestInodeReused(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n2\n")
		r.want("log:1:1 log:2:2")
		r.start()
		r.rename("log", "log.1")
		r.age("log.1", time.Minute)
		r.write("log.1", "3\n")
		r.write("log", "4\n5\n6\n")
		st, err := statPath(r.path("log"))
		r.ok(err)
		old := r.tailer.files[0]
		old.Dev, old.Ino = st.dev, st.ino
		r.want("log.1:3:3 log:1:4 log:2:5 log:3:6")
	})
}

// TestInodeReusedAndOldGone proves the same as TestInodeReused if the old file no longer exists.
func TestInodeReusedAndOldGone(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n2\n")
		r.want("log:1:1 log:2:2")
		r.close()
		r.remove("log")
		r.write("log", "4\n5\n6\n")
		r.want("")
		r.poll(time.Second)
		if got := strings.Join(r.lines, " "); got != "log:1:4 log:2:5 log:3:6" {
			t.Errorf("got %s", got)
		}
		if len(r.problems) != 1 || r.problems[0].Reason != Truncated && r.problems[0].Reason != CheckpointLost {
			t.Errorf("want the loss reported once, got %v", r.problems)
		}
	})
}

// TestSameContentOtherInode proves that reading continues in a log that was restored from a backup or moved to another
// disk: it has another inode and the same content.
func TestSameContentOtherInode(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n2\n")
		r.want("log:1:1 log:2:2")
		r.close()
		r.copy("log", "restored")
		r.rename("restored", "log")
		r.write("log", "3\n")
		r.want("log:3:3")
	})
}

// TestInodeOfFinishedReused proves that a compressed predecessor still counts as finished if the new log gets its
// former inode immediately after the compression.
func TestInodeOfFinishedReused(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log.1", "1\n2\n")
		r.age("log.1", time.Hour)
		r.write("log", "3\n")
		r.want("log.1:1:1 log.1:2:2 log:1:3")
		r.wantAfter(DefaultGrace, "")
		r.wantAfter(DefaultGrace, "")
		done := r.tailer.files[0]
		if !done.Done {
			t.Fatal("log.1 should be finished")
		}
		r.gzip("log.1")
		r.rename("log.1.gz", "log.2.gz")
		r.rename("log", "log.1")
		r.write("log", "")
		st, err := statPath(r.path("log"))
		r.ok(err)
		done.Dev, done.Ino = st.dev, st.ino
		r.want("")
		r.write("log", "4\n")
		r.want("log:1:4")
	})
}
