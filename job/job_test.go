package job_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/waitcast/waitcast/job"
)

// filled returns attributes whose fields all have the value n, or a letter that depends on n if they are texts.
func filled(t *testing.T, n int) job.Attributes {
	t.Helper()
	var a job.Attributes
	for i := range reflect.TypeFor[job.Attributes]().NumField() {
		fill(t, &a, i, n)
	}
	return a
}

// fill sets one field to a nonzero value.
func fill(t *testing.T, a *job.Attributes, field, n int) {
	t.Helper()
	v := reflect.ValueOf(a).Elem().Field(field)
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(rune('a' + n)))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		v.Set(reflect.ValueOf(time.Unix(int64(n), 0).UTC()))
	default:
		t.Fatalf("the field %s is a %s: teach this test to fill it", v.Type(), v.Kind())
	}
}

// TestEveryAttributeCounts proves that Merge and Without treat every field of Attributes: a field that one of them
// forgets would be lost in a cluster's state.
func TestEveryAttributeCounts(t *testing.T) {
	fields := reflect.TypeFor[job.Attributes]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		var one job.Attributes
		fill(t, &one, i, 2)
		if got := (job.Attributes{}).Merge(one); got != one {
			t.Errorf("%s: Merge gives %+v", name, got)
		}
		want := filled(t, 1)
		fill(t, &want, i, 2)
		if got := filled(t, 1).Merge(one); got != want {
			t.Errorf("%s: Merge with a later record gives %+v", name, got)
		}
		if got := one.Without(filled(t, 1)); got != (job.Attributes{}) {
			t.Errorf("%s: Without a known value gives %+v", name, got)
		}
		if got := one.Without(job.Attributes{}); got != one {
			t.Errorf("%s: Without nothing gives %+v", name, got)
		}
	}
}
