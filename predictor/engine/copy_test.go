package engine

import (
	"bytes"
	"testing"
)

// TestCopy proves that a copy is saved in the same bytes, that it goes on to the last bit as the original does, also
// beyond the end of a training that was under way, and that nothing that copies are told changes the original.
func TestCopy(t *testing.T) {
	type goes struct {
		e    *Engine
		left int
	}
	for _, downey := range []bool{false, true} {
		cfg := Config{Downey: downey}
		plain, e := quick(t, cfg), quick(t, cfg)
		var copies []goes
		training, made := 0, 0
		for i, h := range happenings(5, 1200) {
			if e.learner.Next != nil && i%4 == 0 || i%100 == 99 {
				if e.learner.Next != nil {
					training++
				}
				c, err := e.Copy()
				check(t, err)
				want, err := e.MarshalBinary()
				check(t, err)
				got, err := c.MarshalBinary()
				check(t, err)
				if !bytes.Equal(want, got) {
					t.Fatalf("event %d: a copy is saved in other bytes", i)
				}
				copies = append(copies, goes{c, 60})
				made++
			}
			want := h.tell(plain)
			if got := h.tell(e); !same(want, got) {
				t.Fatalf("event %d: without copies %+v, with copies %+v", i, want, got)
			}
			var still []goes
			for _, c := range copies {
				if got := h.tell(c.e); !same(want, got) {
					t.Fatalf("event %d: the original says %+v, a copy %+v", i, want, got)
				}
				if c.left--; c.left > 0 {
					still = append(still, c)
				} else {
					c.e.Close()
				}
			}
			copies = still
		}
		for _, c := range copies {
			c.e.Close()
		}
		if training < 5 || made < 15 {
			t.Fatalf("%d copies, only %d while trees were trained", made, training)
		}
		want, err := plain.MarshalBinary()
		check(t, err)
		got, err := e.MarshalBinary()
		check(t, err)
		if !bytes.Equal(want, got) {
			t.Error("copies have changed the original")
		}
		plain.Close()
		e.Close()
	}
}
