package conformal_test

import (
	"bytes"
	"testing"

	"github.com/waitcast/waitcast/predictor/conformal"
)

// TestClone proves that a copy saves the same bytes, including its pending jobs, and then changes independently.
func TestClone(t *testing.T) {
	c, err := conformal.New(conformal.Config{Levels: []float64{.5, .9}})
	if err != nil {
		t.Fatal(err)
	}
	groups := []string{"short", "queue a"}
	for i := range int64(60) {
		c.Watch(i, float64(10*i), groups, []float64{30, 90}, []float64{30, 90})
		if i%3 == 0 {
			c.Started(i, float64(10*i+i%50))
		}
		c.Advance(float64(10 * i))
	}
	before, _ := c.MarshalBinary()
	copied := c.Clone()
	if same, _ := copied.MarshalBinary(); !bytes.Equal(before, same) {
		t.Error("the copy has another state")
	}
	copied.Advance(1e6)
	if after, _ := c.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("the copy's clock changes the original")
	}
	c.Advance(1e6)
	one, _ := c.MarshalBinary()
	if other, _ := copied.MarshalBinary(); !bytes.Equal(one, other) {
		t.Error("original and copy part under the same events")
	}
}
