package history_test

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/history"
)

// TestLines proves that the lines of a log are found however it is cut into reads, and that too long lines are cut and
// reported.
func TestLines(t *testing.T) {
	const limit = 100_000 // longer than the buffer
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
		l := history.NewLines(iotest.HalfReader(&log), limit)
		for i, n := range lengths {
			line, err := l.Next()
			var long *history.LongLineError
			if errors.As(err, &long) != (n > limit) || err != nil && long == nil {
				t.Fatalf("line %d of %d bytes: %v", i+1, n, err)
			}
			if want := strings.Repeat(strconv.Itoa(i%10), min(n, limit)); string(line) != want ||
				l.Number() != int64(i+1) {
				t.Fatalf("line %d of %d bytes: %d bytes, number %d", i+1, n, len(line), l.Number())
			}
		}
		if line, err := l.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last line: %q, %v", line, err)
		}
	})
}
