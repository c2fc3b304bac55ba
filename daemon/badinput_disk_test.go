package daemon_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// smallDisk mounts a file system in memory with a limited size until the test ends.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("needs root on Linux, to mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("waitcast-test", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("this machine does not let root mount a file system: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, 0)) })
	return dir
}

// TestDiskFull proves on a file system that is really full that the daemon continues to serve, reports in its log and
// in the metrics that it cannot write, reads everything when there is room again, and finally has the same data as
// without the disturbance.
func TestDiskFull(t *testing.T) {
	dir := smallDisk(t, "size=8m")
	log := filepath.Join(t.TempDir(), "accounting")
	s := siteOn(t, log, "")
	edit(t, s.config, "data_dir: \""+s.dir+"\"", "data_dir: \""+dir+"\"")
	s.db = filepath.Join(dir, filepath.Base(s.db))
	history := workload(t, 5, 600)
	quarter, half := len(history)/4, len(history)/2
	s.add(t, text(history[:quarter]))
	d := s.start(t)
	d.caughtUp()
	balloon := filepath.Join(dir, "balloon")
	fill(t, balloon)
	s.add(t, text(history[quarter:half]))
	d.wantLog("cannot write the database", "full")
	failures := "waitcast_store_errors_total"
	d.eventually("failures counted", func() bool { v := d.metric(failures); return v != "" && v != "0" })
	for _, path := range []string{"/healthz", "/v1/queues", "/v1/wait?queue=short&procs=4"} {
		if status, body := d.get(path); status != http.StatusOK {
			t.Errorf("%s on a full disk: %d %s", path, status, body)
		}
	}
	d.eventually("readiness tells of it", func() bool {
		_, ready := d.get("/readyz")
		return strings.HasPrefix(ready, "degraded\nstore_failing: "+s.db+": cannot write the database: ") &&
			d.metric("waitcast_store_failing") == "1"
	})
	s.add(t, text(history[half:]))
	must(t, os.Remove(balloon))
	d.eventually("the lines that waited", func() bool { return d.Views()[0].At.Equal(history[len(history)-1].at) })
	d.caughtUp()
	if _, ready := d.get("/readyz"); strings.TrimSpace(ready) != "ready" {
		t.Errorf("with room again: %s", ready)
	}
	d.stop()

	got := s.kept(t)
	calm := newSite(t, "accounting", "")
	calm.add(t, text(history))
	c := calm.start(t)
	c.caughtUp()
	c.stop()
	want := calm.kept(t)
	check(t, "journal", got.Entries, want.Entries, cmpopts.IgnoreFields(job.Event{}, "Live"))
	check(t, "ledger", got.Rows, want.Rows, cmpopts.IgnoreFields(modelstore.Row{}, "Replayed", "Served"),
		cmpopts.EquateNaNs())
	check(t, "quarantine", got.Bad, want.Bad, cmpopts.IgnoreFields(modelstore.BadLine{}, "At", "Path"))
	compareState(t, &got, &want)
}

// TestStopOnFullDisk proves that a stop that cannot save the state returns an error with the cause, and that the next
// start has all data.
func TestStopOnFullDisk(t *testing.T) {
	dir := smallDisk(t, "size=8m")
	s := siteOn(t, filepath.Join(t.TempDir(), "accounting"), "")
	edit(t, s.config, "data_dir: \""+s.dir+"\"", "data_dir: \""+dir+"\"")
	s.db = filepath.Join(dir, filepath.Base(s.db))
	history := workload(t, 7, 600)
	s.add(t, text(history))
	d := s.start(t)
	d.caughtUp()
	balloon := filepath.Join(dir, "balloon")
	fill(t, balloon)
	if err := d.Stop(); err == nil || !strings.Contains(err.Error(), "the state could not be saved") ||
		!strings.Contains(err.Error(), "full") {
		t.Errorf("a stop on a full disk: %v, want an error that names it", err)
	}
	must(t, os.Remove(balloon))
	d = s.start(t)
	d.caughtUp()
	d.stop()
	got := s.kept(t)
	compareCalm(t, &got, []string{text(history)})
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	must(t, f.Close())
}

// TestDiskFullKilled proves that a daemon that is killed while its disk is full loses nothing: it cannot start until
// there is room, reports why, and then continues from the end of its database.
func TestDiskFullKilled(t *testing.T) {
	dir := smallDisk(t, "size=8m")
	log := filepath.Join(t.TempDir(), "accounting")
	s := siteOn(t, log, snapshotOften)
	edit(t, s.config, "data_dir: \""+s.dir+"\"", "data_dir: \""+dir+"\"")
	s.db = filepath.Join(dir, filepath.Base(s.db))
	history := workload(t, 6, 300)
	half := len(history) / 2
	s.add(t, text(history[:half]))
	k := &killer{t: t, site: s}
	p := k.spawn()
	if url, ok := <-p.url; !ok || !becomesReady(url) {
		t.Fatalf("the first daemon: %s", p.stderr.String())
	}
	balloon := filepath.Join(dir, "balloon")
	fill(t, balloon)
	s.add(t, text(history[half:]))
	must(t, p.cmd.Process.Kill())
	drain(p.url)
	_ = p.cmd.Wait() // "signal: killed"

	p = k.spawn()
	if _, ok := <-p.url; ok {
		must(t, p.cmd.Process.Kill())
		drain(p.url)
		t.Error("a daemon started though its database cannot be written")
	}
	if err := p.cmd.Wait(); err == nil || !strings.Contains(p.stderr.String(), "full") {
		t.Errorf("a start on a full disk: %v\n%s", err, p.stderr.String())
	}
	must(t, os.Remove(balloon))
	k.last()
	got := s.kept(t)
	compareCalm(t, &got, []string{text(history)})
}
