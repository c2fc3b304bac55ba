package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

var update = flag.Bool("update", false, "write docs/command.md from the commands")

// TestDocsCommandPage proves that docs/command.md is what the commands say of themselves, with the answers that other
// tests prove.
func TestDocsCommandPage(t *testing.T) {
	const page = "../../docs/command.md"
	var out bytes.Buffer
	out.WriteString("# The command waitcast\n\n" +
		"<!-- Made by go test ./cmd/waitcast -run Docs -update; do not edit. -->\n")
	root := newRoot(&app{Console: console.Console{Stdout: io.Discard, Stderr: io.Discard}, zone: time.UTC, env: noEnv})
	writeCommand(&out, root, answersOf(t))
	if *update {
		if err := os.WriteFile(page, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, out.Bytes()) {
		t.Errorf("%s is stale (%v): go test ./cmd/waitcast -run Docs -update", page, err)
	}
}

// answersOf returns an example of a call and its answer by the path of the command.
func answersOf(t *testing.T) map[string]string {
	t.Helper()
	sizes := runWith(serve(t, 200, cannedSize()), "size", "-q", "batch", "--sizes", "16..64", "--amdahl", "0,32h")
	several := runWith(serve(t, 200, cannedWaits()), "wait", "-q", "a,b", "-n", "8", "-t", "3h,7d")
	return map[string]string{
		"waitcast wait": "$ waitcast wait -q short -n 16 -N 2 -t 2h30m\n" + cannedText +
			"\n$ waitcast wait -q a,b -n 8 -t 3h,7d\n" + several.stdout,
		"waitcast size": "$ waitcast size -q batch,short --sizes 16..64 --amdahl 0,32h -t 2x -n 64\n" +
			sizes.stdout,
		"waitcast now": "$ waitcast now\n" + cannedNowText,
	}
}

// writeCommand writes the section of a command, and those of its subcommands.
func writeCommand(out *bytes.Buffer, c *cobra.Command, answers map[string]string) {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
		return
	}
	if c.Runnable() || !c.HasParent() {
		text := c.Long
		if text == "" {
			text = c.Short + "."
		}
		fmt.Fprintf(out, "\n## %s\n\n%s\n", c.CommandPath(), strings.TrimSpace(text))
		if c.Runnable() && c.HasParent() {
			fmt.Fprintf(out, "\n    %s\n", c.UseLine())
		}
		if c.Example != "" {
			fmt.Fprintf(out, "\n%s\n", indented(strings.TrimPrefix(strings.ReplaceAll(c.Example, "\n  ", "\n"), "  ")))
		}
		if answer := answers[c.CommandPath()]; answer != "" {
			fmt.Fprintf(out, "\n%s\n", indented(answer))
		}
		writeFlags(out, c)
	}
	for _, sub := range c.Commands() {
		writeCommand(out, sub, answers)
	}
}

// indented returns a text as a block of code in Markdown.
func indented(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		if line = strings.TrimRight(line, " \n"); line != "" {
			line = "    " + line
		}
		out.WriteString(line + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// writeFlags writes the list of a command's own flags; those of the root hold for every command.
func writeFlags(out *bytes.Buffer, c *cobra.Command) {
	heading := "\n"
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		out.WriteString(heading)
		heading = ""
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		_, usage := pflag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "[]" &&
			!strings.Contains(usage, "default") {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(out, "- %s: %s\n", name, usage)
	})
}
