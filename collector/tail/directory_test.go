package tail

import (
	"strings"
	"testing"
)

// TestDateNamedDirectory proves that date-named files (PBS) are read in lexical order, each once, even with restarts.
// The checkpoint does not grow with the number of finished days.
func TestDateNamedDirectory(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.Path, r.cfg.Pattern = r.dir, "2026*"
		r.write("README", "no\n")
		r.write("20261118", "a\n")
		r.write("20261119", "b\n")
		r.want("20261118:1:a 20261119:1:b")
		r.start()
		r.write("20261119", "c\n")
		r.write("20261120", "d\n")
		r.write("20261121", "e\n")
		r.want("20261119:2:c 20261120:1:d 20261121:1:e")
		r.wantAfter(DefaultGrace, "")
		r.gzip("20261118")
		r.gzip("20261119")
		r.write("20261121", "f\n")
		r.want("20261121:2:f")
		if n := strings.Count(string(r.ckpt), "2026112"); n != 2 || strings.Contains(string(r.ckpt), "20261119") {
			t.Errorf("checkpoint should hold the newest file and the low-water mark only: %s", r.ckpt)
		}
	})
}

// TestDirectoryGzipWhileDown proves that if the current file was compressed while no tailer ran, reading continues in
// the compressed file.
func TestDirectoryGzipWhileDown(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.Path = r.dir // a directory without a pattern takes all names
		r.write("20261118", "a\nb\n")
		r.want("20261118:1:a 20261118:2:b")
		r.close()
		r.write("20261118", "c\n")
		r.gzip("20261118")
		r.write("20261119", "d\n")
		r.want("20261118.gz:3:c 20261119:1:d")
		r.start()
		r.want("")
	})
}

// TestDirectoryMissing proves that a directory that does not exist yet is reported once, and read when it appears.
func TestDirectoryMissing(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.Path, r.cfg.Pattern = r.path("acct"), "*"
		r.want("", Missing)
		r.want("")
		r.ok(mkdir(r.path("acct")))
		r.write("acct/20261118", "a\n")
		r.want("20261118:1:a")
	})
}
