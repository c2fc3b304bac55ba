package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// wantReady waits until /readyz has a status and a text, and checks that with strict=true any text other than "ready"
// gives status 503.
func (r *running) wantReady(status int, text string) {
	r.t.Helper()
	got := ""
	defer func() {
		if r.t.Failed() {
			r.t.Logf("readyz: %s", got)
		}
	}()
	r.eventually(text, func() bool {
		s, body := r.get("/readyz")
		got = fmt.Sprint(s, " ", body)
		return s == status && body == text
	})
	strict := http.StatusServiceUnavailable
	if text == "ready\n" {
		strict = http.StatusOK
	}
	if s, body := r.get("/readyz?strict=true"); s != strict || body != text {
		r.t.Errorf("readyz, strict: %d %q, want %d %q", s, body, strict, text)
	}
}

// lostSeries returns the series of the condition that the site's source cannot be read.
func lostSeries(file, reason string) string {
	return fmt.Sprintf(`waitcast_health_condition{cluster="main",condition="source_unreadable",file=%q,reason=%q,`+
		`source="main/accounting"}`, file, reason)
}

// TestSourceLost proves that a log that becomes unreadable is named in /readyz and in the metrics, with its file and
// the same reason, while answers continue with status 200. The condition ends as soon as the log is back, even without
// a new line.
func TestSourceLost(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		lose         func(t *testing.T, log, aside string)
	}{
		{"a directory in its place", "a file is expected; for a directory of date-named files set a pattern",
			func(t *testing.T, log, aside string) {
				must(t, os.Rename(log, aside))
				must(t, os.Mkdir(log, 0o700))
			}},
		{"its folder vanished", "no such file or directory", func(t *testing.T, log, aside string) {
			must(t, os.Mkdir(aside, 0o700))
			must(t, os.Rename(filepath.Dir(log), filepath.Join(aside, "folder")))
		}},
		{"a link that leads to itself", "too many levels of symbolic links", func(t *testing.T, log, aside string) {
			must(t, os.Rename(log, aside))
			must(t, os.Symlink(filepath.Base(log), log))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, "accounting", "")
			folder := filepath.Join(t.TempDir(), "logs")
			must(t, os.Mkdir(folder, 0o700))
			edit(t, s.config, s.log, filepath.Join(folder, "accounting"))
			s.log = filepath.Join(folder, "accounting")
			s.add(t, life{"1.t", 4, 0, 1, 5}.q())
			d := s.start(t)
			d.wantReady(http.StatusOK, "ready\n")
			aside := filepath.Join(t.TempDir(), "aside")
			c.lose(t, s.log, aside)
			d.wantReady(http.StatusOK, fmt.Sprintf("degraded\nsource_unreadable: source main/accounting: %s: %s\n",
				s.log,
				c.reason))
			d.wantMetric(lostSeries(s.log, c.reason), "1")
			d.wantMetric("waitcast_degraded", "1")
			if status, body := d.get("/v1/wait?queue=q&procs=1"); status == http.StatusServiceUnavailable {
				t.Errorf("wait: %d %s", status, body)
			}
			must(t, os.RemoveAll(s.log))
			if _, err := os.Stat(filepath.Join(aside, "folder")); err == nil {
				must(t, os.RemoveAll(folder))
				must(t, os.Rename(filepath.Join(aside, "folder"), folder))
			} else {
				must(t, os.Rename(aside, s.log))
			}
			d.wantReady(http.StatusOK, "ready\n")
			d.wantMetric("waitcast_degraded", "0")
		})
	}
}

// TestSourceLostBeforeStart proves that a daemon that has data of its cluster is ready after a start without its log,
// and reports the missing log.
func TestSourceLostBeforeStart(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	d := s.start(t)
	d.wantReady(http.StatusOK, "ready\n")
	d.stop()
	must(t, os.Rename(s.log, s.log+"-aside"))
	must(t, os.Mkdir(s.log, 0o700))
	d = s.start(t)
	d.wantReady(http.StatusOK, "degraded\nsource_unreadable: source main/accounting: "+s.log+
		": a file is expected; for a directory of date-named files set a pattern\n")
}
