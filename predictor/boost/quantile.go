package boost

import (
	"cmp"
	"math"
	"slices"
)

// pair is a residual with the weight of its row.
type pair struct{ value, weight float64 }

// few is the number of values up to which values are sorted instead of partitioned.
const few = 12

// quantile returns the quantile of the residuals of some rows: the smallest value such that the share of rows up to
// it is at least the level. It returns 0 without rows.
func (t *trainer) quantile(rows []int32) float64 {
	switch {
	case len(rows) == 0:
		return 0
	case t.signed:
		return t.weighted(rows, nil)
	}
	t.values = resize(t.values, len(rows))
	for i, r := range rows {
		t.values[i] = t.target[r] - t.prediction[r]
	}
	return smallest(t.values, max(1, int(math.Ceil(t.level*float64(len(rows)))))-1)
}

// smallest returns the value with index k in sorted order (quickselect). It reorders the values.
func smallest(values []float64, k int) float64 {
	for len(values) > few {
		pivot := pivotOf(values)
		less := lower(values, pivot)
		if k < less {
			values = values[:less]
			continue
		}
		values, k = values[less:], k-less
		equal := lowest(values, pivot)
		if k < equal {
			return pivot
		}
		values, k = values[equal:], k-equal
	}
	slices.Sort(values)
	return values[k]
}

// place sorts the values only as far as needed: afterwards, for each r of the given rising ranks, values[r-from] is the
// value of rank r. from is the rank of values[0]. After turns partitions, place sorts the rest completely.
func place(values []float64, ranks []int, from, turns int) {
	for len(ranks) > 0 {
		if len(values) <= few || turns == 0 {
			slices.Sort(values)
			return
		}
		turns--
		pivot := pivotOf(values)
		less := lower(values, pivot)
		left, _ := slices.BinarySearch(ranks, from+less)
		place(values[:less], ranks[:left], from, turns)
		equal := lowest(values[less:], pivot)
		from += less + equal
		right, _ := slices.BinarySearch(ranks, from)
		values, ranks = values[less+equal:], ranks[right:]
	}
}

func pivotOf(values []float64) float64 {
	return medianOfThree(values[0], values[len(values)/2], values[len(values)-1])
}

// lower moves the values below a pivot to the front, and returns their number.
func lower(values []float64, pivot float64) int {
	n := 0
	// No branch that depends on the data, because half of such branches would be mispredicted.
	for i, v := range values {
		values[i], values[n] = values[n], v
		n += one(v < pivot)
	}
	return n
}

// lowest moves the values up to a pivot to the front, and returns their number.
func lowest(values []float64, pivot float64) int {
	n := 0
	for i, v := range values {
		values[i], values[n] = values[n], v
		n += one(v <= pivot)
	}
	return n
}

// one converts true to 1 and false to 0; the compiler makes it branch-free.
func one(is bool) int {
	n := 0
	if is {
		n = 1
	}
	return n
}

// weighted returns the quantile for rows with weights; nil means that all weights are 1. It adds weights in a fixed
// order, because another order rounds differently.
func (t *trainer) weighted(rows []int32, weight []float64) float64 {
	t.residuals = resize(t.residuals, len(rows))
	rest := t.residuals
	total := 0.0
	for i, r := range rows {
		w := 1.0
		if weight != nil {
			w = weight[r]
		}
		total += w
		rest[i] = pair{t.target[r] - t.prediction[r], w}
	}
	want := t.level * total
	for len(rest) > few {
		pivot := medianOfThree(rest[0].value, rest[len(rest)/2].value, rest[len(rest)-1].value)
		less, equal, below, same := partition(rest, pivot)
		switch {
		case below >= want:
			rest = rest[:less]
		case below+same >= want:
			return pivot
		case less+equal == len(rest):
			return pivot // only rounding keeps the sum from reaching the level
		default:
			rest, want = rest[less+equal:], want-below-same
		}
	}
	slices.SortFunc(rest, func(a, b pair) int { return cmp.Compare(a.value, b.value) })
	sum := 0.0
	for _, p := range rest {
		if sum += p.weight; sum >= want {
			return p.value
		}
	}
	return rest[len(rest)-1].value
}

// partition moves the values below the pivot to the front, then those equal to the pivot. It returns the numbers and
// weights of both.
func partition(all []pair, pivot float64) (less, equal int, below, same float64) {
	high := len(all)
	for i := 0; i < high; {
		switch v := all[i].value; {
		case v < pivot:
			below += all[i].weight
			all[i], all[less] = all[less], all[i]
			less++
			i++
		case v > pivot:
			high--
			all[i], all[high] = all[high], all[i]
		default:
			same += all[i].weight
			i++
		}
	}
	return less, high - less, below, same
}

func medianOfThree(a, b, c float64) float64 {
	return max(min(a, b), min(max(a, b), c))
}
