package track

import (
	"math"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
)

// TestPastInstantsAreExact proves that the instants of submissions are restored to the last bit, also if the difference
// of two of them cannot be represented exactly.
func TestPastInstantsAreExact(t *testing.T) {
	var p, restored PastJobs
	want := []float64{-Farthest, -5, math.Copysign(0, -1), 1e-300, .1, 1766336399.4, 1766336399.4,
		math.Nextafter(Farthest, 0), Farthest}
	for _, at := range want {
		p.all = append(p.all, PastJob{At: at, Procs: 1})
		p.Seen++
	}
	data, err := codec.Save("past", 1, 0, p.Code)
	if err != nil {
		t.Fatal(err)
	}
	if err := codec.Load("past", 1, data, restored.Code); err != nil {
		t.Fatal(err)
	}
	for i, j := range restored.Window(restored.Seen) {
		if math.Float64bits(j.At) != math.Float64bits(want[i]) {
			t.Errorf("submission %d: %v, want %v", i, j.At, want[i])
		}
	}
	if len(restored.all) != len(want) {
		t.Errorf("%d submissions, want %d", len(restored.all), len(want))
	}

	slices.Reverse(p.all) // an impossible order
	if data, err = codec.Save("past", 1, 0, p.Code); err != nil {
		t.Fatal(err)
	}
	if err := codec.Load("past", 1, data, restored.Code); err == nil {
		t.Error("submissions that are not in the order of their instants are restored")
	}
}
