package soak

import (
	"testing"
	"time"
)

// TestMachine proves that the cluster's log ends: every job that was submitted is told to have ended or to have been deleted, as many as were asked for.
func TestMachine(t *testing.T) {
	for _, name := range Formats() {
		f, err := newFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		source, _, err := newArrivals("/work/shared/traces/SDSC-SP2-1998-4.2-cln.swf.gz", 3000, 30, 10000, 1)
		if err != nil {
			t.Fatal(err)
		}
		m, err := newMachine(epoch(), 10000, 3000, 100, f, source, 1)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		at := 0.
		for ; (m.tally.Jobs < 3000 || !m.over()) && at < 400*daySeconds; at += 3600 {
			if err := m.run(at, func([]byte) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s: day %.1f, %d live, %d deletions, ahead %v, %+v, %v", name, at/daySeconds, len(m.live), len(m.deleted), m.ahead, m.tally, time.Since(begun))
		if !m.over() {
			t.Errorf("%s: it does not end", name)
		}
	}
}
