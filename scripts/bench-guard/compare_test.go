package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/internal/benchtext"
)

const before = `pkg: m/a
BenchmarkOne-2	10	100 allocs/op	100000 B/op	50 instants
BenchmarkTwo-2	10	4 allocs/op	64 B/op
`

func medians(t *testing.T, text string) map[string]map[string]float64 {
	t.Helper()
	results, _, err := benchtext.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return benchtext.Medians(results)
}

// TestCompare proves which changes make the command fail, which are only reported, and which are ignored.
func TestCompare(t *testing.T) {
	for _, c := range []struct{ name, now, want string }{
		{"the same", before, ""},
		{"a fifth more is allowed", strings.Replace(before, "100 allocs", "120 allocs", 1), ""},
		{"more is not", strings.Replace(before, "100 allocs", "121 allocs", 1),
			"FAIL m/a.One: 121 allocs/op, it was 100 (+21 %)"},
		{"a count of work", strings.Replace(before, "50 instants", "61 instants", 1),
			"FAIL m/a.One: 61 instants, it was 50 (+22 %)"},
		{"bytes", strings.Replace(before, "100000 B", "130000 B", 1),
			"FAIL m/a.One: 130000 B/op, it was 100000 (+30 %)"},
		{"a few allocations more are chance", strings.Replace(before, "4 allocs", "9 allocs", 1), ""},
		{"time is not compared", strings.Replace(before, "50 instants", "50 instants 900 ns/op 3 jobs/s", 1), ""},
		{"less is told", strings.Replace(before, "100 allocs", "70 allocs", 1),
			"better m/a.One: 70 allocs/op, it was 100 (-30 %)"},
		{"one that is gone", strings.Split(before, "BenchmarkTwo")[0], "FAIL m/a.Two: B/op is in the baseline and " +
			"was not measured\nFAIL m/a.Two: allocs/op is in the baseline and was not measured"},
		{"one that is new", before + "BenchmarkNew 1 3 trees\n", "FAIL m/a.New: trees is 3 and not in the baseline"},
	} {
		found := compare(medians(t, before), medians(t, c.now), .2)
		var text []string
		for i := range found {
			text = append(text, found[i].String())
		}
		if got := strings.Join(text, "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		var out strings.Builder
		if err := tell(&out, found); errors.Is(err, errWorse) != strings.Contains(c.want, "FAIL") {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

// TestLasting proves that a baseline has only counts, so that two machines give the same baseline.
func TestLasting(t *testing.T) {
	const printed = "goos: linux\ncpu: Some\npkg: m/a\nBenchmarkOne-2  \t 10\t 12 ns/op\t 3 MB/s\t 50 instants\t 7 " +
		"B/op\t 1 allocs/op\nPASS\nok  m/a 1.2s\n"
	if got, want := string(lasting([]byte(printed))),
		"pkg: m/a\nBenchmarkOne-2\t10\t50\tinstants\t7\tB/op\t1\tallocs/op\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestBaseline proves that the baseline in the repository can be read and has figures of every watched package.
func TestBaseline(t *testing.T) {
	file, err := os.Open("baseline.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	results, _, err := benchtext.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range watched {
		found := false
		for i := range results {
			found = found || strings.HasSuffix(results[i].Package, strings.TrimPrefix(w.pkg, "."))
		}
		if !found {
			t.Errorf("nothing of %s", w.pkg)
		}
	}
}
