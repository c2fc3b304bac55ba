package daemon_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore/postgres"
)

// mirrorLog updates a folder to the content of a log's folder, as on a second host that gets the same lines and rotates
// by itself: lines are appended to files that grew, the log is renamed when it is complete, and other files are written
// again.
func mirrorLog(t *testing.T, from, to string) {
	t.Helper()
	names := func(dir string) map[string]os.FileInfo {
		entries, err := os.ReadDir(dir)
		must(t, err)
		all := map[string]os.FileInfo{}
		for _, e := range entries {
			info, err := e.Info()
			must(t, err)
			all[e.Name()] = info
		}
		return all
	}
	readAll := func(path string) string {
		data, _ := os.ReadFile(path) // empty if the file does not exist
		return string(data)
	}
	there, here := names(from), names(to)
	gone := maps.Clone(here)
	var changed []string
	for name, info := range there {
		old, ok := here[name]
		delete(gone, name)
		if !ok || old.Size() != info.Size() || !old.ModTime().Equal(info.ModTime()) {
			changed = append(changed, name)
		}
	}
	slices.SortFunc(changed, func(a, b string) int { // "accounting-00001.gz", "accounting-00002", "accounting"
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, name := range changed {
		data, err := os.ReadFile(filepath.Join(from, name))
		must(t, err)
		path, at := filepath.Join(to, name), there[name].ModTime()
		if log := filepath.Join(to, "accounting"); here[name] == nil && strings.HasPrefix(string(data), readAll(log)) {
			_ = os.Rename(log, path) // the log may not exist
		}
		if old, err := os.ReadFile(path); err == nil && bytes.HasPrefix(data, old) {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.Write(data[len(old):])
			must(t, errors.Join(err, f.Close(), os.Chtimes(path, at, at)))
			continue
		}
		write(t, filepath.Join(to, ".copy"), string(data))
		must(t, os.Chtimes(filepath.Join(to, ".copy"), at, at))
		must(t, os.Rename(filepath.Join(to, ".copy"), path))
	}
	for name := range gone {
		must(t, os.Remove(filepath.Join(to, name)))
	}
}

// TestTakeoverOnAnotherHost kills a daemon in the middle of a log. A daemon on another host, whose copies of the log
// have other inodes, takes over, and later the first host takes over again, although the log was rotated and compressed
// in between. The test proves that the daemon waits for copies that are shorter than the part that the killed daemon
// had read, that every line is in the journal or the quarantine once and in order, and that the state is that of a
// daemon that read the same lines from one file.
func TestTakeoverOnAnotherHost(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector; left out by -short")
	}
	t.Parallel() // the test waits for leases most of the time
	database := pgtest.New(t, pgtest.Options{}).NewDatabase(t)
	seed := killSeed(t)
	rng := rand.New(rand.NewPCG(seed, 5))
	style := rotationStyle{open: func(w *rotatingWriter) { w.reopen(w.path) }, rotate: (*rotatingWriter).renameZip,
		step: (*rotatingWriter).zipSome}
	w := newRotatingWriter(t, style, seed, 450, 25) // on the scheduler's host
	w.perStep = 4
	var hosts [2]*member
	var folders [2]string
	for i := range hosts {
		folders[i] = t.TempDir()
		hosts[i] = sharing(t, database, "main", filepath.Join(folders[i], "accounting"))
		edit(t, hosts[i].file, "lease: 1500ms", "lease: 3s")
	}
	copyTo := func(i int) { mirrorLog(t, w.dir, folders[i]) }
	holder := 0
	grow := func(lines int) { // the standby gets everything first, so that its copy is never behind
		for until := len(w.written) + lines; len(w.written) < until && w.left(); {
			w.grant(1)
			copyTo(1 - holder)
			copyTo(holder)
		}
	}
	takeOver := func(meanwhile func()) {
		must(t, hosts[holder].cmd.Process.Kill())
		_ = hosts[holder].cmd.Wait()                                 // "signal: killed"
		must(t, os.Rename(folders[holder], folders[holder]+".down")) // the disk of its host has gone too
		meanwhile()
		holder = 1 - holder
		eventually(t, "the other host takes over", hosts[holder].collects)
	}
	comeBack := func() { // only once the holder's position has inodes of its own files: here both hosts share a disk
		must(t, os.Rename(folders[1-holder]+".down", folders[1-holder]))
		hosts[1-holder].start()
	}
	hosts[0].start()
	eventually(t, "the first host collects", hosts[0].collects)
	hosts[1].start()
	store, err := postgres.Open(t.Context(), database, postgres.Options{Space: "main", ReadOnly: true})
	must(t, err)
	read := func() { // all lines are committed
		t.Helper()
		info, err := os.Stat(w.path)
		must(t, err)
		if info.Size() == 0 { // a file that was just begun has no position to wait for
			w.line()
			w.finishLine()
			copyTo(holder)
			info, err = os.Stat(w.path)
			must(t, err)
		}
		position := fmt.Sprintf(`/accounting","dev":[0-9]+,"ino":[0-9]+,"offset":%d,`, info.Size())
		eventually(t, "all lines are read", func() bool {
			all, err := store.Checkpoints(t.Context())
			must(t, err)
			return regexp.MustCompile(position).Match(all["main/accounting"])
		})
	}
	for range 2 {
		grow(50 + rng.IntN(50))
		<-time.After(time.Duration(rng.Int64N(int64(100 * time.Millisecond)))) // at a random instant of its work
		takeOver(func() {
			for before := w.rotated; w.rotated == before; {
				w.grant(1)
			}
			copyTo(1 - holder)
		})
		w.finishLine()
		copyTo(holder)
		read()
		comeBack()
		grow(20)
	}
	w.style.rotate = nil
	grow(40) // more than the beginning by which a file is recognized
	for until := len(w.written) + 30; len(w.written) < until; {
		w.grant(1)
	}
	w.finishLine()
	copyTo(holder)
	read()
	takeOver(func() {})
	eventually(t, "it waits for its copy", func() bool {
		return strings.Contains(fetch(hosts[holder].url+"/readyz"), "accounting: a copy of ")
	})
	copyTo(holder)
	read()
	comeBack()
	copyTo(1 - holder)
	w.style.rotate = (*rotatingWriter).renameZip
	grow(w.lines)
	w.finishLine()
	copyTo(1 - holder)
	copyTo(holder)
	read()
	hosts[1-holder].end(syscall.SIGTERM)
	hosts[holder].end(syscall.SIGTERM)
	got := keptIn(t, store)
	must(t, store.Close())
	lines, lost := w.prove(&got)
	t.Logf("%d lines in %d files, %d lost", len(w.written), w.rotated+1, lost)
	if lost > 0 || w.rotated < 6 {
		t.Errorf("%d lines are lost, %d rotations", lost, w.rotated)
	}
	compareCalm(t, &got, lines)
}

// longLease is a lease that is long enough for its holder to renew it in time even on a busy machine.
const longLease = 8 * time.Second

// TestTakeoverBeforeAnythingIsStored proves that a daemon takes over from one that was killed just after it had
// acquired the first lease, when no answer is possible yet.
func TestTakeoverBeforeAnythingIsStored(t *testing.T) {
	t.Parallel() // the test waits for a lease
	database := pgtest.New(t, pgtest.Options{}).NewDatabase(t)
	log := filepath.Join(t.TempDir(), "accounting")
	write(t, log, text(workload(t, 33, 20)))
	killed, err := postgres.Open(t.Context(), database, postgres.Options{Space: "main"})
	must(t, err)
	lease, err := killed.Acquire(t.Context(), "a daemon that will be killed", longLease)
	must(t, err)
	alive, kill := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- lease.Keep(alive) }()
	m := sharing(t, database, "main", log)
	m.start()
	if m.collects() {
		t.Error("it collects while another daemon holds the lease")
	}
	kill()
	must(t, <-kept)
	eventually(t, "it takes over", m.collects)
	must(t, killed.Close())
	m.end(syscall.SIGTERM)
}
