package demo

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// playing returns a cluster that has a history, and the instant at which it stands.
func playing(t *testing.T) (*scenario, time.Time) {
	t.Helper()
	c, err := newCluster(t.TempDir(), time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	now, err := writeHistory(t.Context(), c, 12*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return &scenario{cluster: c}, now
}

// log returns what the cluster has written.
func (s *scenario) log(t *testing.T) []byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	return all
}

func (s *scenario) on(t *testing.T, until time.Time) []byte {
	t.Helper()
	before := len(s.log(t))
	if err := s.advance(until); err != nil {
		t.Fatal(err)
	}
	return s.log(t)[before:]
}

// TestFlurry proves that a flurry's jobs are all submitted, by a user of their own, within 20 minutes, and all run in
// the end.
func TestFlurry(t *testing.T) {
	s, now := playing(t)
	if err := Flurry(300)(s); err != nil {
		t.Fatal(err)
	}
	told := s.on(t, now.Add(20*time.Minute))
	if n := bytes.Count(told, []byte(";Q;")); n < 300 {
		t.Errorf("%d submissions within 20 minutes, want 300 and those that would have come anyway", n)
	}
	told = append(told, s.on(t, now.Add(48*time.Hour))...)
	ended := 0
	for line := range bytes.Lines(told) {
		if bytes.Contains(line, []byte(";E;")) && bytes.Contains(line, []byte("user=user24 ")) {
			ended++
		}
	}
	if ended != 300 {
		t.Errorf("%d jobs of the user ended, want 300", ended)
	}
}

// TestSilence proves that a silent log gets no line, begins to be silent while jobs run, and gets what it missed
// afterwards.
func TestSilence(t *testing.T) {
	s, now := playing(t)
	quiet, _ := playing(t)
	if err := Silence()(s); err != nil {
		t.Fatal(err)
	}
	for !s.silent {
		now = now.Add(time.Minute)
		s.on(t, now)
	}
	if s.sim.Running() == 0 {
		t.Error("silent with no job running")
	}
	if told := s.on(t, now.Add(24*time.Hour)); len(told) > 0 {
		t.Errorf("a silent log got %q", told)
	}
	if err := Talk()(s); err != nil {
		t.Fatal(err)
	}
	end := now.Add(25 * time.Hour)
	s.on(t, end)
	quiet.on(t, end)
	if !bytes.Equal(s.log(t), quiet.log(t)) {
		t.Error("the log after a silence is not what it would have been without")
	}
}
