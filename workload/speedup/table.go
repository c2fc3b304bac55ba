package speedup

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Point is a runtime of a program at one size.
type Point struct {
	Procs   int
	Seconds float64
}

// PointError reports an invalid point of a table.
type PointError struct {
	Place   int // position in the table, counted from 1; 0 for the whole table
	Point   Point
	Problem string
}

// Error returns a message with the position and the point.
func (e *PointError) Error() string {
	if e.Place == 0 {
		return "runtime table: " + e.Problem
	}
	return fmt.Sprintf("runtime table, entry %d (%d processors, %v s): %s", e.Place, e.Point.Procs,
		e.Point.Seconds, e.Problem)
}

// Table is a table of runtimes. Between its sizes ln R is linear in ln n, so that R is a power of n there and exact
// at the sizes. It does not cover sizes outside. Runtimes may rise with the size, because some programs become
// slower.
type Table struct {
	sizes   []int
	seconds []float64
}

// NewTable returns a table of at least two points, which may be in any order. The error is a *PointError.
func NewTable(points []Point) (*Table, error) {
	if len(points) < 2 {
		return nil,
			&PointError{Problem: fmt.Sprintf(
				"it has %d sizes; two or more are needed to know how the runtime depends on the size", len(points))}
	}
	place := map[int]int{}
	for i, p := range points {
		switch first, twice := place[p.Procs]; {
		case p.Procs < 1:
			return nil, &PointError{i + 1, p, "the size must be 1 or more"}
		case !sensible(p.Seconds):
			return nil, &PointError{i + 1, p, "the runtime must be more than 0, and at most 1e12 s"}
		case twice:
			return nil, &PointError{i + 1, p, fmt.Sprintf("entry %d has this size already", first)}
		}
		place[p.Procs] = i + 1
	}
	sorted := slices.SortedFunc(slices.Values(points), func(a, b Point) int { return cmp.Compare(a.Procs, b.Procs) })
	t := &Table{}
	for _, p := range sorted {
		t.sizes, t.seconds = append(t.sizes, p.Procs), append(t.seconds, p.Seconds)
	}
	return t, nil
}

// Sizes returns the sizes in the table, in ascending order.
func (t *Table) Sizes() []int { return slices.Clone(t.sizes) }

// Runtime returns the runtime in seconds on the given number of processors. The error is a *SizeError for a size
// outside the table.
func (t *Table) Runtime(procs int) (float64, error) {
	last := len(t.sizes) - 1
	if procs < t.sizes[0] || procs > t.sizes[last] {
		return 0, &SizeError{Procs: procs, From: t.sizes[0], To: t.sizes[last]}
	}
	i, exact := slices.BinarySearch(t.sizes, procs)
	if exact {
		return t.seconds[i], nil
	}
	n0, n1 := float64(t.sizes[i-1]), float64(t.sizes[i])
	share := math.Log(float64(procs)/n0) / math.Log(n1/n0)
	return t.seconds[i-1] * math.Pow(t.seconds[i]/t.seconds[i-1], share), nil
}

// Spread returns 0, because the table is assumed to be exact.
func (*Table) Spread(int) float64 { return 0 }
