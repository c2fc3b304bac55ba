package storetest_test

import (
	"math"
	"testing"
	"time"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// TestSame proves that a row with NaN is the same as its copy with other pointers and time zones, and that a change of
// any part is noticed.
func TestSame(t *testing.T) {
	rows := func(change func(r *modelstore.Row)) []modelstore.Row {
		r := storetest.MakeRow(12) // with peers and parts
		change(&r)
		return []modelstore.Row{storetest.MakeRow(1), r}
	}
	want := rows(func(*modelstore.Row) {})
	for name, got := range map[string][]modelstore.Row{
		"a copy":       rows(func(*modelstore.Row) {}),
		"another zone": rows(func(r *modelstore.Row) { r.Submit = r.Submit.In(time.FixedZone("x", 3600)) }),
	} {
		if !storetest.Same(got, want) {
			t.Errorf("%s is not the same", name)
		}
	}
	for name, got := range map[string][]modelstore.Row{
		"none": nil, "one row less": want[:1],
		"another instant":  rows(func(r *modelstore.Row) { r.Submit = r.Submit.Add(1) }),
		"another number":   rows(func(r *modelstore.Row) { r.Served++ }),
		"another text":     rows(func(r *modelstore.Row) { r.Queue = "" }),
		"a number for NaN": rows(func(r *modelstore.Row) { r.Quantiles[3] = 0 }),
		"another infinity": rows(func(r *modelstore.Row) { r.Quantiles[2] = math.Inf(-1) }),
		"one peer less":    rows(func(r *modelstore.Row) { r.Peers = r.Peers[1:] }),
		"another peer":     rows(func(r *modelstore.Row) { r.Peers[1].Quantiles[1]++ }),
		"no parts":         rows(func(r *modelstore.Row) { r.Parts = nil }),
		"other parts":      rows(func(r *modelstore.Row) { r.Parts.Blocked[1]++ }),
	} {
		if storetest.Same(got, want) {
			t.Errorf("%s is the same", name)
		}
	}
	type parts map[string][]byte
	if !storetest.Same(parts{"a": {1}, "b": nil}, parts{"a": {1}, "b": {}}) {
		t.Error("equal maps are not the same")
	}
	for _, other := range []parts{{"a": {1}}, {"a": {2}, "b": nil}, {"a": {1}, "c": nil}} {
		if storetest.Same(other, parts{"a": {1}, "b": nil}) || storetest.Same(other, map[string][]byte(other)) {
			t.Errorf("%v is the same", other)
		}
	}
}
