package benchtext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// printed is the shortened output of go test -bench for three packages (Go 1.26).
const printed = `goos: linux
goarch: amd64
pkg: example.org/m/a
cpu: Some CPU @ 2.00GHz
BenchmarkTail/total-7-2         	     100	   5012345 ns/op	     128 B/op	       3 allocs/op
BenchmarkTail/total-7-2         	     100	   4012345 ns/op	     120 B/op	       3 allocs/op
BenchmarkTail/total-7-2         	     100	   6012345 ns/op	     136 B/op	       3 allocs/op
BenchmarkSaid
    x_test.go:3: exact need 7: [1 2]
BenchmarkSaid-2         	       1	        12 instants	  0.5 ns/op
PASS
ok  	example.org/m/a	1.2s
pkg: example.org/m/b
BenchmarkTail
BenchmarkTail 	       1	        7 ns/op
--- SKIP: BenchmarkOther
ok  	example.org/m/b	1.2s
`

// TestRead proves that results have their package, that the number of processors is no part of a name, and that a
// test's own output does not count as a result.
func TestRead(t *testing.T) {
	results, facts, err := Read(strings.NewReader(printed))
	if err != nil {
		t.Fatal(err)
	}
	if facts["cpu"] != "Some CPU @ 2.00GHz" {
		t.Errorf("cpu %q", facts["cpu"])
	}
	want := map[string]map[string]float64{
		"example.org/m/a.Tail/total-7": {"ns/op": 5012345, "B/op": 128, "allocs/op": 3},
		"example.org/m/a.Said":         {"instants": 12, "ns/op": .5},
		"example.org/m/b.Tail":         {"ns/op": 7},
	}
	if diff := cmp.Diff(want, Medians(results)); diff != "" {
		t.Errorf("medians (-want +got):\n%s", diff)
	}
}

// TestReadRefuses proves that a malformed line is an error.
func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"BenchmarkA-2 1 5 ns/op 3\n":   "missing units",
		"BenchmarkA-2 1 five ns/op\n":  "parsing measurement",
		"\n\nBenchmarkA 1 5 ns/op 3\n": ":3:",
	} {
		if _, _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// TestBetween proves that only the text between the markers is replaced, even several times, and that a page without
// markers is refused.
func TestBetween(t *testing.T) {
	const page = "# Page\n\n<!-- begin a -->\n\nold\n\n<!-- end a -->\n\ntext <!-- begin b -->\n<!-- end b -->\n"
	once, err := Between(page, "a", "| new |\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "# Page\n\n<!-- begin a -->\n\n| new |\n\n<!-- end a -->\n\ntext <!-- begin b -->\n<!-- end b -->\n"
	if once != want {
		t.Errorf("page %q, want %q", once, want)
	}
	if again, err := Between(once, "a", "| new |"); err != nil || again != once {
		t.Errorf("the second time: %q, %v", again, err)
	}
	for page, want := range map[string]string{"": "begin a", "<!-- end a -->\n<!-- begin a -->\n": "end a"} {
		if _, err := Between(page, "a", ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", page, err, want)
		}
	}
}
