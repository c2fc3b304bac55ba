package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func example() []budget {
	by := command{words: "go test -bench X" + counting + " ./a"}
	return []budget{
		{"most", "a time", by, "Time/", "ns/op", milli, 10, false, "ms"},
		{"least", "a rate", by, "Rate", "jobs/s", 1e-6, .5, true, "M jobs/s"},
		{"loaded", "a time beside other work", command{words: "loaded"}, "Time", "ns/op", milli, 10, false, "ms"},
		{"gone", "what is not printed", by, "Other", "ns/op", 1, 1, false, "ns"},
		{"tool", "what cannot be run", command{words: "nothing"}, "N", "ns/op", 1, 1, false, "ns"},
	}
}

// TestTable proves that the best run of a benchmark and the worst of several benchmarks count, that they are compared
// with the limit in the right direction, and that missing ones are named.
func TestTable(t *testing.T) {
	kept := map[string]string{"go test -bench X ./a": "machine: 2 cores\nload: 0.10\npkg: m/a\nBenchmarkTime/a-2 1 " +
		"2000000 ns/op\nBenchmarkTime/b-2 1 11000000 ns/op\nBenchmarkTime/b-2 1 19000000 ns/op\nBenchmarkRate 1 " +
		"600000 jobs/s\n", "loaded": "machine: 2 cores, X\nload: 2.01\nBenchmarkTime 1 11000000 ns/op\n",
		"nothing": "skipped: wrk is missing\n"}
	got, err := table(example(), kept)
	if err != nil {
		t.Fatal(err)
	}
	want := "By `make bench`:\n\n| NAME | what | promised | measured | |\n|---|---|---|---|---|\n" +
		"| most | a time | at most 10 ms | 11 ms | MISS |\n" +
		"| least | a rate | at least 0.5 M jobs/s | 0.6 M jobs/s | held |\n" +
		"| loaded | a time beside other work | at most 10 ms | 11 ms | MISS under load |\n" +
		"| gone | what is not printed | at most 1 ns | ns/op of Other is not there | skipped |\n" +
		"| tool | what cannot be run | at most 1 ns | wrk is missing | skipped |\n\n" +
		"loaded: 2 cores, X.\n\nAll other rows: 2 cores.\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// TestKept proves that a run of some budgets keeps the earlier measurements of the others.
func TestKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept")
	want := map[string]string{"a b": "BenchmarkA 1 2 ns/op\n", "c": "skipped: x\n"}
	if err := writeKept(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := readKept(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// TestRead proves that figures are found in the output of the scripts. The lines are taken from real output.
func TestRead(t *testing.T) {
	const imported = `round 1: 854280 lines; mawk 0.41 s, waitcastd 0.30 s (2.83 M lines/s), ratio 0.73
one-shot, PBS: 2562840 lines, 3.09 s (0.83 M lines/s), 5.1 s of CPU, 178 MiB
`
	want := "BenchmarkImport/swf 1 2.83 Mlines/s\nBenchmarkImport/pbs 1 0.83 Mlines/s\n"
	if diff := cmp.Diff(want, readImport(imported)); diff != "" {
		t.Errorf("import (-want +got):\n%s", diff)
	}
	const learnt = "history SDSC-SP2-1998-4.2-cln, fast: 59715 jobs, 21.3 s (2803 jobs/s), 38.1 s of CPU, 223 MiB, " +
		"database 20 MB\n"
	want = "BenchmarkHistory/SDSC-SP2-1998-4.2-cln 1 21.3 s 2803 jobs/s 223 MiB 20 MB\n"
	if diff := cmp.Diff(want, readHistory(learnt)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// TestBudgets proves that every budget can be requested by name and has a row in the table of the page, without pipe
// characters that would break the table.
func TestBudgets(t *testing.T) {
	list := budgets()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		b := &list[i]
		if len(commands(list, regexp.MustCompile("^"+b.name+"$"))) == 0 {
			t.Errorf("%s cannot be asked for", b.name)
		}
		if strings.Contains(b.by.text(0)+b.what, "|") {
			t.Errorf("%s has a pipe", b.what)
		}
		if _, err := regexp.Compile(b.benchmark); err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(page), "| "+b.what+" | "+b.promise()+" |") {
			t.Errorf("docs/performance.md has no row %q: make bench BUDGETS=nothing writes it", b.what)
		}
	}
}
