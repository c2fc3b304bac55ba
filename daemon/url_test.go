package daemon_test

import "testing"

// TestURLAfterServing proves that a daemon without TLS goes on to name an http address in its log once it has served:
// the server sets up TLS for HTTP/2 by itself, whether it is used or not.
func TestURLAfterServing(t *testing.T) {
	s := newSite(t, "log", "")
	s.add(t, text(workload(t, 12, 20)))
	d := s.start(t)
	d.caughtUp()
	s.edit(t, "level: info", "level: warn")
	if err := d.Reload(t.Context(), s.load(t)); err != nil {
		t.Fatal(err)
	}
	d.wantLog("the new configuration is in force", `"url":"http://`)
}
