package uniformlog

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// MaxLifetime is the longest accepted lifetime in seconds, 2^40 s (35,000 years). A longer lifetime is an error of
// the log. With this limit the integer sums of a fit are exact.
const MaxLifetime = 1 << 40

// ErrLifetime is returned for a lifetime that is NaN, infinite, negative or above [MaxLifetime].
var ErrLifetime = errors.New("not a lifetime in seconds")

// scale is the number of steps per unit of ln t. Fits use round(ln t * 2^22), so that all sums are integers. They are
// exact, and do not depend on the order and grouping of the additions. A step is 2.4e-7 of the lifetime. That is far
// below the resolution of logs, which is one second.
//
// A value is below 2^27 (ln 2^40 * 2^22 = 1.16e8) and its square below 2^54. A leaf has at most 240 values. Its sum
// of squares is below 2^62, and its sum of products with ranks is below 2^43. For a window of at most 2^31 jobs, the
// sum of values is below 2^58. Sums of squares and of rank products are below 2^90. Multiplied by the number of jobs,
// they are below 2^121. So 128 bits suffice.
const scale = 1 << 22

const (
	valueBits = 27
	maxValue  = 116290800 // the value of MaxLifetime
)

// quantize returns ln t in steps of 1/scale. Lifetimes below 1 s, which most logs write as 0, count as 1 s.
func quantize(seconds float64) (int32, error) {
	if !(seconds >= 0 && seconds <= MaxLifetime) {
		return 0, fmt.Errorf("uniformlog: lifetime %v: %w (0 to %d expected)", seconds, ErrLifetime, int64(MaxLifetime))
	}
	if seconds <= 1 {
		return 0, nil
	}
	return int32(math.Round(math.Log(seconds) * scale)), nil
}

func logOf(v int32) float64 { return float64(v) / scale }

func secondsOf(v int32) float64 { return math.Exp(logOf(v)) }

// sortValues sorts values below 2^27 in ascending order. Many values are sorted by digits of 9 bits in three passes;
// few values are sorted by comparison, which is then faster.
func sortValues(vals []int32) {
	const digit = valueBits / 3
	const mask = 1<<digit - 1
	if len(vals) < 512 {
		slices.Sort(vals)
		return
	}
	var ends [3][mask + 1]int
	for _, v := range vals {
		ends[0][v&mask]++
		ends[1][v>>digit&mask]++
		ends[2][v>>(2*digit)&mask]++
	}
	from, to := vals, make([]int32, len(vals))
	for pass := range ends {
		next := &ends[pass]
		at := 0
		for d, n := range next {
			next[d] = at
			at += n
		}
		shift := pass * digit
		for _, v := range from {
			d := v >> shift & mask
			to[next[d]] = v
			next[d]++
		}
		from, to = to, from
	}
	copy(vals, from)
}
