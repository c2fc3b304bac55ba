package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// DefaultTolerance is the relative difference up to which two runtimes or time limits count as the same in
// [StackDepth]: 5 % (Zakay, sec. 5.2). Sizes are compared with tolerance 0.
const DefaultTolerance = .05

// Locality is the result of [StackDepth].
type Locality struct {
	Depth  float64 `json:"depth"`  // mean depth of the hits, from 0 at the top; 0 without hits
	Hits   int     `json:"hits"`   // values that were found in the stack
	Misses int     `json:"misses"` // values that were new
	Size   int     `json:"size"`   // values in the stack at the end
}

// StackDepth measures the locality of a series in the order of submission by the stack-depth algorithm (Zakay, sec. 5.2
// and Table VI): a value that lies in the stack is moved to its top and its depth noted, any other is put on top. The
// smaller the mean depth, the more the workload repeats itself.
//
// Where the paper is silent: a value x hits the topmost stacked value s with |x - s| <= tolerance |s|; s moves up
// unchanged; depths count from 0; misses do not enter the mean. (These readings give the paper's Table VI.) A tolerance
// outside [0, 1) is an error. The time is that of the depths and, for each miss, of the whole stack, which a tolerance
// of 5 % keeps at a few hundred values.
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

// ConcentrationBins is the number of equal-weight bins of [DailyConcentration] (Zakay, sec. 5.2).
const ConcentrationBins = 16

// Day is one day of [DailyConcentration].
type Day struct {
	Day  int64   `json:"day"`  // as given by the caller's function of time
	Jobs int     `json:"jobs"` // jobs of that day
	Max  float64 `json:"max"`  // share of them in the fullest bin, from 1/16 (about) to 1
}

// DailyConcentration measures local concentration: values are sorted into 16 bins of equal weight over the whole
// workload, and for each day with at least minJobs jobs the share of the fullest bin is returned, days ascending
// (Zakay, sec. 5.2 and Fig. 5). days has the day of each job; see [DayOf]. A bin ends at a quantile and holds values up
// to it, so that equal values share one bin: where a value is more common than 1/16, bins are fewer and the shares
// start higher. minJobs below 1 counts as 1.
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

// DayOf returns the number of the day that each time, in seconds, lies in; offset is added first (seconds from the
// midnight before time 0 to time 0, to follow the local day).
func DayOf(times []float64, offset float64) []int64 {
	days := make([]int64, len(times))
	for i, t := range times {
		days[i] = int64(math.Floor((t + offset) / 86400))
	}
	return days
}
