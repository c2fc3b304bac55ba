package tail

import (
	"os"
	"testing"
	"time"
)

func (r *rig) patch(name string, off int64, text string) {
	r.t.Helper()
	f, err := os.OpenFile(r.path(name), os.O_WRONLY, 0)
	r.ok(err)
	_, err = f.WriteAt([]byte(text), off)
	r.ok(err)
	r.ok(f.Close())
}

// TestNulRunIsNotYet proves that NUL bytes at the end of a file count as data that has not arrived yet.
func TestNulRunIsNotYet(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "one\nt\x00\x00\x00\x00\x00\x00\x00")
		r.want("log:1:one")
		r.wantAfter(time.Hour, "")
		r.start()
		r.wantAfter(time.Hour, "")
		r.patch("log", 4, "two\nsix\n")
		r.want("log:2:two log:3:six")
	})
}

// TestNulHoleFilled proves that the tailer also waits for a run of NUL bytes that is followed by lines, and that the
// lines are read in order if the run is filled in time.
func TestNulHoleFilled(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "one\n\x00\x00\x00\x00six\n")
		r.want("log:1:one")
		r.wantAfter(DefaultGrace/2, "")
		r.patch("log", 4, "two\n")
		r.want("log:2:two log:3:six")
	})
}

// TestNulHoleStays proves that a run of NUL bytes that is not filled in time is reported, and skipped up to the next
// line. A restart does not go back to it, even if it is filled later.
func TestNulHoleStays(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "one\n\x00\x00\x00\x00rest\nthree\n")
		r.want("log:1:one")
		if r.caughtUp {
			t.Error("the end counts as reached, although lines stand behind the run")
		}
		r.wantAfter(DefaultGrace, "log:3:three", NulBytes)
		if !r.caughtUp {
			t.Error("the end does not count as reached after the run was skipped")
		}
		if r.problems[0].Number != 2 {
			t.Errorf("line %d, want 2", r.problems[0].Number)
		}
		r.close()
		r.patch("log", 4, "late")
		r.write("log", "four\n")
		r.want("log:4:four")
	})
}

// TestNulHoleHuge proves that a run of NUL bytes larger than any buffer (a truncated log whose writer did not append)
// is skipped without being held in memory.
func TestNulHoleHuge(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "one\n")
		r.ok(os.Truncate(r.path("log"), 64<<20))
		r.write("log", "rest\nthree\n")
		r.want("log:1:one")
		r.wantAfter(DefaultGrace, "log:3:three", NulBytes)
		if n := len(r.tailer.buf); n > 2*DefaultMaxLine {
			t.Errorf("buffer grew to %d bytes", n)
		}
	})
}

// TestManyHoles proves that the tailer waits once for all runs of NUL bytes that existed when it found the first one,
// not for one run after the other. The report has the beginnings of the lines.
func TestManyHoles(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n2\x00\n3\n\x004\n5\n\x00\x00\n")
		r.want("log:1:1")
		r.wantAfter(DefaultGrace, "log:3:3 log:5:5", NulBytes, NulBytes, NulBytes)
		if got := string(r.problems[0].Text); got != "2\x00" {
			t.Errorf("the first skipped line is %q", got)
		}
		r.write("log", "7\n\x00\n9\n") // a new hole has to wait
		r.want("log:7:7")
	})
}
