package cluster

import "testing"

// TestOrderOfSubmission proves that ByOrder, the order of submission, is a strict order.
func TestOrderOfSubmission(t *testing.T) {
	a, b := &Job{Order: at(1), Seq: 1}, &Job{Order: at(1), Seq: 2}
	c := &Job{Order: at(2), Seq: 0}
	for _, pair := range [][2]*Job{{a, b}, {b, c}, {a, c}} {
		if ByOrder(pair[0], pair[1]) >= 0 || ByOrder(pair[1], pair[0]) <= 0 || ByOrder(pair[0], pair[0]) != 0 {
			t.Errorf("%+v does not come before %+v", *pair[0], *pair[1])
		}
	}
}
