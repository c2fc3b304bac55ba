package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

const docs = "../../docs/command.md"

// sections splits the docs at their second-level headings and returns the text of each command by its name.
func sections(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, part := range strings.Split(string(content), "\n## ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		found[name] = text
	}
	return found
}

var flagName = regexp.MustCompile(`(?:^|[ |\x60])(-[a-zA-Z]|--[a-z][a-z-]*)\b`)

// flagsIn returns the flags in the first cells of the tables in a text.
func flagsIn(text string) []string {
	var found []string
	for row := range strings.Lines(text) {
		if cells := strings.Split(row, "|"); len(cells) > 2 {
			for _, m := range flagName.FindAllStringSubmatch(cells[1], -1) {
				found = append(found, m[1])
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// TestDocsHaveEveryFlag proves that each command has a section, its own or that of its group, with a table of exactly
// the command's flags.
func TestDocsHaveEveryFlag(t *testing.T) {
	in := sections(t)
	root := newRoot(&app{Console: console.Console{Stdout: io.Discard, Stderr: io.Discard}, zone: time.UTC})
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if _, shared := in[c.CommandPath()]; shared || !c.HasSubCommands() {
			all = append(all, c)
		} else {
			all = append(all, c.Commands()...)
		}
	}
	for _, c := range all {
		if c.Hidden {
			continue // only the build of the packages uses this command
		}
		text, ok := in[c.CommandPath()]
		if !ok {
			t.Errorf("%s has no section in %s", c.CommandPath(), docs)
		}
		delete(in, c.CommandPath())
		c.InitDefaultHelpFlag()
		var want []string
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if c.HasParent() && f.Name == "help" {
				return // the section of the root has these flags
			}
			want = append(want, "--"+f.Name)
			if f.Shorthand != "" {
				want = append(want, "-"+f.Shorthand)
			}
		})
		for _, sub := range c.Commands() { // the commands of waitcast store share its section
			if !c.HasParent() {
				break
			}
			sub.LocalFlags().VisitAll(func(f *pflag.Flag) { want = append(want, "--"+f.Name) })
		}
		slices.Sort(want)
		want = slices.Compact(want)
		if got := flagsIn(text); !slices.Equal(got, want) {
			t.Errorf("the table under \"## %s\" in %s has the flags %v, the command has %v", c.CommandPath(), docs, got,
				want)
		}
	}
	for name := range in {
		t.Errorf("the docs have a section for %q, which does not exist", name)
	}
}

// TestDocsShowTheAnswer proves that the command prints the answer shown in the docs.
func TestDocsShowTheAnswer(t *testing.T) {
	if want := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(cannedText,
		"    $1"); !strings.Contains(sections(t)["waitcast wait"], want) {
		t.Errorf("the docs lack\n%s", want)
	}
}
