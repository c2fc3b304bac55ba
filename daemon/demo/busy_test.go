package demo

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestMorning proves that the demonstration begins at 11 o'clock UTC of a past Tuesday to Friday, less than four days
// ago.
func TestMorning(t *testing.T) {
	first := time.Date(2026, 3, 2, 0, 30, 0, 0, time.UTC) // a Monday
	for hours := range 7 * 24 {
		now := first.Add(time.Duration(hours) * time.Hour)
		at := morning(now.In(time.FixedZone("", -8*3600)))
		if at.Hour() != 11 || at.Minute() != 0 || at.Location() != time.UTC {
			t.Errorf("at %v it begins at %v", now, at)
		}
		if day := at.Weekday(); day < time.Tuesday || day > time.Friday {
			t.Errorf("at %v it begins on a %v", now, day)
		}
		if ago := now.Sub(at); ago < 0 || ago >= 4*24*time.Hour {
			t.Errorf("at %v it begins at %v, %v before", now, at, ago)
		}
	}
}

// TestClock proves that the simulated clock does not advance until it is started, and then runs at its speed.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begins := time.Date(2026, 3, 3, 11, 0, 0, 0, time.UTC)
		c := &simulatedClock{start: begins, speed: 60}
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble it takes no time
		if got := c.now(); !got.Equal(begins) {
			t.Errorf("before it is let run it shows %v", got)
		}
		c.run()
		time.Sleep(30 * time.Second) //nolint:forbidigo // in a bubble it takes no time
		if got := c.now(); !got.Equal(begins.Add(30 * time.Minute)) {
			t.Errorf("after 30 s at 60 times the speed it shows %v", got)
		}
	})
}

// TestBusyAtFirst proves for several seeds that the machine is full and jobs wait when the simulated clock starts,
// within half an hour of the requested time. Some of the waiting jobs start within the next simulated half hour, which
// is 30 s for the user.
func TestBusyAtFirst(t *testing.T) {
	begins := time.Date(2026, 3, 3, 11, 0, 0, 0, time.UTC)
	for seed := range uint64(8) {
		c := newTestCluster(t, begins.Add(-history), seed)
		now, err := writeHistory(t.Context(), c, begins)
		if err != nil {
			t.Fatal(err)
		}
		queued, free := c.sim.Queued(), c.sim.Free()
		if late := now.Sub(begins); late > 30*time.Minute || queued < waiting || free > nodes/2 {
			t.Errorf("seed %d: %v after 11 o'clock %d jobs wait and %d nodes are free", seed, late, queued, free)
		}
		before := len(waits(t, c))
		if err := c.advance(now.Add(30 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		if list := waits(t, c)[before:]; len(list) < 3 || slices.Max(list) < time.Minute {
			t.Errorf("seed %d: jobs with waits of %v started within half an hour", seed, list)
		}
	}
}

// TestSaneForLong proves that the queue is never empty for long by day and does not grow without bound, and that no job
// waits for days. It covers 25 simulated days, which pass in an hour at 600 times the speed.
func TestSaneForLong(t *testing.T) {
	const few = 5
	begins := time.Date(2026, 3, 3, 11, 0, 0, 0, time.UTC)
	for seed := range uint64(2) {
		c := newTestCluster(t, begins.Add(-history), seed)
		if err := c.advance(begins); err != nil {
			t.Fatal(err)
		}
		idle, byDay := 0, 0
		for h := range 25 * 24 {
			now := begins.Add(time.Duration(h) * time.Hour)
			if err := c.advance(now); err != nil {
				t.Fatal(err)
			}
			queued := c.sim.Queued()
			if queued > 250 {
				t.Errorf("seed %d: %d jobs wait at %v", seed, queued, now)
			}
			if now.Hour() >= 9 && now.Hour() < 21 {
				byDay++
				if queued < few {
					idle++
				}
			}
		}
		if idle > byDay/20 {
			t.Errorf("seed %d: fewer than %d jobs wait in %d of %d hours by day", seed, few, idle, byDay)
		}
		if longest := slices.Max(waits(t, c)); longest > 2*24*time.Hour {
			t.Errorf("seed %d: a job waited %v", seed, longest)
		}
	}
}

// waits returns the waits of the jobs that have started by the log, in the order of their starts.
func waits(t *testing.T, c *cluster) []time.Duration {
	t.Helper()
	pattern := regexp.MustCompile(`;S;.* etime=(\d+) start=(\d+)`)
	var list []time.Duration
	for line := range strings.Lines(string(written(t, c))) {
		if !strings.Contains(line, ";S;") {
			continue
		}
		m := pattern.FindStringSubmatch(line)
		eligible, err := strconv.ParseInt(m[1], 10, 64)
		start, also := strconv.ParseInt(m[2], 10, 64)
		if err = errors.Join(err, also); err != nil {
			t.Fatal(err)
		}
		list = append(list, time.Duration(start-eligible)*time.Second)
	}
	return list
}

// newTestCluster returns a cluster that writes into a folder of the test.
func newTestCluster(t *testing.T, from time.Time, seed uint64) *cluster {
	t.Helper()
	c, err := newCluster(t.TempDir(), from, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
