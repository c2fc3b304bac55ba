package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/internal/manual/manualtest"
)

func operate(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestOperateCommands proves that waitcastd accepts all its command lines on the page for operators, and that this page
// has every flag of check and bundle.
func TestOperateCommands(t *testing.T) {
	page := operate(t)
	calls := regexp.MustCompile("(?m)(?:^    (?:sudo )?|`)waitcastd ([^`\n]+)").FindAllStringSubmatch(page, -1)
	if len(calls) < 4 {
		t.Fatalf("%d calls", len(calls))
	}
	for _, call := range calls {
		command, rest, err := rootCommand().Find(strings.Fields(call[1]))
		if err == nil {
			err = command.ParseFlags(rest)
		}
		if err == nil {
			err = command.ValidateArgs(command.Flags().Args())
		}
		if err != nil {
			t.Errorf("waitcastd %s: %v", call[1], err)
		}
	}
	root := rootCommand()
	for _, name := range []string{"check", "bundle"} {
		command, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		command.Flags().VisitAll(func(f *pflag.Flag) {
			if (root.Flags().Lookup(f.Name) == nil || f.Name == "json") && !strings.Contains(page, "`--"+f.Name) &&
				!strings.Contains(page, "--"+f.Name+" ") {
				t.Errorf("the page does not have --%s of waitcastd %s", f.Name, name)
			}
		})
	}
}

// TestOperateSymptoms proves that the daemon's messages quoted in the table of symptoms exist in the program.
func TestOperateSymptoms(t *testing.T) {
	_, table, ok := strings.Cut(operate(t), "## When something is wrong")
	if !ok {
		t.Fatal("there is no table")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	var quoted []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(table, -1) {
		for _, m := range regexp.MustCompile("`([a-z][^`]* [^`]*)`").FindAllStringSubmatch(row[1], -1) {
			quoted = append(quoted, m[1])
		}
	}
	if len(quoted) < 6 {
		t.Fatalf("quoted %q", quoted)
	}
	source := program(t)
	for _, q := range quoted {
		if q != "permission denied" && !strings.Contains(source, q) { // this text comes from the operating system
			t.Errorf("no message of the program says %q", q)
		}
	}
}

// program returns the source of the module, without its tests.
func program(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		all.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestManualPages proves that mandoc has no warning about any manual page.
func TestManualPages(t *testing.T) {
	pages, err := manualPages(rootCommand(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 4 {
		t.Fatalf("%d pages", len(pages))
	}
	manualtest.Lint(t, pages)
}
