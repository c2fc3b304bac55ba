package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waitcast/waitcast/modelstore/sqlite"
)

// spawnReady starts a daemon in another process and waits until it is ready.
func (s *site) spawnReady(t *testing.T) (p *daemonProcess, url string) {
	t.Helper()
	p = (&killer{t: t, site: s}).spawn()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // usually it has ended by itself
	url, ok := <-p.url
	if !ok || !becomesReady(url) {
		t.Fatalf("the daemon is not ready: %s", p.stderr.String())
	}
	return p, url
}

// terminate stops a daemon in order and returns its exit code.
func (p *daemonProcess) terminate(t *testing.T) int {
	t.Helper()
	must(t, p.cmd.Process.Signal(syscall.SIGTERM))
	drain(p.url)
	var failed *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// TestStoreTakenAway proves on a daemon process that a database that is deleted, moved or replaced is reported within
// seconds as store_failing in /readyz, whether or not there is data to store. It is also logged, answers continue, and
// the exit code at the stop is 1. A moved database that comes back is written again.
func TestStoreTakenAway(t *testing.T) {
	for _, c := range []struct {
		name, want string
		busy       bool
		take       func(db string) error
	}{
		{"deleted", "was deleted while it was open", false, os.Remove},
		{"deleted, with new records", "was deleted while it was open", true, os.Remove},
		{"moved", "was moved or renamed while it was open", true, func(db string) error {
			return os.Rename(db,
				db+".old")
		}},
		{"replaced", "was replaced by another file while it was open", false, func(db string) error {
			return errors.Join(os.WriteFile(db+".new", nil, 0o600), os.Rename(db+".new", db))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "accounting", "")
			s.add(t, life{"1.t", 4, 0, 1, 5}.q())
			p, url := s.spawnReady(t)
			must(t, c.take(s.db))
			if c.busy {
				s.add(t, life{"2.t", 4, 10, 11, 15}.q())
			}
			want := "degraded\nstore_failing: " + s.db + ": cannot write the database: " + s.db + " " + c.want
			eventually(t, want, func() bool { return strings.HasPrefix(fetch(url+"/readyz"), want) })
			if body := fetch(url + "/v1/queues"); !strings.Contains(body, `"as_of"`) {
				t.Errorf("queues: %s", body)
			}
			if body := fetch(url + "/metrics"); !strings.Contains(body, "\nwaitcast_store_failing 1\n") {
				t.Error("waitcast_store_failing is not 1")
			}
			if code := p.terminate(t); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			text := p.stderr.String()
			logged := false
			for line := range strings.Lines(text) {
				var said struct{ Level, Error string }
				logged = logged || json.Unmarshal([]byte(line), &said) == nil && said.Level == "error" &&
					strings.HasPrefix(said.Error, s.db+" "+c.want)
			}
			if lines := strings.Split(strings.TrimSpace(text), "\n"); !logged ||
				!strings.Contains(lines[len(lines)-1], c.want) {
				t.Errorf("not logged, or not the last words:\n%s", text)
			}
		})
	}
}

