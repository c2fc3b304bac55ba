package tail

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// numbers returns lines of ten bytes each, with the numbers from the first to the second one.
func numbers(from, to int) string {
	var b strings.Builder
	for n := from; n <= to; n++ {
		fmt.Fprintf(&b, "%09d\n", n)
	}
	return b.String()
}

// told returns the lines of numbers in the form in which a rig returns them. They are from a file with the given name,
// whose first line has the number first.
func told(name string, first, from, to int) string {
	var b strings.Builder
	for n := from; n <= to; n++ {
		fmt.Fprintf(&b, " %s:%d:%09d", name, n-first+1, n)
	}
	return b.String()
}

// mirror replaces files by new ones with the given contents, as on another host.
func (r *rig) mirror(files map[string]string) {
	r.t.Helper()
	for name, text := range files {
		r.ok(os.WriteFile(r.path(name+"~"), []byte(text), 0o644))
		r.rename(name+"~", name)
	}
}

// TestPositionOfAnotherHost proves that the position in a log is valid on a host where the files have other inodes and
// times, even if the log has been rotated and compressed since. No line is delivered twice.
func TestPositionOfAnotherHost(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log.1", numbers(1, 200))
		r.age("log.1", time.Hour)
		r.write("log", numbers(201, 350))
		r.want(told("log.1", 1, 1, 200) + told("log", 201, 201, 350))
		r.wantAfter(DefaultGrace+time.Second, "")
		r.close()
		r.mirror(map[string]string{"log.2": numbers(1, 200), "log.1": numbers(201, 420), "log": numbers(421, 430)})
		r.age("log.2", 3*time.Minute)
		r.gzip("log.2")
		r.age("log.1", 2*time.Minute)
		r.want(told("log.1", 201, 351, 420) + told("log", 421, 421, 430))
		r.start()
		r.want("")
	})
}

// TestCopyIsBehind proves that the tailer waits for copies that end before the position, even for finished files. No
// line is delivered twice, and no newer file is read before.
func TestCopyIsBehind(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log.1", numbers(1, 200))
		r.age("log.1", time.Hour)
		r.write("log", numbers(201, 350))
		r.want(told("log.1", 1, 1, 200) + told("log", 201, 201, 350))
		r.wantAfter(DefaultGrace+time.Second, "")
		r.close()
		r.mirror(map[string]string{"log.2": numbers(1, 150), "log.1": numbers(201, 340), "log": numbers(361, 400)})
		r.age("log.2", time.Hour)
		r.age("log.1", 2*time.Minute)
		r.want("", Behind, Behind)
		r.wantAfter(behindFor/2, "")
		if r.caughtUp || len(r.tailer.allStanding()) != 2 {
			t.Errorf("caught up: %v; standing: %v", r.caughtUp, r.tailer.allStanding())
		}
		r.write("log.2", numbers(151, 200))
		r.age("log.2", time.Hour)
		r.want("")
		r.write("log.1", numbers(341, 360))
		r.age("log.1", 2*time.Minute)
		r.want(told("log.1", 201, 351, 360) + told("log", 361, 361, 400))
		if left := r.tailer.allStanding(); len(left) != 0 {
			t.Errorf("standing: %v", left)
		}
		r.start()
		r.want("")
	})
}

// TestCopyStaysBehind proves that if a copy never reaches the position, the position counts as lost after a while, and
// the lines of the copy are delivered again.
func TestCopyStaysBehind(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", numbers(1, 200))
		r.want(told("log", 1, 1, 200))
		r.close()
		r.mirror(map[string]string{"log": numbers(1, 150)})
		r.want("", Behind)
		r.wantAfter(behindFor-time.Second, "")
		r.wantAfter(time.Second, "")
		r.want(told("log", 1, 1, 150), CheckpointLost)
		if left := r.tailer.allStanding(); len(left) != 0 {
			t.Errorf("standing: %v", left)
		}
	})
}

// TestAnotherLogIsNotBehind proves that another log in the place of the log that was read is no copy, so the tailer
// does not wait for it to grow.
func TestAnotherLogIsNotBehind(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", numbers(1, 200))
		r.want(told("log", 1, 1, 200))
		r.close()
		r.mirror(map[string]string{"log": numbers(3, 150)})
		r.want("")
		r.want(told("log", 3, 3, 150), CheckpointLost)
	})
}

// TestReplacedByLongerCopy covers a copy that replaces the log and has the missing rest of the log's last line. Reading
// continues in the copy immediately, because the old log, which is held open, will never get that rest.
func TestReplacedByLongerCopy(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", numbers(1, 200)+"0000")
		r.want(told("log", 1, 1, 200))
		r.mirror(map[string]string{"log.1": numbers(1, 210)})
		r.age("log.1", time.Minute)
		r.mirror(map[string]string{"log": numbers(211, 220)})
		r.want(told("log.1", 1, 201, 210) + told("log", 211, 211, 220))
		r.start()
		r.want("")
	})
}

// TestReplacedByCompressedCopy proves the same as TestReplacedByLongerCopy if the log was compressed on the other host
// before its rest arrived here. The compressed copy appears while the old log still exists, and at first looks like a
// copy of the file that is being read. Later it is the only file with the end of the last line.
func TestReplacedByCompressedCopy(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", numbers(1, 200)+"0000")
		r.want(told("log", 1, 1, 200))
		r.mirror(map[string]string{"whole": numbers(1, 210)})
		r.age("whole", time.Minute)
		r.gzip("whole")
		r.rename("whole.gz", "log.1.gz")
		r.want("", Copied)
		r.mirror(map[string]string{"log": numbers(211, 220)})
		r.want(told("log.1.gz", 1, 201, 210) + told("log", 211, 211, 220))
		r.start()
		r.want("")
	})
}
