package demo

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// playing returns a cluster with a history, and its present instant.
func playing(t *testing.T) (*scenario, time.Time) {
	t.Helper()
	c := newTestCluster(t, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), 1)
	now, err := writeHistory(t.Context(), c, c.epoch.Add(12*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return &scenario{cluster: c}, now
}

// written returns the contents of all log files of the cluster, one after the other.
func written(t *testing.T, c *cluster) []byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(c.dir, "*"))
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
	before := len(written(t, s.cluster))
	if err := s.advance(until); err != nil {
		t.Fatal(err)
	}
	return written(t, s.cluster)[before:]
}

// TestFlurry proves that all jobs of a flurry are submitted by one new user within four hours, and that all of them
// finally run.
func TestFlurry(t *testing.T) {
	s, now := playing(t)
	if err := Flurry(300)(s); err != nil {
		t.Fatal(err)
	}
	told := s.on(t, now.Add(4*time.Hour))
	if n := bytes.Count(told, []byte(";Q;")); n < 300 {
		t.Errorf("%d submissions within four hours, want 300 and those that would have come anyway", n)
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

// TestSilence proves that the log gets no line during a silence, that the silence begins while jobs run, and that the
// missed lines are written afterwards.
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
	if !bytes.Equal(written(t, s.cluster), written(t, quiet.cluster)) {
		t.Error("the log after a silence is not what it would have been without")
	}
}
