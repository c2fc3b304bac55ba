package tail

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// layouts returns the names of n files in reading order, for the two ways in which many old files are kept.
func layouts(n int) map[string][]string {
	dated, rotated := make([]string, n), make([]string, n)
	for i := range n {
		dated[i] = fmt.Sprintf("%08d", 20000000+i)
		rotated[i] = fmt.Sprintf("log.%d", n-1-i)
	}
	rotated[n-1] = "log"
	return map[string][]string{"directory": dated, "rotated": rotated}
}

// archive writes one file for each name, with one line: the index of the file. The files are an hour apart. For the
// layout "directory" the configuration then names their folder.
func (r *rig) archive(layout string, names []string) {
	r.t.Helper()
	for i, name := range names {
		r.write(name, strconv.Itoa(i)+"\n")
		r.at(time.Unix(900_000_000+3600*int64(i), 0), name)
	}
	if layout == "directory" {
		r.cfg.Path = r.dir
	}
}

// take takes n batches of one line each, and checks that their lines are line, line+1 and so on.
func (r *rig) take(line, n int) {
	r.t.Helper()
	for i := range n {
		b, err := r.next()
		r.ok(err)
		if len(b.Lines) != 1 || string(b.Lines[0].Text) != strconv.Itoa(line+i) {
			r.t.Fatalf("got %d lines, want the line %d; %v", len(b.Lines), line+i, b.Problems)
		}
		r.ckpt = b.Checkpoint
	}
}

// TestImportIsLinear proves that an import opens every file once, that the number of listings and examinations of all
// files does not depend on the number of files, and that the checkpoint does not grow with it.
func TestImportIsLinear(t *testing.T) {
	const few, many = 100, 800
	type cost struct {
		work
		ckpt int
	}
	costs := make(map[string]cost)
	for _, n := range []int{few, many} {
		for layout, names := range layouts(n) {
			t.Run(fmt.Sprintf("%s/%d", layout, n), func(t *testing.T) {
				hazard(t, func(r *rig) {
					r.archive(layout, names)
					r.start()
					var c cost
					for i := range n {
						r.take(i, 1)
						c.ckpt = max(c.ckpt, len(r.ckpt))
					}
					r.poll(0)
					c.work = r.tailer.work
					if costs[t.Name()] = c; c.opens > n {
						t.Errorf("%d opens of %d files", c.opens, n)
					}
					if c.listings > 10 {
						t.Errorf("%d listings", c.listings)
					}
					if c.stats > 10*n {
						t.Errorf("%d times the state of a file was asked for, of %d files", c.stats, n)
					}
				})
			})
		}
	}
	for layout := range layouts(1) {
		a := costs[fmt.Sprintf("%s/%s/%d", t.Name(), layout, few)]
		b := costs[fmt.Sprintf("%s/%s/%d", t.Name(), layout, many)]
		if b.ckpt > a.ckpt+a.ckpt/10 {
			t.Errorf("%s: checkpoint of %d bytes for %d files, %d bytes for %d", layout, a.ckpt, few, b.ckpt, many)
		}
	}
}

// TestRestartsInImport proves that if an import is killed again and again, no line is repeated or missing, and each
// start opens only unfinished files.
func TestRestartsInImport(t *testing.T) {
	const n, step = 600, 50
	for layout, names := range layouts(n) {
		t.Run(layout, func(t *testing.T) {
			hazard(t, func(r *rig) {
				r.archive(layout, names)
				for i := 0; i < n; i += step {
					r.start()
					r.take(i, step)
					if w := r.tailer.work; w.opens > step+2*windowSize || w.listings > 10 {
						t.Errorf("from file %d on: %d opens and %d listings for %d files", i, w.opens, w.listings, step)
					}
				}
				r.start()
				r.want("")
				if w := r.tailer.work; w.opens > windowSize {
					t.Errorf("%d opens after the end", w.opens)
				}
			})
		})
	}
}

// TestRestartInImportWithFilesGone proves that after a restart in the middle of an import, missing files are searched
// by content. For this each other file is opened once, not once for each missing file.
func TestRestartInImportWithFilesGone(t *testing.T) {
	const n, before = 300, 150
	names := layouts(n)["rotated"]
	hazard(t, func(r *rig) {
		r.archive("rotated", names)
		r.start()
		r.take(0, before)
		r.close()
		for _, name := range names[:before-windowSize] {
			r.remove(name)
		}
		r.start()
		r.take(before, n-before)
		if opens := r.tailer.work.opens; opens > 4*(n-before) {
			t.Errorf("%d opens of %d files", opens, n-before)
		}
	})
}

