package tail

import (
	"strings"
	"testing"
)

// TestVeryLongLine proves that a line of MaxLine bytes is returned. A longer one is skipped and reported, however long
// it is and however slowly it is written, and the buffer does not grow with its length.
func TestVeryLongLine(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.MaxLine, r.cfg.BatchBytes = 100, 40
		fits := strings.Repeat("x", 100)
		r.write("log", fits+"\n"+fits+"\r\n"+fits+"y\n"+"2\n")
		r.want("log:1:"+fits+" log:2:"+fits+" log:4:2", LineTooLong)
		for range 50 {
			r.write("log", strings.Repeat("z", 1000))
			r.want("")
		}
		r.start()
		r.want("")
		r.write("log", "end\n6\n")
		r.want("log:6:6", LineTooLong)
		if n := r.problems[0].Number; n != 5 {
			t.Errorf("line %d, want 5", n)
		}
		if n := len(r.tailer.buf); n > 1000 {
			t.Errorf("buffer of %d bytes", n)
		}
		r.start()
		r.write("log", "7\n")
		r.want("log:7:7")
	})
}

// TestVeryLongLastLine proves that in one-shot mode a long last line without a newline is skipped, too.
func TestVeryLongLastLine(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.MaxLine, r.cfg.BatchBytes, r.cfg.OneShot = 100, 40, true
		r.write("log", "1\n"+strings.Repeat("z", 1000))
		r.want("log:1:1", LineTooLong)
	})
}
