package history

import (
	"testing"

	"pgregory.net/rapid"
)

// TestTable proves that a table behaves like a map, with keys that share slots and with the hash 0, which counts as 1.
func TestTable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var got table[int]
		want := map[uint64]int{}
		stride := rapid.SampledFrom([]uint64{3, 1024, 1 << 20}).Draw(rt, "stride")
		for i := range rapid.IntRange(0, 3000).Draw(rt, "entries") {
			key := stride * uint64(i%1500) //nolint:gosec // small
			got.set(key, i)
			want[key] = i
		}
		for key := range uint64(1600) {
			key *= stride
			value, known := got.get(key)
			if v, ok := want[key]; known != ok || known && value != v {
				rt.Fatalf("%d: %d, %v; want %d, %v", key, value, known, v, ok)
			}
		}
	})
}
