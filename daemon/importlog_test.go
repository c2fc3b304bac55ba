package daemon

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// TestLines proves that the lines of a log are those between its line ends, however it is cut into reads, and that
// those which are too long are cut and said.
func TestLines(t *testing.T) {
	const limit = 100_000 // beyond the buffer
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(limit-2, limit+2),
			rapid.IntRange(60_000, 140_000)), 0, 8).Draw(t, "lengths")
		var log bytes.Buffer
		for i, n := range lengths {
			log.WriteString(strings.Repeat(strconv.Itoa(i%10), n))
			log.WriteByte('\n')
		}
		if n := len(lengths); n > 0 && lengths[n-1] > 0 && rapid.Bool().Draw(t, "open") {
			log.Truncate(log.Len() - 1) // the last line has no end
		}
		l := newLines(iotest.HalfReader(&log), limit)
		for i, n := range lengths {
			line, err := l.next()
			var long *longLineError
			if errors.As(err, &long) != (n > limit) || err != nil && long == nil {
				t.Fatalf("line %d of %d bytes: %v", i+1, n, err)
			}
			if want := strings.Repeat(strconv.Itoa(i%10), min(n, limit)); string(line) != want ||
				l.number != int64(i+1) {
				t.Fatalf("line %d of %d bytes: %d bytes, number %d", i+1, n, len(line), l.number)
			}
		}
		if line, err := l.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last line: %q, %v", line, err)
		}
	})
}

// TestEscaped proves that any bytes can be told from what is shown of them, which is printable.
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
