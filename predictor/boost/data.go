package boost

import (
	"fmt"
	"math"
	"slices"
)

// maxBins is the most bins of a feature: one byte, of which the last value stands for a missing one.
const (
	maxBins = 255
	missing = 255
)

// Data is a set of rows with their features cut into bins, ready to train on. It may be trained on for several levels at once.
type Data struct {
	rows   int
	bins   [][]uint8   // by feature, then row
	upper  [][]float64 // by feature: the largest value of each bin but the last
	target []float64
	weight []float64 // nil: all 1
}

// Rows returns the number of rows.
func (d *Data) Rows() int { return d.rows }

// NewData cuts columns, one for each feature and all as long as target, into bins: each bin has about as many rows as the others, equal values are in one.
// weight is nil or tells by how much each row counts, more than 0. An error names the column or row that cannot be used.
func NewData(columns [][]float64, target, weight []float64, bins int) (*Data, error) {
	if len(target) == 0 {
		return nil, ErrNoRows
	}
	if len(target) > math.MaxInt32 {
		return nil, fmt.Errorf("boost: %d rows: want at most %d", len(target), math.MaxInt32)
	}
	if bins == 0 {
		bins = maxBins
	}
	if weight != nil && len(weight) != len(target) {
		return nil, fmt.Errorf("boost: %d weights for %d rows", len(weight), len(target))
	}
	for i, y := range target {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return nil, fmt.Errorf("boost: the target of row %d is %v", i, y)
		}
		if weight != nil && !(weight[i] > 0 && weight[i] <= math.MaxFloat32) {
			return nil, fmt.Errorf("boost: the weight of row %d is %v", i, weight[i])
		}
	}
	d := &Data{rows: len(target), target: target, weight: weight}
	for f, column := range columns {
		if len(column) != len(target) {
			return nil, fmt.Errorf("boost: feature %d has %d values for %d rows", f, len(column), len(target))
		}
		upper := edges(column, bins)
		binned := make([]uint8, len(column))
		for i, v := range column {
			binned[i] = bin(v, upper)
		}
		d.bins, d.upper = append(d.bins, binned), append(d.upper, upper)
	}
	return d, nil
}

// edges returns the largest value of each bin but the last.
func edges(column []float64, bins int) []float64 {
	values := make([]float64, 0, len(column))
	for _, v := range column {
		if !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	var out []float64
	for i := 1; i < bins && len(values) > 0; i++ {
		v := values[(len(values)-1)*i/bins]
		if v < values[len(values)-1] && (len(out) == 0 || v > out[len(out)-1]) {
			out = append(out, v)
		}
	}
	return out
}

// bin returns the bin of a value: the first whose largest value is not less.
func bin(v float64, upper []float64) uint8 {
	if math.IsNaN(v) {
		return missing
	}
	i, _ := slices.BinarySearch(upper, v)
	return uint8(i)
}

// weightOf returns by how much a row counts.
func (d *Data) weightOf(row int32) float64 {
	if d.weight == nil {
		return 1
	}
	return d.weight[row]
}
