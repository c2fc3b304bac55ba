package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// DefaultTolerance is the maximum relative difference of two runtimes or time limits that count as equal in
// [StackDepth]: 5 % (Zakay, sec. 5.2). For sizes the tolerance is 0.
const DefaultTolerance = .05

// Locality is the result of [StackDepth].
type Locality struct {
	Depth  float64 `json:"depth"`  // mean depth of the hits, where the top is 0; 0 without hits
	Hits   int     `json:"hits"`   // values that were found in the stack
	Misses int     `json:"misses"` // values that were new
	Size   int     `json:"size"`   // number of values in the stack at the end
}

// StackDepth measures the locality of a series in the order of submission by the stack-depth algorithm (Zakay, sec.
// 5.2 and Table VI). If a value is in the stack, its depth is recorded, and it is moved to the top. Any other value
// is put on top. A small mean depth means that the workload repeats itself.
//
// The paper does not define some details. Here a value x hits the topmost value s of the stack with |x - s| <=
// tolerance |s|. s moves to the top unchanged. Depths are counted from 0. Misses do not count in the mean. With these
// rules the results agree with the paper's Table VI. A tolerance outside [0, 1) is an error. A hit takes time in
// proportion to its depth, a miss in proportion to the size of the stack. A tolerance of 5 % limits the stack to a
// few hundred values.
func StackDepth(values []float64, tolerance float64) (Locality, error) {
	if !(tolerance >= 0 && tolerance < 1) {
		return Locality{},
			fmt.Errorf("compare: stack depth: tolerance %v: %w (0 to below 1 expected)", tolerance, ErrValue)
	}
	if err := finite("stack depth", values, 1); err != nil {
		return Locality{}, err
	}
	var l Locality
	var stack []float64 // the last element is the top
	sum := 0.0
	for _, x := range values {
		at := len(stack) - 1
		for at >= 0 && math.Abs(x-stack[at]) > tolerance*math.Abs(stack[at]) {
			at--
		}
		if at < 0 {
			l.Misses++
			stack = append(stack, x)
			continue
		}
		l.Hits++
		sum += float64(len(stack) - 1 - at)
		s := stack[at]
		copy(stack[at:], stack[at+1:])
		stack[len(stack)-1] = s
	}
	if l.Hits > 0 {
		l.Depth = sum / float64(l.Hits)
	}
	l.Size = len(stack)
	return l, nil
}

// ConcentrationBins is the number of bins of equal weight of [DailyConcentration] (Zakay, sec. 5.2).
const ConcentrationBins = 16

// Day is one day of [DailyConcentration].
type Day struct {
	Day  int64   `json:"day"`  // number of the day, as the caller passed it
	Jobs int     `json:"jobs"` // jobs of that day
	Max  float64 `json:"max"`  // share of these jobs in the bin with the most jobs, from about 1/16 to 1
}

// DailyConcentration measures local concentration (Zakay, sec. 5.2 and Fig. 5). It sorts all values of the workload
// into 16 bins of equal weight. For each day with at least minJobs jobs it returns the share of the bin with the most
// jobs of the day; the days are ascending. days has the day of each job; see [DayOf]. The upper end of a bin is a
// quantile, and belongs to the bin. So equal values are in one bin. If a value is more frequent than 1/16, there are
// fewer bins, and the lowest possible share is higher. minJobs below 1 counts as 1.
func DailyConcentration(days []int64, values []float64, minJobs int) ([]Day, error) {
	if err := sameLength("daily concentration", len(days), len(values)); err != nil {
		return nil, err
	}
	if err := finite("daily concentration", values, ConcentrationBins); err != nil {
		return nil, err
	}
	sorted := slices.Sorted(slices.Values(values))
	var edges [ConcentrationBins - 1]float64
	for i := range edges {
		edges[i] = stat.Quantile(float64(i+1)/ConcentrationBins, stat.Empirical, sorted, nil)
	}
	counts := map[int64]*[ConcentrationBins]int{}
	for i, v := range values {
		c := counts[days[i]]
		if c == nil {
			c = new([ConcentrationBins]int)
			counts[days[i]] = c
		}
		bin, _ := slices.BinarySearch(edges[:], v)
		c[bin]++
	}
	out := make([]Day, 0, len(counts))
	for day, c := range counts {
		d := Day{Day: day}
		most := 0
		for _, n := range c {
			d.Jobs += n
			most = max(most, n)
		}
		if d.Jobs >= max(minJobs, 1) {
			d.Max = float64(most) / float64(d.Jobs)
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Day) int { return cmp.Compare(a.Day, b.Day) })
	return out, nil
}

// DayOf returns the number of the day of each time, in seconds. offset is added to the times first. It is the number
// of seconds from the midnight before time 0 to time 0, so that the days are local days.
func DayOf(times []float64, offset float64) []int64 {
	days := make([]int64, len(times))
	for i, t := range times {
		days[i] = int64(math.Floor((t + offset) / 86400))
	}
	return days
}
