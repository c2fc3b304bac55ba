package blend_test

import (
	"bytes"
	"testing"

	"github.com/waitcast/waitcast/predictor/blend"
)

// TestClone: a copy saves the same bytes, and goes its own way.
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
