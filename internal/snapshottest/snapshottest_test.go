package snapshottest_test

import (
	"encoding/json"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/internal/snapshottest"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	saved := codectest.Seal(t, "part", 1, codectest.Fields(func(c *codec.Codec) { c.JSON(json.RawMessage(text)) }))
	v, err := snapshottest.Decode(saved)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestDecode proves that parts are equal if they differ only in live flags and counts, but not if another figure
// differs.
func TestDecode(t *testing.T) {
	const calm = `{"jobs":[{"id":"1","live":true}],"orphans":1,"decisions":{"newest":{"a":1},
		"counts":{"q":[[{"hit":3},{"hit":5}],[{},{"hit":1}]]}}}`
	for _, c := range []struct {
		name, other string
		equal       bool
	}{
		{"the same", calm, true},
		{"read after the fact", `{"jobs":[{"id":"1","live":false}],"duplicates":4,"decisions":{
			"counts":{"q":[[{"hit":1},{}],[{"hit":2},{"hit":6}]]}}}`, true},
		{"another job", `{"jobs":[{"id":"2"}],"decisions":{"counts":{"q":[[{"hit":3},{"hit":5}],[{},{"hit":1}]]}}}`,
			false},
		{"one more hit", `{"jobs":[{"id":"1"}],"decisions":{"counts":{"q":[[{"hit":4},{"hit":5}],[{},{"hit":1}]]}}}`,
			false},
		{"a hit at another level", `{"jobs":[{"id":"1"}],"decisions":{
			"counts":{"q":[[{"hit":2},{"hit":6}],[{},{"hit":1}]]}}}`, false},
	} {
		if diff := cmp.Diff(decode(t, calm), decode(t, c.other)); (diff == "") != c.equal {
			t.Errorf("%s: equal is %v, want %v: %s", c.name, diff == "", c.equal, diff)
		}
	}
	half := []byte("{")
	saved := codectest.Seal(t, "part", 1, codectest.Fields(func(c *codec.Codec) { c.Blob(&half) }))
	for _, bad := range [][]byte{saved, half, nil} {
		if _, err := snapshottest.Decode(bad); err == nil {
			t.Errorf("%q is decoded", bad)
		}
	}
}
