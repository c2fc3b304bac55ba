package daemon

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEscaped proves that escaped text is printable, and that the original bytes can be recovered from it.
func TestEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"plain text; ü 日": "plain text; ü 日", `a\b`: `a\\b`, "\xff\x00\t": `\xff\x00\x09`,
		"\u202e": `\xe2\x80\xae`,
		"\ufffd": "\ufffd", `\x41`: `\\x41`,
	} {
		if got := escaped([]byte(in)); got != want {
			t.Errorf("%q is shown as %s, want %s", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		out := escaped(in)
		if back, err := strconv.Unquote(`"` + strings.ReplaceAll(out, `"`, `\"`) + `"`); err != nil ||
			back != string(in) {
			t.Fatalf("%q is shown as %s, which is %q, %v", in, out, back, err)
		}
	})
}
