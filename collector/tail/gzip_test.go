package tail

import (
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestGzipWhileDown proves that a rotated file that was compressed while no tailer ran is recognized by its content,
// and that reading continues at the offset. Finished files are not read again.
func TestGzipWhileDown(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log.1", "0\n")
		r.age("log.1", time.Hour)
		r.write("log", "1\n2\n")
		r.want("log.1:1:0 log:1:1 log:2:2")
		r.close()
		r.write("log", "3\n4\n")
		r.rename("log.1", "log.2")
		r.gzip("log.2")
		r.rename("log", "log.1")
		r.gzip("log.1")
		r.write("log", "5\n")
		r.want("log.1.gz:3:3 log.1.gz:4:4 log:1:5")
		r.start()
		r.want("")
		if n := testutil.ToFloat64(r.metrics.rotations.WithLabelValues("test", kindCompress)); n != 2 {
			t.Errorf("%v compressions counted, want 2", n)
		}
	})
}

// TestGzipWhileReading proves that no line is lost or repeated if a file is compressed while it is open and not yet
// read to its end, even if the tailer is killed immediately afterwards.
func TestGzipWhileReading(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.BatchLines = 1
		r.write("log", "1\n2\n3\n")
		r.start()
		b, err := r.next()
		r.ok(err)
		if string(b.Lines[0].Text) != "1" {
			t.Fatalf("got %q", b.Lines[0].Text)
		}
		r.rename("log", "log.1")
		r.gzip("log.1")
		r.write("log", "4\n")
		r.tailer.rescan = true
		b, err = r.next()
		r.ok(err)
		if string(b.Lines[0].Text) != "2" {
			t.Fatalf("got %q", b.Lines[0].Text)
		}
		r.ckpt = b.Checkpoint
		r.start()
		r.want("log.1.gz:3:3 log:1:4")
	})
}

// TestGzipInProgress proves that the original is read while gzip still writes the compressed file beside it.
func TestGzipInProgress(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log.1", "1\n")
		r.write("log.1.gz", "\x1f\x8b") // gzip has just begun
		r.write("log", "2\n")
		r.want("log.1:1:1 log:1:2")
		r.remove("log.1.gz")
		r.gzip("log.1")
		r.want("")
	})
}

// TestGzipDamaged proves that a damaged archive is reported once and does not keep other files from being read.
func TestGzipDamaged(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log.1", "1\n")
		r.gzip("log.1")
		b, err := os.ReadFile(r.path("log.1.gz"))
		r.ok(err)
		r.ok(os.WriteFile(r.path("log.1.gz"), b[:8], 0o644))
		r.write("log", "2\n")
		r.want("log:1:2", Unreadable)
		r.want("")
		r.ok(os.WriteFile(r.path("log.1.gz"), b, 0o644))
		r.want("log.1.gz:1:1")
	})
}
