package blend_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/waitcast/waitcast/predictor/blend"
)

// TestClone proves that a copy saves the same bytes, and then changes independently.
func TestClone(t *testing.T) {
	b, err := blend.New(blend.Config{Levels: []float64{.5, .9}, Priors: []float64{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		y := float64(i % 7)
		b.Learn([]string{"queue a", "size 1"}, []float64{y + 1, y - 1, 3, y + 2, y, 5}, y)
	}
	before, _ := b.MarshalBinary()
	c := b.Clone()
	if same, _ := c.MarshalBinary(); !bytes.Equal(before, same) {
		t.Error("the copy has another state")
	}
	c.Learn([]string{"queue b"}, []float64{1, 2, 3, 4, 5, 6}, 9)
	if after, _ := b.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("the copy's lesson changes the original")
	}
}

// TestCloneGrows checks that an expert that joins a copy changes neither the original nor the weights that lie beside
// its own in the memory of the copy.
func TestCloneGrows(t *testing.T) {
	b, err := blend.New(blend.Config{Levels: []float64{.5, .9}, Priors: []float64{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		b.Learn([]string{fmt.Sprint("queue ", i%3)}, []float64{1, 2, 3, 4}, float64(i%5))
	}
	before, _ := b.MarshalBinary()
	var loaded blend.Blend
	if err := loaded.UnmarshalBinary(before); err != nil {
		t.Fatal(err)
	}
	c := b.Clone()
	for _, x := range []*blend.Blend{c, &loaded} {
		if err := x.Grow(1); err != nil {
			t.Fatal(err)
		}
		x.Learn([]string{"queue 1", "queue 9"}, []float64{1, 2, 3, 4, 5, 6}, 2)
	}
	got, _ := c.MarshalBinary()
	if want, _ := loaded.MarshalBinary(); !bytes.Equal(got, want) {
		t.Error("a copy goes on otherwise than what was saved and loaded")
	}
	if after, _ := b.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("an expert that joins a copy changes the original")
	}
}

// BenchmarkClone measures a copy of the weights for the maximum number of groups.
func BenchmarkClone(b *testing.B) {
	x, err := blend.New(blend.Config{Levels: []float64{.1, .25, .5, .75, .9, .95},
		Priors: []float64{8, 2, 1, 1, 1, 1, 1, 1, 1, 1}})
	if err != nil {
		b.Fatal(err)
	}
	row := make([]float64, 60)
	for i := range 256 {
		x.Learn([]string{fmt.Sprint("queue ", i)}, row, 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		x.Clone()
	}
}
