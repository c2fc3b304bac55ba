package main

import (
	"strings"
	"testing"
)

// TestTimeUnit proves that a number alone is refused as a time limit, with advice, unless the environment has its unit.
// Then the limit is sent to the daemon in that unit, and the answer shows it. Texts with a unit are not affected.
func TestTimeUnit(t *testing.T) {
	address, asked := asking(t)
	for _, c := range []struct{ unit, limit, want, message string }{
		{"", "120", "", "write 120m for minutes, 120s for seconds or 120h for hours, or set WAITCAST_TIME_UNIT"},
		{"m", "120", "2h", ""}, {"min", "1.5", "1m30s", ""}, {"h", "2", "2h", ""}, {"s", "120", "2m", ""},
		{"m", "2h", "2h", ""}, {"m", "90:00", "1h30m", ""}, {"", "1-12", "1d12h", ""},
		{"minutes", "120", "", `WAITCAST_TIME_UNIT is "minutes": it must be a unit`},
		{"", "soon", "", "no number"},
	} {
		*asked = nil
		env := map[string]string{"WAITCAST_TIME_UNIT": c.unit, "WAITCAST_URL": address}
		r := runIn(env, "wait", "-q", "a", "-n", "1", "-t", c.limit)
		switch {
		case c.message != "":
			if r.code != exitUsage || !strings.Contains(r.stderr, c.message) || *asked != nil {
				t.Errorf("-t %s, unit %q: exit %d, asked %v\n%s", c.limit, c.unit, r.code, *asked, r.stderr)
			}
		case r.code != exitDone || !sameDuration(asked.Get("time_limit"), c.want):
			t.Errorf("-t %s, unit %q: exit %d, asked for %q, want %q\n%s", c.limit, c.unit, r.code,
				asked.Get("time_limit"), c.want, r.stderr)
		}
	}
}
