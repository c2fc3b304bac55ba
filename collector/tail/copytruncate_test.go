package tail

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestCopyTruncate proves that when a followed log is copied and truncated, its unread rest is read in the copy, and
// then the log is read from its beginning.
func TestCopyTruncate(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n2\n")
		r.want("log:1:1 log:2:2")
		r.write("log", "3\n")
		r.copy("log", "log.1")
		r.ok(os.Truncate(r.path("log"), 0))
		r.want("log.1:3:3", Truncated)
		r.write("log", "4\n")
		r.want("log:1:4")
		r.start()
		r.want("")
		if n := testutil.ToFloat64(r.metrics.truncations.WithLabelValues("test")); n != 1 {
			t.Errorf("%v truncations counted, want 1", n)
		}
	})
}

// TestCopySeenBeforeTruncation proves that a copy that the tailer sees before the truncation does not count as a new
// file.
func TestCopySeenBeforeTruncation(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n2\n")
		r.want("log:1:1 log:2:2")
		r.write("log.1", "1\n") // the copying has begun
		r.want("", Copied)
		r.write("log", "3\n")
		r.copy("log", "log.1")
		r.ok(os.Truncate(r.path("log"), 0))
		r.write("log", "4\n")
		r.want("log.1:3:3 log:1:4", Truncated)
		r.start()
		r.want("")
	})
}

// TestCopyTruncateWhileDown covers a log that is copied and truncated twice while no tailer runs.
func TestCopyTruncateWhileDown(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n2\n")
		r.want("log:1:1 log:2:2")
		r.close()
		r.write("log", "3\n")
		r.copy("log", "log.1")
		r.ok(os.Truncate(r.path("log"), 0))
		r.write("log", "4\n")
		r.rename("log.1", "log.2")
		r.copy("log", "log.1")
		r.ok(os.Truncate(r.path("log"), 0))
		r.write("log", "5\n")
		r.want("log.2:3:3 log.1:1:4 log:1:5")
		r.start()
		r.want("")
	})
}

// TestTruncatedAndRegrown covers a log that was truncated and is longer than before at the next poll. The bytes before
// the offset then show the truncation.
func TestTruncatedAndRegrown(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n2\n")
		r.want("log:1:1 log:2:2")
		r.ok(os.WriteFile(r.path("log"), []byte("3\n4\n5\n"), 0o644))
		r.want("log:1:3 log:2:4 log:3:5", Truncated)
		r.close()
		r.ok(os.WriteFile(r.path("log"), []byte("6\n7\n8\n9\n"), 0o644))
		r.want("") // a second poll must also report the old content as missing
		r.want("log:1:6 log:2:7 log:3:8 log:4:9", Truncated)
	})
}

// TestBackupCopyIsLeftAlone proves that a copy that an administrator made beside the log is not read as a predecessor.
func TestBackupCopyIsLeftAlone(t *testing.T) {
	hazard(t, func(r *rig) {
		text := strings.Repeat("a line of some length\n", 100)
		r.write("log", text)
		r.poll(0)
		r.copy("log", "log.bak")
		r.write("log", "2\n")
		r.want("log:101:2", Copied)
		r.start()
		r.write("log", "3\n")
		r.want("log:102:3")
	})
}

// TestReadFurtherThanTheCopy covers a copy that is shorter than the content that was read, because lines were written
// after the copying and read before the truncation. Such a copy is not a new file, even if the tailer saw it during the
// copying. The same holds if no tailer ran at the truncation.
func TestReadFurtherThanTheCopy(t *testing.T) {
	long := strings.Repeat("long", headMax)
	for _, c := range []struct {
		name, line string
		down       bool
	}{{"short log", "short", false}, {"long log", long, false}, {"long log, down", long, true}} {
		t.Run(c.name, func(t *testing.T) {
			hazard(t, func(r *rig) {
				r.write("log", c.line+"\n2\n")
				r.want("log:1:" + c.line + " log:2:2")
				r.write("log.1", c.line+"\n") // the copying has begun
				r.want("", Copied)
				r.write("log.1", "2\n")
				r.write("log", "3\n")
				b, err := r.next() // an event of the log wakes the reader without a look at the names
				r.ok(err)
				if len(b.Lines) != 1 || string(b.Lines[0].Text) != "3" {
					t.Fatalf("read %v, want line 3", b.Lines)
				}
				r.ckpt = b.Checkpoint
				if c.down {
					r.close()
				}
				r.ok(os.Truncate(r.path("log"), 0))
				r.write("log", "4\n")
				if c.down {
					r.want("") // a second poll must also report the old content as missing
					r.want("log:1:4", Truncated, Copied)
				} else {
					r.want("log:1:4", Copied, Truncated)
				}
				r.start()
				r.write("log", "5\n")
				r.want("log:2:5")
			})
		})
	}
}