// TestImportPassesBadFiles proves that old files that are damaged, empty or cannot be opened do not stop the import of
// the others. The checkpoint stays bounded, and the tailer does not try these files again and again. When the files are
// repaired they are read, even after a restart.
func TestImportPassesBadFiles(t *testing.T) {
	const n, bad = 300, 40
	for layout, names := range layouts(n) {
		t.Run(layout, func(t *testing.T) {
			hazard(t, func(r *rig) {
				r.archive(layout, names)
				at := time.Unix(900_000_000+3600*bad, 0)
				r.gzip(names[bad])
				sound, err := os.ReadFile(r.path(names[bad] + ".gz"))
				r.ok(err)
				r.ok(os.WriteFile(r.path(names[bad]+".gz"), sound[:12], 0o644))
				r.at(at, names[bad]+".gz")
				r.at(at, names[bad+1]) // a finished file of the same instant must not come again
				for _, i := range []int{20, 60, 61, 62} {
					r.ok(os.Truncate(r.path(names[i]), 0))
					r.at(time.Unix(900_000_000+3600*int64(i), 0), names[i])
				}
				r.start()
				r.poll(0)
				if len(r.lines) != n-5 || len(r.problems) != 1 || r.problems[0].Reason != Unreadable {
					t.Fatalf("%d lines of %d, %v", len(r.lines), n-5, r.problems)
				}
				if k := strings.Count(string(r.ckpt), `"ino"`); k > keepDone+windowSize {
					t.Errorf("the checkpoint holds %d files", k)
				}
				if w := r.tailer.work; w.opens > n+4*windowSize || w.stats > 10*n {
					t.Errorf("%d opens, %d stats for %d files", w.opens, w.stats, n)
				}
				r.start()
				r.want("", Unreadable)
				r.start()
				r.ok(os.WriteFile(r.path(names[bad]+".gz"), sound, 0o644))
				r.at(at, names[bad]+".gz")
				r.want(filepath.Base(names[bad]) + ".gz:1:" + strconv.Itoa(bad))
				r.want("")
				r.start()
				r.want("")
				if strings.Contains(string(r.ckpt), "behind") {
					t.Errorf("the mended file is still an exception: %s", r.ckpt)
				}
			})
		})
	}
}

// TestImportOfEmptyFiles proves that empty files among the old ones are examined only by listings.
func TestImportOfEmptyFiles(t *testing.T) {
	const n = 400
	for layout, names := range layouts(n) {
		t.Run(layout, func(t *testing.T) {
			hazard(t, func(r *rig) {
				r.archive(layout, names)
				for i := 0; i < n-2; i++ {
					if i%4 != 0 {
						r.ok(os.Truncate(r.path(names[i]), 0))
						r.at(time.Unix(900_000_000+3600*int64(i), 0), names[i])
					}
				}
				r.start()
				r.poll(0)
				if len(r.lines) != n/4+2 || !r.caughtUp {
					t.Fatalf("%d lines, caught up %v", len(r.lines), r.caughtUp)
				}
				if w := r.tailer.work; w.stats > 10*n {
					t.Errorf("%d stats for %d files", w.stats, n)
				}
			})
		})
	}
}

// TestSlowListingsLeaveTimeToRead proves that while there is much to read, slow listings do not follow one another
// without pause, although polls are due.
func TestSlowListingsLeaveTimeToRead(t *testing.T) {
	const n = 30
	hazard(t, func(r *rig) {
		r.archive("directory", layouts(n)["directory"])
		r.start()
		r.take(0, 1)
		r.tailer.scanCost = 2 * time.Second
		before := r.tailer.work.listings
		for i := 1; i < n; i++ {
			r.clock.now = r.clock.now.Add(time.Second)
			r.clock.tick <- r.clock.now
			r.take(i, 1)
			if looks := r.tailer.work.listings; i < 20 && looks > before || i == 20 && looks == before {
				t.Fatalf("%d listings after %d s", looks-before, i)
			}
		}
	})
}
