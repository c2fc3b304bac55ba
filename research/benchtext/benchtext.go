// Package benchtext reads the output of `go test -bench` with golang.org/x/perf/benchfmt. It also puts tables between
// the markers of a page.
package benchtext

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Result is one line of a benchmark.
type Result struct {
	// Package is the import path in the newest line "pkg:". It is empty before the first.
	Package string
	// Name is the benchmark's name without "Benchmark" and without the number of processors at its end.
	Name string
	// Runs is the number of iterations. Values are the measurements, by unit.
	Runs   int
	Values map[string]float64
}

// Key identifies a benchmark: its package and name.
func (r *Result) Key() string { return r.Package + "." + r.Name }

// Read returns the results in a text, in their order, together with the settings from its "key: value" lines. If a key
// occurs several times, the last value before the last result counts. Errors name the line.
func Read(from io.Reader) ([]Result, map[string]string, error) {
	var out []Result
	facts := map[string]string{}
	reader := benchfmt.NewReader(from, "benchmarks")
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.Result:
			for _, c := range r.Config {
				facts[c.Key] = string(c.Value)
			}
			out = append(out, result(r))
		case *benchfmt.SyntaxError:
			if !strings.Contains(r.Msg, "iteration count") { // otherwise the benchmark printed text after its name
				return nil, nil, r
			}
		}
	}
	return out, facts, reader.Err()
}

// result copies a result that benchfmt will overwrite, with the units as they were printed.
func result(r *benchfmt.Result) Result {
	base, parts := r.Name.Parts()
	if last := len(parts) - 1; last >= 0 && parts[last][0] == '-' { // the number of processors
		parts = parts[:last]
	}
	out := Result{
		Package: r.GetConfig("pkg"), Name: string(base) + string(bytes.Join(parts, nil)), Runs: r.Iters,
		Values: map[string]float64{},
	}
	for _, v := range r.Values {
		if v.OrigUnit == "" {
			v.OrigUnit, v.OrigValue = v.Unit, v.Value
		}
		out.Values[v.OrigUnit] = v.OrigValue
	}
	return out
}

// Medians returns the median of each unit of each benchmark, by Key and unit. Of an even number of values it takes the
// lower of the two middle ones.
func Medians(results []Result) map[string]map[string]float64 {
	all := map[string]map[string][]float64{}
	for i := range results {
		r := &results[i]
		if all[r.Key()] == nil {
			all[r.Key()] = map[string][]float64{}
		}
		for unit, v := range r.Values {
			all[r.Key()][unit] = append(all[r.Key()][unit], v)
		}
	}
	out := map[string]map[string]float64{}
	for key, units := range all {
		out[key] = map[string]float64{}
		for unit, v := range units {
			slices.Sort(v)
			out[key][unit] = v[(len(v)-1)/2]
		}
	}
	return out
}

// Keys returns the keys of a map, sorted.
func Keys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

// Between replaces the text between the lines "<!-- begin NAME -->" and "<!-- end NAME -->" of a page, and returns
// the page. An error names the missing line.
func Between(page, name, text string) (string, error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
	before, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", fmt.Errorf("the page has no line %q", strings.TrimSpace(begin))
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("the page has no line %q after %q", end, strings.TrimSpace(begin))
	}
	return before + begin + "\n" + strings.Trim(text, "\n") + "\n\n" + end + after, nil
}
