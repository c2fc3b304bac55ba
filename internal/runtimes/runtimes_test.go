package runtimes_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/runtimes"
	"github.com/waitcast/waitcast/workload/speedup"
)

// parse reads a text in one of the forms.
func parse(form, text string) (speedup.Curve, error) {
	switch form {
	case "table":
		return runtimes.Table(text)
	case "amdahl":
		return runtimes.Amdahl(text)
	}
	return runtimes.Downey(text)
}

// The forms that the commands document, and each way to write a duration in them, come to the runtimes worked by hand.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		form, text string
		procs      int
		want       float64
	}{
		{"table", "1:10h,2:5.5h", 1, 36000},
		{"table", "1:10h,2:5.5h", 2, 19800},
		{"table", " 4:2:00:00 , 1:1-12:00 ", 4, 7200},
		{"table", "4:2:00:00,1:1-12:00", 1, 36 * 3600},
		{"table", "1:100,4:25", 2, 50},
		{"amdahl", "0.1,100", 10, 19},
		{"amdahl", "0, 1h", 4, 900},
		{"downey", "10,0.5,1000", 15, 1000 / 9.375},
		{"downey", "10, 2, 1h", 4, 1080},
	} {
		curve, err := parse(c.form, c.text)
		if err != nil {
			t.Errorf("%s %q: %v", c.form, c.text, err)
			continue
		}
		if got, err := curve.Runtime(c.procs); err != nil || math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%s %q on %d: %v, %v, want %v", c.form, c.text, c.procs, got, err, c.want)
		}
	}
}

// Each bad text is refused with the place of the entry that is wrong, and the text says so.
func TestBadTexts(t *testing.T) {
	for _, c := range []struct {
		form, text string
		place      int
		says       string
	}{
		{"table", "", 0, "empty"},
		{"table", "1:10h", 0, "two or more"},
		{"table", "1:10h,2", 2, "no colon"},
		{"table", "1:10h,two:5h", 2, "number of processors"},
		{"table", "1:10h,2:five", 2, "five"},
		{"table", "1:10h,,2:5h", 2, "no colon"},
		{"table", "1:10h,2:0", 2, "more than 0"},
		{"table", "0:10h,2:5h", 1, "1 or more"},
		{"table", "1:10h,2:5h,1:9h", 3, "entry 1 has this size"},
		{"table", "-1:10h,2:5h", 1, "number of processors"},
		{"table", strings.Repeat("1", 1<<17), 0, "too long"},
		{"amdahl", "0.1", 0, "1 entries"},
		{"amdahl", "1.5,10h", 1, "0 to 1"},
		{"amdahl", "NaN,10h", 1, "0 to 1"},
		{"amdahl", "0.1,0", 2, "T1"},
		{"amdahl", "x,10h", 1, "not a number"},
		{"downey", "64,10h", 0, "2 entries"},
		{"downey", "0.5,1,10h", 1, "A is 0.5"},
		{"downey", "64,-1,10h", 2, "sigma is -1"},
		{"downey", "Inf,1,10h", 1, "A is"},
		{"downey", "64,1,10 hours", 3, "hours"},
	} {
		_, err := parse(c.form, c.text)
		var bad *runtimes.ParseError
		if !errors.As(err, &bad) || bad.Place != c.place || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %.40q: %v, want a *ParseError at %d that says %q", c.form, c.text, err, c.place, c.says)
		}
	}
	var of *duration.ParseError
	if _, err := runtimes.Table("1:10h,2:five"); !errors.As(err, &of) {
		t.Errorf("%v does not wrap the duration's error", err)
	}
	var point *speedup.PointError
	if _, err := runtimes.Table("1:10h,2:0"); !errors.As(err, &point) {
		t.Errorf("%v does not wrap the table's error", err)
	}
}

// Whatever the text, there is a curve with finite runtimes above 0, or a *ParseError.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"1:10h,2:5.5h", "0.1,100", "64,0.5,10h", "1:2:00:00,4:1-12:00", "", ",", ":", "1e308,1e308,1s", "4294967296:1,1:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range []string{"table", "amdahl", "downey"} {
			curve, err := parse(form, text)
			if err != nil {
				var bad *runtimes.ParseError
				if !errors.As(err, &bad) {
					t.Errorf("%s %q: %v is no *ParseError", form, text, err)
				}
				continue
			}
			for _, n := range []int{1, 2, 3, 1000, math.MaxInt32} {
				if r, err := curve.Runtime(n); err == nil && !(r > 0 && !math.IsInf(r, 1)) {
					t.Errorf("%s %q on %d: %v s", form, text, n, r)
				}
			}
		}
	})
}