// TestStoreMovedBack proves that when its database comes back, a daemon stores the pending data, ends the condition,
// and finally ends with exit code 0.
func TestStoreMovedBack(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	p, url := s.spawnReady(t)
	must(t, os.Rename(s.db, s.db+".old"))
	s.add(t, life{"2.t", 4, 10, 11, 15}.q())
	eventually(t, "store_failing", func() bool { return strings.Contains(fetch(url+"/readyz"), "store_failing") })
	must(t, os.Rename(s.db+".old", s.db))
	eventually(t, "ready", func() bool { return fetch(url+"/readyz") == "ready\n" })
	if code := p.terminate(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
	k := s.kept(t)
	jobs := map[string]bool{}
	for _, e := range k.Entries {
		jobs[e.Event.ID] = true
	}
	if len(jobs) != 2 {
		t.Errorf("stored are %v", jobs)
	}
}

// TestStoreLeftAlone proves that a database that was not touched is never reported while a daemon works and restarts.
func TestStoreLeftAlone(t *testing.T) {
	s := newSite(t, "accounting", snapshotOften)
	history := workload(t, 3, 120)
	for i := range 3 {
		s.add(t, text(history[i*len(history)/3:(i+1)*len(history)/3]))
		p, url := s.spawnReady(t)
		must(t, os.Remove(s.db+".lock")) // the next check of the database creates it again
		eventually(t, "a look", func() bool {
			if got := fetch(url + "/readyz"); got != "ready\n" {
				t.Fatalf("readyz: %s", got)
			}
			_, err := os.Stat(s.db + ".lock")
			return err == nil
		})
		if code := p.terminate(t); code != 0 || strings.Contains(p.stderr.String(), `"level":"error"`) {
			t.Errorf("exit code %d: %s", code, p.stderr.String())
		}
	}
}

// TestStoreLockFileRemoved proves on daemon processes that a second daemon is refused even if the lock file of the
// first was removed, and that the first then creates the file again.
func TestStoreLockFileRemoved(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	first, url := s.spawnReady(t)
	for range 3 {
		if err := os.Remove(s.db + ".lock"); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		second := (&killer{t: t, site: s}).spawn()
		if _, ok := <-second.url; ok {
			t.Error("a second daemon serves")
		}
		drain(second.url)
		if err := second.cmd.Wait(); err == nil || !strings.Contains(second.stderr.String(), s.db+" is in use by ") {
			t.Errorf("a second daemon: %v\n%s", err, second.stderr.String())
		}
	}
	named := fmt.Sprintf(`"pid":%d,`, first.cmd.Process.Pid)
	eventually(t, "the lock file names the first", func() bool {
		content, err := os.ReadFile(s.db + ".lock")
		return err == nil && strings.Contains(string(content), named)
	})
	if got := fetch(url + "/readyz"); got != "ready\n" {
		t.Errorf("readyz of the first: %s", got)
	}
	if code := first.terminate(t); code != 0 {
		t.Errorf("exit code %d: %s", code, first.stderr.String())
	}
}

// TestStoreEmptied proves that a daemon that starts with an empty database instead of its previous one is degraded and
// logs that, even after a reload, until its next start. It also proves that the message names a damaged database that
// was set aside.
func TestStoreEmptied(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	for range 2 {
		d := s.start(t)
		d.wantReady(http.StatusOK, "ready\n")
		d.stop()
	}
	must(t, os.Remove(s.db))
	d := s.start(t)
	want := "degraded\nstore_emptied: " + s.db + ": the database is empty, though there was one since " +
		time.Now().UTC().Format(time.DateOnly) +
		": look for the old one or restore a backup; if it is right, restart the daemon\n"
	d.wantReady(http.StatusOK, want)
	d.wantLog("the database is not the one that was here before", "store_emptied", s.db)
	cfg := s.load(t)
	cfg.StaleAfter = 3 * time.Hour
	must(t, d.Reload(t.Context(), cfg))
	d.wantReady(http.StatusOK, want)
	d.stop()
	d = s.start(t)
	d.wantReady(http.StatusOK, "ready\n")
	d.stop()
	write(t, s.db, "this is no database, but it is longer than the header of one is, which has one hundred bytes in "+
		"all")
	d = s.start(t)
	want = "degraded\nstore_emptied: " + s.db + ": the database is empty: the damaged one, in use since " +
		time.Now().UTC().Format(time.DateOnly) +
		", is now " + s.db + ".corrupt-"
	d.eventually(want, func() bool { _, body := d.get("/readyz"); return strings.HasPrefix(body, want) })
}

// TestStoreExchanged proves that another site's database is noticed, but neither a restored backup of the daemon's own
// database nor a new database at another path.
func TestStoreExchanged(t *testing.T) {
	s, other := newSite(t, "accounting", ""), newSite(t, "accounting", "")
	for _, x := range []*site{s, other} {
		x.add(t, life{"1.t", 4, 0, 1, 5}.q())
		d := x.start(t)
		d.wantReady(http.StatusOK, "ready\n")
		d.stop()
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	must(t, sqlite.Backup(t.Context(), s.db, backup))
	_, err := sqlite.Restore(t.Context(), other.db, s.db, true, time.Now())
	must(t, err)
	d := s.start(t)
	d.wantReady(http.StatusOK,
		"degraded\nstore_exchanged: "+s.db+": it is another database than the one that was here since "+
			time.Now().UTC().Format(time.DateOnly)+": if that is right, restart the daemon, else stop it and restore "+
			"the right one\n")
	d.wantLog("the database is not the one that was here before", "store_exchanged", s.db)
	d.stop()
	_, err = sqlite.Restore(t.Context(), backup, s.db, true, time.Now().Add(time.Second))
	must(t, err)
	d = s.start(t) // by now the marker is that of the other site's database
	d.wantLog("store_exchanged")
	d.stop()
	must(t, os.Remove(s.db))
	_, err = sqlite.Restore(t.Context(), backup, s.db, false, time.Now())
	must(t, err)
	d = s.start(t)
	d.wantReady(http.StatusOK, "ready\n")
	d.stop()
	cfg, err := os.ReadFile(s.config)
	must(t, err)
	write(t, s.config, string(cfg)+"store: {path: \""+filepath.Join(s.dir, "new.db")+"\"}\n")
	d = s.start(t)
	d.wantReady(http.StatusOK, "ready\n")
}

// TestStoreFromBeforeIDs proves that a database without an id gets one without a message.
func TestStoreFromBeforeIDs(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	for _, forget := range []func(){
		func() {},
		func() { s.forgetID(t) }, // a backup from a version without ids
		func() { s.forgetID(t); must(t, os.Remove(filepath.Join(s.dir, "store-id"))) },
		func() { must(t, os.Remove(filepath.Join(s.dir, "store-id"))) },
		func() {},
	} {
		forget()
		d := s.start(t)
		d.wantReady(http.StatusOK, "ready\n")
		d.stop()
	}
}

// forgetID removes the id from the database of a stopped daemon.
func (s *site) forgetID(t *testing.T) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), s.db, sqlite.Options{})
	must(t, err)
	id, err := store.Meta(t.Context(), "store_id")
	if err != nil || id == "" {
		t.Errorf("the id is %q, %v", id, err)
	}
	must(t, errors.Join(store.SetMeta(t.Context(), "store_id", ""), store.Close()))
}
