package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program writes a script that replaces waitcast, and returns its path. The script prints the file same if it is called
// with --load same, otherwise the file plain.
func program(t *testing.T, plain, same string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "generate")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *'--load same'*) cat '%s';; *) cat '%s';; esac\n", same, plain)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	return path
}

// workloadFile writes a workload file and returns its path. It has four jobs of 10 s on the given number of processors.
// Each job is submitted apart seconds after the one before it.
func workloadFile(t *testing.T, name string, procs, apart int) string {
	t.Helper()
	var text strings.Builder
	for i := range 4 {
		fmt.Fprintf(&text, "%d %d -1 10 %d -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n", i+1, i*apart, procs)
	}
	path := filepath.Join(t.TempDir(), name+".swf")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRows proves that the work, the KS distances and the load in a row are those worked out by hand, and that the row
// names the missed bounds.
func TestRows(t *testing.T) {
	log := workloadFile(t, "log", 4, 100)
	for name, c := range map[string]struct {
		plain, same, want string
	}{
		"as the log": {log, log, "| log | `markov` | 1.00 (1.00 to 1.00) | 0.000 | 0.000 | 1.000 | 0.000 | met |\n"},
		"half as large, twice as fast": {workloadFile(t, "half", 2, 100), workloadFile(t, "fast", 2, 50),
			"| log | `markov` | 0.50 (0.50 to 0.50) | 1.000 | 0.000 | 1.000 | 0.000 | **MISSED** |\n"},
		"scaled wrongly": {log, workloadFile(t, "slow", 4, 110),
			"| log | `markov` | 1.00 (1.00 to 1.00) | 0.000 | 0.000 | 0.909 | 0.000 | **MISSED** |\n"},
		"another KS": {log, workloadFile(t, "wide", 8, 200),
			"| log | `markov` | 1.00 (1.00 to 1.00) | 0.000 | 0.000 | 1.000 | 1.000 | **MISSED** |\n"},
	} {
		out := filepath.Join(t.TempDir(), "page.md")
		if err := run([]string{"-waitcast", program(t, c.plain, c.same), "-models", "markov", "-forms", "log", "-seeds",
			"1,2", "-out", out, log}, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(out)
		if err != nil || !strings.Contains(string(page), c.want) || !strings.Contains(string(page), "seeds 1, 2.") {
			t.Errorf("%s: %v: %s\nwant %s", name, err, page, c.want)
		}
		missed := fmt.Sprintf("Promises missed: %d.", strings.Count(c.want, "MISSED"))
		if !strings.Contains(string(page), missed) {
			t.Errorf("%s: want %s", name, missed)
		}
	}
}

// TestRefused proves that an invalid flag, a folder without logs and a program that fails cause errors that name the
// cause.
func TestRefused(t *testing.T) {
	log := workloadFile(t, "log", 4, 100)
	for want, args := range map[string][]string{
		"is no seed": {"-seeds", "x", log}, "no *.swf.gz in": {"-shared", t.TempDir()},
		"log, lublin, form log:": {"-waitcast", "/bin/false", log},
	} {
		if err := run(args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %q", args, err, want)
		}
	}
}
