// Package benchtext reads what `go test -bench` prints, and puts tables between the markers of a page.
//
// The format is that of https://go.dev/design/14313-benchmark-format: lines "key: value", and lines "BenchmarkName N value unit value unit ...".
package benchtext

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Result is one line of a benchmark.
type Result struct {
	// Package is the import path that the newest line "pkg:" told, empty before the first.
	Package string
	// Name is the benchmark's without "Benchmark" and without the number of processors at its end.
	Name string
	// Runs is how often it ran; Values are what was measured, by unit.
	Runs   int
	Values map[string]float64
}

// Key names a benchmark: its package and name.
func (r *Result) Key() string { return r.Package + "." + r.Name }

// Read returns the results in a text in their order, and what its "key: value" lines tell (the newest of each). Other lines say nothing.
func Read(from io.Reader) ([]Result, map[string]string, error) {
	var out []Result
	facts := map[string]string{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if !strings.HasPrefix(line, "Benchmark") {
			if key, value, ok := strings.Cut(line, ": "); ok && key != "" && strings.ToLower(key) == key && !strings.ContainsAny(key, " \t") {
				facts[key] = strings.TrimSpace(value)
			}
			continue
		}
		r, ok, err := parse(line)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", n, err)
		}
		if ok {
			r.Package = facts["pkg"]
			out = append(out, r)
		}
	}
	return out, facts, lines.Err()
}

// parse reads one line of a benchmark. A line with the name alone, which comes before one that logs, is none.
func parse(line string) (Result, bool, error) {
	fields := strings.Fields(line)
	r := Result{Name: bare(fields[0]), Values: map[string]float64{}}
	if len(fields) < 4 {
		return r, false, nil
	}
	var err error
	if r.Runs, err = strconv.Atoi(fields[1]); err != nil { // words behind a name are what the test said
		return r, false, nil //nolint:nilerr // it is no result
	}
	if len(fields)%2 != 0 {
		return r, false, fmt.Errorf("%s: a value without a unit in %q", r.Name, line)
	}
	for i := 2; i < len(fields); i += 2 {
		if r.Values[fields[i+1]], err = strconv.ParseFloat(fields[i], 64); err != nil {
			return r, false, fmt.Errorf("%s: %q is not a number", r.Name, fields[i])
		}
	}
	return r, true, nil
}

// bare returns a benchmark's name without the prefix and the number of processors.
func bare(name string) string {
	name = strings.TrimPrefix(name, "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if _, err := strconv.ParseUint(name[i+1:], 10, 16); err == nil {
			return name[:i]
		}
	}
	return name
}

// Medians returns the median of each unit of each benchmark, by Key and unit; of an even number of values the lower of the two in the middle.
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

// Keys returns the keys of a map in order.
func Keys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

// Between returns a page with the text between the lines "<!-- begin NAME -->" and "<!-- end NAME -->" replaced. An error says which of the two is missing.
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
