package queuenames

import (
	"fmt"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestHashes proves that a set keeps the newest hashes, up to its bound, and that a copy of the set does not change.
func TestHashes(t *testing.T) {
	var s hashes
	const all = (hashBlocks + 3) * hashBlock
	var early hashes
	for i := range uint64(all) {
		if !s.add(i*2654435761 + 1) {
			t.Fatalf("hash %d is said to be known", i)
		}
		if i == hashBlock+10 {
			early = s
		}
	}
	kept := 0
	for i := range uint64(all) {
		if s.has(i*2654435761 + 1) {
			kept++
		} else if i > 4*hashBlock {
			t.Fatalf("hash %d of %d is forgotten", i, all)
		}
	}
	if kept > (hashBlocks+1)*hashBlock || len(s.full) > hashBlocks {
		t.Errorf("%d hashes in %d blocks are remembered", kept, len(s.full))
	}
	if !early.has(1) || !early.has((hashBlock+10)*2654435761+1) || early.has((hashBlock+11)*2654435761+1) {
		t.Error("a copy has changed")
	}
}

// TestCodec proves that restored names equal the saved ones, and that damaged bytes are an error.
func TestCodec(t *testing.T) {
	n := New([]string{"a"}, 3)
	for i := range 3000 {
		n.Note(fmt.Sprint("q", i))
	}
	data, err := n.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	again := New([]string{"a"}, 3)
	if err := again.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(n, again, gocmp.AllowUnexported(Names{}, hashes{})); d != "" {
		t.Errorf("saved (-) and restored (+) differ: %.2000s", d)
	}
	codectest.Check(t, data, func() codec.Savable { return New(nil, 3) })
}
