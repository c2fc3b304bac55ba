package track

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/internal/codec"
)

// usedFor records that the given number of processors was in use for some seconds.
func usedFor(h *useHistory, use int, seconds float64) { h.add(use, h.now+seconds) }

// cycles adds cycles of 1,000 s. In each the machine is full for 50 s and over full for overSeconds, and otherwise half
// full.
func cycles(h *useHistory, n, full, over, overSeconds int) {
	for range n {
		usedFor(h, full/2, float64(950-overSeconds))
		usedFor(h, over, float64(overSeconds))
		usedFor(h, full, 50)
	}
}

// TestRareUse proves that 100 processors are estimated for a machine of 100 that is full for a twentieth of the time,
// even if jobs overlap in the log for 8 s in a thousand. If they overlap for 12 s, 130 processors are estimated. On the
// first day the highest use counts.
func TestRareUse(t *testing.T) {
	for over, want := range map[int]int{0: 100, 8: 100, 12: 130} {
		var h useHistory
		h.add(0, 1e9)
		cycles(&h, 80, 100, 130, over)
		if most := 100 + 30*min(1, over); h.estimate != most {
			t.Errorf("%d s over: %d processors in the first day, want the highest use %d", over, h.estimate, most)
		}
		cycles(&h, 1000, 100, 130, over)
		if h.estimate != want {
			t.Errorf("%d s over: %d processors, want %d", over, h.estimate, want)
		}
	}
}

// TestGrownMachine proves that the new size of a machine that doubles after a year is learnt within a day, although the
// machine is full and half empty in alternate hours. While all its processors are in use, this use counts at once. If a
// machine shrinks to half, the estimate falls within a quarter of a year, and is the new size after four months.
func TestGrownMachine(t *testing.T) {
	var h useHistory
	h.add(0, 1e9)
	cycles(&h, 365*86, 100, 100, 0)
	for range 12 {
		if usedFor(&h, 200, 3600); h.procs(200) != 200 {
			t.Errorf("%d processors while 200 are used", h.procs(200))
		}
		usedFor(&h, 100, 3600)
	}
	if h.estimate != 200 {
		t.Errorf("%d processors after a day on 200", h.estimate)
	}
	cycles(&h, 365*86, 200, 200, 0)
	cycles(&h, 91*86, 100, 100, 0)
	if h.estimate == 200 {
		t.Error("200 processors after a quarter of a year on 100, want fewer")
	}
	cycles(&h, 30*86, 100, 100, 0)
	if h.estimate != 100 {
		t.Errorf("%d processors after four months on 100", h.estimate)
	}
}

// TestNothingRuns proves that a machine that stands still for a month does not become smaller, and that it has at least
// the processors of the largest job that ever ran.
func TestNothingRuns(t *testing.T) {
	var h useHistory
	h.add(0, 1e9)
	cycles(&h, 100, 100, 100, 0)
	for range 30 {
		usedFor(&h, 0, secondsPerDay)
	}
	usedFor(&h, 10, secondsPerHour)
	if h.estimate != 100 {
		t.Errorf("%d processors after a month without jobs, want 100", h.estimate)
	}
	h.widest = 120
	if got := h.procs(10); got != 120 {
		t.Errorf("%d processors where a job of 120 ran", got)
	}
}

// TestUsual proves that the estimate is the lowest use that is exceeded for at most rareUse of the time. The test
// computes it from the use in each second. From 512 processors on, the estimate is at most 1/256 larger. The number of
// levels stays small.
func TestUsual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h useHistory
		h.add(0, 0)
		most := rapid.SampledFrom([]int{3, 500, 40_000}).Draw(t, "most")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var all []int
		for range rapid.IntRange(1, 300).Draw(t, "changes") {
			use, lasted := 1+rng.IntN(most), 1+rng.IntN(40)
			usedFor(&h, use, float64(lasted))
			all = append(all, slices.Repeat([]int{use}, lasted)...)
		}
		slices.Sort(all)
		want := all[len(all)-1-int(rareUse*float64(len(all)))]
		if got := h.usual(); got < want || got > want+want/256 || want < exactUse && got != want {
			t.Fatalf("%d, want %d", got, want)
		}
	})
	var h useHistory
	h.add(0, 0)
	for use := 1; use < 1<<20; use += 17 {
		usedFor(&h, use, 1)
	}
	if n := len(h.levels); n > exactUse+11*exactUse/2 {
		t.Errorf("%d levels", n)
	}
}

// TestUseHistoryIsSaved proves that a restored history continues like the saved one.
func TestUseHistoryIsSaved(t *testing.T) {
	var h, restored useHistory
	h.add(0, 1e9)
	cycles(&h, 300, 700, 900, 5)
	h.widest = 650
	if err := codec.Copy(h.code, restored.code); err != nil {
		t.Fatal(err)
	}
	cycles(&h, 300, 700, 1000, 9)
	cycles(&restored, 300, 700, 1000, 9)
	if h.estimate != restored.estimate || h.total != restored.total || !slices.Equal(h.levels, restored.levels) {
		t.Errorf("%+v, want %+v", restored, h)
	}
}
