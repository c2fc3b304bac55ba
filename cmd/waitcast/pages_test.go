package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/manual/manualtest"
)

// inlineCode matches a text between backquotes.
var inlineCode = regexp.MustCompile("`([^`\n]+)`")

// commandsIn returns the calls of a program in a page: the lines of its blocks of code, and each text between
// backquotes that has more than the program's name.
func commandsIn(page, program string) []string {
	var found []string
	for line := range strings.Lines(page) {
		if code, ok := strings.CutPrefix(line, "    "); ok {
			code = strings.TrimPrefix(strings.TrimSpace(code), "$ ")
			if strings.HasPrefix(code, program+" ") {
				found = append(found, code)
			}
			continue
		}
		for _, m := range inlineCode.FindAllStringSubmatch(line, -1) {
			if strings.HasPrefix(m[1], program+" ") {
				found = append(found, m[1])
			}
		}
	}
	return found
}

// understood parses a call without running it.
func understood(root *cobra.Command, call string) error {
	call, _, _ = strings.Cut(call, " #")
	words := strings.Fields(call)[1:]
	command, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	return command.ValidateArgs(command.Flags().Args())
}

// TestPagesCommands proves that waitcast accepts all its command lines on the pages for operators and users, and that
// each answer to a user's question contains such a command line.
func TestPagesCommands(t *testing.T) {
	for _, name := range []string{"operate.md", "faq.md"} {
		content, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		page := string(content)
		calls := commandsIn(page, "waitcast")
		if len(calls) < 4 {
			t.Errorf("%s: %d calls", name, len(calls))
		}
		for _, call := range calls {
			if err := understood(newRoot(&app{Console: console.Console{Stdout: io.Discard, Stderr: io.Discard},
				zone: time.UTC, env: noEnv}), call); err != nil {
				t.Errorf("%s: %s: %v", name, call, err)
			}
		}
		if name != "faq.md" {
			continue
		}
		for _, section := range strings.Split(page, "\n## ")[1:] {
			question, text, _ := strings.Cut(section, "\n")
			if !strings.Contains(text, "\n    waitcast ") || !strings.HasSuffix(question, "?") {
				t.Errorf("%q has no command that shows it", question)
			}
		}
	}
	// These calls prove that the test can fail.
	for _, wrong := range []string{
		"waitcast now --no-such", "waitcast nonsense", "waitcast log-level loud", "waitcast quarantine x",
	} {
		if understood(newRoot(&app{Console: console.Console{Stdout: io.Discard, Stderr: io.Discard}, env: noEnv}),
			wrong) == nil {
			t.Errorf("%s is understood", wrong)
		}
	}
}

// TestManualPages proves that mandoc has no warning about any manual page.
func TestManualPages(t *testing.T) {
	pages, err := manualPages(newRoot(&app{env: noEnv}), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 4 {
		t.Fatalf("%d pages", len(pages))
	}
	manualtest.Lint(t, pages)
}
