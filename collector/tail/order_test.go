package tail

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// at sets the modification times of files to one instant.
func (r *rig) at(when time.Time, names ...string) {
	r.t.Helper()
	for _, name := range names {
		r.ok(os.Chtimes(r.path(name), when, when))
	}
}

// one takes one batch, compares its lines with the wanted ones, and keeps its checkpoint.
func (r *rig) one(want string) {
	r.t.Helper()
	r.tailer.rescan = true
	b, err := r.next()
	r.ok(err)
	if len(b.Lines) != 1 || string(b.Lines[0].Text) != want {
		r.t.Fatalf("got %d lines, want the line %q", len(b.Lines), want)
	}
	r.ckpt = b.Checkpoint
}

// TestOrderOfFilesHeldOpenWithoutName covers two rotations within one tick of the file system's clock. Then both files
// are compressed while the newer one is held open under a deleted name. The newer file must still come after its
// predecessor, which has a new name.
func TestOrderOfFilesHeldOpenWithoutName(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", killed), func(t *testing.T) {
			hazard(t, func(r *rig) {
				tick := time.Unix(1_000_000_000, 0)
				r.cfg.BatchLines = 1
				r.write("log", "1\n2\n3\n")
				r.start()
				r.one("1")
				r.rename("log", "log.1")
				r.write("log", "4\n5\n")
				r.at(tick, "log", "log.1")
				if killed {
					r.start()
				}
				r.one("2") // log is open now
				r.rename("log.1", "log.2")
				r.rename("log", "log.1")
				r.gzip("log.2")
				r.gzip("log.1")
				r.write("log", "6\n")
				r.want("log.2.gz:3:3 log:1:4 log:2:5 log:1:6")
				r.start()
				r.want("")
			})
		})
	}
}

// TestLateLineBeforeUnreadSuccessor proves that a late line in an older file is read before the unread rest of its
// successor, although the older file then has the later modification time. The same holds after a restart.
func TestLateLineBeforeUnreadSuccessor(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", killed), func(t *testing.T) {
			hazard(t, func(r *rig) {
				r.cfg.BatchLines = 1
				r.write("log.2", "1\n")
				r.age("log.2", 2*time.Hour)
				r.write("log.1", "2\n4\n")
				r.age("log.1", time.Hour)
				r.write("log", "5\n")
				r.start()
				r.one("1")
				r.one("2")
				r.write("log.2", "3\n")
				r.at(time.Now().Add(time.Hour), "log.2")
				if killed {
					r.start()
				}
				r.want("log.2:2:3 log.1:2:4 log:1:5")
				r.start()
				r.want("")
			})
		})
	}
}

// TestByAge proves the order of files: by their modification times; at equal times, by name with numbers descending (0
// is the newest) and dates ascending. It depends neither on the order in which files were found nor on their
// directories.
func TestByAge(t *testing.T) {
	want := strings.Fields("/z/log.3 /old/log.10 /old/log.2.gz /old/log.1 /old/log.0 /z/log-20261118.gz " +
		"/a/log-20261119 /z/log-20261120 /a/log")
	files := make([]candidate, len(want))
	for i, path := range want {
		files[i] = candidate{path: path, st: status{mtime: 7}, primary: path == "/a/log", last: path == "/a/log"}
	}
	files[0].st.mtime = 6
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		slices.SortFunc(files, byAge)
		for i, c := range files {
			if c.path != want[i] {
				t.Fatalf("place %d has %s, want %s", i, c.path, want[i])
			}
		}
	}
	for _, a := range files {
		for _, b := range files {
			if sign := byAge(a, b); sign != -byAge(b, a) || (sign == 0) != (a.path == b.path) {
				t.Errorf("%s and %s compare %d, the other way round %d", a.path, b.path, sign, byAge(b, a))
			}
		}
	}
}

// TestKilledAmongFilesOfOneInstant covers a kill among files with the same modification time, as after an archive was
// copied without its times. There are more such files than the checkpoint lists individually. No file counts as
// finished only because another file of the same time is.
func TestKilledAmongFilesOfOneInstant(t *testing.T) {
	const n = keepDone + 30
	for _, before := range []int{keepDone + 15, n - 2, n - 1, n} {
		t.Run(fmt.Sprintf("killed after %d", before), func(t *testing.T) {
			hazard(t, func(r *rig) {
				for i := n; i > 0; i-- {
					name := fmt.Sprintf("log.%d", i)
					r.write(name, fmt.Sprintf("%d\n", i))
					r.at(time.Unix(1_000_000_000, 0), name)
				}
				r.write("log", "0\n")
				r.start()
				for i := range before {
					r.one(fmt.Sprint(n - i))
				}
				r.start()
				r.poll(time.Second)
				for i, line := range r.lines {
					if want := fmt.Sprint(n - before - i); !strings.HasSuffix(line, ":"+want) {
						t.Fatalf("line %d after the kill is %s, want %s", i, line, want)
					}
				}
				if len(r.lines) != n-before+1 {
					t.Fatalf("%d lines after the kill, want %d", len(r.lines), n-before+1)
				}
				if len(r.problems) > 0 {
					t.Error(r.problems)
				}
			})
		})
	}
}
