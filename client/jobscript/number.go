package jobscript

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/internal/memsize"
)

// count parses an integer from 0 to MaxCount. It must consist of decimal digits.
func count(text string) (int, error) {
	n, ok := digits(text)
	switch {
	case !ok:
		return 0, fmt.Errorf("%q is not a whole number", clip(text))
	case n > MaxCount:
		return 0, fmt.Errorf("%q is more than %d", clip(text), MaxCount)
	}
	return int(n), nil
}

// positive parses an integer from 1 to MaxCount.
func positive(text string) (int, error) {
	n, err := count(text)
	if err == nil && n == 0 {
		err = errors.New("it must be 1 or more")
	}
	return n, err
}

// digits parses decimal digits. A number that is too large becomes math.MaxInt64.
func digits(text string) (int64, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return math.MaxInt64, true
	}
	return n, true
}

// times multiplies numbers from 0 to MaxCount+1. A result above MaxCount becomes MaxCount+1, which fit refuses.
func times(a, b int) int {
	if a > 0 && b > MaxCount/a {
		return MaxCount + 1
	}
	return a * b
}

// plus adds two numbers from 0 to MaxCount+1. A result above MaxCount becomes MaxCount+1.
func plus(a, b int) int { return min(a+b, MaxCount+1) }

// bytesTimes multiplies an amount of memory by a number. A result that is too large becomes math.MaxInt64.
func bytesTimes(size int64, n int) int64 {
	if n > 0 && size > math.MaxInt64/int64(n) {
		return math.MaxInt64
	}
	return size * int64(n)
}

// bytesPlus adds two amounts of memory. A result that is too large becomes math.MaxInt64.
func bytesPlus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// fit returns an error if a sum or product in the request is above its maximum. It also sets Procs to at least 1, and
// the maxima of ranges to at least their minima.
func (p *parser) fit(r *Request) error {
	for _, n := range [...]struct {
		n    int
		what string
	}{{r.Procs, "processors"}, {r.Nodes, "nodes"}, {r.GPUs, "GPUs"}, {r.Tasks, "tasks"}} {
		if n.n > MaxCount {
			return p.fail(origin{}, "", fmt.Sprintf("asks for more than %d %s", MaxCount, n.what), "check its size")
		}
	}
	r.Procs = max(r.Procs, 1)
	r.ProcsMax = min(max(r.Procs, r.ProcsMax), MaxCount)
	r.NodesMax = min(max(r.Nodes, r.NodesMax), MaxCount)
	return nil
}

var errLong = errors.New("longer than 292 years")

// addUp adds up the fields of a clock time in the given units. A field is an integer. If blank is true, a field may be
// empty and counts as 0.
func addUp(fields []string, blank bool, units ...time.Duration) (time.Duration, error) {
	var sum time.Duration
	for i, f := range fields {
		if f == "" && blank {
			continue
		}
		n, ok := digits(f)
		if !ok {
			return 0, fmt.Errorf("%q is not a whole number", clip(f))
		}
		if n > int64(math.MaxInt64-sum)/int64(units[i]) {
			return 0, errLong
		}
		sum += time.Duration(n) * units[i]
	}
	return sum, nil
}

const day = 24 * time.Hour

// size parses an amount of memory and returns the number of bytes. The text has digits and one of the letters as unit.
// If b is true, a letter b may follow the unit. A number without a unit is multiplied by alone.
func size(text, letters string, b bool, alone int64) (int64, error) {
	s := strings.ToUpper(text)
	if b && len(s) > 1 && strings.IndexByte(letters, s[len(s)-2]) >= 0 {
		s = strings.TrimSuffix(s, "B")
	}
	if n, ok := digits(s); ok {
		if n > math.MaxInt64/alone {
			return 0, errors.New("more than there is")
		}
		return n * alone, nil
	}
	if s == "" || strings.IndexByte(letters, s[len(s)-1]) < 0 {
		return 0, fmt.Errorf("%q is not an amount of memory", clip(text))
	}
	if _, ok := digits(s[:len(s)-1]); !ok {
		return 0, fmt.Errorf("%q is not an amount of memory", clip(text))
	}
	return memsize.Parse(s)
}
