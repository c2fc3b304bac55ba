package tail

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestRenameRotation proves that with rename-and-create the old file is read to its end before the new one, although
// the writer still wrote to the old one after the renaming.
func TestRenameRotation(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n2\n")
		r.want("log:1:1 log:2:2")
		r.rename("log", "log.1")
		r.write("log.1", "3\n")
		r.want("log.1:3:3")
		r.write("log.1", "4\n")
		r.write("log", "5\n")
		r.want("log.1:4:4 log:1:5")
		if n := testutil.ToFloat64(r.metrics.rotations.WithLabelValues("test", kindRename)); n != 1 {
			t.Errorf("%v renames counted, want 1", n)
		}
	})
}

// TestLateLinesInOldFile proves that lines that a second process still writes to the old file are read within the
// grace, and even after it as long as the file exists.
func TestLateLinesInOldFile(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n")
		r.want("log:1:1")
		r.rename("log", "log.1")
		r.write("log", "3\n")
		r.want("log:1:3")
		r.write("log.1", "2\n")
		r.want("log.1:2:2")
		r.wantAfter(DefaultGrace, "")
		r.wantAfter(DefaultGrace, "")
		if f := r.tailer.files[0]; !f.Done || f.src != nil {
			t.Fatal("the predecessor should be closed after the grace")
		}
		r.write("log.1", "4\n")
		r.want("log.1:3:4")
		r.start()
		r.want("")
	})
}

// TestDeletedWhileOpen proves that the rest of a deleted file is still read, because the file is held open.
func TestDeletedWhileOpen(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n")
		r.want("log:1:1")
		r.write("log", "2\n")
		r.remove("log")
		r.write("log", "3\n")
		r.want("log:2:2 log:1:3")
	})
}

// TestSeveralRotationsWhileDown proves that after several rotations while no tailer ran, every line is delivered once
// and in order.
func TestSeveralRotationsWhileDown(t *testing.T) {
	for _, from := range []string{"checkpoint", "nothing"} {
		t.Run(from, func(t *testing.T) {
			hazard(t, func(r *rig) {
				r.write("log.1", "0\n")
				r.age("log.1", 5*time.Hour)
				r.write("log", "1\n")
				if from == "checkpoint" {
					r.want("log.1:1:0 log:1:1")
					r.close()
				}
				r.write("log", "2\n")
				r.age("log", 4*time.Hour)
				r.rename("log.1", "log.2")
				r.rename("log", "log.1")
				r.write("log", "3\n")
				r.age("log", 3*time.Hour)
				r.rename("log.2", "log.3")
				r.rename("log.1", "log.2")
				r.rename("log", "log.1")
				r.write("log", "4\n")
				if from == "checkpoint" {
					r.want("log.2:2:2 log.1:1:3 log:1:4")
				} else {
					r.want("log.3:1:0 log.2:1:1 log.2:2:2 log.1:1:3 log:1:4")
				}
				r.start()
				r.want("")
			})
		})
	}
}

// TestManyPredecessors proves that many old files are read without having all of them open.
func TestManyPredecessors(t *testing.T) {
	hazard(t, func(r *rig) {
		want := ""
		for _, n := range []string{"09", "08", "07", "06", "05", "04", "03", "02", "01"} {
			r.write("log."+n, n+"\n")
			r.age("log."+n, 0)
			want += " log." + n + ":1:" + n
		}
		r.write("log", "00\n")
		r.want(want + " log:1:00")
		open := 0
		for _, f := range r.tailer.files {
			if f.src != nil {
				open++
			}
		}
		if open > windowSize {
			t.Errorf("%d files open, want at most %d", open, windowSize)
		}
	})
}

// TestManyFinishedPredecessors covers more finished predecessors than the checkpoint lists individually: the checkpoint
// is bounded, and no file is read again.
func TestManyFinishedPredecessors(t *testing.T) {
	hazard(t, func(r *rig) {
		const n = keepDone + 50
		for i := 1; i <= n; i++ {
			name := fmt.Sprintf("log.%d", i)
			r.write(name, strconv.Itoa(i)+"\n")
			r.age(name, time.Duration(i)*time.Minute)
		}
		r.write("log", "0\n")
		r.poll(0)
		if len(r.lines) != n+1 || r.lines[0] != fmt.Sprintf("log.%d:1:%d", n, n) {
			t.Fatalf("%d lines, the first %s", len(r.lines), r.lines[0])
		}
		if k := strings.Count(string(r.ckpt), `"ino"`); k > keepDone+windowSize {
			t.Errorf("the checkpoint holds %d files", k)
		}
		r.start()
		r.write("log", "-1\n")
		r.want("log:2:-1")
	})
}

// TestCheckpointLost proves that if the file of the checkpoint no longer exists, this is reported together with the
// tailer's assumption, and newer files are read.
func TestCheckpointLost(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n2\n")
		r.want("log:1:1 log:2:2")
		r.close()
		// the file still exists, so that the new file cannot have the same inode
		r.ok(os.Rename(r.path("log"), r.path("elsewhere")))
		r.write("log.7", "0\n")
		r.age("log.7", time.Hour)
		r.write("log", "3\n")
		r.want("") // a second poll must also report it as missing
		r.want("log:1:3", CheckpointLost)
		r.start()
		r.want("")
	})
}
