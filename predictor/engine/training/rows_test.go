package training

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRows compares random appending, dropping and copying with a plain list of rows. All rows and columns are the same
// to the last bit, for features that are constant, have few values, have 256 values and one more in a block, or have
// one value per row.
func TestRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	odd := []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), math.Float32frombits(0x7fc00001),
		float32(math.Inf(1)), math.SmallestNonzeroFloat32}
	made := 0
	row := func() []float32 {
		made++
		return []float32{7, odd[rng.IntN(len(odd))], float32(made % 256), float32(made % 257), rng.Float32()}
	}
	var rows Rows
	var plain [][]float32
	var copied Rows
	var before [][]float32
	for step := range 60 {
		for range rng.IntN(500) {
			r := row()
			rows.Append(r)
			plain = append(plain, r)
		}
		if step%3 == 0 {
			n := rng.IntN(len(plain) + 1)
			if step%9 != 0 {
				n /= 10
			}
			rows.Drop(n)
			plain = append([][]float32(nil), plain[n:]...)
		}
		sameRows(t, &rows, plain)
		sameRows(t, &copied, before)
		if step%10 == 0 {
			copied, before = rows.Clone(), append([][]float32(nil), plain...)
		}
	}
	if made < 5*blockRows || len(rows.blocks) == 0 || rows.skip == 0 {
		t.Errorf("%d rows, %d blocks at the end and %d dropped of the first: the test shows nothing", made,
			len(rows.blocks), rows.skip)
	}
}

func sameRows(t *testing.T, rows *Rows, want [][]float32) {
	t.Helper()
	if rows.Len() != len(want) {
		t.Fatalf("%d rows, want %d", rows.Len(), len(want))
	}
	var got []float32
	for i, w := range want {
		got = rows.Row(i, got)
		for f := range w {
			if math.Float32bits(got[f]) != math.Float32bits(w[f]) || len(got) != len(w) {
				t.Fatalf("row %d is %v, want %v", i, got, w)
			}
		}
	}
	if len(want) == 0 {
		return
	}
	for f := range want[0] {
		column := make([]float64, len(want)-len(want)/3) // a training may use the first rows
		rows.Column(f, column)
		for i, v := range column {
			if w := float64(want[i][f]); math.Float64bits(v) != math.Float64bits(w) {
				t.Fatalf("feature %d of row %d is %v, want %v", f, i, v, w)
			}
		}
	}
}

// TestRowsPacked proves that in a block a constant feature takes one value, and a feature with few values takes a byte
// per row.
func TestRowsPacked(t *testing.T) {
	var rows Rows
	for i := range blockRows {
		rows.Append([]float32{7, float32(i % 256), float32(i % 257)})
	}
	b := *rows.blocks[0]
	for f, want := range []struct{ values, of int }{{1, 0}, {256, blockRows}, {blockRows, 0}} {
		if len(b[f].values) != want.values || len(b[f].of) != want.of {
			t.Errorf("feature %d has %d values and %d places, want %d and %d", f, len(b[f].values), len(b[f].of),
				want.values, want.of)
		}
	}
}
