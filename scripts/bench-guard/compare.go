package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/waitcast/waitcast/internal/benchtext"
)

// counts reports whether a unit measures work rather than time. Less work is better on any machine.
func counts(unit string) bool {
	for _, time := range [...]string{"ns/", "us/", "ms/", "s/"} {
		if strings.HasPrefix(unit, time) {
			return false
		}
	}
	return !strings.HasSuffix(unit, "/s")
}

// slack is the increase of a measure that is always allowed: a pool may be filled again after a garbage collection, and
// a map may grow.
func slack(unit string) float64 {
	switch unit {
	case "allocs/op":
		return 8
	case "B/op":
		return 2048
	}
	return 0
}

// finding is one measure that changed.
type finding struct {
	benchmark, unit string
	before, now     float64 // NaN if there is none
	worse           bool
}

func (f *finding) String() string {
	switch {
	case math.IsNaN(f.now):
		return fmt.Sprintf("FAIL %s: %s is in the baseline and was not measured", f.benchmark, f.unit)
	case math.IsNaN(f.before):
		return fmt.Sprintf("FAIL %s: %s is %s and not in the baseline", f.benchmark, f.unit, figure(f.now))
	}
	word := "better"
	if f.worse {
		word = "FAIL"
	}
	return fmt.Sprintf("%s %s: %s %s, it was %s (%+.0f %%)", word, f.benchmark, figure(f.now), f.unit, figure(f.before),
		100*(f.now/f.before-1))
}

func figure(v float64) string { return fmt.Sprintf("%.12g", v) }

// compare returns the measures that are worse or better by more than the tolerance, and those that only one side has.
// The latter count as worse, because the baseline must be updated. The result is sorted by benchmark and unit.
func compare(before, now map[string]map[string]float64, tolerance float64) []finding {
	var out []finding
	all := map[string]map[string]float64{}
	for _, side := range [...]map[string]map[string]float64{before, now} {
		for name, units := range side {
			if all[name] == nil {
				all[name] = map[string]float64{}
			}
			for unit := range units {
				if counts(unit) {
					all[name][unit] = 0
				}
			}
		}
	}
	for _, name := range benchtext.Keys(all) {
		for _, unit := range benchtext.Keys(all[name]) {
			was, known := before[name][unit]
			is, measured := now[name][unit]
			f := finding{benchmark: name, unit: unit, before: was, now: is}
			switch {
			case !known:
				f.before, f.worse = math.NaN(), true
			case !measured:
				f.now, f.worse = math.NaN(), true
			case is > was*(1+tolerance) && is-was > slack(unit):
				f.worse = true
			case is < was*(1-tolerance) && was-is > slack(unit):
			default:
				continue
			}
			out = append(out, f)
		}
	}
	return out
}

// errWorse is returned if a measure is worse.
//
//nolint:gochecknoglobals // an error to compare with
var errWorse = errors.New("over the baseline; where that is meant, " +
	"renew it with `make bench-guard RENEW=-renew` and say why in the commit")

// tell prints findings. It returns an error that wraps errWorse if a measure is worse.
func tell(out io.Writer, findings []finding) error {
	worse := 0
	for i := range findings {
		fmt.Fprintln(out, &findings[i])
		if findings[i].worse {
			worse++
		}
	}
	if worse > 0 {
		return fmt.Errorf("%d measures are %w", worse, errWorse)
	}
	fmt.Fprintf(out, "no measure is over the baseline, %d are far under it\n", len(findings))
	return nil
}
