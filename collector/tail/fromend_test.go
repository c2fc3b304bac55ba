package tail

import (
	"testing"
	"time"
)

// TestFromEnd proves that reading from the end skips the existing content and reads everything after it, even if the
// file is rotated before its next line. If the last line is incomplete at the start, it is read as a whole.
func TestFromEnd(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.FromEnd = true
		r.write("log.1", "0\n")
		r.gzip("log.1")
		r.age("log.1.gz", time.Hour)
		r.write("log", "1\n2\nthr")
		r.want("")
		if r.ckpt == nil || !r.caughtUp {
			t.Fatal("the first batch must tell the place, or a restart would begin later")
		}
		r.close()
		r.write("log", "ee\n")
		r.rename("log.1.gz", "log.2.gz")
		r.rename("log", "log.1")
		r.write("log", "4\n")
		r.want("log.1:3:three log:1:4")
	})
}

// TestFromEndOfNothing proves that if no file exists at the start, all later content is new.
func TestFromEndOfNothing(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.FromEnd = true
		r.want("", Missing)
		r.close()
		r.write("log", "1\n")
		r.want("log:1:1")
	})
}

// TestFromEndOfDirectory proves the same as TestFromEnd for a directory.
func TestFromEndOfDirectory(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.FromEnd, r.cfg.Path = true, r.dir
		r.write("20261118", "a\n")
		r.write("20261119", "b\n")
		r.want("")
		r.start()
		r.write("20261119", "c\n")
		r.write("20261120", "d\n")
		r.want("20261119:2:c 20261120:1:d")
	})
}
