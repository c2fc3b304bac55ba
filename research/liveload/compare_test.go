package liveload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ofOne returns the losses of several jobs, each with the loss at a single level.
func ofOne(values ...float64) []losses {
	var out []losses
	for _, v := range values {
		out = append(out, losses{v})
	}
	return out
}

// TestPairingBlocks proves that each block has twenty consecutive jobs, and the last block the rest. It also proves
// that the sums of a block are right, both for the losses at one level and for the losses averaged over all levels.
func TestPairingBlocks(t *testing.T) {
	mine, followed := make([]losses, 45), make([]losses, 45)
	for i := range mine {
		mine[i], followed[i] = losses{1, 3}, losses{float64(i), 0}
	}
	p := newPairing(taughtDir, mine, followed)
	if got, want := p.sums(losses.mean), []sums{{40, 95}, {40, 295}, {10, 105}}; !slices.Equal(got, want) {
		t.Errorf("means: %v, want %v", got, want)
	}
	if got, want := p.sums(atLevel(1)), []sums{{60, 0}, {60, 0}, {15, 0}}; !slices.Equal(got, want) {
		t.Errorf("second level: %v, want %v", got, want)
	}
	if got, want := p.ratio(atLevel(0)), 45./990; got != want {
		t.Errorf("ratio %g, want %g", got, want)
	}
	others := func(job int) bool { return job >= blockJobs }
	pooled := pool([]pairing{p, newPairing(freshDir, mine, followed), p}, taughtDir, others)
	want := []sums{{20, 590}, {5, 210}, {20, 590}, {5, 210}}
	if got := pooled.sums(atLevel(0)); !slices.Equal(got, want) {
		t.Errorf("without the first blocks: %v, want %v", got, want)
	}
}

// TestPairingBounds compares bounds with bounds worked out by hand. Two blocks with the ratios 1 and 3, resampled with
// replacement, give 1, 2 and 3 with the probabilities 1/4, 1/2 and 1/4, so the bounds are 1 and 3. If all blocks have
// the same ratio, both bounds equal this ratio, whatever the weights of the blocks.
func TestPairingBounds(t *testing.T) {
	for _, c := range []struct {
		blocks    []block
		low, high float64
	}{
		{[]block{{0, ofOne(1), ofOne(1)}, {20, ofOne(3), ofOne(1)}}, 1, 3},
		{[]block{{0, ofOne(2), ofOne(1)}, {20, ofOne(20), ofOne(10)}, {40, ofOne(200), ofOne(100)}}, 2, 2},
	} {
		p := pairing{blocks: c.blocks}
		if low, high := p.bounds(atLevel(0)); low != c.low || high != c.high {
			t.Errorf("%v: from %g to %g, want from %g to %g", c.blocks, low, high, c.low, c.high)
		}
	}
	// The mean of the ratios of many blocks is nearly normal, so a bound is 1.645 standard errors (s/sqrt(n)) from the
	// mean.
	p := pairing{}
	for i := range 400 {
		p.blocks = append(p.blocks, block{20 * i, ofOne(1 + .5*math.Sin(float64(i))), ofOne(1)})
	}
	want := 1.645 * .5 / math.Sqrt2 / math.Sqrt(400)
	low, high := p.bounds(losses.mean)
	if math.Abs(1-want-low) > .003 || math.Abs(1+want-high) > .003 {
		t.Errorf("from %g to %g, want 1 -+ %g", low, high, want)
	}
}

// writeDayOne writes the folder of a seed as DayOne leaves it, and returns its path. Forty jobs wait 20 s each. All
// forecasts of a daemon have the same value at all levels: the value of the daemon in quantiles.
func writeDayOne(t *testing.T, quantiles map[string]float64) string {
	t.Helper()
	seed := filepath.Join(t.TempDir(), "seed-7")
	for name, q := range quantiles {
		dir := filepath.Join(seed, name)
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a test's
			t.Fatal(err)
		}
		for i := range 40 {
			wait := fmt.Sprintf(
				`{"wait_seconds":{"p10":%[1]g,"p25":%[1]g,"p50":%[1]g,"p75":%[1]g,"p90":%[1]g,"p95":%[1]g}}`, q)
			r := Record{Job: Job{Number: i, Queue: "short"}, ID: fmt.Sprint(i),
				Answer: Answer{Wait: json.RawMessage(wait)}}
			f := Fate{ID: r.ID, Submit: at(0), Start: at(20), End: at(30)}
			if err := appendLine(filepath.Join(dir, recordsFile), &r); err != nil {
				t.Fatal(err)
			}
			if err := appendLine(filepath.Join(dir, fatesFile), &f); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, logFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return seed
}

// TestCompareDayOne compares three daemons on waits of 20 s. Every forecast of a daemon has one value at all levels,
// which is too high. The loss is therefore 0.425 times ln((forecast + 60 s) / 80 s); 0.425 is the mean of 1 - level
// over all levels (0.9, 0.75, 0.5, 0.25, 0.1 and 0.05). The daemon that followed from the start forecasts 100 s, so its
// logarithm is ln(160/80). The target applies only to the daemon that imported the history.
func TestCompareDayOne(t *testing.T) {
	for _, c := range []struct {
		taught  float64
		verdict string
	}{
		{100, "ok  "}, {111, "ok  "}, {113, "MISS"}, // ln(171/80)/ln(2) = 1.096, ln(173/80)/ln(2) = 1.113
	} {
		var out bytes.Buffer
		seed := writeDayOne(t, map[string]float64{followedDir: 100, taughtDir: c.taught, freshDir: 260})
		if err := CompareDayOne(t.Context(), &out, []string{seed}, false); err != nil {
			t.Fatal(err)
		}
		r := math.Log((c.taught+60)/80) / math.Ln2
		for _, want := range []string{
			fmt.Sprintf("| %.4f\n", .425*math.Ln2),
			fmt.Sprintf("| %.4f | 2.000        2.000  2.000\n", .425*2*math.Ln2),
			fmt.Sprintf("| %.3f        %.3f  %.3f\n", r, r, r), c.verdict + " the loss",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, &out)
			}
		}
	}
}

// TestCompareUnequal proves that it is an error if a daemon has no forecast of a job. It is no error if there is no
// daemon that imported the history.
func TestCompareUnequal(t *testing.T) {
	seed := writeDayOne(t, map[string]float64{followedDir: 100, freshDir: 100})
	if err := CompareDayOne(t.Context(), &bytes.Buffer{}, []string{seed}, false); err != nil {
		t.Errorf("without %s: %v", taughtDir, err)
	}
	records := filepath.Join(seed, freshDir, recordsFile)
	last := Record{Job: Job{Number: 40, Queue: "short"}, ID: "39", Answer: Answer{Refusal: "no"}}
	if err := appendLine(records, &last); err != nil {
		t.Fatal(err)
	}
	if err := CompareDayOne(t.Context(), &bytes.Buffer{}, []string{seed}, false); err == nil {
		t.Error("a job without an answer was no error")
	}
}
