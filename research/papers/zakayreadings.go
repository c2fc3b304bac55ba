package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/workload/compare"
)

// depthReading is an interpretation of locality by stack depth, as the paper defines it: values are kept in a stack,
// and the locality of a value is the depth at which the stack has a value near it.
type depthReading struct {
	name      string
	ofValue   bool // the tolerance is relative to the new value, not to that in the stack
	renew     bool // the new value replaces the one that it is near to
	from      int  // depth of the top of the stack
	missAtEnd bool // a value that is near none in the stack counts, with the size of the stack as its depth
}

// depth returns the mean depth of the values that are within 5 % of a value in the stack, and with missAtEnd also of
// the others.
func (r *depthReading) depth(values []float64) float64 {
	const tolerance = .05
	var stack []float64
	sum, n := 0.0, 0.0
	for _, x := range values {
		at := slices.IndexFunc(stack, func(y float64) bool {
			of := y
			if r.ofValue {
				of = x
			}
			return math.Abs(x-y) <= tolerance*of
		})
		if at < 0 {
			if r.missAtEnd {
				sum, n = sum+float64(len(stack)+r.from), n+1
			}
			stack = slices.Insert(stack, 0, x)
			continue
		}
		sum, n = sum+float64(at+r.from), n+1
		y := stack[at]
		if r.renew {
			y = x
		}
		copy(stack[1:at+1], stack[:at])
		stack[0] = y
	}
	return sum / n
}

// depthReadings adds a text with the results for the runtimes of KTH in Table VI under several readings, the first of
// which is that of the table.
func (d *Data) depthReadings(t *Table) error {
	l, err := d.log(kth)
	if err != nil {
		return err
	}
	var runtimes []float64
	for i := range l.records {
		if r := &l.records[i]; counts(r) {
			runtimes = append(runtimes, float64(r.Runtime))
		}
	}
	var all []string
	for _, r := range []depthReading{
		{name: "as here"}, {name: "tolerance of the new value", ofValue: true},
		{name: "the new value replaces the stack's", renew: true}, {name: "depths from 1", from: 1},
		{name: "new values count with the stack's size", missAtEnd: true},
	} {
		all = append(all, fmt.Sprintf("%s %.2f", r.name, r.depth(runtimes)))
	}
	t.choose("how depth is counted. Runtimes of KTH, which the paper has at 35.25: %s.", strings.Join(all, "; "))
	return nil
}

// hurstReadings adds a text with the results for the recorded logs in Table VII with bins of other lengths.
func (d *Data) hurstReadings(t *Table) error {
	var all []string
	for _, hours := range []float64{1, 2, 3, 6, 12} {
		var of []string
		for _, log := range zakayLogs() {
			l, err := d.log(log.name)
			if err != nil {
				return err
			}
			var submit []float64
			for i := range l.records {
				if r := &l.records[i]; counts(r) {
					submit = append(submit, float64(r.Submit))
				}
			}
			counted, err := compare.Counts(submit, 0, hours*3600)
			if err != nil {
				return err
			}
			h, err := compare.Hurst(counted, compare.HurstOptions{})
			if err != nil {
				return err
			}
			of = append(of, number(h.H, 3))
		}
		all = append(all, fmt.Sprintf("%g h %s", hours, strings.Join(of, " ")))
	}
	t.choose("bins of 3 h. The originals of KTH, CTC, LANL and SDSC-SP2, which the paper has at .666 .617 .690 .638, "+
		"with "+
		"bins of %s.", strings.Join(all, "; "))
	return nil
}
