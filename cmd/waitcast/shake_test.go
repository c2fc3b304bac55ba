package main

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/swf"
)

// TestShakeChangesOneField proves that each attribute changes only its own fields, in about the given fraction of the
// jobs and by at most the given degree. The header keeps its lines.
func TestShakeChangesOneField(t *testing.T) {
	text := inhabited(t)
	header, original := read(t, text)
	const fraction, share = .25, .04 // share is 3 standard deviations for about 1,000 jobs
	for attribute, c := range map[string]struct {
		degree string
		most   int64
		field  func(*swf.Record) *int64
	}{
		"interarrival": {"10m", 600, func(r *swf.Record) *int64 { return &r.Submit }},
		"runtime":      {"60s", 60, func(r *swf.Record) *int64 { return &r.Runtime }},
		"estimate":     {"2:00", 120, func(r *swf.Record) *int64 { return &r.TimeLimit }},
		"size":         {"20", 20, func(r *swf.Record) *int64 { return &r.Allocated }},
	} {
		args := []string{"shake", "-", "--attribute", attribute, "--degree", c.degree, "--fraction", "0.25",
			"--seed", "3"}
		h, jobs := read(t, succeed(t, text, args...).stdout)
		if len(h.Lines) != 3 || !slices.Equal(h.Lines[1:], header.Lines) ||
			!strings.Contains(h.Lines[0], "shake: attribute "+attribute+", degree "+c.degree) ||
			!strings.HasSuffix(h.Lines[0], "seed 3, of standard input") || h.UnixStartTime != header.UnixStartTime {
			t.Errorf("%s: header %q", attribute, h.Lines)
		}
		if !slices.IsSortedFunc(jobs, func(a, b swf.Record) int { return cmp.Compare(a.Submit, b.Submit) }) {
			t.Errorf("%s: out of order", attribute)
		}
		slices.SortFunc(jobs, func(a, b swf.Record) int { return cmp.Compare(a.ID, b.ID) })
		changed := 0
		for i := range jobs {
			before, after := *c.field(&original[i]), *c.field(&jobs[i])
			if before != after {
				changed++
			}
			if after-before > c.most || before-after > c.most || after < 0 {
				t.Fatalf("%s of job %d: from %d to %d", attribute, i, before, after)
			}
			*c.field(&jobs[i]) = before
			if attribute == "size" {
				if jobs[i].RequestedProcs != after || after > 64 || after < 1 {
					t.Fatalf("job %d: %d processors, %d requested", i, after, jobs[i].RequestedProcs)
				}
				jobs[i].RequestedProcs = before
			}
			if jobs[i] != original[i] {
				t.Fatalf("%s: job %d became %+v, was %+v", attribute, i, jobs[i], original[i])
			}
		}
		got := float64(changed) / float64(len(jobs))
		if got > fraction+share || got < fraction-3*share { // after rounding, a small size is often unchanged
			t.Errorf("%s: %v of the jobs changed", attribute, got)
		}
	}
}

// TestShakeUsersMoveTogether proves that with level user all jobs of a user move by the same time.
func TestShakeUsersMoveTogether(t *testing.T) {
	text := inhabited(t)
	_, original := read(t, text)
	_, jobs := read(t, succeed(t, text, "shake", "-", "--level", "user", "--fraction", "1", "--degree", "1h",
		"--seed", "1").stdout)
	slices.SortFunc(jobs, func(a, b swf.Record) int { return cmp.Compare(a.ID, b.ID) })
	moved := map[int64]int64{}
	for i := range jobs {
		by := jobs[i].Submit - original[i].Submit
		if first, ok := moved[jobs[i].User]; ok && first != by && jobs[i].Submit > 0 && original[i].Submit > 3600 {
			t.Fatalf("user %d by %d s and %d s", jobs[i].User, first, by)
		}
		if original[i].Submit > 3600 { // no submit falls below 0
			moved[jobs[i].User] = by
		}
	}
	if len(moved) < 20 {
		t.Errorf("%d users", len(moved))
	}
}

// TestShakeKTH proves that about a tenth of KTH's jobs move by up to a minute.
func TestShakeKTH(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no whole trace")
	}
	h, jobs := read(t, succeed(t, "", "shake", refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz"),
		"--seed", "1").stdout)
	if len(jobs) != 28476 || h.MaxProcs != 100 || h.TimeZoneString != "Europe/Stockholm" {
		t.Errorf("%d jobs, %+v", len(jobs), h)
	}
}
