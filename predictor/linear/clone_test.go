package linear_test

import (
	"bytes"
	"testing"

	"github.com/waitcast/waitcast/predictor/linear"
)

// TestClone proves that a copy saves the same bytes, and then changes independently.
func TestClone(t *testing.T) {
	m, err := linear.New(linear.Config{Levels: []float64{.5, .9}, Features: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		m.Learn([]float64{float64(i % 7), float64(i % 3)}, float64(i%7))
	}
	before, _ := m.MarshalBinary()
	c := m.Clone()
	if same, _ := c.MarshalBinary(); !bytes.Equal(before, same) {
		t.Error("the copy has another state")
	}
	c.Learn([]float64{1, 1}, 100)
	if after, _ := m.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("the copy's lesson changes the original")
	}
}
