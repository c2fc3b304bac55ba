package daemon_test

import "testing"

// TestURLAfterServing proves that a daemon without TLS still has an http address in its log after it has served,
// although the server prepares TLS for HTTP/2 in any case.
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
