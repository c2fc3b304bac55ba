package soak

import (
	"testing"
)

// TestMachine proves that the generated log of a cluster ends and has the requested number of jobs, that it does not
// depend on the length of the steps in which it is generated, and that it has every kind of event and of bad line.
func TestMachine(t *testing.T) {
	for _, name := range Formats() {
		one, first := written(t, name, 3600)
		two, second := written(t, name, 86400*7)
		if one.over() != true || two.over() != true {
			t.Errorf("%s: it does not end", name)
		}
		if first != second {
			t.Errorf("%s: the log depends on how it is asked for: %d and %d bytes", name, len(first), len(second))
		}
		c := one.tally
		if c.Jobs != 2000 || c.Cancelled == 0 || c.Crashes == 0 || c.Requeued == 0 || c.Steps == 0 ||
			len(c.Bad) != len(one.format.reasons()) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// written returns a small cluster and its whole log in the format with the given name. The log is generated in steps of
// the given number of seconds.
func written(t *testing.T, name string, step float64) (*machine, string) {
	t.Helper()
	f, err := newFormat(name)
	if err != nil {
		t.Fatal(err)
	}
	source, _, err := newArrivals("", 2000, 90, 1000, 3)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMachine(epoch(), 1000, 2000, 100, f, source, 3)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for at := 0.; (m.tally.Jobs < 2000 || !m.over()) && at < 400*daySeconds; at += step {
		if err := m.run(at, func(line []byte) error { text = append(text, line...); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return m, string(text)
}
